"""Library of candidate terms of a Lagrangian, with what algebra knows about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp

from leastaction.mechanics.candidates import candidates
from leastaction.mechanics.euler_lagrange import symbols, velocity_names
from leastaction.mechanics.expressions import parse, to_text
from leastaction.mechanics.gauge import Freedom, gauge_freedom, representation
from leastaction.mechanics.system import System


@dataclass(frozen=True)
class Library:
    """Candidates D_i of L = Σ c_i D_i, and the term that fixes the scale of L.

    Any multiple of a Lagrangian has the same equations of motion. The coefficient of
    the reference term is therefore given, not identified.

    Attributes
    ----------
    coordinates
        Names of q.
    terms
        Candidates in (q, q̇).
    reference
        Position of the kinetic term that fixes the scale.
    reference_coefficient
        Its coefficient, ½ in ½ q̇².
    """

    coordinates: tuple[str, ...]
    terms: tuple[sp.Expr, ...]
    reference: int
    reference_coefficient: float

    @classmethod
    def from_config(cls, config: Mapping, coordinates: Sequence[str]) -> "Library":
        """Library described by the `library` section of an example.

        Parameters
        ----------
        config
            ``{reference: "xdot**2/2", lagrangian: [recipe entries]}``.
        coordinates
            Names of q.

        Raises
        ------
        ValueError
            If the reference is not a multiple of one of the candidates, or an entry is
            not arithmetic over (q, q̇).
        """
        coordinates = tuple(coordinates)
        names = (*coordinates, *velocity_names(coordinates))
        terms = candidates(config["lagrangian"], names)
        reference = parse(config["reference"], names)
        for i, term in enumerate(terms):
            ratio = sp.simplify(reference / term) if term != 0 else sp.nan
            if ratio.is_number:
                return cls(coordinates, terms, i, float(ratio))
        raise ValueError(
            f"reference: {reference} is not a multiple of a candidate; "
            f"the candidates are {', '.join(map(str, terms))}"
        )

    @property
    def names(self) -> list[str]:
        """Candidates as text."""
        return [to_text(term) for term in self.terms]

    @cached_property
    def freedom(self) -> Freedom:
        """Null, duplicate and dependent candidates."""
        return gauge_freedom(self.terms, self.coordinates)

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

    @cached_property
    def momenta(self) -> list[list[sp.Expr]]:
        """∂D_i/∂q̇_a, one row per degree of freedom."""
        qdot = symbols(velocity_names(self.coordinates))
        return [[sp.diff(term, v) for term in self.terms] for v in qdot]

    @cached_property
    def forces(self) -> list[list[sp.Expr]]:
        """∂D_i/∂q_a, one row per degree of freedom."""
        q = symbols(self.coordinates)
        return [[sp.diff(term, x) for term in self.terms] for x in q]

    def projection(self, system: System) -> tuple[np.ndarray, float] | None:
        """Coefficients that reproduce the equations of motion of `system`.

        Returns
        -------
        coefficients, scale
            One coefficient per candidate (zero for those that algebra removes), and
            the factor between this Lagrangian and that of `system`; or None if
            `system` is not in the span of the library.
        """
        lagrangian = system.evaluated(system.lagrangian)
        found = representation(
            sp.nsimplify(lagrangian, rational=True), self.terms, self.coordinates
        )
        if found is None or found.get(self.reference, 0) == 0:
            return None
        scale = self.reference_coefficient / float(found[self.reference])
        coefficients = np.zeros(len(self.terms))
        for i, value in found.items():
            coefficients[i] = scale * float(value)
        return coefficients, scale
