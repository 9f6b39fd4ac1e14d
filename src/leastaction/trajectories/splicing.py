"""Search for supports of every size by swaps of single terms (Zhu et al. 2020)."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import scipy.linalg

from leastaction.core.compiled import kernel
from leastaction.trajectories.library_equations import LibraryEquations

# Keeps G + K of columns of unit length positive definite; some units of round-off.
RIDGE_OF_UNIT_COLUMNS = 1e-14
# Each section of an interval in so many parts gains four bits, 13 all of a double.
PARTS_OF_INTERVAL = 16
SECTIONS = 13
FRACTIONS = np.arange(1, PARTS_OF_INTERVAL)[:, None] / PARTS_OF_INTERVAL
# Columns whose eigenvalue is found, the cheapest ones to first order.
COLUMNS_BISECTED = 8
# Sums over candidates are formed for a block of samples, innermost and contiguous.
KERNEL = """
SAMPLES_PER_BLOCK = 32


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def errors(supports, coefficients, mass, force, qddot, scale, limit, error):
    samples, dof = qddot.shape
    m, f = np.empty((SAMPLES_PER_BLOCK, dof, dof)), np.empty((SAMPLES_PER_BLOCK, dof))
    masses, forces = m.reshape(-1), f.reshape(-1)
    for s in range(supports.shape[0]):
        sign = 0.0
        for first in range(0, samples, SAMPLES_PER_BLOCK):
            count = min(SAMPLES_PER_BLOCK, samples - first)
            m[:], f[:] = 0.0, 0.0
            for i in range(supports.shape[1]):
                k, c = supports[s, i], coefficients[s, i]
                column = force[k, first : first + count].reshape(-1)
                for n in range(len(column)):
                    forces[n] -= c * column[n]
                column = mass[k, first : first + count].reshape(-1)
                for n in range(len(column)):
                    masses[n] += c * column[n]
            if first == 0:
                for a in range(dof):
                    sign += m[0, a, a]
            for n in range(count):
                square = 0.0
                if solve(m[n], f[n], sign):
                    for a in range(dof):
                        rest = (qddot[first + n, a] - f[n, a]) / scale[a]
                        square += rest**2 / dof
                else:
                    square = 1.0
                error[s] += min(square, 1.0) / samples
            if error[s] > limit:
                break


@njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def solve(m, f, sign):
    dof = len(f)
    for a in range(dof):
        if not m[a, a] * sign > 0.0:
            return False
        for b in range(a + 1, dof):
            factor = m[b, a] / m[a, a]
            for c in range(a, dof):
                m[b, c] -= factor * m[a, c]
            f[b] -= factor * f[a]
    for a in range(dof - 1, -1, -1):
        for b in range(a + 1, dof):
            f[a] -= m[a, b] * f[b]
        f[a] /= m[a, a]
    return True
"""
MOST_SPLICING_ROUNDS = 6
# Rivals with two terms in exchange for one that are refitted.
LARGER_RIVALS = 3
# Supports evaluated before the limit of the error, which they share, is lowered.
SUPPORTS_PER_BATCH = 8
# Added to a squared error: accelerations of a spline are known to six digits at best.
SQUARED_DIGITS_OF_ACCELERATION = 1e-12


@dataclass(frozen=True)
class Ratio:
    """Pair (G, K) with columns of unit length."""

    gram: np.ndarray
    metric: np.ndarray  # G + K
    length: np.ndarray  # rms of the columns: c is that of the unit columns over it
    mandatory: tuple[int, ...] = ()  # in every support, such as a known input

    @classmethod
    def from_moments(
        cls, gram: np.ndarray, inertia: np.ndarray, mandatory: tuple[int, ...] = ()
    ) -> "Ratio":
        """Pair of moment matrices of columns of any length."""
        length = np.sqrt(np.diag(gram))
        length = np.where(length > 0, length, 1.0)
        scale = np.outer(length, length)
        ridge = RIDGE_OF_UNIT_COLUMNS * np.eye(len(gram))
        return cls(
            gram / scale, gram / scale + inertia / scale + ridge, length, mandatory
        )

    def minimise(self, support: Sequence[int]) -> tuple[float, np.ndarray]:
        """Smallest τ over coefficients of the unit columns in `support`."""
        chosen = np.ix_(support, support)
        values, vectors = scipy.linalg.eigh(
            self.gram[chosen], self.metric[chosen], subset_by_index=[0, 0]
        )
        return float(values[0]), vectors[:, 0]

    def best(
        self, supports: np.ndarray, count: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of supports of equal size those with smallest τ, best first: with τ and c."""
        index = (supports[:, :, None], supports[:, None, :])
        root, white = whitened(self.gram[index], self.metric[index])
        lowest = np.linalg.eigvalsh(white)[:, 0]
        chosen = np.argsort(lowest, kind="stable")[:count]
        vectors = np.linalg.eigh(white[chosen])[1][:, :, :1]
        unit = np.linalg.solve(np.swapaxes(root[chosen], 1, 2), vectors)[..., 0]
        return supports[chosen], lowest[chosen], unit


def whitened(gram: np.ndarray, metric: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cholesky factors of G + K, and G in coordinates in which that is one."""
    root = np.linalg.cholesky(metric)
    left = np.linalg.solve(root, gram)
    white = np.linalg.solve(root, np.swapaxes(left, 1, 2))
    return root, (white + np.swapaxes(white, 1, 2)) / 2


def backward_elimination(ratio: Ratio) -> list[list[int]]:
    """Supports from all columns down to `kept` and one, each without one column more.

    With the eigenvalues τ_i of the present support, the one without column j has for
    smallest eigenvalue the root between τ_1 and τ_2 of Σ_i z_ij² / (τ_i − τ) = 0, so
    one decomposition serves all columns.
    """
    support = list(range(len(ratio.gram)))
    path = [list(support)]
    while len(support) > len(ratio.mandatory) + 1:
        chosen = np.ix_(support, support)
        root = np.linalg.cholesky(ratio.metric[chosen])
        solve = partial(scipy.linalg.solve_triangular, root, lower=True)
        white = solve(solve(ratio.gram[chosen]).T)
        values, vectors = np.linalg.eigh(white + white.T)
        squares = (vectors.T @ solve(np.eye(len(support)))) ** 2
        free = [i for i, column in enumerate(support) if column not in ratio.mandatory]
        del support[_cheapest(values, squares, np.array(free))]
        path.append(list(support))
    return path


def _cheapest(values: np.ndarray, squares: np.ndarray, free: np.ndarray) -> int:
    """Column whose removal raises the smallest eigenvalue least."""
    gaps = np.maximum(values[1:] - values[0], 1e-300)
    first = squares[0] / np.maximum((squares[1:] / gaps[:, None]).sum(0), 1e-300)
    tried = free[np.argsort(first[free], kind="stable")[:COLUMNS_BISECTED]]
    z = squares[:, tried]
    low, width = np.full(len(tried), values[0]), np.full(len(tried), gaps[0])
    for _ in range(SECTIONS):
        points = low + width * FRACTIONS
        offset = values[:, None, None] - points
        offset[offset == 0] = 1e-300
        below = (z[:, None, :] / offset).sum(0) <= 0
        low = low + width * below.sum(0) / PARTS_OF_INTERVAL
        width = width / PARTS_OF_INTERVAL
    return int(tried[np.argmin(low)])


def acceleration_error(
    equations: LibraryEquations, columns, q, qdot, qddot, scale, force=None
) -> Callable[..., np.ndarray]:
    """Clipped relative error of the accelerations that candidates predict.

    .. math::

        e(c) = \\left\\langle \\min\\left(1,\\ \\frac{1}{n} \\sum_a
        (q̈_a − [M(c)^{-1}(Q − f(c))]_a)^2 / s_a^2 \\right) \\right\\rangle

    The clip lets no singular sample decide; a mass matrix that is not definite, of the
    sign that it has at the first sample, counts as one.

    Returns ``error(supports, coefficients, limit)`` of supports of one size, in
    `columns` (an input Q is one more, −Q); sums beyond the limit are not finished.
    """
    mass, rest = equations.mass_and_force(q, qdot, columns)
    if force is not None:
        mass = np.concatenate([mass, np.zeros_like(mass[..., :1])], axis=-1)
        rest = np.concatenate([rest, -force[..., None]], axis=-1)
    # Columns first: what one support needs is read in one sweep.
    by_column = (np.moveaxis(part, -1, 0) for part in (mass, rest))
    arrays = map(np.ascontiguousarray, (*by_column, np.asarray(qddot, float)))
    measured = *arrays, np.where(scale > 0, scale, 1.0)
    errors = kernel(KERNEL, {}).errors

    def error(supports, coefficients, limit=np.inf) -> np.ndarray:
        result = np.zeros(len(supports))
        both = np.ascontiguousarray(supports), np.ascontiguousarray(coefficients)
        errors(*both, *measured, limit, result)
        return result

    return error


@dataclass
class Path:
    """Best support of each size, sorted, and its error as the ranking sees it."""

    supports: dict[int, tuple[int, ...]] = field(default_factory=dict)
    errors: dict[int, float] = field(default_factory=dict)


def splicing(
    ratio: Ratio,
    error: Callable[..., np.ndarray],
    largest: int,
    ranked: int,
) -> Path:
    """Backward elimination, then swaps within a size and moves between sizes.

    All neighbours of a support up to the size `largest` are screened by τ; the `ranked`
    best of them are ranked by ``error(supports, coefficients, limit)``. A Lagrangian
    that leaves an equation as 0 = 0 passes the first and fails the second.
    """
    columns, mandatory = len(ratio.gram), len(ratio.mandatory)
    largest = min(largest + mandatory, columns)
    known: set[tuple[int, ...]] = set()
    path = Path()

    def rank(supports: list[tuple[int, ...]]) -> None:
        """Rank new supports of one size, and keep the best of the size."""
        unknown = sorted(set(supports) - known)
        if not unknown:
            return
        known.update(unknown)
        best, _, vectors = ratio.best(np.array(unknown), ranked)
        size = best.shape[1] - mandatory
        for first in range(0, len(best), SUPPORTS_PER_BATCH):
            some = slice(first, first + SUPPORTS_PER_BATCH)
            limit = path.errors.get(size, np.inf)
            result = error(best[some], vectors[some] / ratio.length[best[some]], limit)
            if result.min() < limit:
                path.errors[size] = float(result.min())
                path.supports[size] = tuple(map(int, best[some][result.argmin()]))

    for support in backward_elimination(ratio):
        if len(support) <= largest:
            rank([tuple(sorted(support))])
    done: dict[int, tuple] = {}
    for _ in range(MOST_SPLICING_ROUNDS):
        before = dict(path.supports)
        for size in sorted(path.supports, reverse=True):
            around = tuple(path.supports.get(size + k) for k in (-1, 0, 1))
            if done.get(size) != around:
                done[size] = around
                rank(_neighbours(path, size, range(columns), ratio.mandatory))
        if path.supports == before:
            break
    return path


def _neighbours(path, size, columns, mandatory) -> list[tuple[int, ...]]:
    """Supports of `size`, one swap, addition or removal from the best ones."""
    result = _exchanged(path.supports[size], 1, columns, mandatory)
    smaller, larger = (path.supports.get(size + k, ()) for k in (-1, 1))
    if smaller:
        result += [tuple(sorted((*smaller, c))) for c in columns if c not in smaller]
    lost = [old for old in larger if old not in mandatory]
    return result + [tuple(c for c in larger if c != old) for old in lost]


def _exchanged(present, count, columns, mandatory) -> list[tuple[int, ...]]:
    """Supports with one term of a given one exchanged for `count` others."""
    absent = [c for c in columns if c not in present]
    return [
        tuple(sorted({*present, *new} - {old}))
        for old in present
        if old not in mandatory
        for new in itertools.combinations(absent, count)
    ]


def rivals(
    path: Path,
    ratio: Ratio,
    error: Callable,
    support: tuple[int, ...],
    ranked: int,
    factor: float,
) -> list[tuple[int, ...]]:
    """Supports whose error is less than `factor` times that of a given one, best first.

    Those with one or two terms in exchange for one, the best of its own and of the next
    size.
    """
    size, columns = len(support) - len(ratio.mandatory), range(len(ratio.gram))
    ((_, own_error),) = _ranked([support], ratio, error, 1)
    result = []
    for exchanged, most in ((1, None), (2, LARGER_RIVALS)):
        near = set(_exchanged(support, exchanged, columns, ratio.mandatory)) - {support}
        close = _ranked(sorted(near), ratio, error, ranked)[:most]
        result += [each for each, value in close if value < factor * own_error]
    others = (path.supports.get(size + more, support) for more in (0, 1))
    return result + [
        each for each in others if not set(support) <= set(each) and each not in result
    ]


def _ranked(supports, ratio, error, count) -> list[tuple[tuple[int, ...], float]]:
    """Supports of one size with their errors, best first: the `count` smallest τ."""
    if not supports:
        return []
    best, _, vectors = ratio.best(np.array(supports), count)
    errors = error(best, vectors / ratio.length[best])
    order = np.argsort(errors, kind="stable")
    return [(tuple(map(int, best[k])), float(errors[k])) for k in order]


def larger_supports(
    path: Path, ratio: Ratio, error: Callable, size: int, ranked: int, count: int
) -> list[tuple[int, ...]]:
    """Best supports of the next size, with two terms in exchange for one tried, too.

    Single swaps do not find x² + x⁴ where |x|³ stands for both.
    """
    present, columns = path.supports[size], range(len(ratio.gram))
    result = {tuple(sorted((*present, new))) for new in columns if new not in present}
    result.update(_exchanged(present, 2, columns, ratio.mandatory))
    if size + 1 in path.supports:
        result.add(path.supports[size + 1])
    return [each for each, _ in _ranked(sorted(result), ratio, error, ranked)[:count]]


def size_by_jump(errors: dict[int, float], halving: float = 2.0) -> tuple[int, float]:
    """Size at the largest jump of log e, then every further term that halves e.

    The jump, in nats, is the confidence in the size: below 1.5 the data hardly tell it
    from its neighbours.
    """
    digits = SQUARED_DIGITS_OF_ACCELERATION
    logs = {0: 0.0} | {k: np.log(e + digits) for k, e in errors.items()}
    jumps = {k: logs[k - 1] - logs[k] for k in errors if k - 1 in logs}
    size = max(jumps, key=jumps.get)
    jump = jumps[size]
    while jumps.get(size + 1, 0.0) > np.log(halving):
        size += 1
    return size, float(jump)
