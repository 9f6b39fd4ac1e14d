"""Variance function: squared increments regressed on functions of the state.

An increment r_k of one step has E[r_k² | past]/dt = the average of S²(q, q̇) over the
step and, being Gaussian to leading order, a variance of r_k²/dt that is twice the
square of that average. The efficient regression therefore weights each sample by 1/S⁴
and repeats itself until the weights agree with its result (Davidian and Carroll 1987).
The regressors are averages over the step too, along the path extrapolated from the two
samples before it: known before the noise of the step, and correct where the drift moves
the state so far that S²(q_k, q̇_k) would not stand for the whole step.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from leastaction.core.sparse_regression import best_subset, extended_penalty

if TYPE_CHECKING:
    import sympy as sp

# Evenly spaced samples that show whether S² is more than a constant.
SAMPLES_TO_SEE_A_LAW = 200_000
MOST_PASSES = 12
# Floor of S² in the weights of successive passes, in units of its mean: the first law
# is rough, and a root of it in the wrong place would attract the next.
FLOORS_OF_WEIGHTS = (1e-2, 1e-4, 1e-6)
# Standard errors that the coefficients may still move by.
LARGEST_LAST_MOVE = 0.01
# p-value below which S² is no perfect square.
REJECTED_P_VALUE = 1e-3
# Two-point Gauss rules, in steps: of one step, and of a third difference, which holds
# the variance of three steps in the ratio 1 : 4 : 1.
ONE_STEP = (0.5 - np.sqrt(1 / 12), 0.5 + np.sqrt(1 / 12))
THIRD_DIFFERENCE = (1.5 - np.sqrt(5 / 12), 1.5 + np.sqrt(5 / 12))

Blocks = Callable[[], Iterator[tuple[np.ndarray, np.ndarray]]]


@dataclass(frozen=True)
class VarianceFunction:
    """S² = Σ β_i G_i, and S = Σ ρ_i G_i where S² is a perfect square.

    Attributes
    ----------
    coefficients, std
        β and its standard error, shape (term,).
    root, root_std
        ρ, its first coefficient positive; NaN where S² is not the square of a + b f.
    statistic, p_value
        χ²(1) test of the perfect square; NaN where there is nothing to test.
    law
        Coefficients of S² to be evaluated: of the square of the root if there is one.
    """

    coefficients: np.ndarray
    std: np.ndarray
    root: np.ndarray
    root_std: np.ndarray
    statistic: float
    p_value: float
    law: np.ndarray

    @property
    def is_square(self) -> bool:
        """Whether S² is the square of a + b f."""
        return bool(np.isfinite(self.root).all())


def step_average(evaluate, before, now, nodes=ONE_STEP) -> np.ndarray:
    """Average of functions of the state over what follows `now`.

    ``evaluate(q, qdot)`` is (samples, function); `before` and `now` are (q, q̇) one step
    earlier and at the samples; `nodes` are the times of the quadrature, in steps.
    """
    first, second = (
        evaluate(*(x + node * (x - y) for x, y in zip(now, before, strict=True)))
        for node in nodes
    )
    return (first + second) / 2


def second_moments(blocks: Blocks, law=None, floor: float = 0.0):
    """Σ of (regressors, target) products weighted by 1/S⁴, and the sample count."""
    gram, count = 0.0, 0
    for regressors, target in blocks():
        both = np.column_stack([regressors, target])
        if law is not None:
            both /= np.maximum(regressors @ law, floor)[:, None]
        gram = gram + both.T @ both
        count += len(target)
    return gram, count


def select(gram: np.ndarray, max_terms: int, count: int):
    """Best subset of S²: coefficients (term,) and covariance, zero where not chosen."""
    m = len(gram) - 1
    scale = np.sqrt(np.diag(gram))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    root = np.sqrt(np.clip(values, 0.0, None))[:, None] * vectors.T * scale
    path = best_subset(root[None, :, :m], root[None, :, m], max_terms)
    sizes = np.arange(len(path.supports))
    with np.errstate(divide="ignore"):
        criterion = count * np.log(path.objectives / count)
    criterion = criterion + extended_penalty(sizes, m, count)
    chosen = list(path.supports[int(np.argmin(criterion))])
    coefficients, covariance = np.zeros(m), np.zeros((m, m))
    if chosen:
        length = np.linalg.norm(root[:, chosen], axis=0)
        active = root[:, chosen] / length
        solution, *_ = np.linalg.lstsq(active, root[:, m], rcond=None)
        error = root[:, m] - active @ solution
        inverse = np.linalg.inv(active.T @ active) * (error @ error) / count
        coefficients[chosen] = solution / length
        covariance[np.ix_(chosen, chosen)] = inverse / np.outer(length, length)
    return coefficients, covariance


def fit(blocks: Blocks, terms: Sequence["sp.Expr"], max_terms: int) -> VarianceFunction:
    """Best subset of S² with iterated weights.

    `blocks`, called once per pass, yields regressors (sample, term), averages over the
    steps of the candidates `terms`, and targets r²/dt (sample,).
    """
    gram, count = second_moments(blocks)
    result = interpret(*select(gram, max_terms, count), terms, weighted=False)
    mean = np.sqrt(gram[-1, -1] / (3 * count))
    for step in range(MOST_PASSES):
        last = len(FLOORS_OF_WEIGHTS) - 1
        floor = FLOORS_OF_WEIGHTS[min(step, last) if result.is_square else 0] * mean
        before = result.law
        gram, count = second_moments(blocks, before, floor)
        result = interpret(*select(gram, max_terms, count), terms)
        same = ((before != 0) == (result.law != 0)).all()
        near = np.abs(result.law - before) <= LARGEST_LAST_MOVE * result.std
        if step > last and same and near.all():
            break
    return result


def interpret(coefficients, covariance, terms, weighted=True) -> VarianceFunction:
    """Law of S² with its root, if S² = (a + b f)² for candidates 1, f and f².

    Of β (term,) and its covariance. If that is not one of an efficient fit
    (`weighted`), the test of the perfect square has no meaning and the root is not
    taken.
    """
    from scipy.special import chdtrc

    std = np.sqrt(np.diag(covariance))
    none = np.full(len(terms), np.nan)
    plain = VarianceFunction(
        coefficients, std, none, none, np.nan, np.nan, coefficients
    )
    if not weighted:
        return plain
    support = frozenset(int(i) for i in np.flatnonzero(coefficients))
    constant = [i for i, term in enumerate(terms) if term == 1]
    root, error = np.zeros(len(terms)), np.zeros(len(terms))
    if len(support) == 1:
        (i,) = support
        f = _root_position(terms, i)
        if f is None or coefficients[i] <= 0:
            return plain
        root[f] = np.sqrt(coefficients[i])
        error[f] = std[i] / (2 * root[f])
        return replace(plain, root=root, root_std=error)
    for square in support if constant else ():
        f = _root_position(terms, square)
        if f is None or support != {constant[0], f, square}:
            continue
        three = [constant[0], f, square]
        pair, pair_covariance, statistic = _perfect_square(
            coefficients[three], covariance[np.ix_(three, three)]
        )
        tested = {"statistic": statistic, "p_value": float(chdtrc(1, statistic))}
        if not tested["p_value"] > REJECTED_P_VALUE:
            return replace(plain, **tested)
        a, b = pair
        law = np.zeros(len(terms))
        law[three] = a * a, 2 * a * b, b * b
        root[three[:2]] = pair
        error[three[:2]] = np.sqrt(np.diag(pair_covariance))
        return replace(plain, root=root, root_std=error, law=law, **tested)
    return plain


def _root_position(terms: Sequence["sp.Expr"], square: int) -> int | None:
    """Position of f for the candidate f²; that of 1 for 1."""
    for i, term in enumerate(terms):
        if term.free_symbols and (term**2 - terms[square]).expand() == 0:
            return i
    return square if terms[square] == 1 else None


def _perfect_square(beta: np.ndarray, covariance: np.ndarray):
    """(a, b) with (a², 2ab, b²) nearest to β, by minimum distance; its covariance.

    The distance is χ²(1) if S² is a perfect square (Ferguson 1958).
    """
    if beta[2] <= 0:
        return np.full(2, np.nan), np.full((2, 2), np.nan), np.inf
    scale = np.sqrt(np.diag(covariance))
    root = np.linalg.cholesky(covariance / np.outer(scale, scale))
    whiten = np.linalg.inv(root) / scale
    b = np.sqrt(beta[2])
    pair = np.array([beta[1] / (2 * b), b])
    for _ in range(50):
        a, b = pair
        slope = whiten @ np.array([[2 * a, 0.0], [2 * b, 2 * a], [0.0, 2 * b]])
        rest = whiten @ (beta - np.array([a * a, 2 * a * b, b * b]))
        change, *_ = np.linalg.lstsq(slope, rest, rcond=None)
        pair = pair + change
        if np.abs(change).max() <= 1e-12 * np.abs(pair).max():
            break
    if pair[0] < 0:
        pair = -pair
    return pair, np.linalg.inv(slope.T @ slope), float(rest @ rest)
