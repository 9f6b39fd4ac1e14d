"""Discrete Lagrangian densities of a field: stencils, rows, symbol, stability.

A discrete Lagrangian density of snapshots :math:`u_j^n` (layer n, node j, periodic in
j) is a function of the values on a stencil, a set of offsets o = (l, r) with layer
l = 0, 1. Its discrete Euler–Lagrange equation is (Marsden, Patrick and Shkoller 1998,
eq. (5.2))

.. math::

    E_j^n = \\sum_o \\frac{\\partial L_d}{\\partial u_o}
        \\text{ (stencil based at } (n-l, j-r)) = 0 .

:math:`L_d` is a sum of blocks, each a polynomial of a few linear coordinates
:math:`s_i = \\sum_o M_{io} u_o` of its own stencil, with the features of the kernel
:math:`e^{x \\cdot y/\\ell^2}`, x = s over its root mean square σ,

.. math::

    φ_e = \\ell^{-|e|} \\prod_i x_i^{e_i} / \\sqrt{e_i!}, \\quad L_d = \\sum_e b_e φ_e .

Two families of stencils grow with their width p. ``square``: the four corners of a
cell, in (mean, time difference, space difference, twist), and quadratic terms of
differences over r = 2..p cells of one layer and of two. ``edges``: functions of an
edge in time and of edges in space over r = 1..p cells. Features are even under
reversal of time and of space, and optionally under u → −u. Null
Lagrangians, which have E = 0 for every field, give zero rows.

A uniform damping, :math:`u_{tt} + γ u_t = \\dots`, has the Lagrangian
:math:`e^{γt} L` (Caldirola 1941, Kanai 1948). Of the discrete one, base n has the
factor :math:`e^{γ t_n}`, so that in E the terms with l = 1 have the *decay* g =
:math:`e^{-γ dt}` beside those with l = 0. Blocks of one layer count half for each
layer, (1 + g)/2 in all.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, product

import numpy as np
from scipy.special import chdtrc, factorial

from leastaction.core.multi_index import factors, multi_indices

STENCILS = ("square", "edges")
# Edges in space over more cells than this are quadratic.
WIDEST_CURVED_EDGE = 2
# Uniform fields about which waves must not grow, from −max|u| to max|u|.
BASES = 5
# Of Newton's method; degree of a(u) in its iteration, and points at which it is formed.
ITERATIONS = 12
DEGREE_OF_FORCE, POINTS_OF_FORCE = 9, 41
# Of −J₁ dt², below which a step has no safe solution.
LEAST_MASS = 1e-2
# A cosine this much beyond 1 is round-off.
ROUND_OFF = 1e-9
# Probability of a stable fit as far from the data, below which it is refused: that of
# five standard deviations of a normal variable.
LEAST_PROBABILITY = 5.7e-7


@dataclass(frozen=True)
class Block:
    """Polynomials of linear coordinates on a stencil."""

    offsets: np.ndarray  # (layer, cells), shape (offset, 2)
    coordinates: np.ndarray  # M/σ, shape (coordinate, offset)
    powers: np.ndarray  # e, shape (function, coordinate)
    weights: np.ndarray  # of the functions

    @cached_property
    def one_layer(self) -> bool:
        """Whether it is a function of one snapshot."""
        return not self.offsets[:, 0].any()

    def at(self, layers: np.ndarray) -> np.ndarray:
        """Coordinates x of (..., 2, node), two layers; (..., node, coordinate)."""
        layer, cells = self.offsets.T
        node = (np.arange(layers.shape[-1])[:, None] + cells) % layers.shape[-1]
        return layers[..., layer, node] @ self.coordinates.T

    @cached_property
    def _place(self) -> dict[tuple[int, ...], int]:
        """Places of the monomials, in graded order, by their coordinates."""
        every = factors(self.powers.shape[1], int(self.powers.sum(axis=1).max()))
        return {chosen: i for i, chosen in enumerate(every)}

    @cached_property
    def _lower(self) -> list[tuple[slice, list[int], list[int]]]:
        """Monomials of each degree as those of the degree before times a coordinate."""
        result, first = [], 1
        for _, group in groupby(list(self._place)[1:], len):
            some = list(group)
            rows = slice(first, first := first + len(some))
            lower = [self._place[one[:-1]] for one in some]
            result.append((rows, lower, [one[-1] for one in some]))
        return result

    def monomials(self, x: np.ndarray) -> np.ndarray:
        """All monomials up to the degree, (..., monomial)."""
        flat = np.moveaxis(x, -1, 0).reshape(x.shape[-1], -1)
        result = np.ones((len(self._place), flat.shape[1]))
        for rows, lower, axes in self._lower:
            np.multiply(result[lower], flat[axes], out=result[rows])
        return result.T.reshape(*x.shape[:-1], -1)

    def derivative(self, *axes: int) -> np.ndarray:
        """Coefficients of ∂φ in monomials, by coordinates; (monomial, function)."""
        place = self._place
        result = np.zeros((len(place), len(self.powers)))
        for f, (powers, factor) in enumerate(
            zip(self.powers.tolist(), self.weights, strict=True)
        ):
            for axis in axes:
                factor, powers[axis] = factor * powers[axis], powers[axis] - 1
            if factor:
                left = tuple(i for i, power in enumerate(powers) for _ in range(power))
                result[place[left], f] = factor
        return result

    @cached_property
    def slopes(self) -> np.ndarray:
        """Derivatives by values of the stencil, (offset, monomial, function)."""
        each = [self.derivative(i) for i in range(len(self.coordinates))]
        return np.tensordot(self.coordinates.T, each, 1)

    @cached_property
    def bends(self) -> np.ndarray:
        """Second derivatives, (offset, offset, monomial, function)."""
        count = range(len(self.coordinates))
        each = np.array([[self.derivative(i, k) for k in count] for i in count])
        maps = self.coordinates
        return np.einsum("ia,kc,ikmf->acmf", maps, maps, each, optimize=True)


CORNERS = ((0, 0), (0, 1), (1, 0), (1, 1))


def _shapes(
    stencil: str, width: int, degree: int, even_in_u: bool, dt: float, dx: float
) -> Iterator[tuple]:
    """(offsets, M, exponents) of every block."""

    def even(count: int, *groups) -> np.ndarray:
        """Exponents of degree 1 to `degree`, even in each group of coordinates."""
        rows = multi_indices(count, degree)[1:]
        groups += (range(count),) if even_in_u else ()
        keep = np.all([rows[:, list(g)].sum(axis=1) % 2 == 0 for g in groups], axis=0)
        return rows[keep]

    if stencil == "square":
        a, b, c, d = np.eye(4)
        maps = [(a + b + c + d) / 4, (c + d - a - b) / (2 * dt)]
        maps += [(b + d - a - c) / (2 * dx), (a - b - c + d) / (dx * dt)]
        yield CORNERS, maps, even(4, (1, 3), (2, 3))
    else:
        yield ((0, 0), (1, 0)), [[0.5, 0.5], [-1 / dt, 1 / dt]], even(2, (1,))
    for r in range(1 if stencil == "edges" else 2, width + 1):
        ends = [[0.5, 0.5], [-1 / dx, 1 / dx]]
        if stencil == "edges" and r <= WIDEST_CURVED_EDGE:
            yield ((0, 0), (0, r)), ends, even(2, (1,))
            continue
        yield ((0, 0), (0, r)), ends[1:], [[2]]
        if stencil == "square":
            corners = ((0, 0), (0, r), (1, 0), (1, r))
            yield corners, [np.array([1, -1, -1, 1]) / (dx * dt)], [[2]]


@dataclass(frozen=True)
class StencilBasis:
    """Features of a discrete Lagrangian density."""

    stencil: str  # family of stencils
    width: int  # p
    degree: int
    length_scale: float  # ℓ of the kernel
    time_step: float  # s
    spacing: float  # of the nodes, m
    even: bool = False  # under u → −u
    decay: float = 1.0  # g = e^(−γ dt) of a uniform damping γ
    # σ of the coordinates, block by block; those of the data by :meth:`scaled_by`.
    scales: np.ndarray | None = None

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Their functions stand one after the other."""
        shapes = _shapes(*self.family, self.time_step, self.spacing)
        result, first = [], 0
        for offsets, maps, powers in shapes:
            maps, powers = np.atleast_2d(maps), np.atleast_2d(powers)
            if self.scales is not None:
                maps = maps / self.scales[first : first + len(maps), None]
            first += len(maps)
            weights = self.length_scale ** -powers.sum(axis=1).astype(float)
            weights /= np.sqrt(factorial(powers).prod(axis=1))
            result.append(Block(np.array(offsets), maps, powers, weights))
        return tuple(result)

    def scaled_by(self, u: np.ndarray) -> "StencilBasis":
        """The same with root mean squares of snapshots u (trajectory, time, node)."""
        layers = pairs_of_layers(u)
        raw = [block.at(layers) for block in replace(self, scales=None).blocks]
        scales = np.concatenate([np.sqrt((x**2).mean(axis=(0, 1, 2))) for x in raw])
        scales[scales == 0] = 1.0
        return replace(self, scales=scales)

    @property
    def family(self) -> tuple:
        """Which functions there are."""
        return self.stencil, self.width, self.degree, self.even

    @property
    def size(self) -> int:
        """Number of functions."""
        return sum(len(block.powers) for block in self.blocks)

    @property
    def orders(self) -> np.ndarray:
        """Degrees of the functions."""
        return self._each(lambda block: block.powers.sum(axis=1))

    def _each(self, value: Callable[[Block], np.ndarray]) -> np.ndarray:
        """What `value` returns of every block, one after the other along the last."""
        return np.concatenate([value(block) for block in self.blocks], axis=-1)

    def rows(self, u: np.ndarray) -> np.ndarray:
        """E at inner snapshots of u, (trajectory, time − 2, node, function)."""
        now, before = self.sides(u)
        return now + self.decay * before

    def sides(self, u: np.ndarray) -> np.ndarray:
        """The terms of E without the decay, and those that it goes with."""
        layers = pairs_of_layers(u)

        def of(block: Block) -> np.ndarray:
            monomials = block.monomials(block.at(layers))
            result = np.zeros((2, *layers[..., 0, :].shape, len(block.powers)))
            for (layer, r), slope in zip(block.offsets, block.slopes, strict=True):
                result[layer] += np.roll(monomials @ slope, r, axis=-2)
            if block.one_layer:
                return np.stack([result[0][:, 1:]] * 2) / 2
            return np.stack([result[0][:, 1:], result[1][:, :-1]])

        return self._each(of)

    def mass_condition(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean of Σ_k ∂E_j^n/∂u_k^{n+1} = −1/dt², made of E alone: a row, its value."""
        layers = pairs_of_layers(u)

        def of(block: Block) -> np.ndarray:
            mean = block.monomials(block.at(layers)).mean(axis=(0, 1, 2))
            layer = block.offsets[:, 0]
            return mean @ block.bends[layer == 0][:, layer == 1].sum(axis=(0, 1))

        return self._each(of)[None], np.array([-1 / self.time_step**2])

    def symbol(self, base: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Rows of J₀ and J₁ = J₋₁, shape (2, base, angle, function).

        E linearised about the uniform fields u = `base`, for waves e^{iθj} of one layer
        n or n + 1. A wave of the linearised motion has cos ω dt = −J₀/(2 J₁).
        """
        base, theta = np.atleast_1d(base), np.atleast_1d(theta)

        def of(block: Block) -> np.ndarray:
            x = base[:, None] * block.coordinates.sum(axis=1)
            monomials = block.monomials(x)
            result = np.zeros((2, base.size, theta.size, len(block.powers)))
            for (layer, r), bends in zip(block.offsets, block.bends, strict=True):
                for (other, s), bend in zip(block.offsets, bends, strict=True):
                    if other >= layer:
                        wave = np.cos((s - r) * theta)[:, None]
                        result[other - layer] += (monomials @ bend)[:, None] * wave
            return result

        return self._each(of)


def pairs_of_layers(u: np.ndarray) -> np.ndarray:
    """Neighbouring snapshots, (trajectory, time − 1, 2, node)."""
    return np.stack([u[:, :-1], u[:, 1:]], axis=-2)


class DiscreteDensity:
    """L_d = b · φ, b of shape (function,): its slopes and its dispersion.

    The symbol and the dispersion are those without the damping.
    """

    def __init__(self, basis: StencilBasis, coefficients: np.ndarray):
        self.basis, self.coefficients = basis, coefficients
        ends = np.cumsum([len(block.powers) for block in basis.blocks])
        parts = np.split(coefficients, ends[:-1])
        self._parts = [
            (block, block.slopes @ b, block.bends @ b)
            for block, b in zip(basis.blocks, parts, strict=True)
        ]

    def derivatives(
        self, layers: np.ndarray, of: int, bend: bool = False
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Terms of E from ∂L_d/∂u of layer `of`, and their derivatives by layer 1.

        Of layers (motion, 2, node): shapes (motion, node) and (motion, node, node).
        """
        motions, _, nodes = layers.shape
        rows, shifts, bands, sums = self._linear[of, bend]
        parts = [
            block.monomials(block.at(layers)) @ columns
            for (block, *_), columns in zip(self._parts, rows, strict=True)
        ]
        here = np.arange(nodes)[:, None]
        shifted = np.concatenate(parts, axis=-1)[
            :, (here - shifts) % nodes, np.arange(len(shifts))
        ]
        slope, *diagonals = np.moveaxis(shifted @ sums, -1, 0)
        if not bend:
            return slope, None
        matrix = np.zeros((motions, nodes, nodes))
        for band, diagonal in zip(bands, diagonals, strict=True):
            matrix[:, here[:, 0], (here[:, 0] + band) % nodes] += diagonal
        return slope, matrix

    @cached_property
    def _linear(self) -> dict[tuple[int, bool], tuple]:
        """:meth:`_columns`, by its arguments."""
        return {each: self._columns(*each) for each in product((0, 1), (False, True))}

    def _columns(self, of: int, bend: bool) -> tuple:
        """Columns of each block that monomials are multiplied by, and their shifts.

        What a column shifted by r adds to: the slope, or the diagonal `bands` of the
        matrix.
        """
        rows, places = [], []
        for block, slopes, bends in self._parts:
            decay = (1 + self.basis.decay) / 2 if block.one_layer else 1.0
            columns = [np.empty((0, slopes.shape[1]))]
            for slope, bend_of, (layer, r) in zip(
                slopes, bends, block.offsets, strict=True
            ):
                if layer == of:
                    later = block.offsets[:, 0] == 1 if bend else slice(0)
                    columns += [slope[None], bend_of[later]]
                    places += [(r, None)]
                    places += [(r, s - r) for s in block.offsets[later, 1]]
            factor = self.basis.decay if of else decay
            rows.append(factor * np.concatenate(columns).T)
        bands = sorted({band for _, band in places} - {None})
        sums = [[band == one for one in (None, *bands)] for _, band in places]
        return rows, np.array([r for r, _ in places]), bands, np.array(sums, float)

    def symbol(self, base, theta) -> np.ndarray:
        """J₀ and J₁ about uniform fields, shape (2, base, angle)."""
        return self.basis.symbol(base, theta) @ self.coefficients

    def dispersion(self, base, theta) -> np.ndarray:
        """Cosine of ω dt of waves θ = k dx about uniform fields, (base, angle)."""
        j0, j1 = self.symbol(base, theta)
        return -j0 / (2 * j1)

    def squared_frequency(self, theta, base: float = 0.0) -> np.ndarray:
        """ω² of waves θ = k dx about a uniform field, exact in dt and dx.

        Those without the damping; with it they oscillate at ω² − γ²/4. Negative where a
        wave grows; NaN where it grows and alternates.
        """
        cosine = self.dispersion([base], theta)[0]
        with np.errstate(invalid="ignore"):
            omega = np.arccos(cosine.astype(complex))
        square = (omega / self.basis.time_step) ** 2
        return np.where(cosine < -1, np.nan, square.real)

    def speed_squared(self, theta, base: float = 0.0) -> float:
        """c² = Δω²/Δk² of two waves θ = k dx, m²/s²."""
        squares = np.diff((np.asarray(theta) / self.basis.spacing) ** 2)
        return float(np.diff(self.squared_frequency(theta, base)) @ (1 / squares))

    def slope(self, u: np.ndarray) -> np.ndarray:
        """V'(u) over the mass density, by backward error analysis.

        Uniform solutions obey ü = a(u) with a = −V'. The discrete equation has
        u^{n±1} = u + f(u), and by Taylor's formula for an even solution,

        .. math::

            a = \\frac{2f}{dt^2} - \\frac{dt^2}{12} a'a
                - \\frac{dt^4}{360} (a'^2 + 3a''a) a + O(dt^6),

        solved by iteration for a polynomial a.
        """
        u, h = np.asarray(u, dtype=float), self.basis.time_step
        without = replace(self.basis, decay=1.0)
        conservative = DiscreteDensity(without, self.coefficients)
        points = np.linspace(-1, 1, POINTS_OF_FORCE) * np.abs(u).max()
        leading = 2 * _uniform_step(conservative, points) / h**2
        fit = np.polynomial.Chebyshev.fit
        acceleration = fit(points, leading, DEGREE_OF_FORCE)
        with np.errstate(over="ignore", invalid="ignore"):  # it need not converge
            for _ in range(ITERATIONS):
                a, d, dd = (acceleration.deriv(k)(points) for k in (0, 1, 2))
                more = h**2 / 12 * d * a + h**4 / 360 * (d**2 + 3 * dd * a) * a
                if not np.isfinite(more).all():
                    return np.full_like(u, np.nan)
                acceleration = fit(points, leading - more, DEGREE_OF_FORCE)
            return -acceleration(u)


def _uniform_step(density: DiscreteDensity, u: np.ndarray) -> np.ndarray:
    """Return f with u^{n−1} = u^{n+1} = u + f about a uniform u^n = u."""
    f = np.zeros_like(u)
    for _ in range(ITERATIONS):
        layers = np.repeat(np.stack([u, u + f], axis=1)[..., None], 2, axis=2)
        push, _ = density.derivatives(layers[:, ::-1], 1)
        slope, matrix = density.derivatives(layers, 0, bend=True)
        # The other snapshot is the same by reversal of time.
        f = f - (push + slope)[:, 0] / (2 * matrix[:, 0].sum(axis=1))
    return f


@dataclass(frozen=True)
class Waves:
    """Waves that must not grow.

    Waves e^{i(θj − ωn dt)} about a uniform field have cos ω dt = −J₀/(2J₁)
    (:meth:`StencilBasis.symbol`). No wave grows, and every step has one solution, if

    .. math::  -J_1 \\ge ε/dt^2, \\qquad -2aJ_1 - J_0 \\ge 0, \\qquad -2J_1 + J_0 \\ge 0

    with a = 1 (Richtmyer and Morton 1967, section 4.7, of leapfrog schemes). About a
    uniform field at which the potential is concave long waves do grow; there a is the
    cos ω dt > 1 of the uniform wave, as fitted: no wave grows faster.
    """

    base: np.ndarray  # uniform fields
    theta: np.ndarray  # angles k dx of all waves of the nodes

    @classmethod
    def of(cls, u: np.ndarray) -> "Waves":
        """Waves of the nodes of snapshots u (..., node), and their range."""
        largest = np.abs(u).max()
        nodes = u.shape[-1]
        theta = 2 * np.pi / nodes * np.arange(nodes // 2 + 1)
        return cls(np.linspace(-largest, largest, BASES), theta)

    def growth(self, density: DiscreteDensity) -> np.ndarray:
        """a, the larger of 1 and cos ω dt of the uniform wave, shape (base, 1)."""
        (j0,), (j1,) = (j.T for j in density.symbol(self.base, np.zeros(1)))
        with np.errstate(divide="ignore", invalid="ignore"):
            cosine = -j0 / (2 * j1)
        return np.where(j1 < 0, np.maximum(cosine, 1.0), 1.0)[:, None]

    def excess(self, density: DiscreteDensity) -> float:
        """How far |cos ω dt| is beyond its bound; infinite without a mass."""
        j0, j1 = density.symbol(self.base, self.theta)
        if (j1 * density.basis.time_step**2 > -LEAST_MASS / 2).any():
            return np.inf
        cosine = -j0 / (2 * j1)
        return float(np.maximum(cosine - self.growth(density), -1 - cosine).max())


def inequalities(
    density: DiscreteDensity, waves: Waves
) -> tuple[np.ndarray, np.ndarray]:
    """G and h of the stability conditions G b ≥ h, times dt²."""
    basis = density.basis
    j0, j1 = basis.time_step**2 * basis.symbol(waves.base, waves.theta)
    growth = waves.growth(density)[..., None]
    rows = np.concatenate([-j1, -2 * growth * j1 - j0, -2 * j1 + j0])
    least = np.zeros(rows.shape[:2])
    least[: len(j1)] = LEAST_MASS
    return rows.reshape(-1, basis.size), least.ravel()


def least_distance(rows: np.ndarray, least: np.ndarray) -> np.ndarray | None:
    """Return the y of least norm with `rows` y ≥ `least`; None if there is none.

    >>> least_distance(np.array([[1.0, 1.0]]), np.array([2.0]))
    array([1., 1.])
    """
    from scipy.optimize import nnls  # slow to import

    size = np.linalg.norm(rows, axis=1)
    size[size == 0] = 1.0
    system = np.vstack([(rows / size[:, None]).T, least / size])
    target = np.zeros(len(system))
    target[-1] = 1.0
    weights, rest = nnls(system, target, maxiter=30 * system.shape[1])
    residual = system @ weights - target
    if rest < np.sqrt(np.finfo(float).eps):
        return None
    return -residual[:-1] / residual[-1]


def stabilised(
    basis: StencilBasis, coefficients: np.ndarray, factor: np.ndarray, waves: Waves
) -> tuple[np.ndarray, float]:
    """Stable coefficients nearest to b̂ in the posterior FᵀF, and |y|.

    Data say little about waves that they do not contain, and a fit may break stability
    there. The stable b that the posterior b ~ N(b̂, FᵀF) prefers is b̂ + Fᵀy with the y
    of least norm, a problem of least distance programming that non-negative least
    squares solves (Lawson and Hanson 1974, chapter 23). b̂ itself, and 0, if it is
    stable; b̂ and infinity if no stable ones are probable.
    """
    density = DiscreteDensity(basis, coefficients)
    if waves.excess(density) <= ROUND_OFF:
        return coefficients, 0.0
    rows, least = inequalities(density, waves)
    y = least_distance(rows @ factor.T, least - rows @ coefficients)
    if y is None or chdtrc(len(factor), y @ y) < LEAST_PROBABILITY:
        return coefficients, np.inf
    moved = coefficients + y @ factor
    if waves.excess(DiscreteDensity(basis, moved)) > ROUND_OFF:
        return coefficients, np.inf
    return moved, float(np.linalg.norm(y))
