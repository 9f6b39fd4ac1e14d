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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.compiled import evaluator
from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.core.expressions import parse, to_text
from leastaction.core.families import unknown
from leastaction.core.library import Library, candidates
from leastaction.core.system import System
from leastaction.densities.contracts import CONTRACTS


@dataclass(frozen=True)
class Term:
    """What one coefficient contributes to drift and diffusion.

    Attributes
    ----------
    kind
        ``reference``, ``lagrangian``, ``dissipation`` or ``volatility``.
    name
        The candidate as text.
    position
        Of the candidate in its list; of a volatility, (dof, position).
    acceleration
        Drift of the velocities, shape (dof,).
    diffusion
        Squared volatility of the accelerations, shape (dof, dof).
    known
        Given coefficient; NaN if it is to be estimated.
    coordinate
        Whose volatility it is.
    """

    kind: str
    name: str
    position: tuple[int, ...]
    acceleration: sp.Matrix
    diffusion: sp.Matrix
    known: float
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

    Attributes
    ----------
    library
        Candidates of L and of D, all of which are taken as terms.
    volatility
        Candidates of the squared volatility, those of every coordinate.
    given
        ``{lagrangian: {term: c}, dissipation: {term: d}, volatility: {coordinate:
        {term: β}}}``: coefficients that are known.
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
        equation.check()
        return equation

    def check(self) -> None:
        """Check the conditions of :meth:`from_config`.

        Raises
        ------
        ValueError
        """
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
        for i, term in enumerate(self.library.terms):
            mass = sp.hessian(term, velocity)
            free = self.library.status[i] == "independent"
            if free and not mass.is_zero_matrix:
                raise ValueError(
                    f"lagrangian: {term} holds kinetic energy that the reference does "
                    "not; with inertia: given the reference is all of it"
                )
        if not any(np.isnan(term.known) for term in self.terms):
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
        library, dof = self.library, self.dof
        known = self._known()
        no_noise, no_force = sp.zeros(dof, dof), sp.zeros(dof, 1)
        kinetic = sum(
            (sp.nsimplify(c) * library.terms[i] for i, c in library.references),
            sp.Integer(0),
        )
        system = System(library.coordinates, {}, kinetic)
        found = [
            Term("reference", to_text(kinetic), (), system.acceleration, no_noise, 1.0)
        ]
        q, qdot = symbols(library.coordinates), system.qdot
        for i, term in enumerate(library.terms):
            if library.status[i] != "independent":
                continue
            momenta = sp.Matrix([sp.diff(term, v) for v in qdot])
            force = sp.Matrix([sp.diff(term, x) for x in q])
            force -= momenta.jacobian(q) * sp.Matrix(qdot)
            found.append(
                Term(
                    "lagrangian",
                    library.names[i],
                    (i,),
                    system.accelerated_by(force),
                    no_noise,
                    known["lagrangian"].get(i, np.nan),
                )
            )
        for j, term in enumerate(library.dissipation):
            if library.dissipation_freedom.status[j] != "independent":
                continue
            force = -sp.Matrix([sp.diff(term, v) for v in qdot])
            found.append(
                Term(
                    "dissipation",
                    library.dissipation_names[j],
                    (j,),
                    system.accelerated_by(force),
                    no_noise,
                    known["dissipation"].get(j, np.nan),
                )
            )
        for a in range(dof):
            for j, term in enumerate(self.volatility):
                noise = sp.zeros(dof, dof)
                noise[a, a] = term
                found.append(
                    Term(
                        "volatility",
                        to_text(term),
                        (a, j),
                        no_force,
                        noise,
                        known["volatility"].get((a, j), np.nan),
                        library.coordinates[a],
                    )
                )
        return tuple(found)

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

    def _known(self) -> dict[str, dict]:
        """Given coefficients by kind and position."""
        library = self.library
        lists = {"lagrangian": library.names, "dissipation": library.dissipation_names}
        found: dict[str, dict] = {
            kind: {
                _place(text, names, library.coordinates, f"known.{kind}"): float(value)
                for text, value in self.given.get(kind, {}).items()
            }
            for kind, names in lists.items()
        }
        names = [to_text(term) for term in self.volatility]
        found["volatility"] = {}
        for coordinate, entries in self.given.get("volatility", {}).items():
            if coordinate not in library.coordinates:
                raise ValueError(
                    "known.volatility: "
                    + unknown("coordinate", coordinate, library.coordinates)
                )
            a = library.coordinates.index(coordinate)
            where = f"known.volatility.{coordinate}"
            for text, value in entries.items():
                j = _place(text, names, library.coordinates, where)
                found["volatility"][a, j] = float(value)
        return found


def _place(text, names: Sequence[str], coordinates: Sequence[str], where: str) -> int:
    """Position of a candidate, however its text is written."""
    term = to_text(parse(text, (*coordinates, *velocity_names(coordinates))))
    if term not in names:
        raise ValueError(f"{where}: " + unknown("candidate", text, names))
    return names.index(term)


@lru_cache(maxsize=16)
def _equation(library: str, coordinates: tuple[str, ...]) -> StationaryEquation:
    return StationaryEquation.from_config(json.loads(library), coordinates)


def equation_of(library: Mapping, observations: xr.Dataset) -> StationaryEquation:
    """The equation of a library; its algebra is done once for all replicates."""
    coordinates = tuple(str(name) for name in observations.variables["dof"].values)
    return _equation(json.dumps(library, sort_keys=True), coordinates)


@lru_cache(maxsize=16)
def _on_cells(equation_key: tuple, q: bytes, qdot: bytes):
    equation = _equation(*equation_key)
    grid = np.meshgrid(np.frombuffer(q), np.frombuffer(qdot), indexing="ij")
    states = [g.reshape(-1, 1) for g in grid]
    expressions = [
        e for t in equation.terms for e in (t.acceleration[0], t.diffusion[0])
    ]
    values = evaluator(expressions, equation.library.coordinates)(*states)
    values = values.reshape(*grid[0].shape, len(equation.terms), 2)
    acceleration, diffusion = np.ascontiguousarray(np.moveaxis(values, (3, 2), (0, 1)))
    return grid[1], acceleration, diffusion


def terms_on_cells(
    library: Mapping, observations: xr.Dataset, q: np.ndarray, qdot: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Velocity, accelerations and diffusions of all terms at the centres of cells.

    Parameters
    ----------
    library
        See :meth:`StationaryEquation.from_config`.
    observations
        Its `dof` names the one coordinate.
    q, qdot
        Centres of the cells.

    Returns
    -------
    velocity
        Shape (q_bin, qdot_bin).
    acceleration, diffusion
        Shape (term, q_bin, qdot_bin).
    """
    coordinates = tuple(str(name) for name in observations.variables["dof"].values)
    key = (json.dumps(library, sort_keys=True), coordinates)
    q, qdot = (np.ascontiguousarray(x, dtype=float) for x in (q, qdot))
    return _on_cells(key, q.tobytes(), qdot.tobytes())


def equation_dataset(
    contract: str,
    equation: StationaryEquation,
    replicate: xr.DataArray,
    mean_square: np.ndarray,
    values: Mapping,
) -> xr.Dataset:
    """One replicate of an assembled equation, with what is known of its terms.

    Parameters
    ----------
    contract
        ``stationary_residual`` or ``generator_moments``.
    equation
        The terms.
    replicate
        Coordinate of the replicate.
    mean_square
        Mean of every candidate of the squared volatility, shape (1 or dof, candidate).
    values
        Variables of the equation.
    """
    each = np.broadcast_to(mean_square, (1, equation.dof, len(equation.volatility)))
    # The words about the terms are the same in every replicate, and slow to put in.
    words, candidates = _words(equation)
    return CONTRACTS[contract].dataset(
        {**words, **values, "mean_square": each, "replicate": replicate.variable},
        candidates,
    )


@lru_cache(maxsize=16)
def _words(
    equation: StationaryEquation,
) -> tuple[Mapping[str, xr.Variable], xr.Coordinates]:
    """Kind, position and given coefficient of every term; and the candidates."""
    library, terms = equation.library, equation.terms
    of_noise = [t for t in terms if t.kind == "volatility"]
    damping = library.dissipation_freedom

    def texts(values) -> np.ndarray:
        return np.array(list(values), dtype=object)

    words = CONTRACTS["stationary_residual"].dataset(
        {
            "status": texts(library.status),
            "equivalent": texts(library.freedom.equivalent),
            "dissipation_status": texts(damping.status),
            "dissipation_equivalent": texts(damping.equivalent),
            "kind": texts(t.kind for t in terms),
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
            "dissipation_term": texts(library.dissipation_names),
            "volatility_term": [t.name for t in of_noise][: len(equation.volatility)],
        },
    )
    return words.drop_vars(words.coords).variables, words.coords
