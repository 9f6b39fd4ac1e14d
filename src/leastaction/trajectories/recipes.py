"""Methods of noisy motions without a random force, and recipes.

They read contract ``recordings``: `q`, and where recorded `qdot` and `qddot`, over
(replicate, trajectory, time, dof), SI units. From positions alone
:func:`leastaction.learn` learns by a likelihood. The paper's xL-SINDy and its rivals
are recipes of :mod:`leastaction_papers.recipes`.

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
"""

from collections.abc import Mapping

from pydantic import Field

from leastaction.core.method import Assemble, Differentiate, Ensemble, Identify, part
from leastaction.core.settings import (
    Cases,
    Count,
    Expression,
    Integer,
    Number,
    Positive,
    SensorNoises,
    Settings,
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

    run = "leastaction.core.runge_kutta:simulate"
    makes = "recordings"
    fills_boxes = True

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

    run = ".joint_spline:differentiate"
    reads = ("recordings",)
    makes = "rates"

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

    run = ".joint_spline:measured"
    reads = ("recordings",)
    makes = "rates"
    needs_channels = ("q", "qdot", "qddot")

    cases: Cases | None = absent(
        "Cases of a sweep over noise that this estimator does; all if absent."
    )


class Gram(Assemble):
    """Gram matrices of the Euler–Lagrange columns of all candidates."""

    run = ".gram:assemble"
    reads = ("rates",)
    makes = "gram"
    uses = ("reference", "inertia", "lagrangian", "dissipation")

    samples: or_word(Count, "all") = Field(
        1000, description='Evenly spaced samples that are passed on, or "all".'
    )


class NullVector(Identify):
    """A Lagrangian from the null vector of the Euler–Lagrange columns."""

    run = ".null_vector:identify"
    reads = ("gram",)
    after = ("gram",)
    returns_to_samples = True
    knows_input = True

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


RECOMMENDED = {
    "motions": (JointSpline, Gram, NullVector),
}


def kind_of_data(example: Mapping) -> str | None:
    """Key of `RECOMMENDED` for motions without a random force; else None."""
    simulation = part(example, "simulate")
    passive = simulation.get("method") == "runge_kutta" and "library" in example
    return "motions" if passive else None
