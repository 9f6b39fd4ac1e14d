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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.compiled import evaluator
from leastaction.core.estimate import positions
from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.core.expressions import parse, to_text
from leastaction.core.families import unknown
from leastaction.core.library import Library, candidates
from leastaction.core.system import System
from leastaction.densities.contracts import CONTRACTS


@dataclass(frozen=True)
class Term:
    """What one coefficient contributes to drift and diffusion of the velocities."""

    # reference, lagrangian, dissipation or volatility
    kind: str
    # The candidate as text, and its place: (position,), or (dof, position) of noise.
    name: str
    position: tuple[int, ...]
    # Shapes (dof,) and (dof, dof): of noise, the squared volatility of accelerations.
    acceleration: sp.Matrix
    diffusion: sp.Matrix
    # Given coefficient; NaN if it is to be estimated.
    known: float
    # Whose volatility it is.
    coordinate: str = ""

    @property
    def label(self) -> str:
        """Kind and candidate, and the coordinate of a squared volatility."""
        if self.kind == "volatility":
            return f"squared volatility of {self.coordinate}: {self.name}"
        return f"{self.kind}: {self.name}"


@dataclass(frozen=True, eq=False)
class StationaryEquation:
    """The model whose coefficients are sought: its known structure, term by term.

    `volatility` are candidates of the squared volatility, those of every coordinate;
    `given` is the section `known` of the library.
    """

    library: Library
    volatility: tuple[sp.Expr, ...]
    given: Mapping

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
        library = Library.from_config(
            {k: v for k, v in config.items() if k not in ("volatility", "known")},
            tuple(coordinates),
        )
        names = (*library.coordinates, *velocity_names(library.coordinates))
        volatility = candidates(config.get("volatility", []), names)
        equation = cls(library, volatility, config.get("known", {}))
        equation._check()
        return equation

    def _check(self) -> None:
        if not self.volatility:
            raise ValueError(
                "volatility: a stationary density needs noise; list candidates of the "
                "squared volatility"
            )
        velocity = symbols(velocity_names(self.library.coordinates))
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

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The reference, then L, D and the squared volatility of each coordinate."""
        library, dof, known = self.library, self.dof, dict(self._known())
        no_noise, no_force = sp.zeros(dof, dof), sp.zeros(dof, 1)
        kinetic = sum(
            (sp.nsimplify(c) * library.terms[i] for i, c in library.references),
            sp.Integer(0),
        )
        system = System(kinetic, coordinates=library.coordinates)
        found = [
            Term("reference", to_text(kinetic), (), system.acceleration, no_noise, 1.0)
        ]
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
                found.append(Term(kind, names[i], (i,), drift, no_noise, value))
        for a, coordinate in enumerate(library.coordinates):
            for j, term in enumerate(self.volatility):
                noise = sp.zeros(dof, dof)
                noise[a, a] = term
                value = known.get(("volatility", a, j), np.nan)
                text = to_text(term)
                found.append(
                    Term("volatility", text, (a, j), no_force, noise, value, coordinate)
                )
        return tuple(found)

    def _known(self) -> Iterator[tuple[tuple, float]]:
        """Kind and position of every given coefficient, and its value."""
        library, coordinates = self.library, self.library.coordinates
        noise = [to_text(term) for term in self.volatility]
        lists = {
            ("lagrangian",): (library.names, self.given.get("lagrangian", {})),
            ("dissipation",): (
                library.dissipation_names,
                self.given.get("dissipation", {}),
            ),
        }
        for name, entries in self.given.get("volatility", {}).items():
            if name not in coordinates:
                raise ValueError(
                    f"known.volatility: {unknown('coordinate', name, coordinates)}"
                )
            lists["volatility", coordinates.index(name)] = noise, entries
        for (kind, *dof), (names, entries) in lists.items():
            where = ".".join(["known", kind, *(coordinates[a] for a in dof)])
            try:
                found = positions([str(t) for t in entries], names, coordinates)
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from None
            for i, value in zip(found, entries.values(), strict=True):
                yield (kind, *dof, i), float(value)

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
        qdot = symbols(velocity_names(self.library.coordinates))
        state = {*symbols(self.library.coordinates), *qdot}
        drag, noise = sp.zeros(self.dof, 1), sp.zeros(self.dof, self.dof)
        for i, term in enumerate(self.terms):
            known = sp.nsimplify(term.known) if term.known == term.known else None
            factor = sp.Symbol(f"theta_{i}", positive=True) if known is None else known
            if term.kind == "dissipation":
                drag -= factor * term.acceleration
            noise += factor * term.diffusion
        kinetic = parse(self.terms[0].name, [s.name for s in state])
        ratios = set()
        for a, v in enumerate(qdot):
            if noise[a, a] == 0 or noise.has(*qdot):
                return False
            ratio = 2 * drag[a] / (noise[a, a] * sp.diff(kinetic, v))
            ratios.add(sp.simplify(ratio))
        return len(ratios) == 1 and not ratios.pop().free_symbols & state

    def on_cells(self, q: np.ndarray, qdot: np.ndarray) -> tuple[np.ndarray, ...]:
        """Velocity, and accelerations and diffusions of all terms, at centres of cells.

        Shapes (q_bin, qdot_bin), and twice (term, q_bin, qdot_bin).
        """
        return _on_cells(self, q.tobytes(), qdot.tobytes())


def equation_of(library: Mapping, coordinates: Iterable[str]) -> StationaryEquation:
    """The equation of a library; its algebra is done once for all replicates."""
    return _equation(json.dumps(library, sort_keys=True), tuple(map(str, coordinates)))


@lru_cache(maxsize=16)
def _equation(library: str, coordinates: tuple[str, ...]) -> StationaryEquation:
    return StationaryEquation.from_config(json.loads(library), coordinates)


@lru_cache(maxsize=16)
def _on_cells(equation: StationaryEquation, q: bytes, qdot: bytes):
    grid = np.meshgrid(np.frombuffer(q), np.frombuffer(qdot), indexing="ij")
    states = [g.reshape(-1, 1) for g in grid]
    expressions = [
        e for t in equation.terms for e in (t.acceleration[0], t.diffusion[0])
    ]
    values = evaluator(expressions, equation.library.coordinates)(*states)
    values = values.reshape(*grid[0].shape, len(equation.terms), 2)
    acceleration, diffusion = np.ascontiguousarray(np.moveaxis(values, (3, 2), (0, 1)))
    return grid[1], acceleration, diffusion


def equation_dataset(
    contract: str,
    equation: StationaryEquation,
    observations: xr.Dataset,
    mean_square: np.ndarray,
    values: Mapping,
) -> xr.Dataset:
    """One replicate of an assembled equation, with what is known of its terms.

    `values` are the variables of the `contract` beside `mean_square`, the mean of every
    candidate of the squared volatility, shape (1 or dof, candidate).
    """
    each = np.broadcast_to(mean_square, (1, equation.dof, len(equation.volatility)))
    # The words about the terms are the same in every replicate, and slow to put in.
    words, candidates = _words(equation)
    replicate = observations["replicate"].variable
    return CONTRACTS[contract].dataset(
        {**words, **values, "mean_square": each, "replicate": replicate}, candidates
    )


@lru_cache(maxsize=16)
def _words(
    equation: StationaryEquation,
) -> tuple[Mapping[str, xr.Variable], xr.Coordinates]:
    """Kind, position and given coefficient of every term; and the candidates."""
    library, terms = equation.library, equation.terms
    damping = library.dissipation_freedom
    # Lists that may be empty, of texts all the same.
    of_damping = [
        np.array(texts, dtype=object)
        for texts in (damping.status, damping.equivalent, library.dissipation_names)
    ]
    words = CONTRACTS["stationary_residual"].dataset(
        {
            "status": library.status,
            "equivalent": library.freedom.equivalent,
            "dissipation_status": of_damping[0],
            "dissipation_equivalent": of_damping[1],
            "kind": [t.kind for t in terms],
            "position": [t.position[-1] if t.position else 0 for t in terms],
            "of_dof": [t.position[0] if t.kind == "volatility" else 0 for t in terms],
            "known": equation.known,
            "reference_value": library.given,
            "detailed_balance": np.int8(equation.detailed_balance),
        },
        {
            "equation_term": [t.label for t in terms],
            "dof": list(library.coordinates),
            "term": library.names,
            "dissipation_term": of_damping[2],
            "volatility_term": [to_text(term) for term in equation.volatility],
        },
    )
    return words.drop_vars(words.coords).variables, words.coords
