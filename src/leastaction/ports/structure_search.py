"""The sparsest J, R, B and H that the data allow.

Minimum χ² in the coefficients (bilinear in the unknowns), for a ladder of classes;
backward elimination in each, in the order of :mod:`leastaction.ports.port_structure`:
first terms of several states in H, then off-diagonal entries of R, then all others. The
order is a convention: equally sparse alternatives may exist. An unknown is dropped if
χ² rises by less than its penalty and H stays convex on the data.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import least_squares

from leastaction.core.sparse_regression import term_price
from leastaction.ports.coefficient_fit import Quadratic
from leastaction.ports.port_structure import (
    COUPLED_LOSS,
    CROSS,
    ENERGY,
    PortStructure,
    gauge_dim,
)

# Unknowns whose predicted rise of χ² is above this multiple of the penalty are kept.
TRIED = 8.0
# Of an information matrix with unit diagonal, where a gauge is open.
RIDGE = 1e-10
ALTERNATIONS = 60
RANDOM_STARTS = 8
# Least eigenvalue of a Hessian over the largest that counts as convex.
LEAST_CONVEXITY = -1e-9


@dataclass(frozen=True, eq=False)
class Fit:
    """Unknowns of one class that were fitted."""

    theta: np.ndarray  # zero where they were dropped
    free: np.ndarray  # which were not
    chi_square: float  # rise of χ² above that of free coefficients, over the inflation


def penalty(law, data: Quadratic) -> float:
    """Rise of χ² that an unknown has to be worth."""
    return term_price(data.count, law.kinds.size)


def cost(law, data: Quadratic, fit: Fit) -> float:
    """The criterion of a fit, to be compared between classes."""
    return fit.chi_square + fit.free.sum() * penalty(law, data)


class FreeCoefficients:
    """W and B without any structure: the unknowns are the coefficients themselves."""

    def __init__(self, size: int):
        self.kinds = np.zeros(size, dtype=int)

    def coefficients(self, theta: np.ndarray) -> np.ndarray:
        """The unknowns."""
        return theta

    def jacobian(self, theta: np.ndarray) -> np.ndarray:
        """One."""
        return np.eye(theta.size)


def fitted(law, data: Quadratic, start: np.ndarray, free: np.ndarray) -> Fit:
    """Minimum χ² over the `free` unknowns, by Levenberg and Marquardt from `start`."""
    scale = 1 / np.sqrt(data.inflation)
    theta = np.where(free, start, 0.0)
    missing = max(0, int(free.sum()) - data.target.size)

    def residual(values: np.ndarray) -> np.ndarray:
        theta[free] = values
        result = scale * (data.matrix @ law.coefficients(theta) - data.target)
        return np.concatenate([result, np.zeros(missing)])

    def slope(values: np.ndarray) -> np.ndarray:
        theta[free] = values
        result = scale * (data.matrix @ law.jacobian(theta)[:, free])
        return np.vstack([result, np.zeros((missing, result.shape[1]))])

    if not free.any():
        return Fit(theta, free, float((residual(np.zeros(0)) ** 2).sum()))
    if isinstance(law, FreeCoefficients):  # linear, and its rank may not be full
        theta[free] = np.linalg.lstsq(data.matrix[:, free], data.target, rcond=None)[0]
        left = residual(theta[free])
        return Fit(theta.copy(), free, float(left @ left))
    options = {"method": "lm", "x_scale": "jac", "xtol": 1e-13, "ftol": 1e-11}
    result = least_squares(residual, theta[free], slope, max_nfev=200, **options)
    theta[free] = result.x
    return Fit(theta.copy(), free, 2 * float(result.cost))


def alternating(law: PortStructure, data: Quadratic, free: np.ndarray) -> np.ndarray:
    """Start of a fit: J, R, B for a given H, then H for these, and so on."""
    theta, inner = law.start(), np.arange(free.size) < law.inner
    squares = np.flatnonzero(theta)
    typical = theta[squares]
    for _ in range(ALTERNATIONS):
        for part in (free & inner, free & ~inner):
            slopes = data.matrix @ law.jacobian(theta)[:, part]
            sizes = np.linalg.norm(slopes, axis=0)
            sizes[sizes == 0] = 1.0
            left = data.target - data.matrix @ law.coefficients(theta)
            theta[part] += np.linalg.lstsq(slopes / sizes, left, rcond=1e-10)[0] / sizes
        size = np.abs(theta[squares] / typical).max(initial=0.0)
        if not law.outputs and size > 0:
            theta[law.inner :] /= size
    return theta


def dropping_costs(law, data: Quadratic, fit: Fit) -> tuple[np.ndarray, np.ndarray]:
    """Predicted rise of χ² if an unknown is dropped, and moves of the others.

    Returns rises (unknown,), infinite where it is not free, and the predicted unknowns
    (unknown, unknown), one row for each that is dropped.
    """
    slopes = data.matrix @ law.jacobian(fit.theta)[:, fit.free]
    slopes = slopes / np.sqrt(data.inflation)
    sizes = np.linalg.norm(slopes, axis=0)
    sizes = np.where(sizes > 0, sizes, 1.0)
    scaled = (slopes / sizes).T @ (slopes / sizes)
    inverse = np.linalg.inv(scaled + RIDGE * np.eye(len(sizes)))
    theta = fit.theta[fit.free] * sizes
    rises = np.full(fit.free.size, np.inf)
    rises[fit.free] = theta**2 / np.diag(inverse)
    moved = theta - inverse * (theta / np.diag(inverse))[:, None]
    starts = np.zeros((fit.free.size, fit.free.size))
    starts[np.ix_(fit.free, fit.free)] = moved / sizes
    return rises, starts


def convex(law, theta: np.ndarray, points: np.ndarray) -> bool:
    """Whether H is convex at the points, in every direction that it knows."""
    if not isinstance(law, PortStructure):
        return True
    values = np.linalg.eigvalsh(law.hessians(theta, points))
    return bool((values >= LEAST_CONVEXITY * np.abs(values).max()).all())


def dropped(law, data: Quadratic, fit: Fit, points, trials: Iterable) -> Fit | None:
    """Fit without the first unknown that the data do not need; None if there is none.

    `trials` are places of unknowns with starts of the others.
    """
    was_convex, allowed = convex(law, fit.theta, points), penalty(law, data)
    for k, start in trials:
        free = fit.free.copy()
        free[k] = False
        trial = fitted(law, data, start, free)
        if trial.chi_square - fit.chi_square < allowed and (
            not was_convex or convex(law, trial.theta, points)
        ):
            return trial
    return None


def eliminated(law, data: Quadratic, fit: Fit, points: np.ndarray) -> Fit:
    """Drop what the data do not need, in the order of the kinds."""
    most = TRIED * penalty(law, data)
    for kinds in ([CROSS], [COUPLED_LOSS], range(6)):
        result: Fit | None = fit
        while result is not None:
            fit = result
            rises, starts = dropping_costs(law, data, fit)
            rises[~np.isin(law.kinds, list(kinds))] = np.inf
            order = [k for k in np.argsort(rises) if rises[k] < most]
            result = dropped(law, data, fit, points, ((k, starts[k]) for k in order))
    return fit


def grown(law: PortStructure, data: Quadratic, allowed: np.ndarray) -> Fit:
    """Take in what lowers χ² most, from J, B, damping of each state, H = |x|²/2 on.

    Where candidates are nearly collinear, backward elimination from the `allowed` class
    alone often ends in a set that is sparse, but not the sparsest.
    """
    free = np.where(law.kinds < ENERGY, law.kinds != COUPLED_LOSS, law.start() != 0)
    free = allowed & free & (law.kinds != CROSS)
    fit = fitted(law, data, alternating(law, data, free), free)
    while True:
        slopes = data.matrix @ law.jacobian(fit.theta)
        left = data.target - data.matrix @ law.coefficients(fit.theta)
        basis, _ = np.linalg.qr(slopes[:, fit.free])
        rest = slopes - basis @ (basis.T @ slopes)
        sizes = (rest**2).sum(axis=0)
        useful = allowed & ~fit.free & (sizes > RIDGE * (slopes**2).sum(axis=0))
        gains = np.zeros(allowed.size)
        gains[useful] = (rest[:, useful].T @ left) ** 2 / sizes[useful] / data.inflation
        if gains.max() < penalty(law, data):
            return fit
        free = fit.free.copy()
        free[gains.argmax()] = True
        fit = fitted(law, data, fit.theta, free)


def without_gauge(law: PortStructure, data: Quadratic, fit: Fit, points, random) -> Fit:
    """Drop further entries, from random scales of H, while a gauge is left."""
    result: Fit | None = fit
    while result is not None:
        fit = result
        if gauge_dim(law, fit.theta, fit.free) <= int(not law.outputs):
            break
        places = np.flatnonzero(fit.free)[np.argsort(law.kinds[fit.free])]
        trials = (
            (k, scaled(law, fit.theta, random.lognormal(0, 1, law.states)))
            for k in places
            for _ in range(RANDOM_STARTS)
        )
        result = dropped(law, data, fit, points, trials)
    return fit


def condensed(law: PortStructure, data: Quadratic, fit: Fit, points) -> Fit:
    """Take one term of H for several of the same states, if the criterion falls.

    Powers of a state are nearly collinear where it moves little; no path that drops or
    takes one term at a time leads from three of them to the right one.
    """
    g = law.candidates.values(points)[0]
    gradients = np.einsum("kil,tl->kti", law.candidates.tensor, g)
    gradients = gradients.reshape(len(gradients), -1)
    symbols = [term.free_symbols for term in law.candidates.terms]
    best = fit
    for k, states in enumerate(symbols):
        same = np.append(
            np.zeros(law.inner, dtype=bool), [s == states for s in symbols]
        )
        if (fit.free & same).sum() > 1:
            free, start = fit.free & ~same, np.where(same, 0.0, fit.theta)
            slope = (fit.theta * same)[law.inner :] @ gradients
            size = (gradients[k] @ slope) / (gradients[k] @ gradients[k])
            free[law.inner + k], start[law.inner + k] = True, size
            trial = fitted(law, data, start, free)
            if cost(law, data, trial) < cost(law, data, best) and convex(
                law, trial.theta, points
            ):
                best = trial
    return best


def classes(law: PortStructure) -> Iterator[np.ndarray]:
    """Unknowns of the ladder: separable H and diagonal R, either, neither."""
    ladder = ([CROSS, COUPLED_LOSS], [CROSS], [COUPLED_LOSS], [])
    wide = (~np.isin(law.kinds, without) for without in ladder)
    yield from {free.tobytes(): free for free in wide}.values()


def scaled(law: PortStructure, theta: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Unknowns with H_j times `factors` and column j of J − R over them."""
    result = theta.copy()
    names = [str(name) for name in law.candidates.states]
    for k, term in enumerate(law.candidates.terms, law.inner):
        mine = [names.index(str(s)) for s in term.free_symbols]
        result[k] *= np.sqrt(np.prod(factors[mine] ** (2 / max(1, len(mine)))))
    for patterns in law.patterns[:2]:
        for k in range(law.inner):
            if patterns[k].any():
                i, j = np.argwhere(patterns[k])[0]
                result[k] /= np.sqrt(factors[i] * factors[j])
    return result


def unpruned(law, points, random, data: Quadratic, known: Sequence[Fit]) -> list[Fit]:
    """Fit of every class of the ladder with all of its unknowns.

    Fits that are `known` may serve as starts.
    """
    fits: list[Fit] = []
    for free in classes(law):
        starts = [fit.theta for fit in [*known, *fits]]
        fits.append(best_of(law, data, free, points, starts, random))
    return fits


def searched(law, points, random, data: Quadratic, known: Sequence[Fit]) -> list[Fit]:
    """Sparse fits of the classes of the ladder, the best first.

    A class whose χ² alone exceeds the criterion of a sparse fit is left out.
    """
    full = unpruned(law, points, random, data, known)
    result: list[Fit] = []
    criterion = partial(cost, law, data)
    for fit in sorted(full, key=criterion):
        if fit.chi_square < min(map(criterion, result), default=np.inf):
            for start in (fit, grown(law, data, fit.free)):
                pruned = eliminated(law, data, start, points)
                pruned = condensed(law, data, pruned, points)
                result.append(without_gauge(law, data, pruned, points, random))
    return sorted(
        result, key=lambda f: (not convex(law, f.theta, points), criterion(f))
    )


def gap_to_rival(law, data: Quadratic, known: Sequence[Fit], points) -> float:
    """How much larger the criterion is for another set of unknowns, at least.

    Others are those that a search found, and the best one with a term of H replaced by
    one of the same states; with an H that is convex at the points.
    """
    best, *others = known
    if not isinstance(law, PortStructure):
        return np.inf
    symbols = [None] * law.inner + [t.free_symbols for t in law.candidates.terms]
    for i in range(law.inner, len(symbols)):
        for k in range(law.inner, len(symbols)):
            if best.free[i] and not best.free[k] and symbols[i] == symbols[k]:
                free = best.free.copy()
                free[[i, k]] = False, True
                start = best.theta.copy()
                start[k] = start[i]
                others.append(fitted(law, data, start, free))
    costs = (
        cost(law, data, fit)
        for fit in others
        if convex(law, fit.theta, points) and not np.array_equal(fit.free, best.free)
    )
    return min(costs, default=np.inf) - cost(law, data, best)


def best_of(law, data: Quadratic, free, points, starts, random) -> Fit:
    """Least χ² with a convex H, from several starts; random ones if it is not."""
    even = data.evened()

    def tried() -> Iterator[np.ndarray]:
        yield from starts
        yield fitted(law, even, alternating(law, even, free), free).theta
        yield alternating(law, data, free)
        for _ in range(RANDOM_STARTS):
            yield scaled(law, law.start(), random.lognormal(0, 1, law.states))

    best: tuple = ((True, np.inf), None)
    for k, start in enumerate(tried()):
        trial = fitted(law, data, start, free)
        order = not convex(law, trial.theta, points), trial.chi_square
        best = min(best, (order, trial), key=lambda one: one[0])
        enough = best[0][1] < 2 * data.target.size or k > len(starts)
        if enough and not best[0][0]:
            break
    return best[1]
