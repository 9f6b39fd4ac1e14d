"""Methods of ensembles of randomly excited motions (Tripura et al.), and recipes.

They read contract ``observations``: `q` and `qdot` over (replicate, trajectory, time,
dof), SI units. Kinds: `states`, and what sensors with noise record of them, `shaken
measurements`.

Examples
--------
>>> import leastaction as la
>>> truth = la.System("xdot**2/2 - 50*x**2", volatility={"x": "2"})
>>> data = truth.simulate(
...     duration=0.5,
...     time_step=1e-3,
...     trajectories=50,
...     initial_state={"x": 0.1, "xdot": 0},
... )
>>> library = {"reference": "xdot**2/2", "lagrangian": ["xdot**2", "x**2", "x**4"]}
>>> model = la.recipes.ensembles.recommended().fit(data, library)
>>> model.score(truth).exact, model.support
(True, ['xdot**2', 'x**2'])

The paper's recipe is one of :mod:`leastaction_papers.recipes`.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from leastaction.core import families
from leastaction.core.method import (
    AnyOf,
    Assemble,
    Differentiate,
    Ensemble,
    Identify,
    Volatility,
    part,
)
from leastaction.core.settings import (
    Count,
    Flag,
    Integer,
    Pair,
    Settings,
    Share,
    absent,
    choice,
)


class SensorStd(Settings):
    """Standard deviation of the noise of each channel."""

    q: Share = 0
    qdot: Share = 0
    qddot: Share = 0


class Sensor(Settings):
    """What is recorded of a motion."""

    noise: SensorStd = Field(
        default_factory=SensorStd,
        description="Standard deviation of the noise of each channel, over the rms of "
        "the channel in the noise-free ensemble.",
    )
    correlation: Integer = Field(
        1,
        ge=1,
        le=1000,
        description="Samples of a moving average that colours the noise; 1 is white.",
    )
    channels: choice(["q", "qdot"], ["q"], ["qddot"]) = Field(
        ["q", "qdot"],
        description="Recorded channels; [q] are displacements alone, [qddot] mean "
        "accelerations between samples alone.",
    )
    every: Count = Field(1, description="One sample in so many is recorded.")


class StrongTaylor(Ensemble):
    """Order 1.5 strong Taylor scheme for a second-order stochastic system."""

    run = ".strong_taylor:simulate"
    makes = "observations"

    sensor: Sensor | None = absent(
        "What is recorded; everything without noise if absent."
    )
    legacy_seed: Annotated[Integer, Field(ge=0)] | None = absent(
        "Seed of NumPy's legacy generator, from which the trajectories draw one after "
        "another, as in the scripts that the paper released: the same in every "
        "replicate. If absent, numbers are keyed by example, replicate and trajectory."
    )

    def __call__(self, system, *, example: str, seed: int, replicate: int, units):
        """Observations of one replicate, as the sensors record them."""
        key = {"example": example, "seed": seed}
        made = super().__call__(system, **key, replicate=replicate, units=units)
        if self.sensor is None:
            return made
        measure = families.implementation("leastaction.ensembles.strong_taylor:measure")
        return measure(made, self.sensor.plain(), **key)

    def contract(self) -> str:
        """Contract of the observations, by what the sensors record."""
        channels = self.sensor.channels if self.sensor else []
        alone = {("q",): "displacements", ("qddot",): "accelerations"}
        return alone.get(tuple(channels), self.makes)


class RealisedVariation(Differentiate):
    """Realised covariation of the velocities, free of any model."""

    run = ".realised_variation:differentiate"
    reads = ("observations",)
    makes = "realised_variation"
    uses = ("volatility",)


class StochasticSubspace(Differentiate):
    """Modes of the outputs, and noise of the sensors, by stochastic realisation."""

    run = ".stochastic_subspace:differentiate"
    reads = (
        *("observations", "displacements", "accelerations"),
        *("measurements", "sensor_readings"),
    )
    makes = "output_modes"


class ModalStart(Assemble):
    """Candidates, and coefficients of a linear system with the modes of the outputs."""

    run = ".modal_start:assemble"
    reads = ("output_modes",)
    makes = "state_space"
    uses = ("reference", "inertia", "lagrangian", "dissipation", "calculus")
    needs_velocities = False


class MartingaleMoments(Assemble):
    """Martingale moments of the stochastic Euler–Lagrange equation."""

    run = ".martingale_moments:assemble"
    reads = ("realised_variation",)
    makes = "moments"
    uses = ("reference", "inertia", "lagrangian", "dissipation", "calculus")

    instrument_degree: Integer = Field(
        5, ge=1, le=8, description="Instruments are all monomials up to this degree."
    )
    most_instruments: Count = Field(
        40, description="A lower degree, at least 2, is taken if there were more."
    )
    largest_turn: Share = Field(
        0.05,
        description="Angle, rad, that one increment may span; 0 takes every sample.",
    )


class SquaredIncrements(Volatility):
    """Volatility from squared increments, sample by sample."""

    run = ".squared_increments:identify"
    after = ("moment_gmm",)

    max_terms: Integer = Field(
        3, ge=1, le=6, description="Most terms of the squared volatility."
    )


AnyVolatility = Annotated[Volatility, AnyOf("volatility")]


class MomentGmm(Identify):
    """Generalised method of moments with best-subset selection."""

    run = ".moment_gmm:identify"
    reads = ("moments",)

    max_terms: Integer = Field(
        4, ge=1, le=8, description="Most terms beside the reference."
    )
    volatility: AnyVolatility = Field(default_factory=SquaredIncrements)


class InnovationsLikelihood(Identify):
    """Maximum likelihood of a state-space model, terms by score and Wald tests."""

    run = ".innovations_estimate:identify"
    reads = ("state_space",)
    returns_to_samples = True
    finds_volatility = True
    knows_input = True

    search: Flag = Field(
        True,
        description="Whether terms are searched for; if not, all candidates are in the "
        "law, and sensors may be fewer than coordinates.",
    )
    force: Literal["auto", "diagonal", "ground", "free"] = Field(
        "auto",
        description="Random force: diagonal, independent by coordinate; ground, one "
        "common acceleration of coordinates relative to it; free, any covariance; "
        "auto, the one that the criterion prefers.",
    )
    band: list[Pair] | None = absent(
        "Bands of frequencies to trust, [[low, high], ...] in Hz; the likelihood is "
        "then Whittle's, and the law linear. All frequencies if absent."
    )
    colour: Literal["auto", "white"] = Field(
        "auto",
        description="auto, a correlation time of the random force where the likelihood "
        "asks for it; white, none.",
    )


RECOMMENDED = {
    "states": (RealisedVariation, MartingaleMoments, MomentGmm, SquaredIncrements),
    "shaken measurements": (StochasticSubspace, ModalStart, InnovationsLikelihood),
}


def kind_of_data(example: Mapping) -> str:
    """Key of `RECOMMENDED` for an example of randomly excited coordinates."""
    sensor = part(part(example, "simulate"), "sensor")
    return "shaken measurements" if sensor else "states"
