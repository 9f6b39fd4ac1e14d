"""Compiled evaluation of densities on a domain, and of the forces they exert."""

from collections.abc import Sequence

import numpy as np
import sympy as sp

from leastaction.core.compiled import assignments, kernel, local
from leastaction.fields.domain import Domain
from leastaction.fields.lagrangian_density import jet_symbol, spatial_order

KERNEL = """
@njit(cache=True, nogil=True)
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


class PointEvaluator:
    """Functions of the jet (u, u_t, u_x, u_xx) at the points of one spatial order.

    Parameters
    ----------
    expressions
        Functions of the jet.
    field
        Name of u.
    domain
        Nodes and difference operators.
    points_of
        Spatial order whose quadrature points are used.
    """

    def __init__(
        self,
        expressions: Sequence[sp.Expr],
        field: str,
        domain: Domain,
        points_of: int,
    ):
        self._count = len(expressions)
        self._table = _rows(
            [domain.operator(k, points_of) for k in range(points_of + 1)]
        )
        jet = [(jet_symbol(field, k), k, "u") for k in range(points_of + 1)]
        jet.append((jet_symbol(field, 0, 1), 0, "u_t"))
        used = [s for s in jet if any(e.has(s[0]) for e in expressions)]
        self._functions = kernel(
            KERNEL,
            {
                "jet": "\n".join(
                    GATHER.format(name=local(f"at_{s}"), order=order, array=array)
                    for s, order, array in used
                ),
                "values": assignments(
                    [f"values[{i}, k, p]" for i in range(self._count)],
                    [
                        e.subs({s: sp.Symbol(f"at_{s}", real=True) for s, _, _ in used})
                        for e in expressions
                    ],
                    "shared_",
                ),
            },
        )

    def __call__(self, u: np.ndarray, u_t: np.ndarray | None = None) -> np.ndarray:
        """Values of shape (expression, sample, point) at fields of (sample, node)."""
        u = np.ascontiguousarray(u, dtype=float)
        u_t = u if u_t is None else np.ascontiguousarray(u_t, dtype=float)
        start, node, entry = self._table
        values = np.empty((self._count, len(u), start.shape[1] - 1))
        self._functions.evaluate(u, u_t, start, node, entry, values)
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
    start, node, entry = [], [], []
    for operator in operators:
        first = [len(node)]
        for row in operator.matrix:
            nonzero = np.flatnonzero(row)
            node += list(nonzero)
            entry += list(row[nonzero])
            first.append(len(node))
        start.append(first)
    return np.array(start), np.array(node), np.array(entry, dtype=float)


class ModalForces:
    """Generalised forces of candidate densities on test functions.

    .. math::  F_{im} = \\sum_a φ_{am} \\frac{∂}{∂u_a} \\sum_p w_p D_i(u, u_x, u_xx)_p

    Linear forces are one matrix product; nonlinear ones go through the points.

    Parameters
    ----------
    terms
        Candidates D_i without u_t.
    field
        Name of u.
    domain
        Nodes and difference operators.
    phi
        Test functions, shape (node, mode).
    """

    def __init__(
        self, terms: Sequence[sp.Expr], field: str, domain: Domain, phi: np.ndarray
    ):
        self.terms, self._modes = len(terms), phi.shape[1]
        self._phi = domain.cell[:, None] * phi
        self._linear, self._diagonal, self._nonlinear = {}, {}, []
        curved: dict[int, list] = {}
        for i, term in enumerate(terms):
            if is_quadratic(term, field):
                self._add_linear(i, linear_force(term, field, domain), phi)
                continue
            points = spatial_order(term, field)
            for order in range(points + 1):
                slope = sp.diff(term, jet_symbol(field, order))
                if slope != 0:
                    curved.setdefault(points, []).append((i, order, slope))
        for points, parts in curved.items():
            weighted = {
                order: domain.operator(order, points).weights[:, None]
                * (domain.operator(order, points).matrix @ phi)
                for _, order, _ in parts
            }
            evaluate = PointEvaluator([s for _, _, s in parts], field, domain, points)
            place = [(i, weighted[order]) for i, order, _ in parts]
            self._nonlinear.append((evaluate, place))

    def _add_linear(self, i: int, matrix: np.ndarray, phi: np.ndarray) -> None:
        """Keep K φ, or the eigenvalues if φ are eigenvectors of K."""
        projected = matrix @ phi
        eigenvalues = (projected * phi).sum(axis=0)
        error = np.abs(projected - self._phi * eigenvalues).max(initial=0.0)
        if error <= RELATIVE_ROUNDOFF_OF_EIGENVECTORS * np.abs(projected).max(
            initial=0.0
        ) * len(phi):
            self._diagonal[i] = eigenvalues
        else:
            self._linear[i] = projected

    def slopes(self, u: np.ndarray) -> list[np.ndarray]:
        """What the nonlinear forces need of the field, whatever the test functions."""
        return [evaluate(u) for evaluate, _ in self._nonlinear]

    def __call__(
        self,
        u: np.ndarray,
        spare: int = 0,
        slopes: Sequence[np.ndarray] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Modal displacements (sample, mode) and forces (term, sample, mode).

        The forces have `spare` rows more than there are terms, for the caller to fill.
        `slopes` are those of another instance with the same terms, if known.
        """
        q = u @ self._phi
        return q, self.forces(u, q, spare, slopes)

    def forces(
        self,
        u: np.ndarray,
        q: np.ndarray,
        spare: int = 0,
        slopes: Sequence[np.ndarray] | None = None,
    ) -> np.ndarray:
        """Forces (term, sample, mode) where the modal displacements `q` are known."""
        forces = np.empty((self.terms + spare, len(u), self._modes))
        for i, eigenvalues in self._diagonal.items():
            np.multiply(q, eigenvalues, out=forces[i])
        for i, projected in self._linear.items():
            np.matmul(u, projected, out=forces[i])
        seen: set[int] = set()
        slopes = self.slopes(u) if slopes is None else slopes
        for (_, place), values in zip(self._nonlinear, slopes, strict=True):
            for (i, projected), slope in zip(place, values, strict=True):
                if i in seen:
                    forces[i] += slope @ projected
                else:
                    np.matmul(slope, projected, out=forces[i])
                    seen.add(i)
        return forces


def is_quadratic(term: sp.Expr, field: str) -> bool:
    """Whether a density without u_t is a quadratic form: its force is linear in u."""
    jet = [jet_symbol(field, k) for k in range(3)]
    if not term.is_polynomial(*jet):
        return False
    return {sum(powers) for powers in sp.Poly(term, *jet).monoms()} == {2}


def linear_force(term: sp.Expr, field: str, domain: Domain) -> np.ndarray:
    """Matrix of ∂/∂u Σ_p w_p D_p for a quadratic form D, shape (node, node)."""
    points = spatial_order(term, field)
    operators = [domain.operator(k, points) for k in range(points + 1)]
    jet = [jet_symbol(field, k) for k in range(points + 1)]
    matrix = np.zeros((domain.nodes, domain.nodes))
    for a, left in zip(jet, operators, strict=True):
        for b, right in zip(jet, operators, strict=True):
            value = float(sp.diff(term, a, b))
            if value:
                matrix += value * (
                    left.matrix.T @ (left.weights[:, None] * right.matrix)
                )
    return (matrix + matrix.T) / 2


class NodeEvaluator:
    """Functions of the jet at the nodes, each from the points where it lives.

    Between its points a function is interpolated linearly.
    """

    def __init__(self, expressions: Sequence[sp.Expr], field: str, domain: Domain):
        self._count, self._nodes = len(expressions), domain.nodes
        self._groups = []
        for points in sorted({spatial_order(e, field) for e in expressions}):
            place = [
                i
                for i, e in enumerate(expressions)
                if spatial_order(e, field) == points
            ]
            evaluate = PointEvaluator(
                [expressions[i] for i in place], field, domain, points
            )
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
        found = np.empty((self._count, values[0].shape[1], self._nodes))
        for (place, _, mean), group in zip(self._groups, values, strict=True):
            found[place] = group @ mean
        return found
