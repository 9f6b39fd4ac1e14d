"""Library of candidate densities D(u, u_t, u_x, u_xx) of a field's Lagrangian."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from leastaction.core.expressions import parse, symbol
from leastaction.core.library import Candidates, candidates, multiples
from leastaction.fields.domain import Domain
from leastaction.fields.lagrangian_density import (
    density_euler_lagrange,
    density_names,
    jet_symbol,
    spatial_order,
)

NOT_IN_A_FIELD = {"dissipation": [], "inertia": "free", "calculus": "ito"}


@dataclass(frozen=True)
class FieldLibrary(Candidates):
    """Candidates D_i of the density Σ c_i D_i, and the term that fixes its scale.

    At a point of the domain each candidate is one function of the nodal values;
    :func:`count_functions` counts those.

    Attributes
    ----------
    coordinates, terms, references
        The name of u alone, candidates in (u, u_t, u_x, u_xx), and the kinetic term.
    strides
        One per candidate: it stands at every stride-th of its points; 0 if it stands
        for the whole domain only (entry ``pooled``).
    """

    strides: tuple[int, ...] = ()

    # There is no Rayleigh function, and the calculus of noise that does not depend on
    # the state does not matter.
    dissipation = ()
    calculus = "ito"
    equations = staticmethod(density_euler_lagrange)

    @classmethod
    def from_config(cls, config: Mapping, field: str) -> "FieldLibrary":
        """Library described by the `library` section of an example.

        Parameters
        ----------
        config
            ``{reference: "u_t**2/2", lagrangian: [recipe entries]}``; the entries are
            those of :func:`density_candidates`.
        field
            Name of u.

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
        """Positions of the candidates that a regression on displacements may use.

        Raises
        ------
        ValueError
            If one of them depends on u_t.
        """
        found = [i for i, s in enumerate(self.status) if s == "independent"]
        self._refuse_rates(found)
        return found

    @property
    def at_points(self) -> list[int]:
        """Positions of the candidates that exert a force on single nodes.

        Those whose Euler–Lagrange expression vanishes are among them: only the sum over
        all points is null.
        """
        found = [
            i
            for i, stride in enumerate(self.strides)
            if stride and self.terms[i].has(*self._displacements)
            if self.status[i] != "null" or not self.terms[i].has(self._rate)
        ]
        self._refuse_rates(found)
        return found

    @property
    def _rate(self) -> sp.Symbol:
        return jet_symbol(self.field, 0, 1)

    @property
    def _displacements(self) -> tuple[sp.Symbol, ...]:
        return tuple(jet_symbol(self.field, k) for k in range(3))

    def _refuse_rates(self, found: Sequence[int]) -> None:
        moving = [self.names[i] for i in found if self.terms[i].has(self._rate)]
        if moving:
            raise ValueError(
                f"library: the candidates {', '.join(moving)} depend on {self._rate}; "
                "field estimators take one kinetic term, the reference, and candidates "
                f"in {', '.join(map(str, self._displacements))}"
            )


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


def count_functions(
    terms: Sequence[sp.Expr], strides: Sequence[int], field: str, domain: Domain
) -> int:
    """Number of functions of the nodal values that the candidates stand for.

    A candidate counts once per point, except that functions linear in the field count
    as often as they are independent: once for a constant, and one time less than there
    are springs for the slopes between two fixed ends, whose sum vanishes.
    """
    jet = [symbol(name) for name in density_names(field)]
    total = 0
    for term, stride in zip(terms, strides, strict=True):
        if stride == 0:
            continue
        points = spatial_order(term, field)
        rows = len(domain.operator(points).weights[::stride])
        if not term.free_symbols:
            rows = 1
        elif all(sp.diff(term, a, b) == 0 for a in jet for b in jet):
            matrix = sum(
                float(sp.diff(term, jet_symbol(field, k)))
                * domain.operator(k, points).matrix
                for k in range(points + 1)
            )
            if not term.has(jet[1]):
                rows = int(np.linalg.matrix_rank(matrix[::stride]))
        total += rows
    return total
