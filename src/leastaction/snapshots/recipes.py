"""Methods of snapshots of positions, without candidates, and recipes.

They read contract ``recordings``: `q` over (replicate, trajectory, time, dof).
Published is Lagrangian Shadow Integration (Ober-Blöbaum and Offen).

Examples
--------
>>> import leastaction as la
>>> pendulum = la.System("thdot**2/2 + cos(th)")
>>> box = {"a": {"halton": [-2, 2]}, "b": {"halton": [-1, 1]}}
>>> data = pendulum.simulate(
...     duration=2.5,
...     time_step=0.5,
...     trajectories=40,
...     initial_state={"th": "a", "thdot": "b", "random": box},
...     noise={"channels": ["q"]},
... )
>>> model = la.recipes.snapshots.recommended().fit(data)
>>> motion = model.rollout([0.5, 0.0], 20)
>>> motion.complete, motion.positions.shape
(True, (21, 1))
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from leastaction.core.method import (
    Assemble,
    Differentiate,
    Identify,
    Rollout,
    part,
)
from leastaction.core.settings import (
    Cases,
    Count,
    Expression,
    Flag,
    Integer,
    Names,
    Number,
    Positive,
    Settings,
    Share,
    Unique,
    absent,
    or_word,
)

Corner = Annotated[list[Number], Field(min_length=1)]
Rule = Literal["midpoint", "trapezoidal"]
A_RULE = Field("midpoint", description="Quadrature of the discrete Lagrangian.")
A_LENGTH_SCALE = Field(description="Length scale of the kernel, in units of the state.")
A_VOLUME = Field(1.0, description="Value of the normalisation by corner momenta.")
CORNER = Field(description="Corner of a box, one number per dimension.")
SOME_CASES = absent("Cases of a sweep over noise that it does; all if absent.")


class NoDerivatives(Differentiate):
    """Nothing is differentiated: for methods that take positions as they are."""

    run = "snapshots.contracts:nothing"
    reads = ("recordings",)
    makes = "nothing"

    method: Literal["none"] = "none"
    cases: Cases | None = SOME_CASES


class RepeatedCentralDifference(Differentiate):
    """Central differences of positions, and central differences of these (LGP)."""

    run = "snapshots.gaussian_processes:repeated_central_difference"
    reads = ("recordings",)
    makes = "sampled_motion"

    method: Literal["repeated_central_difference"] = "repeated_central_difference"
    cases: Cases | None = SOME_CASES


class HaltonVelocity(Differentiate):
    """Recorded accelerations at velocities of a Halton sequence (LGPExact)."""

    run = "snapshots.gaussian_processes:halton_velocity"
    reads = ("recordings",)
    makes = "sampled_motion"
    needs_channels = ("qddot",)

    method: Literal["halton_velocity"] = "halton_velocity"
    low: Corner = CORNER
    high: Corner = CORNER
    first_index: Integer = Field(3, ge=0, description="First point of the sequence.")
    cases: Cases | None = SOME_CASES

    def problems(self, recipe, example: Mapping) -> Iterator[str]:
        """Corners of other dimensions than the velocity."""
        dof = len(example["system"].get("coordinates", ()))
        for corner in ("low", "high"):
            if (given := len(getattr(self, corner))) != dof:
                yield f"differentiate.{corner}: expected {dof} velocities, got {given}"


class NoEquations(Assemble):
    """Nothing is assembled: for methods that make their equations themselves."""

    run = "snapshots.contracts:nothing"
    reads = ("nothing",)
    makes = "nothing"

    method: Literal["none"] = "none"


class Taylor(Settings):
    """Monomials with the weights of a Taylor kernel."""

    kind: Literal["taylor"] = "taylor"
    degree: Annotated[Integer, Field(ge=2, le=24)] | None = Field(
        None,
        description="Total degree of the features; null, the largest with a third as "
        "many features as equations.",
    )
    length_scale: Positive | None = Field(
        None, description="In half widths of the data; null, the most probable."
    )
    cyclic: Annotated[Names, Unique] = Field(
        [], description="Coordinates that L must not depend on."
    )


class Radial(Settings):
    """Radial basis functions at the data."""

    kind: Literal["radial"] = "radial"
    length_scale: Positive = A_LENGTH_SCALE


def _taylor_unless_named(given):
    return {"kind": "taylor", **given} if isinstance(given, Mapping) else given


Basis = Annotated[
    Taylor | Radial, Field(discriminator="kind"), BeforeValidator(_taylor_unless_named)
]


class DiscreteEulerLagrange(Assemble):
    """Discrete Euler–Lagrange equations: Lagrangian Shadow Integration (LSI)."""

    run = "snapshots.discrete_euler_lagrange:assemble"
    reads = ("nothing",)
    makes = "shadow_equations"

    method: Literal["discrete_euler_lagrange"] = "discrete_euler_lagrange"
    rule: Rule = A_RULE
    basis: Basis = Field(
        default_factory=Taylor, description="Functions whose sum is the Lagrangian."
    )
    normalisation: Literal["discrete_mass", "corner"] = Field(
        "discrete_mass",
        description="What fixes the factor of L: discrete_mass, the mean discrete "
        "mass is one; corner, the sum of the momenta at the corners of a cube.",
    )
    volume: Number = A_VOLUME
    whiten: Flag = Field(
        True, description="Whether the rows of a trajectory are decorrelated."
    )


class ContinuousEulerLagrange(Assemble):
    """Euler–Lagrange equations of positions, velocities and accelerations (LGP)."""

    run = "snapshots.gaussian_processes:continuous_euler_lagrange"
    reads = ("sampled_motion",)
    makes = "shadow_equations"

    method: Literal["continuous_euler_lagrange"] = "continuous_euler_lagrange"
    rule: Rule = A_RULE
    length_scale: Positive = A_LENGTH_SCALE
    volume: Number = A_VOLUME


class MinimumNorm(Identify):
    """Least squares of minimum norm, the normalisation among its rows (published)."""

    run = "snapshots.constrained_rows:minimum_norm"
    reads = ("shadow_equations",)
    makes = "learned_lagrangian"

    method: Literal["minimum_norm"] = "minimum_norm"
    cut: Share | None = Field(
        None,
        description="Singular values below this part of the largest count as zero; "
        "null, machine epsilon times the larger dimension.",
    )


class ByEvidence(Identify):
    """What weight-space Gaussian processes of L have in common."""

    reads = ("shadow_equations",)
    after = ("discrete_euler_lagrange",)
    makes = "learned_lagrangian"
    returns_to_samples = True


class EvidenceMaximisation(ByEvidence):
    """Weight-space Gaussian process, damped by evidence or held-out trajectories."""

    run = "snapshots.constrained_rows:evidence_maximisation"

    method: Literal["evidence_maximisation"] = "evidence_maximisation"
    damping: or_word(Share, "evidence", "held_out") = Field(
        "evidence",
        description="evidence; held_out, the smallest error of one step on every "
        "fifth trajectory; or a number, relative to the largest singular value.",
    )


class OrthogonalDistanceRegression(ByEvidence):
    """Weight-space Gaussian process by evidence, positions adjusted to the motion."""

    run = "snapshots.errors_in_variables:identify"

    method: Literal["orthogonal_distance_regression"] = "orthogonal_distance_regression"


class NoetherSymmetries(ByEvidence):
    """Orthogonal distance regression, then affine symmetries: found, imposed on L."""

    run = "snapshots.invariance:identify"

    method: Literal["noether_symmetries"] = "noether_symmetries"
    impose: Flag = Field(
        False,
        description="Whether L is learned again with the symmetries that were found, "
        "and with time reversal and mirrors if odds decide for them.",
    )
    resolution: Share = Field(
        5e-3,
        description="Violation that must be noticed for a symmetry to be found, where "
        "no odds can be had; symmetric to within more is undecided.",
    )


class FlowGaussianProcess(Identify):
    """Gaussian process of the flow map (q, q̇) ↦ (q, q̇) one step on (GPFlow)."""

    run = "snapshots.gaussian_processes:flow_gaussian_process"
    reads = ("nothing",)
    makes = "learned_flow"
    returns_to_samples = True

    method: Literal["flow_gaussian_process"] = "flow_gaussian_process"
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


class DiscreteDensity(Identify):
    """Discrete Lagrangian density of a field: Lagrangian Shadow Integration."""

    run = "snapshots.field_evidence:identify"
    reads = ("nothing",)
    makes = "learned_field"
    returns_to_samples = True

    method: Literal["discrete_density"] = "discrete_density"
    stencil: Literal["square", "edges"] | None = Field(
        None,
        description="square, the corners of a cell and differences of wider ones; "
        "edges, an edge in time and edges in space; null, the more probable.",
    )
    width: Annotated[Integer, Field(ge=1, le=8)] | None = Field(
        None, description="Widest difference in space, cells; null, the most probable."
    )
    degree: Literal[2, 4, 6] | None = Field(
        None, description="Total degree of the features; null, the most probable."
    )
    length_scale: Positive | None = Field(
        None, description="In root mean squares of the data; null, the most probable."
    )
    even: bool | None = Field(
        None,
        description="Whether the density is even under u → −u; null, the more "
        "probable.",
    )


class FieldRegression(Identify):
    """Sequential thresholded least squares of u_tt on terms of a differential equation.

    As Rudy, Brunton, Proctor and Kutz; a baseline.
    """

    run = "snapshots.field_models:field_regression"
    reads = ("nothing",)
    makes = "field_law"
    returns_to_samples = True

    method: Literal["field_regression"] = "field_regression"
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


class Posterior(Settings):
    """Draws from the posterior of the Hamiltonian, of one degree of freedom."""

    draws: Integer = Field(ge=2, description="How many.")


class Shadow(Settings):
    """Rollouts of Lagrangians that are learned without candidates."""

    start: list[Number] = Field(
        min_length=2, description="State (q, qdot) of the long rollout."
    )
    steps: Integer = Field(ge=2, description="Its steps.")
    short: Count = Field(100, description="First steps, whose error is told as well.")
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
    posterior: Posterior | None = absent("Draws from the posterior.")


class ShadowRollout(Rollout):
    """Long rollouts of a learned Lagrangian or flow, and backward error analysis."""

    run = "snapshots.rollout:validate"
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

    run = "snapshots.field_rollout:validate"
    reads = ("learned_field", "field_law")
    makes = "shadow_field_rollout"
    section = ("field", FieldMotions)


RECOMMENDED = {
    "snapshots": (NoDerivatives, DiscreteEulerLagrange, EvidenceMaximisation),
    "field_snapshots": (NoDerivatives, NoEquations, DiscreteDensity),
}
# The recipe of the paper.
PUBLISHED = {"snapshots": (NoDerivatives, DiscreteEulerLagrange, MinimumNorm)}


def kind_of_data(example: Mapping) -> str | None:
    """Key of `RECOMMENDED` for motions without candidates; else None."""
    method = part(example, "simulate").get("method")
    if method == "spectral":
        return "field_snapshots"
    alone = method == "runge_kutta" and "library" not in example
    return "snapshots" if alone else None
