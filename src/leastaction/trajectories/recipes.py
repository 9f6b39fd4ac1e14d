"""Methods of noisy motions without a random force, and recipes.

They read contract ``recordings``: `q`, and where recorded `qdot` and `qddot`, over
(replicate, trajectory, time, dof), SI units. Kinds: `motions`, and `positions` alone.
Published are xL-SINDy (Purnomo and Hayashibe), and as kinds `SINDy-PI` (Kaheman et al.)
and `Lagrangian-SINDy` (Chu and Hayashibe).

Examples
--------
>>> import leastaction as la
>>> truth = la.System("thdot**2/2 + 9.81*cos(th)")
>>> data = truth.simulate(
...     duration=5,
...     time_step=0.01,
...     trajectories=4,
...     initial_state={"th": "a", "thdot": 0, "random": {"a": {"uniform": [0.5, 2]}}},
...     noise={"levels": [1e-3]},
... )
>>> library = {"reference": "thdot**2/2", "lagrangian": ["thdot**2", "cos(th)"]}
>>> model = la.recipes.trajectories.recommended().fit(data, library)
>>> model.score(truth).exact, model.score(truth).worst < 1e-2
(True, True)
>>> la.recipes.trajectories.published(threshold=0.05).identify.name()
'proximal_gradient'
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field

from leastaction.core.method import (
    Assemble,
    Differentiate,
    Ensemble,
    Identify,
    Rollout,
    part,
)
from leastaction.core.recipe import Recipe
from leastaction.core.settings import (
    Cases,
    Count,
    Expression,
    Flag,
    Integer,
    Names,
    Number,
    Positive,
    SensorNoises,
    Settings,
    Share,
    Text,
    absent,
    or_word,
)


class Motions(Settings):
    """Motions in files of NumPy, trajectories one after the other, all equally long."""

    states: Text = Field(
        description="Path of q, then q̇, shape (sample, 2 dof); relative to the folder "
        "of the project."
    )
    rates: Text = Field(description="The same of q̇, then q̈.")


class RungeKutta(Ensemble):
    """Motion without a random force, by the classical Runge–Kutta method."""

    run = "core.runge_kutta:simulate"
    makes = "recordings"
    fills_boxes = True

    method: Literal["runge_kutta"] = "runge_kutta"
    integration_step: Positive = Field(
        0.001, description="Longest step of the integration between two samples, s."
    )
    input: dict[str, Expression] = Field(
        {},
        description="Generalised external force of coordinates: expressions in "
        "`time`, parameters and the names under initial_state.random.",
    )
    motions: Motions | None = absent(
        "Files with the motions of every replicate, which are then not integrated; "
        "without these files the example is left out."
    )
    noise: SensorNoises = Field(
        default_factory=SensorNoises,
        description="Noise of the sensors; every mode at every level.",
    )


class JointSpline(Differentiate):
    """Penalised quintic spline through all channels of a coordinate at once."""

    run = "trajectories.joint_spline:differentiate"
    reads = ("recordings",)
    makes = "rates"

    method: Literal["joint_spline"] = "joint_spline"
    knot_spacing: Count = Field(1, description="Samples per knot of the spline.")
    knot_spacing_positions: Integer = Field(
        2, ge=2, description="The same if nothing but q is recorded."
    )
    inflation: Number = Field(
        1.2, ge=1, description="Weight of a degree of freedom in cross-validation."
    )
    trim: Integer = Field(5, ge=0, description="Samples dropped at each end.")
    trim_positions: Integer = Field(
        25, ge=0, description="The same if nothing but q is recorded."
    )
    cases: Cases | None = absent(
        "Cases of a sweep over noise that this estimator does; all if absent."
    )


class Measured(Differentiate):
    """The channels as recorded: nothing is differentiated or smoothed."""

    run = "trajectories.joint_spline:measured"
    reads = ("recordings",)
    makes = "rates"
    needs_channels = ("q", "qdot", "qddot")

    method: Literal["measured"] = "measured"
    cases: Cases | None = absent(
        "Cases of a sweep over noise that this estimator does; all if absent."
    )


class Gram(Assemble):
    """Gram matrices of the Euler–Lagrange columns of all candidates."""

    run = "trajectories.gram:assemble"
    reads = ("rates",)
    makes = "gram"
    uses = ("reference", "inertia", "lagrangian", "dissipation")

    method: Literal["gram"] = "gram"
    samples: or_word(Count, "all") = Field(
        1000, description='Evenly spaced samples that are passed on, or "all".'
    )


class EnergyGram(Assemble):
    """Gram matrix of the rates of candidate energies, for Lagrangian-SINDy."""

    run = "trajectories.lagrangian_sindy:assemble"
    reads = ("rates",)
    makes = "energy_gram"
    uses = ("reference", "inertia", "lagrangian")

    method: Literal["energy_gram"] = "energy_gram"


class ImplicitLibrary(Assemble):
    """Implicit candidates along the training trajectories, for SINDy-PI."""

    run = "trajectories.sindy_pi:assemble"
    reads = ("rates",)
    makes = "implicit_regression"
    uses = ("implicit",)

    method: Literal["implicit_library"] = "implicit_library"
    samples: Integer = Field(
        2500, ge=100, description="Samples of the trajectories held out."
    )
    held_out: Literal["fifth", "last"] = Field(
        "fifth",
        description="Trajectories that choose the model: every fifth in the order of "
        "the rms acceleration, or the last one, as in the papers.",
    )

    def problems(self, recipe: Recipe, example: Mapping) -> Iterator[str]:
        """A coordinate without candidates."""
        given = list(example.get("library", {}).get("implicit", {}))
        coordinates = example["system"].get("coordinates", {})
        missing = [name for name in coordinates if name not in given]
        if "library" in example and missing:
            yield (
                "assemble method 'implicit_library' needs library.implicit for every "
                f"coordinate, but it lists {given or 'none'}; add candidates for "
                f"{', '.join(missing)}"
            )
        listed = str(example.get("library", {}).get("implicit"))
        for name in example["simulate"].get("input", {}):
            if f"{name}_input" not in listed:
                yield (
                    f"simulate.input drives {name}, but no candidate of "
                    f"library.implicit holds {name}_input; add some"
                )


class NullVector(Identify):
    """A Lagrangian from the null vector of the Euler–Lagrange columns."""

    run = "trajectories.null_vector:identify"
    reads = ("gram",)
    after = ("gram",)
    returns_to_samples = True
    knows_input = True

    method: Literal["null_vector"] = "null_vector"
    largest: Integer = Field(
        9, ge=1, le=20, description="Most terms of L and D together."
    )
    ranked: Count = Field(
        40, description="Neighbours of a support ranked by their accelerations."
    )
    halving: Number = Field(
        2.0,
        gt=1,
        description="Factor by which a term beyond the largest jump must lower the "
        "error.",
    )


class Shooting(Identify):
    """A Lagrangian from positions alone, by shooting over segments with free states."""

    run = "trajectories.shooting:identify"
    reads = ("gram",)
    after = ("gram",)
    returns_to_samples = True

    method: Literal["shooting"] = "shooting"
    segment: Positive = Field(
        0.5, description="First length of the segments of motion (s)."
    )
    support: Annotated[Names, Field(min_length=1)] | None = Field(
        None,
        description='Terms of L, and of D with the prefix "D: ", that are fitted '
        "without a search; null, the structure is searched for.",
    )
    largest: Integer = Field(
        7,
        ge=1,
        le=20,
        description="Most terms of the Lagrangians that the search starts from.",
    )
    ranked: Count = Field(
        40, description="Neighbours of a support ranked by their accelerations."
    )


class LagrangianSindy(Identify):
    """A conserved energy, and L from it: in the spirit of Lagrangian-SINDy."""

    run = "trajectories.lagrangian_sindy:identify"
    reads = ("energy_gram",)

    method: Literal["lagrangian_sindy"] = "lagrangian_sindy"
    tolerance: Number = Field(
        0.1,
        ge=0,
        le=1,
        description="Smaller entries of the null vector, over the largest, go.",
    )


class Thresholds(Settings):
    """Of coefficients, in geometric steps."""

    smallest: Positive = Field(0.001, description="The smallest.")
    largest: Positive = Field(0.9, description="The largest.")
    count: Count = Field(24, description="How many.")


class SindyPi(Identify):
    """SINDy-PI: parallel implicit sparse identification (Kaheman et al. 2020)."""

    run = "trajectories.sindy_pi:identify"
    reads = ("implicit_regression",)
    makes = "implicit_model"
    returns_to_samples = True
    knows_input = True

    method: Literal["sindy_pi"] = "sindy_pi"
    thresholds: Thresholds = Field(
        default_factory=Thresholds,
        description="Of coefficients, in geometric steps; of unit columns at most 1.",
    )
    left_hand_sides: Names | None = absent(
        "Candidates that are tried on the left-hand side; if absent all that hold the "
        "acceleration."
    )
    left_only: Names = Field([], description="Candidates on no right-hand side.")
    unit_columns: Flag = Field(
        True, description="Whether columns are scaled to unit length; published, not."
    )
    term_cost: Share = Field(
        0.3, description="Share by which a term must lower the error to be worth it."
    )
    bounded: Flag = Field(
        True,
        description="Whether the error of a sample counts at most as one; published, "
        "a vanishing denominator may spoil the mean.",
    )


class StagedDescent(Identify):
    """Gradient descent on the coefficients, in stages (Purnomo and Hayashibe)."""

    reads = ("gram",)
    after = ("gram",)

    exclude: Names = Field([], description="Candidates of L left out by hand.")
    candidates: Literal["all", "independent"] = Field(
        "all", description="All candidates, or those that algebra calls independent."
    )
    start: Share = Field(
        20.0, description="Coefficients begin uniformly between minus and plus this."
    )
    seed: Integer = Field(0, ge=0, description="Of the random starts and tolerances.")
    epochs: Count = Field(100, description="Epochs of every stage.")
    batch: Count = Field(128, description="Consecutive samples per step.")
    tolerance: Annotated[list[Positive], Field(min_length=2, max_length=2)] = Field(
        [1e-3, 5e-3],
        description="Cost at which the descent ends, above that of least squares where "
        "the equations are linear in the coefficients: of every replicate one between "
        "these two, on a logarithmic scale.",
    )


class DescentStage(Settings):
    """One stage of a descent."""

    rate: Positive = Field(description="Step length of the descent.")
    penalty: Share = Field(description="Weight of the absolute values of coefficients.")
    threshold: Share = Field(description="Smaller coefficients leave after the stage.")
    scaled: Flag = Field(
        False, description="Whether tables are divided by their ranges."
    )


class ProximalStage(DescentStage):
    """One stage of the proximal gradient descent."""

    unpenalised: Names | None = absent(
        "In place of those of the method, in this stage."
    )


class ProximalGradient(StagedDescent):
    """Staged accelerated proximal gradient (Purnomo and Hayashibe, eqs. 12–20)."""

    run = "trajectories.staged_descent:identify_by_residual"
    returns_to_samples = True
    knows_input = True

    method: Literal["proximal_gradient"] = "proximal_gradient"
    prior: Text | None = Field(
        None,
        description="Term of L known beforehand, with coefficient one (case III); "
        "null, the recorded input fixes the scale (case I), or without one the square "
        "of the first velocity.",
    )
    unpenalised: Names = Field([], description="Other terms known to be in L.")
    stages: list[ProximalStage] = Field(
        [
            ProximalStage(rate=1e-5, penalty=1.0, threshold=0.01, scaled=True),
            ProximalStage(rate=2e-5, penalty=0.1, threshold=0.1),
            ProximalStage(rate=4e-5, penalty=0.01, threshold=0.1),
            ProximalStage(rate=8e-5, penalty=0.001, threshold=0.1),
        ],
        min_length=1,
        description="Stages of the descent; those of the cart pendulum if absent.",
    )
    capped: Flag = Field(
        False,
        description="Whether a rate is at most the reciprocal of the largest curvature "
        "of a batch, beyond which a descent may diverge; the paper's is as given.",
    )
    checked_every: Count = Field(
        1, description="Steps between two looks at the cost of all samples."
    )

    def problems(self, recipe: Recipe, example: Mapping) -> Iterator[str]:
        """A scale that is fixed twice, or not at all."""
        driven = ", ".join(example["simulate"].get("input", {}))
        if driven and self.prior is not None:
            yield (
                f"identify method 'proximal_gradient' with the prior term "
                f"{self.prior!r} knows no input, but simulate.input drives {driven}; "
                "set prior to null, or take the input away"
            )
        elif not driven and self.prior is None:
            yield (
                "identify method 'proximal_gradient' without a prior term needs an "
                "input, but simulate.input drives no coordinate; name a prior term of "
                "L, or drive one"
            )


class Settled(Settings):
    """The rate once the loss is below a value."""

    loss: Share = Field(description="That value.")
    rate: Positive = Field(description="The rate from then on.")


class AccelerationStage(DescentStage):
    """One stage of the descent on the accelerations."""

    settled: Settled | None = absent("The rate once the loss is below a value.")
    tolerance: Share | None = absent("Loss at which the stage ends.")


class AccelerationGradient(StagedDescent):
    """Gradient descent on the accelerations (Purnomo and Hayashibe, case II)."""

    run = "trajectories.staged_descent:identify_by_accelerations"
    returns_to_samples = True

    method: Literal["acceleration_gradient"] = "acceleration_gradient"
    stages: list[AccelerationStage] = Field(
        min_length=1, description="Stages of the descent."
    )
    starts: Count = Field(
        3, description="Random starts; the one with the smallest loss counts."
    )


class MotionRollout(Rollout):
    """Paths of truth and model from the same starts, and errors of accelerations."""

    run = "trajectories.motion_rollout:validate"
    reads = ("recordings",)
    makes = "motion_rollout"


RECOMMENDED = {
    "motions": (JointSpline, Gram, NullVector),
    "positions": (JointSpline, Gram, Shooting),
}
# Recipes of the paper and of its rivals.
PUBLISHED = {
    "motions": (Measured, Gram, ProximalGradient),
    "SINDy-PI": (Measured, ImplicitLibrary, SindyPi),
    "Lagrangian-SINDy": (Measured, EnergyGram, LagrangianSindy),
}


def kind_of_data(example: Mapping) -> str | None:
    """Key of `RECOMMENDED` for motions without a random force; else None."""
    simulation = part(example, "simulate")
    if simulation.get("method") != "runge_kutta" or "library" not in example:
        return None
    channels = part(simulation, "noise").get("channels", ["q", "qdot", "qddot"])
    return "positions" if channels == ["q"] else "motions"
