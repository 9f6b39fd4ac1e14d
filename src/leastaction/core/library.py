"""Library of candidate terms of L and of D, with what algebra knows about them."""

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import sympy as sp

from leastaction.core.euler_lagrange import (
    euler_lagrange,
    legendre,
    rayleigh_force,
    symbols,
    velocity_names,
)
from leastaction.core.expressions import parse, parsed, to_text
from leastaction.core.gauge import Freedom, gauge_freedom, representation
from leastaction.core.multi_index import factors

MOST_CANDIDATES = 2000


@dataclass(frozen=True)
class Candidates:
    """Candidates D_i of L = Σ c_i D_i, and what fixes the scale of L.

    Any multiple of a Lagrangian has the same equations of motion. The coefficients of
    the `references`, (position, coefficient) of kinetic terms such as ½ of q̇², are
    therefore given, not identified. `coordinates` are names of q, or of a field.
    """

    coordinates: tuple[str, ...]
    terms: tuple[sp.Expr, ...]
    references: tuple[tuple[int, float], ...]

    # Candidates of the Rayleigh function.
    dissipation = ()
    equations = staticmethod(euler_lagrange)

    @property
    def reference(self) -> int:
        """Position of the first reference term."""
        return self.references[0][0]

    @property
    def reference_coefficient(self) -> float:
        """Coefficient of the first reference term."""
        return self.references[0][1]

    @property
    def fixed(self) -> np.ndarray:
        """Fixed coefficient of every candidate, zero where it is identified."""
        coefficients = np.zeros(len(self.terms))
        for i, value in self.references:
            coefficients[i] = value
        return coefficients

    @cached_property
    def names(self) -> list[str]:
        """Candidates as text."""
        return [to_text(term) for term in self.terms]

    @property
    def velocities(self) -> tuple[str, ...]:
        """Names of the velocities."""
        return velocity_names(self.coordinates)

    @property
    def variables(self) -> tuple[str, ...]:
        """Names that the candidates are written in: (q, q̇)."""
        return (*self.coordinates, *self.velocities)

    def equations_of(self, term: sp.Expr) -> tuple[sp.Expr, ...]:
        """Euler–Lagrange expressions of a candidate, one per coordinate."""
        return self.equations(term, self.coordinates)

    def legendre(self, term: sp.Expr) -> sp.Expr:
        """Contribution of a candidate to the Hamiltonian, q̇ ∂D/∂q̇ − D."""
        return legendre(term, self.velocities)

    @cached_property
    def dissipation_names(self) -> list[str]:
        """Candidates of the Rayleigh function as text."""
        return [to_text(term) for term in self.dissipation]

    @cached_property
    def joint_freedom(self) -> Freedom:
        """What algebra says about the candidates of L and of D together."""
        return gauge_freedom(
            self.terms, self.coordinates, self.dissipation, self.equations
        )

    @property
    def freedom(self) -> Freedom:
        """Null, duplicate and dependent candidates of L."""
        return self.joint_freedom.part(slice(len(self.terms)))

    @property
    def dissipation_freedom(self) -> Freedom:
        """Candidates of D without a force, or with the force of other candidates."""
        return self.joint_freedom.part(slice(len(self.terms), None))

    @cached_property
    def status(self) -> list[str]:
        """``reference``, ``inertial``, or what :class:`Freedom` says, by candidate."""
        status = list(self.freedom.status)
        self._check_references(status)
        for i, _ in self.references:
            status[i] = "reference"
        for i, term in enumerate(self.terms):
            if status[i] == "independent" and not self._fits_inertia(term):
                status[i] = "inertial"
        return status

    def _check_references(self, status: Sequence[str]) -> None:
        for i, _ in self.references:
            if status[i] != "independent":
                raise ValueError(
                    f"reference: {self.terms[i]} is {status[i]} in this library; list "
                    "it earlier"
                )

    def _fits_inertia(self, term: sp.Expr) -> bool:
        """Whether `term` agrees with what is known of the kinetic energy."""
        return True

    @property
    def columns(self) -> list[int]:
        """Positions of the columns of a regression: first reference, then the free.

        The first reference stands for all of them.
        """
        free = [i for i, status in enumerate(self.status) if status == "independent"]
        return sorted([*free, self.reference])

    def projection(self, system) -> tuple[np.ndarray, float] | None:
        """Coefficients that reproduce the equations of motion of `system`, and a scale.

        One per candidate (zero for those that algebra removes), and the factor between
        this Lagrangian and that of `system`; None if it is not in the span of the
        library.
        """
        lagrangian = system.evaluated(system.lagrangian)
        lagrangian = sp.nsimplify(lagrangian, rational=True)
        known = self.terms, self.coordinates, self.equations
        result = representation(lagrangian, *known)
        if result is None or result.get(self.reference, 0) == 0:
            return None
        scale = self.reference_coefficient / float(result[self.reference])
        coefficients = np.zeros(len(self.terms))
        for i, value in result.items():
            coefficients[i] = scale * float(value)
        fixed = [i for i, _ in self.references]
        removed = set(np.flatnonzero(coefficients)) - {*self.columns, *fixed}
        same = np.allclose(coefficients[fixed], self.fixed[fixed], rtol=1e-9)
        return (coefficients, scale) if same and not removed else None


@dataclass(frozen=True)
class Library(Candidates):
    """Candidates D_i of L = Σ c_i D_i, those of D, and what fixes the scale of L.

    With several degrees of freedom more is free. If every kinetic energy is a
    candidate, a system with mass matrix M and stiffness K has infinitely many
    Lagrangians with the same equations of motion, M' = f(M⁻¹K) (they are s-equivalent:
    Hojman and Urrutia 1981), and no data can tell them apart.

    Attributes
    ----------
    inertia
        What is known of the kinetic energy: ``free``, nothing; ``constant``, it does
        not change with the position; ``diagonal``, it is also a sum of squares of
        single velocities; ``given``, the reference is all of it. Candidates that
        contradict it are ``inertial`` and left out.
    dissipation
        Candidates R_j of the Rayleigh function D = Σ d_j R_j in (q, q̇).
    calculus
        ``"ito"`` or ``"stratonovich"``: what S dW is taken to mean; no data can tell.
    """

    inertia: str = "free"
    dissipation: tuple[sp.Expr, ...] = ()
    calculus: str = "ito"

    @classmethod
    def from_config(cls, config: Mapping, coordinates: Sequence[str]) -> "Library":
        """Library described by the `library` section of an example.

        ``{reference: "xdot**2/2", inertia: free, lagrangian: [recipe entries]}``, and
        optionally ``dissipation: [recipe entries]`` and ``calculus``.

        ValueError if the reference is not a sum of multiples of candidates, or an entry
        is not arithmetic over (q, q̇).
        """
        # The algebra of a library is done once, however many replicates use it.
        text = json.dumps(config, sort_keys=True)
        return _library(text, tuple(map(str, coordinates)))

    def check_references(self) -> None:
        """Refuse a redundant reference; only candidates before it can make it so."""
        last = max(i for i, _ in self.references)
        earlier = gauge_freedom(self.terms[: last + 1], self.coordinates)
        self._check_references(earlier.status)

    def _fits_inertia(self, term: sp.Expr) -> bool:
        if self.inertia == "free":
            return True
        mass = sp.hessian(term, symbols(velocity_names(self.coordinates)))
        if mass.is_zero_matrix:
            return True
        allowed = self.inertia == "constant" or (
            self.inertia == "diagonal" and mass.is_diagonal()
        )
        return allowed and not mass.free_symbols

    @cached_property
    def column_terms(self) -> list[sp.Expr]:
        """Functions behind `columns`."""
        reference = sp.Integer(0)
        for i, value in self.references:
            reference += (
                sp.nsimplify(value / self.reference_coefficient) * self.terms[i]
            )
        return [
            reference if i == self.reference else self.terms[i] for i in self.columns
        ]

    @cached_property
    def momenta(self) -> list[list[sp.Expr]]:
        """∂D_i/∂q̇_a of L, then zeros of D, one row per degree of freedom."""
        qdot = symbols(velocity_names(self.coordinates))
        none = [sp.Integer(0)] * len(self.dissipation)
        return [[sp.diff(term, v) for term in self.terms] + none for v in qdot]

    @cached_property
    def forces(self) -> list[list[sp.Expr]]:
        """∂D_i/∂q_a of L, then −∂R_j/∂q̇_a of D, one row per degree of freedom."""
        q = symbols(self.coordinates)
        damping = [rayleigh_force(term, self.coordinates) for term in self.dissipation]
        return [
            [sp.diff(term, x) for term in self.terms] + [-force[a] for force in damping]
            for a, x in enumerate(q)
        ]

    def damping(self, system: Any, scale: float) -> np.ndarray | None:
        """Coefficients of D for the damping of `system` times `scale`, or None."""
        coefficients = np.zeros(len(self.dissipation))
        function = system.evaluated(system.dissipation)
        function = sp.nsimplify(function, rational=True)
        known = self.dissipation, self.coordinates, rayleigh_force
        result = representation(function, *known)
        if result is None:
            return None
        for j, value in result.items():
            coefficients[j] = scale * float(value)
        return coefficients


@lru_cache(maxsize=32)
def _library(text: str, coordinates: tuple[str, ...]) -> Library:
    config = json.loads(text)
    names = (*coordinates, *velocity_names(coordinates))
    terms = _candidates_of("lagrangian", config, names)
    references = multiples(parsed("reference", config["reference"], names), terms)
    damping = _candidates_of("dissipation", config, names)
    known = {k: config[k] for k in ("inertia", "calculus") if k in config}
    return Library(coordinates, terms, references, dissipation=damping, **known)


def _candidates_of(part: str, config: Mapping, names: Sequence[str]) -> tuple:
    """Candidates of a part of the library, which begins the message of an error."""
    try:
        return candidates(config.get(part, []), names)
    except ValueError as error:
        raise ValueError(f"{part}: {error}") from None


def multiples(
    reference: sp.Expr, terms: Sequence[sp.Expr]
) -> tuple[tuple[int, float], ...]:
    """(position, coefficient) of the `terms` that a reference is a sum of.

    ValueError if a part of the reference is no multiple of a candidate.
    """
    multiple = _multiple(reference, terms)
    if multiple is not None:
        return (multiple,)
    result = []
    for part in sp.Add.make_args(sp.expand(reference)):
        result.append(_multiple(part, terms))
        if result[-1] is None:
            raise ValueError(
                f"reference: {part} is not a multiple of a candidate; "
                f"the candidates are {', '.join(map(str, terms))}"
            )
    return tuple(result)


def _multiple(part: sp.Expr, terms: Sequence[sp.Expr]) -> tuple[int, float] | None:
    for i, term in enumerate(terms):
        if term.free_symbols == part.free_symbols != set():
            ratio = part / term
            rational = ratio.is_rational_function()
            ratio = sp.cancel(ratio) if rational else sp.simplify(ratio)
            if ratio.is_number:
                return i, float(ratio)
    return None


# Coefficients below this share of the largest are round-off of a combination.
ROUND_OFF = 1e-9


@dataclass(frozen=True)
class Comparison:
    """An identified law beside the true one, in independent candidates.

    It is `exact` with exactly the true `terms`; `missing` and `extra` name true terms
    that it lacks and terms that it should not have. `error` are relative errors of the
    coefficients of the true terms after they are multiplied by `scale`.
    """

    exact: bool
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    scale: float
    error: np.ndarray
    terms: tuple[str, ...] = ()

    @property
    def worst(self) -> float:
        """Largest relative error."""
        return float(np.abs(self.error).max(initial=0.0))

    def __str__(self) -> str:
        lines = ["right terms" if self.exact else "wrong terms"]
        lines += [f"  missing  {name}" for name in self.missing]
        lines += [f"  too many  {name}" for name in self.extra]
        errors = zip(self.error, self.terms, strict=True)
        lines += [f"  {100 * error:+.3g} %  {name}" for error, name in errors]
        return "\n".join(lines)


def canonical(coefficients: np.ndarray, library: Library) -> np.ndarray:
    """Coefficients (..., those of L, then of D) of a law in independent candidates."""
    reduced = np.asarray(coefficients) @ library.joint_freedom.reduction.T
    largest = np.abs(reduced).max(axis=-1, keepdims=True, initial=0.0)
    return np.where(np.abs(reduced) > ROUND_OFF * largest, reduced, 0.0)


def compare(
    coefficients: np.ndarray,
    truth: np.ndarray,
    library: Library,
    fit_scale: bool = True,
) -> Comparison:
    """Compare two laws, (all candidates,), up to scale, gauge and identities.

    The scale minimises the sum of squared relative errors of the true terms,

    .. math::  k = \\sum_i r_i / \\sum_i r_i^2 , \\qquad r_i = c_i / c_i^{true} ;

    it is not free (`fit_scale`) where external forces were measured.
    """
    coefficients, truth = canonical(coefficients, library), canonical(truth, library)
    damping = library.dissipation_names
    names = np.array([*library.names, *damping], dtype=object)
    shown = np.array([*library.names, *(f"D: {n}" for n in damping)], dtype=object)
    present, true_terms = coefficients != 0, truth != 0
    ratio = coefficients[true_terms] / truth[true_terms]
    scale = 1.0
    if fit_scale and ratio.any():
        scale = float(ratio.sum() / (ratio**2).sum())
    return Comparison(
        exact=bool((present == true_terms).all()),
        missing=tuple(names[true_terms & ~present]),
        extra=tuple(names[present & ~true_terms]),
        scale=scale,
        error=scale * ratio - 1.0,
        terms=tuple(shown[true_terms]),
    )


def candidates(recipe: Sequence[Mapping], names: Sequence[str]) -> tuple[sp.Expr, ...]:
    """Expand a recipe into distinct candidate functions, in a fixed order.

    Each entry of `recipe` is one of

    ``{polynomial: {of: [x, xdot], degree: 5, lowest: 1}}``
        every monomial of total degree `lowest` (0 if not given) ... `degree`;
    ``{product: [{polynomial: ...}, {terms: ...}]}``
        each product of one candidate of every entry, the last varying fastest;
    ``{functions: {apply: [sin, cos], to: [x, xdot]}}``
        each function of each argument;
    ``{terms: ["x*abs(x)"]}``
        the expressions as written;
    ``{exclude: ["x**2"]}``
        takes earlier candidates away.

    ValueError if an expression uses another name than `names`, a term stands twice, an
    excluded one is not there, or there are too many.
    """
    count = sum(_count(entry) for entry in recipe)
    if count > MOST_CANDIDATES:
        raise ValueError(f"{count} candidates; at most {MOST_CANDIDATES} are accepted")
    result: dict[sp.Expr, None] = {}
    for entry in recipe:
        ((kind, body),) = entry.items()
        if kind == "exclude":
            for text in body:
                term = parse(text, names)
                if term not in result:
                    raise ValueError(f"exclude: {text!r} is not among the candidates")
                del result[term]
            continue
        for term in _generated(entry, names):
            if term in result:
                raise ValueError(
                    f"{kind}: {term} is a candidate already; leave it out here"
                )
            result[term] = None
    return tuple(result)


def _count(entry: Mapping) -> int:
    """Candidates that an entry gives, which are not made."""
    ((kind, body),) = entry.items()
    match kind:
        case "polynomial":
            return math.comb(len(body["of"]) + body["degree"], body["degree"])
        case "functions":
            return len(body["to"]) * len(body["apply"])
        case "product":
            return math.prod(map(_count, body))
    return len(body)


def _generated(entry: Mapping, names: Sequence[str]) -> list[sp.Expr]:
    ((kind, body),) = entry.items()
    match kind:
        case "polynomial":
            variables = [parse(name, names) for name in body["of"]]
            return [
                sp.Mul(*(variables[i] for i in chosen))
                for chosen in factors(len(variables), body["degree"])
                if len(chosen) >= body.get("lowest", 0)
            ]
        case "functions":
            return [
                parse(f"{function}({argument})", names)
                for argument in body["to"]
                for function in body["apply"]
            ]
        case "terms":
            return [parse(text, names) for text in body]
        case "product":
            each = itertools.product(*(_generated(part, names) for part in body))
            return [sp.Mul(*parts) for parts in each]
    raise ValueError(f"{kind}: only the library of a field can have this entry")


@dataclass(frozen=True)
class Damper:
    """Candidate of viscous damping, and the springs of the same coordinates.

    It is never zero for certain: a law without one is a stronger claim than one with a
    small one.
    """

    column: int  # among candidates of L, then of D
    coordinates: frozenset[int]
    springs: frozenset[int]  # columns

    def at(self, columns: Mapping[int, int]) -> "Damper":
        """The damper with other columns; springs that have none are left out."""
        springs = frozenset(columns[i] for i in self.springs if i in columns)
        return Damper(columns[self.column], self.coordinates, springs)


def dampers(library: Library) -> list[Damper]:
    """Viscous damping q̇² of a coordinate, and (q̇_b − q̇_a)² of a pair.

    Examples
    --------
    >>> springs = ["adot**2", "bdot**2", "a**2", "(b - a)**2"]
    >>> terms = {"reference": "adot**2/2", "lagrangian": [{"terms": springs}]}
    >>> losses = ["adot**2", "bdot**2", "(bdot - adot)**2", "adot**4"]
    >>> terms["dissipation"] = [{"terms": losses}]
    >>> known = dampers(Library.from_config(terms, ["a", "b"]))
    >>> [(each.column, sorted(each.springs)) for each in known]
    [(4, [2]), (5, []), (6, [3])]
    >>> staying(known, [2, 3]), staying(known, [2])
    ([4, 6], [4, 5])
    """
    n, count = len(library.coordinates), len(library.terms)
    state = symbols(library.variables)
    q, v = state[:n], state[n:]
    springs: dict[frozenset, set[int]] = {}
    for i, term in enumerate(library.terms):
        coordinates = frozenset(a for a in range(n) if term.has(q[a]))
        if coordinates and not term.has(*v):
            for pair in itertools.combinations(sorted(coordinates), 2):
                if term.diff(q[pair[0]], q[pair[1]]) != 0:
                    springs.setdefault(frozenset(pair), set()).add(i)
            if len(coordinates) == 1:
                springs.setdefault(coordinates, set()).add(i)
    result = []
    for j, loss in enumerate(library.dissipation):
        if coordinates := damped_coordinates(loss, q, v):
            beside = frozenset(springs.get(coordinates, ()))
            result.append(Damper(count + j, coordinates, beside))
    return result


def damped_coordinates(loss: sp.Expr, q: Sequence, v: Sequence) -> frozenset[int]:
    """Coordinates of viscous damping, one or a pair; none of any other loss."""
    coordinates = frozenset(a for a in range(len(v)) if loss.has(v[a]))
    curved = sp.hessian(loss, v).free_symbols or loss.has(*q, sp.Abs)
    return frozenset() if curved or len(coordinates) > 2 else coordinates


def staying(known: Sequence[Damper], support: Sequence[int]) -> list[int]:
    """Columns of the dampers that a law with a support has for certain.

    Those beside a spring of the law, and of a coordinate that then has no other one.
    """
    beside = [each for each in known if not each.springs.isdisjoint(support)]
    damped = {a for each in beside for a in each.coordinates}
    alone = [d for d in known if len(d.coordinates) == 1 and not d.coordinates & damped]
    return sorted(each.column for each in (*beside, *alone))
