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

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from leastaction.core.method import Assemble, Differentiate, Identify, part
from leastaction.core.settings import (
    Cases,
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

Rule = Literal["midpoint", "trapezoidal"]
A_RULE = Field("midpoint", description="Quadrature of the discrete Lagrangian.")
A_LENGTH_SCALE = Field(description="Length scale of the kernel, in units of the state.")
A_VOLUME = Field(1.0, description="Value of the normalisation by corner momenta.")
SOME_CASES = absent("Cases of a sweep over noise that it does; all if absent.")


class NoDerivatives(Differentiate, method="none"):
    """Nothing is differentiated: for methods that take positions as they are."""

    run = ".contracts:nothing"
    reads = ("recordings",)
    makes = "nothing"

    cases: Cases | None = SOME_CASES


class NoEquations(Assemble, method="none"):
    """Nothing is assembled: for methods that make their equations themselves."""

    run = ".contracts:nothing"
    reads = ("nothing",)
    makes = "nothing"


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


def _taylor_unless_named(value):
    return {"kind": "taylor", **value} if isinstance(value, Mapping) else value


Basis = Annotated[
    Taylor | Radial, Field(discriminator="kind"), BeforeValidator(_taylor_unless_named)
]


class DiscreteEulerLagrange(Assemble):
    """Discrete Euler–Lagrange equations: Lagrangian Shadow Integration (LSI)."""

    run = ".discrete_euler_lagrange:assemble"
    reads = ("nothing",)
    makes = "shadow_equations"

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


class MinimumNorm(Identify):
    """Least squares of minimum norm, the normalisation among its rows (published)."""

    run = ".constrained_rows:minimum_norm"
    reads = ("shadow_equations",)
    makes = "learned_lagrangian"

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
    """Weight-space Gaussian process, damped by evidence."""

    run = ".constrained_rows:evidence_maximisation"

    damping: or_word(Share, "evidence") = Field(
        "evidence",
        description="evidence, or a number, relative to the largest singular value.",
    )


class OrthogonalDistanceRegression(ByEvidence):
    """Weight-space Gaussian process by evidence, positions adjusted to the motion."""

    run = ".errors_in_variables:identify"


class NoetherSymmetries(ByEvidence):
    """Orthogonal distance regression, then affine symmetries: found, imposed on L."""

    run = ".invariance:identify"

    impose: Flag = Field(
        False,
        description="Whether L is learned again with the symmetries that were found, "
        "and with time reversal and mirrors if odds decide for them.",
    )
    resolution: Share = Field(
        5e-3,
        description="Violation that must be noticed for a symmetry to be found; "
        "symmetric to within more is undecided. Per period its quantity may change by "
        "2π as much, over its rms.",
    )


class DiscreteDensity(Identify):
    """Discrete Lagrangian density of a field: Lagrangian Shadow Integration."""

    run = ".field_evidence:identify"
    reads = ("nothing",)
    makes = "learned_field"
    returns_to_samples = True

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


RECOMMENDED = {
    "snapshots": (NoDerivatives, DiscreteEulerLagrange, EvidenceMaximisation),
    "field_snapshots": (NoDerivatives, NoEquations, DiscreteDensity),
}


def kind_of_data(example: Mapping) -> str | None:
    """Key of `RECOMMENDED` for motions without candidates; else None."""
    method = part(example, "simulate").get("method")
    if method == "spectral":
        return "field_snapshots"
    alone = method == "runge_kutta" and "library" not in example
    return "snapshots" if alone else None
