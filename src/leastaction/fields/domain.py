"""Domain of a one-dimensional field: nodes, cells and difference operators.

A potential density V(u, u_x, u_xx) becomes a sum over quadrature points,

.. math::

    \\int_0^\\ell V dx \\approx \\sum_p w_p V((D_0 u)_p, (D_1 u)_p, (D_2 u)_p),

a function of the nodal values alone. The discrete field is therefore a Lagrangian
system itself: its stiffness is symmetric, its energy is conserved, and the conditions
at a free end are natural, so that nothing has to be imposed there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from leastaction.core.families import unknown

ENDS = ("fixed", "clamped", "free")
FEWEST_NODES = 4
HIGHEST_DERIVATIVE = 2


@dataclass(frozen=True)
class Operator:
    """Linear map from nodal values to a derivative at quadrature points.

    Attributes
    ----------
    matrix
        Shape (point, node), m^-order.
    weights
        Quadrature weight of each point, m.
    positions
        Position of each point, m.
    """

    matrix: np.ndarray
    weights: np.ndarray
    positions: np.ndarray


@dataclass(frozen=True)
class Domain:
    """Interval with uniformly spaced nodes; only nodes that can move are counted.

    Attributes
    ----------
    length
        ℓ, m.
    nodes
        Number of unknowns n. A fixed or clamped end carries none; a free end does.
    left, right
        ``"fixed"`` (u = 0; a hinge, for a beam), ``"clamped"`` (u = u_x = 0) or
        ``"free"`` (natural).
    """

    length: float
    nodes: int
    left: str
    right: str

    def __post_init__(self):
        if not self.length > 0:
            raise ValueError(f"domain: length {self.length} m must be positive")
        if self.nodes < FEWEST_NODES:
            raise ValueError(
                f"domain: {self.nodes} nodes; at least {FEWEST_NODES} are needed"
            )
        for side in ("left", "right"):
            end = getattr(self, side)
            if end not in ENDS:
                raise ValueError(f"domain.{side}: {unknown('end', end, ENDS)}")

    @classmethod
    def from_config(cls, config: Mapping) -> "Domain":
        """Domain of the ``system.domain`` section of an example."""
        return cls(
            float(config["length"]),
            int(config["nodes"]),
            str(config["left"]),
            str(config["right"]),
        )

    @classmethod
    def from_attributes(cls, attributes: Mapping) -> "Domain":
        """Domain that a dataset of a field names in its attributes."""
        names = ("length", "nodes", "left", "right")
        return cls.from_config({name: attributes[f"domain_{name}"] for name in names})

    @property
    def dx(self) -> float:
        """Distance of neighbouring nodes, m."""
        free = (self.left == "free") + (self.right == "free")
        return self.length / (self.nodes + 1 - free)

    @cached_property
    def x(self) -> np.ndarray:
        """Positions of the nodes, m, shape (node,)."""
        first = 0 if self.left == "free" else 1
        return self.dx * (first + np.arange(self.nodes))

    @cached_property
    def cell(self) -> np.ndarray:
        """Length that belongs to each node, m: dx, half of it at a free end."""
        cell = np.full(self.nodes, self.dx)
        if self.left == "free":
            cell[0] /= 2
        if self.right == "free":
            cell[-1] /= 2
        return cell

    def operator(self, order: int, points_of: int | None = None) -> Operator:
        """Derivative of `order` 0, 1 or 2 at the quadrature points of a density.

        Parameters
        ----------
        order
            0 for u, 1 for u_x, 2 for u_xx.
        points_of
            Order whose points are used (default: `order` itself); a density that mixes
            derivatives is evaluated at the points of the highest one.

            - 0: the nodes, weight `cell`.
            - 1: the springs between neighbours, ends at rest included, weight dx.
            - 2: every point with two neighbours, weight dx, and a clamped end, where
              u_xx = 2 u_1/dx², with half that weight. At a free or hinged end the
              curvature vanishes.
        """
        points_of = order if points_of is None else points_of
        if not 0 <= order <= points_of <= HIGHEST_DERIVATIVE:
            raise ValueError(
                f"operator: order {order} at the points of order {points_of}; "
                "expected 0 <= order <= points_of <= 2"
            )
        return _operator(self, order, points_of)

    @property
    def _extended(self) -> np.ndarray:
        """Values at all points, ends at rest included: shape (point, node)."""
        rest = np.zeros((1, self.nodes))
        rows = [np.eye(self.nodes)]
        if self.left != "free":
            rows.insert(0, rest)
        if self.right != "free":
            rows.append(rest)
        return np.vstack(rows)


@lru_cache(maxsize=64)
def _operator(domain: Domain, order: int, points_of: int) -> Operator:
    if points_of == 0:
        return Operator(np.eye(domain.nodes), domain.cell, domain.x)
    if points_of == 1:
        return _at_springs(domain, order)
    return _at_curvatures(domain, order)


def _at_springs(domain: Domain, order: int) -> Operator:
    values, dx = domain._extended, domain.dx
    if order == 0:
        matrix = (values[1:] + values[:-1]) / 2
    else:
        matrix = (values[1:] - values[:-1]) / dx
    count = len(matrix)
    return Operator(matrix, np.full(count, dx), dx * (np.arange(count) + 0.5))


def _at_curvatures(domain: Domain, order: int) -> Operator:
    values, dx = domain._extended, domain.dx
    if order == 0:
        matrix = values[1:-1]
    elif order == 1:
        matrix = (values[2:] - values[:-2]) / (2 * dx)
    else:
        matrix = (values[2:] - 2 * values[1:-1] + values[:-2]) / dx**2
    weights = np.full(len(matrix), dx)
    positions = dx * np.arange(1, len(values) - 1)
    row = np.zeros(domain.nodes)
    if domain.left == "clamped":
        clamp = 2 * values[1] / dx**2 if order == 2 else row
        matrix = np.vstack([clamp, matrix])
        weights = np.append(dx / 2, weights)
        positions = np.append(0.0, positions)
    if domain.right == "clamped":
        clamp = 2 * values[-2] / dx**2 if order == 2 else row
        matrix = np.vstack([matrix, clamp])
        weights = np.append(weights, dx / 2)
        positions = np.append(positions, domain.length)
    return Operator(matrix, weights, positions)
