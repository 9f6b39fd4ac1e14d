"""Which candidates a law has: one search on the likelihood of all of them.

Linearised about one path, ℓ is a quadratic function of the coefficients of all
candidates, so that any support costs one small system. A term is in the law if

- it gains more than the extended BIC asks (Chen and Chen, Biometrika 95 (2008) 759),
  2Δℓ > p (log N + 2 log K) for N measurements, K candidates and a price p, and
- it lowers what is missed by a fifth, 1 − .8^p of a price p, where a force is missed:
  the power of the innovations beyond that of the sensors, Σ e²/V − Σ R/V.

Terms that fulfil the first alone are *corrections*: real in these data, smaller than
what is missing.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logit

from leastaction.core.estimate import CONFIDENCE, NORMAL_QUANTILE
from leastaction.core.library import Damper, staying
from leastaction.core.sparse_regression import PRICE_OF_GAIN, term_price
from leastaction.likelihood.augmented_kalman_filter import Innovations

# Part of the missed power that a term must explain. With none, real machines get terms
# that correct one-step errors of their converters; simulated laws have the same terms
# with .1 to .3 (README).
SHARE_OF_MISSED_POWER = 0.2
# Missed power is more than the chance of Σ e²/V, in its standard deviations √(2N).
DEVIATIONS_OF_CHANCE = 3.0
RIDGE_OF_UNIT_DIAGONAL = 1e-12


@dataclass(frozen=True)
class Candidates:
    """What is known of the candidates before any data."""

    names: Sequence[str]
    price: np.ndarray  # of each, in terms
    required: Sequence[int]  # in every law
    stays: Sequence[int]  # what the search does not drop
    positive: np.ndarray  # losses that feed energy in with a negative coefficient
    # Of a support and coefficients: the terms that give the scale of each part.
    fixed: Callable[[Sequence[int], np.ndarray], list[int]]
    friction: Sequence[int] = ()  # dry and viscous
    excluded: Sequence[int] = ()  # what the search does not add
    dampers: Sequence[Damper] = ()

    def joining(self, support: Sequence[int]) -> set[int]:
        """What a law with a support has for certain."""
        return {*self.required, *staying(self.dampers, support)}


@dataclass(frozen=True)
class Quadratic:
    """2ℓ(x) = 2 b·x − xᵀ G x + const of the coefficients x of all candidates."""

    candidates: Candidates
    G: np.ndarray
    b: np.ndarray
    c: np.ndarray  # where it was made
    square: float  # Σ e²/V at x = 0
    sensor_share: float  # Σ R/V
    count: int  # of measurements
    correlation: float = 1.0  # rows that an innovation is correlated over

    @classmethod
    def of(
        cls, candidates: Candidates, c: np.ndarray, innovations: Innovations
    ) -> "Quadratic":
        """From innovations with a column for every candidate, at c."""
        G, g = innovations.information, innovations.gradient
        b = g + G @ c
        square = innovations.moment[:, 0, 0].sum() + 2 * b @ c - c @ G @ c
        about = float(square), innovations.sensor_share, innovations.count
        return cls(candidates, G, b, c, *about, innovations.correlation_length)

    @property
    def penalty(self) -> float:
        """2Δℓ that a term of price one needs.

        Of innovations that are correlated over τ rows there are N/τ, each as good as τ.
        """
        independent = max(self.count / self.correlation, np.e)
        return self.correlation * term_price(independent, len(self.c))

    def solve(self, support: Sequence[int]) -> "Solution":
        """Best coefficients of a support."""
        support = sorted(support)
        fixed = [k for k in self.candidates.fixed(support, self.c)]
        free = [k for k in support if k not in fixed]
        x = np.zeros_like(self.c)
        x[fixed] = self.c[fixed]
        G, right = self.G[np.ix_(free, free)], (self.b - self.G @ x)[free]
        size = np.sqrt(np.maximum(np.diag(G), 1e-300))
        scaled = G / np.outer(size, size) + RIDGE_OF_UNIT_DIAGONAL * np.eye(len(free))
        inverse = np.linalg.pinv(scaled, hermitian=True) / np.outer(size, size)
        x[free] = inverse @ right
        square = self.square - 2 * self.b @ x + x @ self.G @ x
        return Solution(tuple(support), free, x, inverse, float(square))

    def gains(self, solution: "Solution") -> np.ndarray:
        """2Δℓ of every absent candidate added alone; zero of those present."""
        slope = self.b - self.G @ solution.x
        cross = self.G[:, solution.free]
        left = np.diag(self.G) - np.einsum(
            "ij,jk,ik->i", cross, solution.inverse, cross, optimize=True
        )
        clear = left > 1e-9 * np.diag(self.G)
        gain = np.where(clear, slope**2 / np.where(clear, left, 1.0), 0.0)
        gain[[*solution.support, *self.candidates.excluded]] = 0.0
        return gain

    def gains_of_two(self, solution: "Solution") -> np.ndarray:
        """2Δℓ of every two absent candidates added together; zero of those present."""
        slope = self.b - self.G @ solution.x
        cross = self.G[:, solution.free]
        left = self.G - cross @ solution.inverse @ cross.T
        size = np.sqrt(np.diag(self.G))
        scale = np.where(size > 0, size, 1.0)
        left, slope = left / np.outer(scale, scale), slope / scale
        alone = np.diag(left)
        determinant = np.outer(alone, alone) - left**2
        gain = np.outer(slope**2, alone)
        gain = gain + gain.T - 2 * np.outer(slope, slope) * left
        clear = determinant > 1e-9
        gain = np.where(clear, gain / np.where(clear, determinant, 1.0), 0.0)
        without = [*solution.support, *self.candidates.excluded]
        gain[without] = gain[:, without] = 0.0
        return gain

    def losses(self, solution: "Solution") -> np.ndarray:
        """2Δℓ that every term loses alone; infinite of those that stay."""
        loss = np.full(len(self.c), np.inf)
        variance = np.maximum(np.diag(solution.inverse), 1e-300)
        loss[solution.free] = solution.x[solution.free] ** 2 / variance
        loss[list(self.candidates.stays)] = np.inf
        return loss

    def missed(self, solution: "Solution") -> float:
        """Power of the missed force; zero where it may be chance."""
        excess = solution.square - self.sensor_share
        chance = DEVIATIONS_OF_CHANCE * np.sqrt(2 * self.count)
        return excess if excess > chance else 0.0

    def price(self, x: np.ndarray) -> np.ndarray:
        """Price of every candidate, with the sign that it has."""
        feeds = self.candidates.positive & (x < 0)
        return self.candidates.price + PRICE_OF_GAIN * feeds

    def criterion(self, solution: "Solution") -> float:
        """Extended BIC, up to a constant."""
        price = self.price(solution.x)[list(solution.support)].sum()
        return solution.square + self.penalty * float(price)


@dataclass(frozen=True)
class Solution:
    """Coefficients of a support."""

    support: tuple[int, ...]
    free: list[int]
    x: np.ndarray  # of all candidates
    inverse: np.ndarray  # of G of the free ones
    square: float  # Σ e²/V


def select(quadratic: Quadratic, support: Iterable[int]) -> Solution:
    """The law: terms by the extended BIC from `support` on, then those with a share.

    What a law has for certain joins at the end: viscous damping takes no place from a
    dry friction that fits better.
    """
    wide = _search(quadratic, quadratic.solve(support), 0.0)
    law = _search(quadratic, wide, SHARE_OF_MISSED_POWER)
    joining = quadratic.candidates.joining(law.support)
    return quadratic.solve({*law.support, *joining})


def _search(quadratic: Quadratic, solution: Solution, share: float) -> Solution:
    """Drop, add and exchange terms until none is to be moved."""
    visited = {solution.support}
    while True:
        moved = (
            _drop(quadratic, solution, share)
            or _add(quadratic, solution, share)
            or _exchange(quadratic, solution, 1)
            or _exchange(quadratic, solution, 2)
        )
        if moved is None or moved.support in visited:
            break
        visited.add(moved.support)
        solution = moved
    return solution


def _drop(quadratic, solution, share) -> Solution | None:
    loss = quadratic.losses(solution)
    threshold = quadratic.penalty * quadratic.price(solution.x)
    more = (1 - share) ** -quadratic.candidates.price - 1
    threshold = np.maximum(threshold, more * quadratic.missed(solution))
    ratio = loss / threshold
    k = int(np.argmin(ratio))
    if not ratio[k] < 1:
        return None
    return quadratic.solve(set(solution.support) - {k})


def _add(quadratic, solution, share) -> Solution | None:
    gain = quadratic.gains(solution)
    threshold = quadratic.penalty * quadratic.candidates.price
    less = 1 - (1 - share) ** quadratic.candidates.price
    threshold = np.maximum(threshold, less * quadratic.missed(solution))
    for k in np.argsort(-gain / threshold, kind="stable"):
        if gain[k] <= threshold[k]:
            return None
        more = quadratic.solve({*solution.support, int(k)})
        if gain[k] > quadratic.penalty * quadratic.price(more.x)[k]:
            return more
    return None


def _exchange(quadratic, solution, count) -> Solution | None:
    """The best law with `count` terms exchanged for others, if it is better.

    Terms of one function come together: cos(2q) stands for cos(q) in every entry of an
    inertia, and the exchange of one of them is no gain.
    """
    best, value = None, quadratic.criterion(solution) - 1.0
    for leaving in _exchangeable(quadratic, solution.free, count):
        fewer = quadratic.solve(set(solution.support).difference(leaving))
        gain, price = _gains(quadratic, fewer, leaving, count)
        promise = quadratic.criterion(fewer) - gain + quadratic.penalty * price
        entering = np.unravel_index(
            np.argmin(np.where(gain > 0, promise, np.inf)), gain.shape
        )
        if gain[entering] > 0 and promise[entering] < value:
            other = quadratic.solve({*fewer.support, *map(int, entering)})
            if quadratic.criterion(other) < value:
                best, value = other, quadratic.criterion(other)
    return best


def _gains(quadratic, fewer, leaving, count) -> tuple[np.ndarray, np.ndarray]:
    """2Δℓ of every `count` candidates added that did not leave, and their prices."""
    price = quadratic.candidates.price
    if count == 1:
        gain = quadratic.gains(fewer)
    else:
        gain, price = quadratic.gains_of_two(fewer), np.add.outer(price, price)
    for axis in range(count):
        np.moveaxis(gain, axis, 0)[list(leaving)] = 0.0
    return gain, price


def _exchangeable(quadratic, terms, count):
    """Every `count` of some terms that need not stay."""
    stays = {*quadratic.candidates.stays}
    return itertools.combinations([k for k in terms if k not in stays], count)


def biasing(quadratic: Quadratic, law: Solution) -> list[int]:
    """Absent friction without which an inertia or a stiffness is biased.

    It changes one by more than its standard error, and its own interval holds no zero
    (focused information criterion; Claeskens and Hjort, J. Am. Stat. Assoc. 98 (2003)
    900, asks for √2). Every machine has friction, and a short record may not miss it;
    one that alone connects coordinates frees a scale, and is structure.
    """
    friction = quadratic.candidates.friction
    focus = [i for i, k in enumerate(law.free) if k not in friction]
    place = np.array(law.free, dtype=int)[focus]
    std = np.sqrt(np.diag(law.inverse))[focus]
    gain, needed = quadratic.gains(law), []
    for k in set(friction) - set(law.support):
        more = quadratic.solve({*law.support, k})
        if len(more.free) > len(law.free) + 1:
            continue
        moved = np.abs(more.x - law.x)[place] > std
        if gain[k] > NORMAL_QUANTILE**2 and more.x[k] > 0 and moved.any():
            needed.append(k)
    return needed


def equally_good(quadratic: Quadratic, law: Solution) -> list[Solution]:
    """Laws with one or two terms exchanged for others that fit alike, the best first.

    Of odds above 5 to 95, 2Δℓ < 2 log 19 for every independent innovation, and of no
    higher price; of two only such as no exchange of one of them is part of.
    """
    known, worst = quadratic.candidates, 2 * logit(CONFIDENCE) * quadratic.correlation
    stay = known.joining(law.support) | {*known.stays}
    quadratic = replace(quadratic, candidates=replace(known, stays=[*stay]))
    exchanges: list[tuple[set, set]] = []
    rivals = []
    for count in (1, 2):
        for leaving in _exchangeable(quadratic, law.free, count):
            fewer = quadratic.solve(set(law.support).difference(leaving))
            gain, price = _gains(quadratic, fewer, leaving, count)
            near = (gain > 0) & (price <= known.price[[*leaving]].sum())
            near &= fewer.square - gain - law.square < worst
            for entering in {frozenset(map(int, j)) for j in np.argwhere(near)}:
                if any(a <= {*leaving} and b <= entering for a, b in exchanges):
                    continue
                rivals.append(quadratic.solve({*fewer.support, *entering}))
                exchanges.append(({*leaving}, {*entering}))
    return sorted(rivals, key=lambda each: each.square)


def corrections(quadratic: Quadratic, law: Solution) -> tuple[int, ...]:
    """Terms that the extended BIC alone would add to a law."""
    known = quadratic.candidates
    # What a law has for sure may have any sign.
    positive = known.positive & ~np.isin(np.arange(len(known.price)), law.support)
    stay = replace(known, stays=law.support, positive=positive)
    wider = _search(replace(quadratic, candidates=stay), law, 0.0)
    return tuple(k for k in wider.support if k not in law.support)


def parts(touched: Iterable[int]) -> list[int]:
    """Groups of coordinates, as bits, that terms holding `touched` connect.

    >>> parts([0b001, 0b110, 0b010])
    [1, 6]
    """
    groups: list[int] = []
    for bits in touched:
        joined = int(bits)
        for part in [p for p in groups if p & joined]:
            groups.remove(part)
            joined |= part
        groups.append(joined)
    return groups
