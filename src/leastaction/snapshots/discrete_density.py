"""Discrete Lagrangian densities of a field: stencils, features, rows, symbol.

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
reversal of time and of space. Null Lagrangians, which have E = 0 for every field, give
zero rows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import factorial

from leastaction.core.multi_index import factors, multi_indices

STENCILS = ("square", "edges")
# Edges in space over more cells than this are quadratic.
WIDEST_CURVED_EDGE = 2


@dataclass(frozen=True)
class Block:
    """Polynomials of linear coordinates on a stencil.

    Attributes
    ----------
    offsets
        (layer, cells), shape (offset, 2).
    coordinates
        M/σ, shape (coordinate, offset).
    powers
        e, shape (function, coordinate).
    weights
        Of the functions.
    """

    offsets: np.ndarray
    coordinates: np.ndarray
    powers: np.ndarray
    weights: np.ndarray

    def at(self, layers: np.ndarray) -> np.ndarray:
        """Coordinates x of (..., 2, node), two layers; (..., node, coordinate)."""
        layer, cells = self.offsets.T
        node = (np.arange(layers.shape[-1])[:, None] + cells) % layers.shape[-1]
        return layers[..., layer, node] @ self.coordinates.T

    @cached_property
    def _products(self) -> tuple[tuple[int, ...], ...]:
        """Coordinates of every monomial, in graded order."""
        return factors(self.powers.shape[1], int(self.powers.sum(axis=1).max()))

    @cached_property
    def _lower(self) -> list[tuple[int, int]]:
        """Every monomial but 1 as one before it times a coordinate."""
        place = {chosen: i for i, chosen in enumerate(self._products)}
        return [(place[chosen[:-1]], chosen[-1]) for chosen in self._products[1:]]

    def monomials(self, x: np.ndarray) -> np.ndarray:
        """All monomials up to the degree, (..., monomial)."""
        flat = np.moveaxis(x, -1, 0).reshape(x.shape[-1], -1)
        found = np.ones((len(self._products), flat.shape[1]))
        for row, (lower, axis) in zip(found[1:], self._lower, strict=True):
            np.multiply(found[lower], flat[axis], out=row)
        return found.T.reshape(*x.shape[:-1], -1)

    def derivative(self, *axes: int) -> np.ndarray:
        """Coefficients of ∂φ in monomials, by coordinates; (monomial, function)."""
        place = {chosen: i for i, chosen in enumerate(self._products)}
        found = np.zeros((len(place), len(self.powers)))
        for f, (powers, factor) in enumerate(
            zip(self.powers.tolist(), self.weights, strict=True)
        ):
            for axis in axes:
                factor, powers[axis] = factor * powers[axis], powers[axis] - 1
            if factor:
                left = tuple(i for i, power in enumerate(powers) for _ in range(power))
                found[place[left], f] = factor
        return found

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
    stencil: str, width: int, degree: int, dt: float, dx: float
) -> Iterator[tuple]:
    """(offsets, M, exponents) of every block."""

    def even(count: int, *groups) -> np.ndarray:
        """Exponents of degree 1 to `degree`, even in each group of coordinates."""
        rows = multi_indices(count, degree)[1:]
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
    """Features of a discrete Lagrangian density.

    Attributes
    ----------
    stencil, width, degree
        Family of stencils, p, and degree of the features.
    length_scale
        ℓ of the kernel.
    time_step, spacing
        Of the snapshots, s, and of the nodes, m.
    scales
        σ of the coordinates, block by block; those of the data by :meth:`scaled_by`.
    """

    stencil: str
    width: int
    degree: int
    length_scale: float
    time_step: float
    spacing: float
    scales: np.ndarray | None = None

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Their functions stand one after the other."""
        shapes = _shapes(
            self.stencil, self.width, self.degree, self.time_step, self.spacing
        )
        found, first = [], 0
        for offsets, maps, powers in shapes:
            maps, powers = np.atleast_2d(maps), np.atleast_2d(powers)
            if self.scales is not None:
                maps = maps / self.scales[first : first + len(maps), None]
            first += len(maps)
            weights = self.length_scale ** -powers.sum(axis=1).astype(float)
            weights /= np.sqrt(factorial(powers).prod(axis=1))
            found.append(Block(np.array(offsets), maps, powers, weights))
        return tuple(found)

    def scaled_by(self, u: np.ndarray) -> "StencilBasis":
        """The same with root mean squares of snapshots u (trajectory, time, node)."""
        layers = pairs_of_layers(u)
        raw = [block.at(layers) for block in replace(self, scales=None).blocks]
        scales = np.concatenate([np.sqrt((x**2).mean(axis=(0, 1, 2))) for x in raw])
        scales[scales == 0] = 1.0
        return replace(self, scales=scales)

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
        """E of every function at all inner snapshots of u (trajectory, time, node).

        Shape (trajectory, time − 2, node, function).
        """
        layers = pairs_of_layers(u)

        def of(block: Block) -> np.ndarray:
            monomials = block.monomials(block.at(layers))
            found = np.zeros((2, *layers[..., 0, :].shape, len(block.powers)))
            for (layer, r), slope in zip(block.offsets, block.slopes, strict=True):
                found[layer] += np.roll(monomials @ slope, r, axis=-2)
            return found[1][:, :-1] + found[0][:, 1:]

        return self._each(of)

    def mass_condition(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean over the data of Σ_k ∂E_j^n/∂u_k^{n+1} = −1/dt²: one row, and its value.

        No null Lagrangian changes it, for it is made of E alone.
        """
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
            found = np.zeros((2, base.size, theta.size, len(block.powers)))
            for (layer, r), bends in zip(block.offsets, block.bends, strict=True):
                for (other, s), bend in zip(block.offsets, bends, strict=True):
                    if other >= layer:
                        wave = np.cos((s - r) * theta)[:, None]
                        found[other - layer] += (monomials @ bend)[:, None] * wave
            return found

        return self._each(of)


def pairs_of_layers(u: np.ndarray) -> np.ndarray:
    """Neighbouring snapshots, (trajectory, time − 1, 2, node)."""
    return np.stack([u[:, :-1], u[:, 1:]], axis=-2)


class DiscreteDensity:
    """L_d = b · φ: one implicit step of all motions, and its dispersion.

    Parameters
    ----------
    basis
        Features.
    coefficients
        b, shape (function,).
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
        """∂(sum of L_d)/∂u of layer `of`, and its derivatives by layer 1.

        Of layers (motion, 2, node): shapes (motion, node) and (motion, node, node).
        """
        motions, _, nodes = layers.shape
        slope, here = np.zeros((motions, nodes)), np.arange(nodes)
        matrix = np.zeros((motions, nodes, nodes)) if bend else None
        for block, slopes, bends in self._parts:
            monomials = block.monomials(block.at(layers))
            for a, (layer, r) in enumerate(block.offsets):
                if layer != of:
                    continue
                slope[:, (here + r) % nodes] += monomials @ slopes[a]
                for c, (other, s) in enumerate(block.offsets):
                    if bend and other == 1:
                        at = (here + r) % nodes, (here + s) % nodes
                        matrix[:, at[0], at[1]] += monomials @ bends[a, c]
        return slope, matrix

    def symbol(self, base, theta) -> np.ndarray:
        """J₀ and J₁ about uniform fields, shape (2, base, angle)."""
        return self.basis.symbol(base, theta) @ self.coefficients

    def dispersion(self, base, theta) -> np.ndarray:
        """Cosine of ω dt of waves θ = k dx about uniform fields, (base, angle)."""
        j0, j1 = self.symbol(base, theta)
        return -j0 / (2 * j1)
