"""Library of candidate densities D(u, u_t, u_x, u_xx) of a field's Lagrangian."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp

from leastaction.core.candidates import candidates
from leastaction.core.euler_lagrange import legendre
from leastaction.core.expressions import parse, symbol, to_text
from leastaction.core.gauge import Freedom, gauge_freedom, representation
from leastaction.fields.density import (
    density_euler_lagrange,
    density_names,
    jet_symbol,
    spatial_order,
)
from leastaction.fields.domain import Domain
from leastaction.fields.field_system import FieldSystem


@dataclass(frozen=True)
class DensityLibrary:
    """Candidates D_i of the density Σ c_i D_i, and the term that fixes its scale.

    The interface is that of :class:`~leastaction.core.library.Library`. At a point
    of the domain each candidate is one function of the nodal values;
    :meth:`size` counts those functions.

    Attributes
    ----------
    field
        Name of u.
    terms
        Candidates in (u, u_t, u_x, u_xx).
    strides
        One per candidate: it stands at every stride-th of its points; 0 if it stands
        for the whole domain only (entry ``pooled``).
    reference, reference_coefficient
        Position of the kinetic term, and its coefficient, ½ in ½ u_t².
    """

    field: str
    terms: tuple[sp.Expr, ...]
    strides: tuple[int, ...]
    reference: int
    reference_coefficient: float

    @classmethod
    def from_config(cls, config: Mapping, field: str) -> "DensityLibrary":
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
        for key, default in (
            ("dissipation", []),
            ("inertia", "free"),
            ("calculus", "ito"),
        ):
            if config.get(key, default) != default:
                raise ValueError(f"{key}: a field knows none; leave it out")
        terms, strides = density_candidates(config["lagrangian"], field)
        reference = parse(config["reference"], density_names(field))
        kinetic = jet_symbol(field, 0, 1) ** 2
        if not sp.simplify(reference / kinetic).is_number:
            raise ValueError(f"reference: {reference} is not a multiple of {kinetic}")
        for i, term in enumerate(terms):
            ratio = sp.simplify(reference / term) if term != 0 else sp.nan
            if ratio.is_number:
                return cls(field, terms, strides, i, float(ratio))
        raise ValueError(
            f"reference: {reference} is not a multiple of a candidate; "
            f"the candidates are {', '.join(map(str, terms))}"
        )

    # A density has no Rayleigh function here.
    dissipation = ()
    dissipation_names = ()

    def damping(self, system: FieldSystem, scale: float) -> np.ndarray:
        """Coefficients of no candidates of dissipation."""
        return np.zeros(0)

    @property
    def coordinates(self) -> tuple[str]:
        """The name of the field, alone."""
        return (self.field,)

    # The calculus of noise that does not depend on the state does not matter.
    calculus = "ito"

    @property
    def variables(self) -> tuple[str, ...]:
        """Names that the candidates are written in: the jet of the field."""
        return density_names(self.field)

    def equations_of(self, term: sp.Expr) -> tuple[sp.Expr]:
        """Euler–Lagrange expression of a candidate."""
        return density_euler_lagrange(term, self.coordinates)

    def legendre(self, term: sp.Expr) -> sp.Expr:
        """Contribution of a candidate to the energy density, u_t ∂D/∂u_t − D."""
        return legendre(term, self.variables[1:2])

    @property
    def given(self) -> np.ndarray:
        """Given coefficient of every candidate, zero where it is identified."""
        coefficients = np.zeros(len(self.terms))
        coefficients[self.reference] = self.reference_coefficient
        return coefficients

    @property
    def names(self) -> list[str]:
        """Candidates as text."""
        return [to_text(term) for term in self.terms]

    @cached_property
    def freedom(self) -> Freedom:
        """Null, duplicate and dependent candidates."""
        return gauge_freedom(
            self.terms, self.coordinates, equations=density_euler_lagrange
        )

    @cached_property
    def status(self) -> list[str]:
        """``reference``, or what :class:`Freedom` says, one per candidate."""
        status = list(self.freedom.status)
        if status[self.reference] != "independent":
            raise ValueError(
                f"reference: {self.terms[self.reference]} is "
                f"{status[self.reference]} in this library; list it earlier"
            )
        status[self.reference] = "reference"
        return status

    @property
    def forces(self) -> list[int]:
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

    def size(self, domain: Domain) -> int:
        """Number of linearly independent candidate functions over all nodes."""
        return count_functions(self.terms, self.strides, self.field, domain)

    def projection(self, system: FieldSystem) -> tuple[np.ndarray, float] | None:
        """Coefficients that reproduce the equation of motion of `system`.

        Returns
        -------
        coefficients, scale
            As :meth:`Library.projection <leastaction.core.library.Library>`; None
            if `system` is not in the span of the library.
        """
        lagrangian = sp.nsimplify(system.evaluated(system.lagrangian), rational=True)
        found = representation(
            lagrangian, self.terms, self.coordinates, density_euler_lagrange
        )
        if found is None or found.get(self.reference, 0) == 0:
            return None
        scale = self.reference_coefficient / float(found[self.reference])
        coefficients = np.zeros(len(self.terms))
        for i, value in found.items():
            coefficients[i] = scale * float(value)
        return coefficients, scale


def density_candidates(
    recipe: Sequence[Mapping], field: str
) -> tuple[tuple[sp.Expr, ...], tuple[int, ...]]:
    """Expand a recipe into distinct candidate densities and their strides.

    Beside the entries of :func:`~leastaction.core.candidates.candidates`,

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
