"""Terms of a stationary Fokker–Planck equation, one per coefficient of the model.

.. math::

    0 = -∂_q·(\\dot q\\,p) - ∂_{\\dot q}·(a\\,p)
        + \\tfrac12 \\sum_{ab} ∂_{\\dot q_a} ∂_{\\dot q_b} (B_{ab}\\,p), \\qquad
    a = \\sum_i θ_i a_i, \\quad B = \\sum_i θ_i B_i

The coefficients θ of L, of the Rayleigh function and of the squared volatility enter
linearly, so the residual of a density is affine in them. The reference term, with the
coefficient one, holds the streaming by q̇ and what the kinetic energy implies.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.compiled import evaluator
from leastaction.core.estimate import positions
from leastaction.core.euler_lagrange import symbols
from leastaction.core.expressions import to_text
from leastaction.core.families import unknown
from leastaction.core.library import Library, candidates
from leastaction.core.system import System
from leastaction.densities.contracts import CONTRACTS


@dataclass(frozen=True)
class Term:
    """What one coefficient contributes to drift and diffusion of the velocities."""

    # reference, lagrangian, dissipation or volatility
    kind: str
    # Kind and candidate, and the coordinate of a squared volatility.
    label: str
    # Place of the candidate: (), (position,), or (dof, position) of noise.
    position: tuple[int, ...]
    # Shapes (dof,) and (dof, dof): of noise, the squared volatility of accelerations.
    acceleration: sp.Matrix
    diffusion: sp.Matrix
    # Given coefficient; NaN if it is to be estimated.
    known: float


@dataclass(frozen=True, eq=False)
class StationaryEquation:
    """The model whose coefficients are sought: its known structure, term by term.

    `volatility` are candidates of the squared volatility, those of every coordinate;
    `known_section` is the section `known` of the library.
    """

    library: Library
    volatility: tuple[sp.Expr, ...]
    known_section: Mapping

    @classmethod
    def from_config(
        cls, config: Mapping, coordinates: Sequence[str]
    ) -> "StationaryEquation":
        """Equation described by the `library` section of an example.

        Raises
        ------
        ValueError
            If a known coefficient is that of no candidate, a candidate holds
            accelerations that the reference does not, none is left to estimate, or the
            calculus is not Itô where the volatility depends on velocities.
        """
        own_parts = ("volatility", "known")
        library = Library.from_config(
            {k: v for k, v in config.items() if k not in own_parts}, tuple(coordinates)
        )
        volatility = candidates(config.get("volatility", []), library.variables)
        equation = cls(library, volatility, config.get("known", {}))
        equation._check()
        return equation

    def _check(self) -> None:
        if not self.volatility:
            raise ValueError(
                "volatility: a stationary density needs noise; list candidates of the "
                "squared volatility"
            )
        velocity = self.state[self.dof :]
        depends = any(t.has(*velocity) for t in self.volatility)
        if depends and self.library.calculus != "ito":
            raise ValueError(
                "calculus: the stationary equation is written in the Itô sense; use "
                "calculus: ito, or a volatility without velocities"
            )
        for term, status in zip(self.library.terms, self.library.status, strict=True):
            mass = sp.hessian(term, velocity)
            if status == "independent" and not mass.is_zero_matrix:
                raise ValueError(
                    f"lagrangian: {term} holds kinetic energy that the reference does "
                    "not; with inertia: given the reference is all of it"
                )
        if not np.isnan(self.known).any():
            raise ValueError(
                "known: every coefficient is given; leave out those to estimate"
            )

    @property
    def dof(self) -> int:
        """Number of degrees of freedom."""
        return len(self.library.coordinates)

    @property
    def state(self) -> tuple[sp.Symbol, ...]:
        """Coordinates, then velocities."""
        return symbols(self.library.variables)

    @cached_property
    def kinetic(self) -> sp.Expr:
        """The reference."""
        library = self.library
        terms = (sp.nsimplify(c) * library.terms[i] for i, c in library.references)
        return sum(terms, sp.Integer(0))

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The reference, then L, D and the squared volatility of each coordinate."""
        library, known = self.library, self._known()
        no_noise, no_force = sp.zeros(self.dof, self.dof), sp.zeros(self.dof, 1)
        system = System(self.kinetic, coordinates=library.coordinates)
        label = f"reference: {to_text(self.kinetic)}"
        result = [Term("reference", label, (), system.acceleration, no_noise, 1.0)]
        damping = library.dissipation_freedom.status
        for kind, names, terms, status in (
            ("lagrangian", library.names, library.terms, library.status),
            ("dissipation", library.dissipation_names, library.dissipation, damping),
        ):
            for i in (i for i, s in enumerate(status) if s == "independent"):
                alone = {"lagrangian": sp.Integer(0), kind: terms[i]}
                force = System(coordinates=library.coordinates, **alone).forces
                drift = system.accelerated_by(force)
                value = known.get((kind, i), np.nan)
                label = f"{kind}: {names[i]}"
                result.append(Term(kind, label, (i,), drift, no_noise, value))
        for a, coordinate in enumerate(library.coordinates):
            for j, term in enumerate(self.volatility):
                noise = sp.zeros(self.dof, self.dof)
                noise[a, a] = term
                value = known.get(("volatility", a, j), np.nan)
                label = f"squared volatility of {coordinate}: {to_text(term)}"
                result.append(Term("volatility", label, (a, j), no_force, noise, value))
        return tuple(result)

    def _known(self) -> dict[tuple, float]:
        """Every given coefficient by its kind and position."""
        library, coordinates = self.library, self.library.coordinates
        of_noise = self.known_section.get("volatility", {})
        for name in of_noise:
            if name not in coordinates:
                raise ValueError(
                    f"known.volatility: {unknown('coordinate', name, coordinates)}"
                )
        noise = [to_text(term) for term in self.volatility]
        lists = {
            ("lagrangian",): (library.names, self.known_section.get("lagrangian", {})),
            ("dissipation",): (
                library.dissipation_names,
                self.known_section.get("dissipation", {}),
            ),
        }
        lists |= {
            ("volatility", a): (noise, of_noise.get(name, {}))
            for a, name in enumerate(coordinates)
        }
        result = {}
        for (kind, *dof), (names, entries) in lists.items():
            try:
                places = positions([str(t) for t in entries], names, coordinates)
            except ValueError as error:
                where = ".".join(["known", kind, *(coordinates[a] for a in dof)])
                raise ValueError(f"{where}: {error}") from None
            for i, value in zip(places, entries.values(), strict=True):
                result[kind, *dof, i] = float(value)
        return result

    @property
    def known(self) -> np.ndarray:
        """Given coefficients, NaN where one is to be estimated; shape (term,)."""
        return np.array([term.known for term in self.terms])

    @cached_property
    def detailed_balance(self) -> bool:
        """Whether damping and noise balance each other whatever their coefficients.

        The density is then exp(−κ H) by the Einstein relation
        M⁻¹ ∂D/∂q̇ = ½ κ B ∂L/∂q̇ with one constant κ, the irreversible current
        vanishes by itself, and a stationary density determines the damping relative to
        the noise only (Risken 1989, section 6.4). Found for generic coefficients.
        """
        qdot = self.state[self.dof :]
        drag, noise = sp.zeros(self.dof, 1), sp.zeros(self.dof, self.dof)
        for i, term in enumerate(self.terms):
            factor = sp.Symbol(f"theta_{i}")
            if not np.isnan(term.known):
                factor = sp.nsimplify(term.known)
            if term.kind == "dissipation":
                drag -= factor * term.acceleration
            noise += factor * term.diffusion
        ratios = set()
        for a, v in enumerate(qdot):
            if noise[a, a] == 0 or noise.has(*qdot):
                return False
            ratio = 2 * drag[a] / (noise[a, a] * sp.diff(self.kinetic, v))
            ratios.add(sp.simplify(ratio))
        return len(ratios) == 1 and not ratios.pop().free_symbols & {*self.state}

    def on_cells(self, q: np.ndarray, qdot: np.ndarray) -> tuple[np.ndarray, ...]:
        """Velocity, and accelerations and diffusions of all terms, at centres of cells.

        Shapes (q_bin, qdot_bin), and twice (term, q_bin, qdot_bin).
        """
        grid = np.meshgrid(q, qdot, indexing="ij")
        expressions = [
            e for t in self.terms for e in (t.acceleration[0], t.diffusion[0])
        ]
        evaluate = evaluator(expressions, self.library.coordinates)
        values = evaluate(*(g.reshape(-1, 1) for g in grid))
        values = values.reshape(*grid[0].shape, len(self.terms), 2)
        return grid[1], *np.ascontiguousarray(np.moveaxis(values, (3, 2), (0, 1)))

    @cached_property
    def words(self) -> xr.Dataset:
        """What is known of the terms, the same in every replicate."""
        library, terms = self.library, self.terms
        damping = library.dissipation_freedom
        # Lists that may be empty, of texts all the same.
        status, equivalent, names = (
            np.array(texts, dtype=object)
            for texts in (damping.status, damping.equivalent, library.dissipation_names)
        )
        return CONTRACTS["stationary_residual"].dataset(
            {
                "status": library.status,
                "equivalent": library.freedom.equivalent,
                "dissipation_status": status,
                "dissipation_equivalent": equivalent,
                "kind": [t.kind for t in terms],
                "position": [t.position[-1] if t.position else 0 for t in terms],
                "of_dof": [
                    t.position[0] if t.kind == "volatility" else 0 for t in terms
                ],
                "known": self.known,
                "reference_value": library.fixed,
                "detailed_balance": np.int8(self.detailed_balance),
            },
            {
                "equation_term": [t.label for t in terms],
                "dof": list(library.coordinates),
                "term": library.names,
                "dissipation_term": names,
                "volatility_term": [to_text(term) for term in self.volatility],
            },
        )

    def dataset(
        self, contract: str, observations: xr.Dataset, mean_square, values: Mapping
    ) -> xr.Dataset:
        """One replicate of the assembled equation, with what is known of its terms.

        `values` are the variables of the `contract` beside `mean_square`, the mean of
        every candidate of the squared volatility, shape (1 or dof, candidate).
        """
        each = np.broadcast_to(mean_square, (1, self.dof, len(self.volatility)))
        words = self.words.drop_vars(self.words.coords).variables
        replicate = observations["replicate"].variable
        return CONTRACTS[contract].dataset(
            {**words, **values, "mean_square": each, "replicate": replicate},
            self.words.coords,
        )


def equation_of(library: Mapping, coordinates: Iterable[str]) -> StationaryEquation:
    """The equation of a library; its algebra is done once for all replicates."""
    return _equation(json.dumps(library), tuple(map(str, coordinates)))


def terms_on_cells(
    observations: xr.Dataset, derivatives: xr.Dataset, library: Mapping
) -> tuple[StationaryEquation, tuple[np.ndarray, ...]]:
    """The equation of a library, and its :meth:`~StationaryEquation.on_cells`."""
    equation = equation_of(library, observations["dof"].values)
    centres = (derivatives.variables[name].values for name in ("q_bin", "qdot_bin"))
    return equation, equation.on_cells(*centres)


@lru_cache(maxsize=16)
def _equation(library: str, coordinates: tuple[str, ...]) -> StationaryEquation:
    return StationaryEquation.from_config(json.loads(library), coordinates)
