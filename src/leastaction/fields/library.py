"""Lagrangian densities of one-dimensional fields: names, equations, candidates."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
import sympy as sp

from leastaction.core.expressions import parse, symbol
from leastaction.core.library import Candidates, candidates, multiples
from leastaction.core.system import distinct

RESERVED = ("x", "t", "length")
NOT_IN_A_FIELD = {"dissipation": [], "inertia": "free", "calculus": "ito"}


def density_names(field: str) -> tuple[str, str, str, str]:
    """Names that a density is written in: ``u, u_t, u_x, u_xx``."""
    return (field, f"{field}_t", f"{field}_x", f"{field}_xx")


def declared_names(field: str, parameters: Iterable[str] = ()) -> tuple[str, ...]:
    """Names that the density of a system may use, checked for clashes."""
    names = distinct((*density_names(field), *parameters))
    for name in RESERVED:
        if name in names:
            raise ValueError(f"{name!r} is reserved in a field; choose another name")
    return names


def jet_symbol(field: str, along_x: int, along_t: int = 0) -> sp.Symbol:
    """Symbol of ∂^(a+b) u / ∂x^a ∂t^b, such as ``u_xxt``."""
    suffix = "x" * along_x + "t" * along_t
    return symbol(f"{field}_{suffix}" if suffix else field)


def displacements(field: str) -> tuple[sp.Symbol, sp.Symbol, sp.Symbol]:
    """Symbols of (u, u_x, u_xx)."""
    return tuple(jet_symbol(field, k) for k in range(3))


def spatial_order(expression: sp.Expr, field: str) -> int:
    """Highest derivative along x in `expression`; quadrature points belong to it."""
    orders = [k for k, s in enumerate(displacements(field)) if expression.has(s)]
    return max(orders, default=0)


def density_euler_lagrange(
    density: sp.Expr, coordinates: Sequence[str]
) -> tuple[sp.Expr]:
    """Euler–Lagrange expression of a density D(u, u_t, u_x, u_xx) of the one field.

    .. math::

        \\frac{d}{dt}\\frac{∂D}{∂u_t} + \\frac{d}{dx}\\frac{∂D}{∂u_x}
        − \\frac{d^2}{dx^2}\\frac{∂D}{∂u_{xx}} − \\frac{∂D}{∂u}

    It vanishes for divergences, such as constants, u_t, u_x, u_xx and u u_x.
    """
    (field,) = coordinates
    jet = partial(jet_symbol, field)
    u, u_t, u_x, u_xx = (symbol(name) for name in density_names(field))

    def total(expression: sp.Expr, x: int, t: int) -> sp.Expr:
        """Total derivative along x or t on the jet of the field."""
        places = product(range(5), range(3))
        parts = (sp.diff(expression, jet(a, b)) * jet(a + x, b + t) for a, b in places)
        return sum(parts, sp.Integer(0))

    expression = (
        total(sp.diff(density, u_t), 0, 1)
        + total(sp.diff(density, u_x), 1, 0)
        - total(total(sp.diff(density, u_xx), 1, 0), 1, 0)
        - sp.diff(density, u)
    )
    return (sp.expand(expression),)


@dataclass(frozen=True)
class FieldLibrary(Candidates):
    """Candidates D_i of the density Σ c_i D_i, and the term that fixes its scale.

    At a point of the domain each candidate is one function of the nodal values.
    """

    # Each stands at every stride-th of its points; 0 if only for the whole domain.
    strides: tuple[int, ...] = ()

    # The calculus of noise that does not depend on the state does not matter.
    calculus = "ito"
    equations = staticmethod(density_euler_lagrange)

    @classmethod
    def from_config(cls, config: Mapping, field: str) -> "FieldLibrary":
        """Library described by the `library` section of an example.

        Raises
        ------
        ValueError
            If the reference is not a multiple of one of the candidates and of u_t².
        """
        for key, default in NOT_IN_A_FIELD.items():
            if config.get(key, default) != default:
                raise ValueError(f"{key}: a field knows none; leave it out")
        terms, strides = density_candidates(config["lagrangian"], field)
        reference = parse(config["reference"], density_names(field))
        kinetic = jet_symbol(field, 0, 1) ** 2
        if not sp.simplify(reference / kinetic).is_number:
            raise ValueError(f"reference: {reference} is not a multiple of {kinetic}")
        return cls((field,), terms, multiples(reference, terms), strides)

    @property
    def field(self) -> str:
        """Name of u."""
        return self.coordinates[0]

    @property
    def variables(self) -> tuple[str, ...]:
        """Names that the candidates are written in: the jet of the field."""
        return density_names(self.field)

    @property
    def velocities(self) -> tuple[str]:
        """The name of u_t, alone."""
        return self.variables[1:2]

    def damping(self, system, scale: float) -> np.ndarray:
        """Coefficients of no candidates of dissipation."""
        return np.zeros(0)

    @property
    def independent(self) -> list[int]:
        """Positions of the candidates that a regression on displacements may use."""
        return self._without_rates(
            i for i, status in enumerate(self.status) if status == "independent"
        )

    @property
    def at_points(self) -> list[int]:
        """Positions of the candidates that exert a force on single nodes.

        Those whose Euler–Lagrange expression vanishes are among them: only the sum over
        all points is null.
        """
        rate = jet_symbol(self.field, 0, 1)
        return self._without_rates(
            i
            for i, stride in enumerate(self.strides)
            if stride and self.terms[i].has(*displacements(self.field))
            if self.status[i] != "null" or not self.terms[i].has(rate)
        )

    def _without_rates(self, positions: Iterable[int]) -> list[int]:
        """These positions; ValueError if one of the candidates depends on u_t."""
        result, rate = list(positions), jet_symbol(self.field, 0, 1)
        moving = [self.names[i] for i in result if self.terms[i].has(rate)]
        if moving:
            raise ValueError(
                f"library: the candidates {', '.join(moving)} depend on {rate}; "
                "field estimators take one kinetic term, the reference, and candidates "
                f"in {', '.join(map(str, displacements(self.field)))}"
            )
        return result


def density_candidates(
    recipe: Sequence[Mapping], field: str
) -> tuple[tuple[sp.Expr, ...], tuple[int, ...]]:
    """Expand a recipe into distinct candidate densities and their strides.

    Beside the entries of :func:`~leastaction.core.library.candidates`,

    ``{every: {points: 5, terms: ["u_xx**4"]}}``
        stand at every fifth of their points;
    ``{pooled: ["u**3"]}``
        stand for the whole domain, in estimators that pool over it, and are not
        counted among the functions of the library.
    """
    plain, strides = [], {}
    for entry in recipe:
        ((kind, body),) = entry.items()
        stride = 1
        if kind == "every":
            stride, entry = int(body["points"]), {"terms": body["terms"]}
        elif kind == "pooled":
            stride, entry = 0, {"terms": body}
        plain.append(entry)
        for term in candidates(plain, density_names(field)):
            strides.setdefault(term, stride)
    terms = candidates(plain, density_names(field))
    return terms, tuple(strides[term] for term in terms)
