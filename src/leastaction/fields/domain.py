"""Domain of a one-dimensional field, and densities evaluated on it.

A potential density V(u, u_x, u_xx) becomes a sum over quadrature points,

.. math::

    \\int_0^\\ell V dx \\approx \\sum_p w_p V((D_0 u)_p, (D_1 u)_p, (D_2 u)_p),

a function of the nodal values alone. The discrete field is therefore a Lagrangian
system itself: its stiffness is symmetric, its energy is conserved, and the conditions
at a free end are natural, so that nothing has to be imposed there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import numpy as np
import sympy as sp

from leastaction.core.compiled import assignments, kernel, local
from leastaction.core.families import unknown
from leastaction.fields.library import displacements, jet_symbol, spatial_order

ENDS = ("fixed", "clamped", "free", "periodic")
FEWEST_NODES = 4
HIGHEST_DERIVATIVE = 2

KERNEL = """
@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def evaluate(u, u_t, start, node, entry, values):
    for k in range(u.shape[0]):
        for p in range(start.shape[1] - 1):
            {jet}
            {values}
"""
GATHER = """\
{name} = 0.0
for j in range(start[{order}, p], start[{order}, p + 1]):
    {name} += entry[j] * {array}[k, node[j]]"""

# K φ − M φ λ over K φ, per node, at which φ count as eigenvectors of K.
RELATIVE_ROUNDOFF_OF_EIGENVECTORS = 1e-12
# So that what is made of a batch fits the cache.
SAMPLES_PER_BATCH = 250


@dataclass(frozen=True)
class Operator:
    """Linear map from nodal values to a derivative at quadrature points."""

    matrix: np.ndarray  # (point, node), m^-order
    weights: np.ndarray  # of the quadrature at each point, m
    positions: np.ndarray  # m


@dataclass(frozen=True)
class Domain:
    """Interval with uniformly spaced nodes; only nodes that can move are counted.

    An end is ``"fixed"`` (u = 0; a hinge, for a beam), ``"clamped"`` (u = u_x = 0) or
    ``"free"`` (natural); only a free one carries a node. If both are ``"periodic"``,
    the first node is at 0, and at the length (m) again.
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
        if (self.left == "periodic") != (self.right == "periodic"):
            raise ValueError(
                f"domain: left is {self.left}, right is {self.right}; a periodic line "
                "needs left: periodic and right: periodic"
            )

    @classmethod
    def from_config(cls, config: Mapping, prefix: str = "") -> "Domain":
        """Domain of the section ``system.domain``, or of a dataset's attributes."""
        types = {"length": float, "nodes": int, "left": str, "right": str}
        return cls(**{name: of(config[prefix + name]) for name, of in types.items()})

    @property
    def periodic(self) -> bool:
        """Whether the line is closed."""
        return self.left == "periodic"

    @property
    def dx(self) -> float:
        """Distance of neighbouring nodes, m."""
        if self.periodic:
            return self.length / self.nodes
        free = (self.left == "free") + (self.right == "free")
        return self.length / (self.nodes + 1 - free)

    @cached_property
    def x(self) -> np.ndarray:
        """Positions of the nodes, m, shape (node,)."""
        first = 0 if self.left in ("free", "periodic") else 1
        return self.dx * (first + np.arange(self.nodes))

    @cached_property
    def cell(self) -> np.ndarray:
        """Length that belongs to each node, m: dx, half of it at a free end."""
        cell = np.full(self.nodes, self.dx)
        cell[0] /= 1 + (self.left == "free")
        cell[-1] /= 1 + (self.right == "free")
        return cell

    def operator(self, order: int, points_of: int | None = None) -> Operator:
        """Derivative ∂^order u/∂x^order at the quadrature points of some order.

        A density that mixes derivatives is evaluated at the points of the highest one:

        - 0: the nodes, weight `cell`.
        - 1: the springs between neighbours, ends at rest included, weight dx; on a
          periodic line from the last node to the first, too.
        - 2: every point with two neighbours, weight dx, and a clamped end, where
          u_xx = 2 u_1/dx², with half that weight. At a free or hinged end the curvature
          vanishes.
        """
        points_of = order if points_of is None else points_of
        if not 0 <= order <= points_of <= HIGHEST_DERIVATIVE:
            raise ValueError(
                f"operator: order {order} at the points of order {points_of}; "
                "expected 0 <= order <= points_of <= 2"
            )
        return _operator(self, order, points_of)


@lru_cache(maxsize=64)
def _operator(domain: Domain, order: int, points_of: int) -> Operator:
    if points_of == 0:
        return Operator(np.eye(domain.nodes), domain.cell, domain.x)
    dx, here, ends = domain.dx, np.eye(domain.nodes), (domain.left, domain.right)
    # Values at all points: with ends at rest, or with the neighbours around the line.
    at_rest = [int(end != "free") for end in ends]
    values = np.pad(here, [at_rest, (0, 0)])
    if domain.periodic:
        values = np.vstack([here[-1:], here, here[:1]])
    if points_of == 1:
        values = values[int(domain.periodic) :]
        matrix = (
            (values[1:] + values[:-1]) / 2,
            (values[1:] - values[:-1]) / dx,
        )[order]
        weights = np.full(len(matrix), dx)
        return Operator(matrix, weights, dx * (np.arange(len(matrix)) + 0.5))
    # Beyond a clamped end the field is mirrored.
    clamped = [end == "clamped" for end in ends]
    values = np.vstack([values[1:2][: clamped[0]], values, values[-2:-1][: clamped[1]]])
    matrix = (
        values[1:-1],
        (values[2:] - values[:-2]) / (2 * dx),
        (values[2:] - 2 * values[1:-1] + values[:-2]) / dx**2,
    )[order]
    weights = np.full(len(matrix), dx)
    weights[0] /= 1 + clamped[0]
    weights[-1] /= 1 + clamped[1]
    first = 0 if clamped[0] or domain.periodic else 1
    return Operator(matrix, weights, dx * (np.arange(len(matrix)) + first))


@dataclass(frozen=True)
class Potential:
    """Potential energy of a density V(u, u_x, u_xx), J/m, with numbers for parameters.

    Every summand of V is evaluated at the points of its highest derivative.
    """

    density: sp.Expr
    field: str
    domain: Domain

    @property
    def is_quadratic(self) -> bool:
        """Whether V is a quadratic form, up to a constant: its force is linear in u."""
        jet = displacements(self.field)
        if not self.density.is_polynomial(*jet):
            return False
        return {*map(sum, sp.Poly(self.density, *jet).monoms())} <= {0, 2}

    @cached_property
    def _groups(self) -> list[tuple[sp.Expr, list[Operator]]]:
        """Summands that share their points, with the operators there."""
        grouped: dict[int, sp.Expr] = {}
        for term in sp.Add.make_args(sp.expand(self.density)):
            highest = spatial_order(term, self.field)
            grouped[highest] = grouped.get(highest, sp.Integer(0)) + term
        return [
            (term, [self.domain.operator(k, highest) for k in range(highest + 1)])
            for highest, term in sorted(grouped.items())
        ]

    @cached_property
    def _functions(self) -> list:
        """(operators, function that returns V and its gradient) of each group."""
        result = []
        for term, operators in self._groups:
            used = displacements(self.field)[: len(operators)]
            gradient = [sp.diff(term, s) for s in used]
            result.append((operators, sp.lambdify(used, [term, *gradient], "numpy")))
        return result

    @cached_property
    def stiffness(self) -> np.ndarray:
        """Matrix of a quadratic form, shape (node, node); ValueError if it is none."""
        if not self.is_quadratic:
            names = ", ".join(map(str, displacements(self.field)))
            raise ValueError(
                f"the potential density {self.density} is not quadratic in ({names}), "
                "so it has no stiffness matrix and no modes; use method leapfrog"
            )
        return self.hessian(np.zeros(self.domain.nodes))

    def hessian(self, u: np.ndarray) -> np.ndarray:
        """Second derivatives of the energy at u of shape (node,): (node, node)."""
        hessian = np.zeros((self.domain.nodes, self.domain.nodes))
        for term, operators in self._groups:
            used = displacements(self.field)[: len(operators)]
            at_points = [operator.matrix @ u for operator in operators]
            pairs = product(zip(used, operators, strict=True), repeat=2)
            for (s, left), (r, right) in pairs:
                if (bend := sp.diff(term, s, r)) != 0:
                    value = sp.lambdify(used, bend, "numpy")(*at_points)
                    weighted = (value * left.weights)[:, None] * right.matrix
                    hessian += left.matrix.T @ weighted
        return (hessian + hessian.T) / 2

    def force(self, u: np.ndarray) -> np.ndarray:
        """Force on the nodes, −∂(energy)/∂u; u and result of shape (..., node)."""
        force = np.zeros(np.shape(u))
        for operators, function in self._functions:
            _, *gradient = function(*(u @ o.matrix.T for o in operators))
            for operator, slope in zip(operators, gradient, strict=True):
                force -= (operator.weights * slope) @ operator.matrix
        return force

    def energy(self, u: np.ndarray) -> np.ndarray:
        """Potential energy, J: shape (...) for u of shape (..., node)."""
        energy = np.zeros(np.shape(u)[:-1])
        for operators, function in self._functions:
            density = function(*(u @ o.matrix.T for o in operators))[0]
            energy = energy + (operators[-1].weights * density).sum(axis=-1)
        return energy


class PointEvaluator:
    """Functions of the jet (u, u_t, u_x, u_xx) at the points of one spatial order."""

    def __init__(
        self, expressions: Sequence[sp.Expr], field: str, domain: Domain, points_of: int
    ):
        self._count, orders = len(expressions), range(points_of + 1)
        self._table = _rows([domain.operator(k, points_of) for k in orders])
        jet = [(jet_symbol(field, k), k, "u") for k in orders]
        jet.append((jet_symbol(field, 0, 1), 0, "u_t"))
        used = [s for s in jet if any(e.has(s[0]) for e in expressions)]
        place_of = {s: sp.Symbol(f"at_{s}", real=True) for s, _, _ in used}
        gather = [
            GATHER.format(name=local(f"at_{s}"), order=order, array=array)
            for s, order, array in used
        ]
        targets = [f"values[{i}, k, p]" for i in range(self._count)]
        values = assignments(
            targets, [e.subs(place_of) for e in expressions], "shared_"
        )
        blocks = {"jet": "\n".join(gather), "values": values}
        self._functions = kernel(KERNEL, blocks)

    def __call__(self, u: np.ndarray, u_t: np.ndarray | None = None) -> np.ndarray:
        """Values of shape (expression, sample, point) at fields of (sample, node)."""
        u = np.ascontiguousarray(u, dtype=float)
        u_t = u if u_t is None else np.ascontiguousarray(u_t, dtype=float)
        values = self.zeros(len(u))
        self._functions.evaluate(u, u_t, *self._table, values)
        return values

    def zeros(self, samples: int) -> np.ndarray:
        """Sums to :meth:`add` to, shape (expression, sample, point)."""
        return np.zeros((self._count, samples, self._table[0].shape[1] - 1))

    def add(
        self, sums: np.ndarray, u: np.ndarray, u_t: np.ndarray | None = None
    ) -> None:
        """Add the values at one path to the `sums` over several paths."""
        for start in range(0, len(u), SAMPLES_PER_BATCH):
            at = slice(start, start + SAMPLES_PER_BATCH)
            sums[:, at] += self(u[at], None if u_t is None else u_t[at])


def _rows(operators) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nonzero entries of the operators, row by row: (start, node, entry)."""
    matrices = np.array([operator.matrix for operator in operators])
    ends = np.count_nonzero(matrices, axis=2).cumsum().reshape(matrices.shape[:2])
    start = np.hstack([np.append(0, ends[:-1, -1])[:, None], ends])
    return start, matrices.nonzero()[2], matrices[matrices != 0]


class ModalForces:
    """Generalised forces of candidate densities (without u_t) on test functions.

    .. math::  F_{im} = \\sum_a φ_{am} \\frac{∂}{∂u_a} \\sum_p w_p D_i(u, u_x, u_xx)_p

    Linear forces are one matrix product; nonlinear ones go through the points.
    """

    def __init__(
        self, terms: Sequence[sp.Expr], field: str, domain: Domain, phi: np.ndarray
    ):
        self.terms = len(terms)
        self._phi = domain.cell[:, None] * phi
        self._linear, self._diagonal, self._nonlinear = {}, {}, []
        curved: dict[int, list] = {}
        for i, term in enumerate(terms):
            potential = Potential(term, field, domain)
            if potential.is_quadratic:
                self._add_linear(i, potential.stiffness, phi)
                continue
            points = spatial_order(term, field)
            for order in range(points + 1):
                slope = sp.diff(term, jet_symbol(field, order))
                if slope != 0:
                    curved.setdefault(points, []).append((i, order, slope))
        for points, parts in curved.items():
            operators = (domain.operator(order, points) for order in range(points + 1))
            weighted = [o.weights[:, None] * (o.matrix @ phi) for o in operators]
            evaluate = PointEvaluator([s for _, _, s in parts], field, domain, points)
            place = [(i, weighted[order]) for i, order, _ in parts]
            self._nonlinear.append((evaluate, place))

    def _add_linear(self, i: int, matrix: np.ndarray, phi: np.ndarray) -> None:
        """Keep K φ, or the eigenvalues if φ are eigenvectors of K."""
        projected = matrix @ phi
        eigenvalues = (projected * phi).sum(axis=0)
        error = np.abs(projected - self._phi * eigenvalues).max(initial=0.0)
        largest = np.abs(projected).max(initial=0.0) * len(phi)
        if error <= RELATIVE_ROUNDOFF_OF_EIGENVECTORS * largest:
            self._diagonal[i] = eigenvalues
        else:
            self._linear[i] = projected

    def slopes(self, u: np.ndarray) -> list[np.ndarray]:
        """What the nonlinear forces need of the field, whatever the test functions."""
        return [evaluate(u) for evaluate, _ in self._nonlinear]

    def __call__(self, u: np.ndarray, *more):
        """Modal displacements (sample, mode), and :meth:`forces` for them."""
        q = u @ self._phi
        return q, self.forces(u, q, *more)

    def forces(self, u: np.ndarray, q: np.ndarray, spare: int = 0, slopes=None):
        """Forces (term, sample, mode), and `spare` rows for the caller to fill.

        `slopes` are those of another instance with the same terms, if known.
        """
        forces = np.empty((self.terms + spare, *q.shape))
        for i, eigenvalues in self._diagonal.items():
            np.multiply(q, eigenvalues, out=forces[i])
        for i, projected in self._linear.items():
            np.matmul(u, projected, out=forces[i])
        done: set[int] = set()
        slopes = self.slopes(u) if slopes is None else slopes
        for (_, place), values in zip(self._nonlinear, slopes, strict=True):
            for (i, projected), slope in zip(place, values, strict=True):
                if i in done:
                    forces[i] += slope @ projected
                else:
                    np.matmul(slope, projected, out=forces[i])
                    done.add(i)
        return forces


class NodeEvaluator:
    """Functions of the jet at the nodes, each from the points where it lives.

    Between its points a function is interpolated linearly.
    """

    def __init__(self, expressions: Sequence[sp.Expr], field: str, domain: Domain):
        self._shape = len(expressions), domain.nodes
        self._groups = []
        orders = [spatial_order(e, field) for e in expressions]
        for points in sorted(set(orders)):
            place = [i for i, order in enumerate(orders) if order == points]
            chosen = [expressions[i] for i in place]
            evaluate = PointEvaluator(chosen, field, domain, points)
            at = domain.operator(points).positions
            mean = np.array([np.interp(domain.x, at, row) for row in np.eye(len(at))])
            self._groups.append((place, evaluate, mean))

    def __call__(self, u: np.ndarray, u_t: np.ndarray) -> np.ndarray:
        """Values of shape (expression, sample, node) at fields of (sample, node)."""
        return self.interpolated([evaluate(u, u_t) for _, evaluate, _ in self._groups])

    def zeros(self, samples: int) -> list[np.ndarray]:
        """Sums at the points to :meth:`add` to, an array for each set of points."""
        return [evaluate.zeros(samples) for _, evaluate, _ in self._groups]

    def add(self, sums: Sequence[np.ndarray], u: np.ndarray, u_t: np.ndarray) -> None:
        """Add the values at the points of one path to the `sums` over several paths."""
        for total, (_, evaluate, _) in zip(sums, self._groups, strict=True):
            evaluate.add(total, u, u_t)

    def interpolated(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """Values at the nodes from those at the points, or from means of those."""
        count, nodes = self._shape
        result = np.empty((count, values[0].shape[1], nodes))
        for (place, _, mean), group in zip(self._groups, values, strict=True):
            result[place] = group @ mean
        return result


def is_linear(expression: sp.Expr) -> bool:
    """Whether an expression is linear in the jet, up to a constant."""
    jet = expression.free_symbols
    return all(sp.diff(expression, a, b) == 0 for a in jet for b in jet)


def count_functions(
    terms: Sequence[sp.Expr], strides: Sequence[int], field: str, domain: Domain
) -> int:
    """Number of functions of the nodal values that the candidates stand for.

    A candidate counts once per point, except that functions linear in the field count
    as often as they are independent: once for a constant, and one time less than there
    are springs for the slopes between two fixed ends, whose sum vanishes.
    """
    jet, total = (*displacements(field), jet_symbol(field, 0, 1)), 0
    for term, stride in zip(terms, strides, strict=True):
        if stride == 0:
            continue
        points = spatial_order(term, field)
        rows = len(domain.operator(points).weights[::stride])
        if not term.free_symbols:
            rows = 1
        elif is_linear(term):
            matrix = sum(
                float(sp.diff(term, s)) * domain.operator(k, points).matrix
                for k, s in enumerate(jet[: points + 1])
            )
            if not term.has(jet[-1]):
                rows = int(np.linalg.matrix_rank(matrix[::stride]))
        total += rows
    return total
