"""Steps of the published recipe and its rivals, and how models are rolled out."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field

from leastaction.core.method import Assemble, Differentiate, Identify, Rollout, part
from leastaction.core.settings import (
    Cases,
    Count,
    Expression,
    Integer,
    Number,
    Positive,
    Settings,
    Share,
    Unique,
    absent,
)
from leastaction.snapshots.recipes import (
    A_LENGTH_SCALE,
    A_RULE,
    A_VOLUME,
    SOME_CASES,
    DiscreteEulerLagrange,
    MinimumNorm,
    NoDerivatives,
    Rule,
)

Corner = Annotated[list[Number], Field(min_length=1)]

CORNER = Field(description="Corner of a box, one number per dimension.")


class RepeatedCentralDifference(Differentiate):
    """Central differences of positions, and central differences of these (LGP)."""

    run = ".gaussian_processes:repeated_central_difference"
    reads = ("recordings",)
    makes = "sampled_motion"

    cases: Cases | None = SOME_CASES


class HaltonVelocity(Differentiate):
    """Recorded accelerations at velocities of a Halton sequence (LGPExact)."""

    run = ".gaussian_processes:halton_velocity"
    reads = ("recordings",)
    makes = "sampled_motion"
    needs_channels = ("qddot",)

    low: Corner = CORNER
    high: Corner = CORNER
    first_index: Integer = Field(3, ge=0, description="First point of the sequence.")
    cases: Cases | None = SOME_CASES

    def problems(self, recipe, example: Mapping) -> Iterator[str]:
        """Corners of other dimensions than the velocity."""
        dof = len(example["system"].get("coordinates", ()))
        for corner in ("low", "high"):
            if (count := len(getattr(self, corner))) != dof:
                yield f"differentiate.{corner}: expected {dof} velocities, got {count}"


class ContinuousEulerLagrange(Assemble):
    """Euler–Lagrange equations of positions, velocities and accelerations (LGP)."""

    run = ".gaussian_processes:continuous_euler_lagrange"
    reads = ("sampled_motion",)
    makes = "shadow_equations"

    rule: Rule = A_RULE
    length_scale: Positive = A_LENGTH_SCALE
    volume: Number = A_VOLUME


class FlowGaussianProcess(Identify):
    """Gaussian process of the flow map (q, q̇) ↦ (q, q̇) one step on (GPFlow)."""

    run = ".gaussian_processes:flow_gaussian_process"
    reads = ("nothing",)
    makes = "learned_flow"
    returns_to_samples = True

    variance: Positive = Field(description="In squared units of the state.")
    length_scale: Positive = A_LENGTH_SCALE
    jitter: Share = Field(1e-10, description="On the diagonal of the kernel matrix.")

    def problems(self, recipe, example: Mapping) -> Iterator[str]:
        """Rollouts from two positions: a flow map needs a state."""
        shadow = part(example["validate"], "shadow")
        if part(shadow, "horizon").get("start") == "positions":
            yield (
                "validate.shadow.horizon.start is positions, but identify method "
                "'flow_gaussian_process' learns a map of states; choose state"
            )


class FieldRegression(Identify):
    """Sequential thresholded least squares of u_tt on terms of a differential equation.

    As Rudy, Brunton, Proctor and Kutz; a baseline.
    """

    run = ".field_law:field_regression"
    reads = ("nothing",)
    makes = "field_law"
    returns_to_samples = True

    derivatives: Literal["finite_differences", "spectral"] = Field(
        "finite_differences",
        description="finite_differences, of order 2; spectral, in space, and "
        "differences of order 4 in time.",
    )
    threshold: Positive = Field(0.05, description="Smallest coefficient kept.")
    terms: Annotated[list[Expression], Field(min_length=1)] = Field(
        [
            *("u", "u**2", "u**3", "u**4", "u**5", "u_x", "u_xx", "u_t"),
            *("u*u_x", "u*u_xx", "u*u_t", "u_x**2"),
        ],
        description="Terms in u, u_t, u_x and u_xx, u the name of the field.",
    )


class Domain(Settings):
    """Positions outside of which a motion has escaped."""

    low: Corner = CORNER
    high: Corner = CORNER


class Box(Domain):
    """States at which gradients of Hamiltonians are compared."""

    points: Integer = Field(
        30,
        ge=2,
        description="Along each side of the grid of one degree of freedom; of more, "
        "points of a Halton sequence.",
    )


class Potential(Domain):
    """The energy at rest on a grid of positions, and its error below a level."""

    points: Integer = Field(201, ge=3, description="Along each side.")
    below: Number = Field(description="Level, J.")
    saddles: list[Corner] = Field(
        [],
        description="Positions at which it is compared with the energy of the start.",
    )


class Horizon(Domain):
    """Errors of many rollouts at a fixed time."""

    below: Number | None = absent("Highest energy of a start, J.")
    starts: Count = Field(100, description="Starts.")
    steps: Count = Field(description="Steps of each.")
    start: Literal["state", "positions"] = Field(
        "state",
        description="state, (q, qdot), with the momentum of L^[k]; positions, the true "
        "ones of two snapshots, without an error of backward error analysis.",
    )


class Survival(Settings):
    """Times of escape of starts that differ by round-off."""

    steps: Count = Field(description="Steps of each.")
    starts: Count = Field(20, description="Starts.")
    perturbation: Positive = Field(
        1e-15, description="Between the first coordinate of one start and the next."
    )


class Shadow(Settings):
    """Rollouts of Lagrangians that are learned without candidates."""

    start: list[Number] = Field(
        min_length=2, description="State (q, qdot) of the long rollout."
    )
    steps: Integer = Field(ge=2, description="Its steps.")
    snapshots: Integer = Field(
        13, ge=2, description="First snapshots, whose velocities are stored as well."
    )
    samples: Integer = Field(2001, ge=3, description="Stored positions.")
    energies: Integer = Field(251, ge=3, description="Stored energies.")
    orders: Annotated[list[Literal[0, 2, 4]], Unique] = Field(
        [0, 2], min_length=1, description="Orders of backward error analysis."
    )
    box: Box = Field(description="States at which gradients are compared.")
    domain: Domain | None = absent("Positions outside of which a motion has escaped.")
    potential: Potential | None = absent("The energy at rest, compared on a grid.")
    horizon: Horizon | None = absent("Errors of many rollouts at a fixed time.")
    survival: Survival | None = absent("Times of escape.")


class ShadowRollout(Rollout):
    """Long rollouts of a learned Lagrangian or flow, and backward error analysis."""

    run = ".rollout:validate"
    reads = ("learned_lagrangian", "learned_flow")
    makes = "shadow_rollout"
    section = ("shadow", Shadow)


class FieldMotions(Settings):
    """Rollouts of a field that was learned from snapshots."""

    steps: Integer = Field(ge=100, description="Steps of each.")
    motions: Count = Field(
        3, description="Motions from states that training has not seen."
    )
    low: Number = Field(description="Values of u between which V' is compared: lowest.")
    high: Number = Field(description="The highest.")


class ShadowFieldRollout(Rollout):
    """Rollouts of a field, its dispersion, and V' by backward error analysis."""

    run = ".field_rollout:validate"
    reads = ("learned_field", "field_law")
    makes = "shadow_field_rollout"
    section = ("field", FieldMotions)


# The recipe of the paper.
PUBLISHED = {"snapshots": (NoDerivatives, DiscreteEulerLagrange, MinimumNorm)}
