"""Search for supports of every size by swaps of single terms (Zhu et al. 2020)."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from leastaction.trajectories.scale_free import Ratio, backward_elimination

MOST_ROUNDS = 6
BATCH = 8
# Accelerations are not known to more than six digits: those of a spline are not.
ROUNDING = 1e-12


@dataclass
class Path:
    """Best support of each size, by the error that the ranking sees.

    Attributes
    ----------
    supports
        Sorted columns by size.
    errors
        Their error by size; `nothing` is that of the empty support.
    """

    supports: dict[int, tuple[int, ...]] = field(default_factory=dict)
    errors: dict[int, float] = field(default_factory=dict)


def splicing(
    ratio: Ratio,
    error: Callable[[np.ndarray, np.ndarray, float], np.ndarray],
    largest: int,
    ranked: int,
) -> Path:
    """Backward elimination, then swaps within a size and moves between sizes.

    All neighbours of a support are screened by τ; the `ranked` best of them are ranked
    by `error`. A Lagrangian that leaves an equation as 0 = 0 passes the first and fails
    the second.

    Parameters
    ----------
    ratio
        The scale-free problem.
    error
        ``error(supports, coefficients, limit)`` of many supports of one size; where it
        is above `limit`, any value above it.
    largest
        Size up to which neighbours are searched.
    ranked
        Neighbours of one support that are ranked.
    """
    columns, kept = len(ratio.gram), len(ratio.kept)
    largest = min(largest + kept, columns)
    known: set[tuple[int, ...]] = set()
    path = Path()

    def rank(supports: list[tuple[int, ...]]) -> None:
        """Rank new supports of one size, and keep the best of the size."""
        unknown = sorted(set(supports) - known)
        if not unknown:
            return
        known.update(unknown)
        best, _, vectors = ratio.best(np.array(unknown), ranked)
        size = best.shape[1] - kept
        for first in range(0, len(best), BATCH):
            some = slice(first, first + BATCH)
            limit = path.errors.get(size, np.inf)
            found = error(best[some], vectors[some] / ratio.length[best[some]], limit)
            if found.min() < limit:
                path.errors[size] = float(found.min())
                path.supports[size] = tuple(map(int, best[some][found.argmin()]))

    for support in backward_elimination(ratio):
        if len(support) <= largest:
            rank([tuple(sorted(support))])
    done: dict[int, tuple] = {}
    for _ in range(MOST_ROUNDS):
        changed = False
        for size in sorted(path.supports, reverse=True):
            around = _around(path, size)
            if done.get(size) == around:
                continue
            done[size] = around
            before = path.supports[size]
            rank(_neighbours(path, size, range(columns), ratio.kept))
            changed |= path.supports[size] != before
        if not changed:
            break
    return path


def _around(path: Path, size: int) -> tuple:
    return tuple(path.supports.get(size + k) for k in (-1, 0, 1))


def _neighbours(
    path: Path, size: int, columns: Sequence[int], kept: Sequence[int]
) -> list[tuple[int, ...]]:
    """Supports of `size`, one swap, addition or removal from the best ones."""
    present = path.supports[size]
    absent = [c for c in columns if c not in present]
    found = [
        tuple(sorted({*present, new} - {old}))
        for old in present
        if old not in kept
        for new in absent
    ]
    smaller, larger = path.supports.get(size - 1), path.supports.get(size + 1)
    if smaller:
        found += [tuple(sorted((*smaller, c))) for c in columns if c not in smaller]
    if larger:
        found += [
            tuple(c for c in larger if c != old) for old in larger if old not in kept
        ]
    return found


def larger_supports(
    path: Path, ratio: Ratio, error: Callable, size: int, ranked: int, count: int
) -> list[tuple[int, ...]]:
    """Best supports of the next size, with two terms in exchange for one tried, too.

    Single swaps do not find x² + x⁴ where |x|³ stands for both.
    """
    present = path.supports[size]
    absent = [c for c in range(len(ratio.gram)) if c not in present]
    found = {tuple(sorted((*present, new))) for new in absent}
    found |= {
        tuple(sorted({*present, *new} - {old}))
        for old in present
        if old not in ratio.kept
        for new in itertools.combinations(absent, 2)
    }
    if size + 1 in path.supports:
        found.add(path.supports[size + 1])
    supports = np.array(sorted(found))
    best, _, vectors = ratio.best(supports, ranked)
    errors = error(best, vectors / ratio.length[best])
    order = np.argsort(errors, kind="stable")[:count]
    return [tuple(map(int, support)) for support in best[order]]


def size_by_jump(errors: dict[int, float], halving: float = 2.0) -> tuple[int, float]:
    """Size at the largest jump of log e, then every further term that halves e.

    Parameters
    ----------
    errors
        e of the best support of each size; e = 1 without any term.
    halving
        Factor by which a further term must lower e.

    Returns
    -------
    size, jump
        The jump, in nats, is the confidence in the size: below 1.5 the data hardly tell
        it from its neighbours.
    """
    logs = {0: 0.0} | {k: np.log(e + ROUNDING) for k, e in errors.items()}
    jumps = {k: logs[k - 1] - logs[k] for k in errors if k - 1 in logs}
    size = max(jumps, key=jumps.get)
    jump = jumps[size]
    while jumps.get(size + 1, 0.0) > np.log(halving):
        size += 1
    return size, float(jump)
