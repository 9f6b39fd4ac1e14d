"""A vibrating line at a few sensors, as a state space of the innovations likelihood.

A density ℒ = ½ u_t² − ½ Σ_i θ_i d_i(u, u_x, u_xx; x), a Rayleigh density
½ Σ_j η_j r_j(u_t, u_xt, u_xxt; x) and a force that is white in space and time. The
Rayleigh–Ritz method with functions ψ, orthonormal in the mass, makes them

.. math::  \\ddot q + Σ_j η_j C_j \\dot q + Σ_i θ_i K_i q = S \\dot W , \\qquad
           y_k = Σ_r ψ_r(x_s) q_r + s e_k .

Polynomials that satisfy the essential conditions at the ends converge faster than any
power of their number, so there is no grid (Bhat, J. Sound Vib. 102 (1985) 493).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
import sympy as sp
from numpy.polynomial import Polynomial, legendre

from leastaction.core.expressions import parse, symbol
from leastaction.core.library import Damper, multiples
from leastaction.ensembles.sensor_records import Channels, Record
from leastaction.ensembles.state_space import StateSpace, Structure

# Essential conditions at an end: u = 0; u = u_x = 0.
CONDITIONS = {"free": 0, "fixed": 1, "clamped": 2}
PERIODIC = "periodic"
# Ritz functions beyond those that are kept: modes converge geometrically in them.
SPARE = 12
# A sensor of a field: its name, the derivative that it measures, and where (m).
SENSOR = re.compile(r"\s*([A-Za-z]\w*?)(_[tx]+)?\s*\(\s*([-+.\deE]+)\s*\)\s*")
RATES = {"": "position", "_t": "velocity", "_tt": "acceleration"}


@dataclass(frozen=True)
class Line:
    """A line of some length, m, and its ends.

    An end is ``free`` (natural conditions), ``fixed`` (u = 0; a hinge of a beam) or
    ``clamped`` (u = u_x = 0); or both are ``periodic``.

    Examples
    --------
    >>> Line.of(2.0, "clamped, free")
    Line(length=2.0, ends=('clamped', 'free'))
    """

    length: float
    ends: tuple[str, str]

    @classmethod
    def of(cls, length: float, ends: str) -> "Line":
        """Line whose `ends` are one word, or two with a comma: left, right."""
        words = [word.strip() for word in ends.split(",")]
        pair = tuple(words * 2 if len(words) == 1 else words)
        known = [*CONDITIONS, PERIODIC]
        if (
            len(pair) != 2
            or not {*pair} <= {*known}
            or (PERIODIC in pair and pair[0] != pair[1])
        ):
            raise ValueError(
                f"ends {ends!r}; expected {', '.join(known)}, or that of the left and "
                "of the right, such as `clamped, free`"
            )
        return cls(float(length), pair)

    def functions(self, count: int, x: np.ndarray) -> np.ndarray:
        """Ritz functions and two derivatives at places x (m): (3, place, function).

        Orthonormal: ∫ψψ' dx = δ.

        Examples
        --------
        >>> x, weight = Line.of(2.0, "clamped, free").quadrature(5)
        >>> psi = Line.of(2.0, "clamped, free").functions(5, x)[0]
        >>> bool(np.allclose(psi.T @ (weight[:, None] * psi), np.eye(5)))
        True
        """
        nodes, weights = self.quadrature(count)
        raw = np.concatenate([nodes, np.atleast_1d(x)])
        values = self._waves(count, raw) if PERIODIC in self.ends else None
        values = self._polynomials(count, raw) if values is None else values
        root = np.sqrt(weights)[:, None]
        _, triangle = np.linalg.qr(root * values[0, : len(nodes)])
        return np.linalg.solve(
            triangle.T, values[:, len(nodes) :].swapaxes(1, 2)
        ).swapaxes(1, 2)

    def quadrature(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Gauss–Legendre places and weights that integrate products of functions."""
        nodes, weights = legendre.leggauss(2 * count + 2 * SPARE)
        return self.length * (nodes + 1) / 2, weights * self.length / 2

    def _polynomials(self, count: int, x: np.ndarray) -> np.ndarray:
        """Legendre polynomials times the factor of the ends, with derivatives."""
        z = 2 * x / self.length - 1
        a, b = (CONDITIONS[end] for end in self.ends)
        factor = Polynomial([0.5, 0.5]) ** a * Polynomial([0.5, -0.5]) ** b
        parts = []
        for k in range(count):
            one = legendre.Legendre.basis(k)
            parts.append(
                [
                    [f.deriv(m)(z) if m else f(z) for m in range(3)]
                    for f in (factor, one)
                ]
            )
        s, p = np.moveaxis(np.array(parts), 0, -1)
        by_x = 2 / self.length
        return np.array(
            [
                s[0] * p[0],
                (s[1] * p[0] + s[0] * p[1]) * by_x,
                (s[2] * p[0] + 2 * s[1] * p[1] + s[0] * p[2]) * by_x**2,
            ]
        )

    def _waves(self, count: int, x: np.ndarray) -> np.ndarray:
        """1, cos kx, sin kx, ..., with derivatives."""
        k = 2 * np.pi / self.length * ((np.arange(count) + 1) // 2)
        phase = np.multiply.outer(x, k) - np.pi / 2 * (np.arange(count) % 2 == 0) * (
            k > 0
        )
        wave, slope = np.cos(phase), -np.sin(phase)
        return np.array([wave, k * slope, -(k**2) * wave])


@dataclass(frozen=True, eq=False)
class FieldCandidates:
    """Quadratic candidates of a density and of its Rayleigh density, in text.

    `lagrangian` are of u, u_t, u_x, u_xx and x, `dissipation` of u_t, u_xt, u_xxt and
    x; the `reference` is a multiple of u_t².
    """

    field: str
    lagrangian: tuple[str, ...]
    dissipation: tuple[str, ...]
    reference: str

    def __post_init__(self):
        for part, rate in (("lagrangian", 0), ("dissipation", 1)):
            jet = self.jet(rate) if rate else (*self.jet(0), self.jet(1)[0])
            for text, term in zip(getattr(self, part), self.terms(part), strict=True):
                bends = sp.hessian(term, jet)
                rest = sp.expand(
                    term - (sp.Matrix([jet]) * bends * sp.Matrix(jet))[0] / 2
                )
                if bends.has(*jet) or rest != 0 or bends.is_zero_matrix:
                    raise ValueError(
                        f"library.{part}: {text} is not quadratic in "
                        f"{', '.join(map(str, jet))}; a field at few sensors is linear"
                    )
        _ = self.references

    def jet(self, rate: int) -> tuple[sp.Symbol, ...]:
        """Symbols of u, u_x, u_xx, or of their rates."""
        endings = ("", "x", "xx") if not rate else ("t", "xt", "xxt")
        return tuple(symbol(f"{self.field}_{e}" if e else self.field) for e in endings)

    def terms(self, part: str) -> list[sp.Expr]:
        """Expressions of ``lagrangian`` or of ``dissipation``."""
        names = {*map(str, (*self.jet(0), *self.jet(1))), "x"}
        return [
            _parsed(text, tuple(sorted(names)), part) for text in getattr(self, part)
        ]

    @cached_property
    def references(self) -> tuple[tuple[int, float], ...]:
        """(position, coefficient) of the term that fixes the scale."""
        u_t = self.jet(1)[0]
        reference = _parsed(self.reference, (str(u_t),), "reference")
        matches = multiples(reference, self.terms("lagrangian"))
        if not sp.simplify(reference / u_t**2).is_number or len(matches) != 1:
            raise ValueError(
                f"library.reference: {reference} is no multiple of {u_t}**2"
            )
        return matches

    @property
    def dampers(self) -> list[Damper]:
        """Uniform damping, a multiple of u_t² in D: its column among all candidates."""
        count, u_t = len(self.lagrangian), self.jet(1)[0]
        return [
            Damper(count + place, frozenset([0]), frozenset())
            for place, loss in enumerate(self.terms("dissipation"))
            if loss.free_symbols == {u_t}
        ]

    @property
    def mass(self) -> float:
        """Mass density of the reference, its second derivative by u_t."""
        u_t = self.jet(1)[0]
        ((place, value),) = self.references
        return value * float(sp.diff(self.terms("lagrangian")[place], u_t, 2))

    def unit(self, part: str, place: int) -> str:
        """Unit of the coefficient of a candidate, the mass density being a number."""
        term, second = self.terms(part)[place], part == "dissipation"
        jet = self.jet(second)
        orders = sp.Poly(term, *jet).monoms()[0]
        lengths = sum(k * n for k, n in enumerate(orders))
        lengths -= (
            sp.Poly(term, symbol("x")).monoms()[0][0] if term.has(symbol("x")) else 0
        )
        if term.has(self.jet(1)[0]) and not second:
            return "1"
        top = "" if lengths == 0 else "m" if lengths == 1 else f"m^{lengths}"
        below = "s" if second else "s^2"
        return f"{top or 1}/{below}"


@lru_cache(maxsize=256)
def _parsed(text: str, names: tuple[str, ...], part: str) -> sp.Expr:
    try:
        return parse(text, names)
    except ValueError as error:
        raise ValueError(f"library.{part}: {error}") from None


@dataclass(frozen=True, eq=False)
class Modal:
    """A line in `count` orthonormal functions: matrices of candidates, and sensors.

    `stiffness` has one matrix for each candidate of L, zero of the reference, then of
    none; `damping` for each one of D.
    """

    stiffness: np.ndarray
    damping: np.ndarray
    shapes: np.ndarray  # (place, function)

    @classmethod
    def of(cls, candidates, line: Line, places, functions: int) -> "Modal":
        """Ritz matrices."""
        x, weights = line.quadrature(functions)
        jet = line.functions(functions, x)

        def form(term, symbols):
            total = np.zeros((functions, functions))
            for a, one in enumerate(symbols):
                for b, other in enumerate(symbols):
                    bend = sp.diff(term, one, other)
                    if bend != 0:
                        value = sp.lambdify(symbol("x"), bend, "numpy")(x) * weights
                        total += jet[a].T @ (
                            np.broadcast_to(value, x.shape)[:, None] * jet[b]
                        )
            return total / candidates.mass

        u, rates = candidates.jet(0), candidates.jet(1)
        return cls(
            np.array([-form(term, u) for term in candidates.terms("lagrangian")]),
            np.array([form(term, rates) for term in candidates.terms("dissipation")]),
            line.functions(functions, np.asarray(places))[0],
        )

    def modes(self, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Squares of angular frequencies, rising, and the modes (function, mode)."""
        stiffness = np.tensordot(coefficients[: len(self.stiffness)], self.stiffness, 1)
        return np.linalg.eigh(stiffness)

    def reduced(self, vectors: np.ndarray) -> "Modal":
        """The same in the span of some orthonormal vectors (function, mode)."""
        stiffness, damping = (
            np.einsum("ar,iab,bs->irs", vectors, matrices, vectors)
            if len(matrices)
            else np.zeros((0, *2 * vectors.shape[1:]))
            for matrices in (self.stiffness, self.damping)
        )
        return Modal(stiffness, damping, self.shapes @ vectors)


@dataclass(frozen=True, eq=False)
class QuadraticLibrary:
    """What a state space asks of a library whose candidates are matrices."""

    candidates: FieldCandidates
    modal: Modal

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the amplitudes."""
        return tuple(f"q{r + 1}" for r in range(self.modal.shapes.shape[1]))

    @property
    def terms(self) -> list[sp.Expr]:
        """Candidates of L."""
        return self.candidates.terms("lagrangian")

    @property
    def dissipation(self) -> list[sp.Expr]:
        """Candidates of D."""
        return self.candidates.terms("dissipation")

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the amplitudes and of their rates."""
        return (*self.coordinates, *(f"{name}dot" for name in self.coordinates))

    @property
    def references(self) -> tuple[tuple[int, float], ...]:
        """(position, coefficient) of the given inertia."""
        return self.candidates.references

    @property
    def fixed(self) -> np.ndarray:
        """Coefficients that are given, else zero."""
        result = np.zeros(len(self.terms))
        for place, value in self.references:
            result[place] = value
        return result


class FieldStateSpace(StateSpace):
    """State space of a line in modes; all its candidates are linear."""

    @cached_property
    def linear(self) -> np.ndarray:
        """All of them are."""
        return np.ones(len(self.library.terms) + len(self.library.dissipation), bool)

    def refine(self, structure, theta) -> None:
        """The filter is exact."""

    def forces_of_motion(self) -> tuple[float, np.ndarray]:
        """Rms force of the inertia, and of each candidate with coefficient one."""
        q, v = np.split(self.scale, 2)
        modal = self.library.modal
        size = [np.sqrt(np.mean(m**2 @ q**2)) for m in modal.stiffness]
        size += [np.sqrt(np.mean(m**2 @ v**2)) for m in modal.damping]
        return float(np.sqrt(np.mean((v**2 / q) ** 2))), np.array(size)

    def centred(self, structure: Structure, theta: np.ndarray) -> list[Record]:
        """Records without the means of the channels, by generalised least squares.

        Of accelerations, whose spectrum is zero at zero frequency, the mean of samples
        is far worse: it is the velocity that a record has gained, over its length.
        """
        run = self._linear(structure, self.parameters(structure, theta))

        def filtered(means) -> np.ndarray:
            parts = []
            for number, record in enumerate(self.records):
                e, V = np.zeros_like(record.y), np.ones_like(record.y)
                run(number, record.y - means, e, V)
                parts.append((e / np.sqrt(V)).ravel())
            return np.concatenate(parts)

        first = filtered(0.0)
        by_mean = [first - filtered(one) for one in np.eye(len(self.channels.names))]
        means = np.linalg.lstsq(np.transpose(by_mean), first)[0]
        return [record._replace(y=record.y - means) for record in self.records]

    def at(self, coefficients: np.ndarray, state=None):
        """M⁻¹, acceleration without a force, and its slopes, at a state (0 if None)."""
        n, modal = self.dof, self.library.modal
        of_l, of_d = np.split(coefficients, [len(modal.stiffness)])
        slopes = np.zeros((n, 2 * n))
        slopes[:, :n] = -np.tensordot(of_l, modal.stiffness, 1)
        if len(of_d):
            slopes[:, n:] = -np.tensordot(of_d, modal.damping, 1)
        acceleration = np.zeros(n) if state is None else slopes @ state
        return np.eye(n), acceleration, slopes


def sensor_of(text: str) -> tuple[str, str, float]:
    """Field, rate and place (m) of a sensor.

    Examples
    --------
    >>> sensor_of("u_tt(0.6)")
    ('u', 'acceleration', 0.6)
    """
    match = SENSOR.fullmatch(text)
    try:
        return match[1], RATES[match[2] or ""], float(match[3])
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            f"the sensor {text!r} measures no displacement, velocity or acceleration "
            "of a field at a place; expected u(0.2) of a displacement at 0.2 m, "
            "u_t(0.2) of a velocity, u_tt(0.2) of an acceleration"
        ) from None


def channels_at(sensors: Sequence[str], shapes: np.ndarray) -> Channels:
    """Channels of sensors whose places have these `shapes` (sensor, mode)."""
    weights = {rate: np.zeros_like(shapes) for rate in RATES.values()}
    for row, text in enumerate(sensors):
        weights[sensor_of(text)[1]][row] = shapes[row]
    absolute = np.zeros(len(sensors), dtype=bool)
    return Channels(tuple(sensors), *weights.values(), absolute)


def with_candidates(candidates: FieldCandidates, lagrangian) -> FieldCandidates:
    """The candidates and further ones of L, which come before those of D."""
    new = [text for text in lagrangian if text not in candidates.lagrangian]
    return replace(candidates, lagrangian=(*candidates.lagrangian, *new))
