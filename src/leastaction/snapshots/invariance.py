"""Symmetries of a Lagrangian learned from snapshots: found, and imposed on its fit.

The rules commute with affine maps, so L_d has the affine symmetries of L, and
:class:`~leastaction.core.symmetries.Invariance` says on pairs of snapshots which ones
may be there. The odds of L with a symmetry against L without
(:mod:`~leastaction.snapshots.symmetric_fits`) decide for them or against, and springs
beside the symmetric L say by how much they may be broken, or are (:func:`limited`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import scipy.linalg
import scipy.optimize
import xarray as xr

from leastaction.core.multi_index import multi_indices
from leastaction.core.symmetries import (
    DECISIVE,
    MOST_CHANGE,
    READABLE,
    Invariance,
    Symmetry,
    change_along,
    most_symmetries,
    polynomials,
    simplest,
    sizes_along,
)
from leastaction.snapshots.bases import Basis, WeightSpace
from leastaction.snapshots.contracts import lagrangian_dataset
from leastaction.snapshots.discrete_lagrangian import (
    discrete_momenta,
    pairs,
    quadrature,
)
from leastaction.snapshots.errors_in_variables import (
    Fit,
    Linearisation,
    learned_from,
    square,
)
from leastaction.snapshots.symmetric_fits import (
    DEGREES_MORE,
    PARITIES,
    SymmetricFits,
    evidence,
)

# Features of so many of the highest degrees show where the series is cut: terms that
# are even in something come with every second degree only.
DEGREES_CUT = 2
# Share of the largest singular value below which springs have the symmetry.
ROUND_OFF = 1e-6
# Turns of the screws that are tried, in radians along a deviation of the positions. A
# quarter beside the likeliest the evidence still rises towards it.
RADIANS = np.append(0.25, np.arange(1, 9) / 2)
# Error of an advance over a deviation, or over the interval where it is searched; and
# over itself by poor features (1 % in the draws of the tests).
RESOLVED, NEAR = 1e-2, 0.1
# Length scale, in deviations of the positions, of features that are polynomials: their
# exponential differs from 1 by round-off, and they are compared with each other only.
LONG = float(np.finfo(float).eps ** -0.5)


def identify(
    equations: xr.Dataset,
    settings: Mapping,
    observations: xr.Dataset,
    library: Mapping,
) -> xr.Dataset:
    """Learn L, find its affine symmetries and impose them, for one case.

    L is learned by orthogonal distance regression; the odds of L with a symmetry
    against L without decide about it.

    Settings: `resolution`, the bound of a violation below which a symmetry counts as
    found where no odds can be had; `impose`, whether L is learned again among the
    Lagrangians that have all symmetries found, with features of up to two degrees more,
    and among those with time reversal and mirrors if odds decide for them.

    Raises
    ------
    ValueError
        If the features are no Taylor features of all coordinates and velocities.
    """
    rows, fit, line = learned_from(equations, observations, library)
    n, fits = fit.basis.dof, SymmetricFits(fit, line)
    result = find(fits, settings["resolution"])
    degree = fit.basis.degree + DEGREES_MORE * settings["impose"]
    features = replace(fit.basis, degree=degree)
    decided = [one for one in result if one.verdict == "found"]
    odds = dict.fromkeys(PARITIES, np.nan)
    if settings["impose"] and decided:
        fit, odds = fits.imposed(decided, features)
        inputs = np.pad(fit.basis.inputs, ((0, 2 * n - len(fit.basis.inputs)), (0, 0)))
        features = replace(fit.basis, inputs=inputs)
    b, factor = (
        _embedded(fit.basis, features, c) for c in (fit.coefficients, fit.factor)
    )
    values = _values(result, n) | {f"{k}_log_odds": v for k, v in odds.items()}
    # In every case, so that cases can be put together.
    values |= {"frame": np.zeros((n, n)), "fixed_point": np.zeros(n)}
    return lagrangian_dataset(
        rows, b, fit.diagnostics, square(factor), features, values
    )


def _highest_degrees(fit: Fit) -> np.ndarray:
    """Coefficients of the highest degrees, zero elsewhere: where the series is cut."""
    basis = fit.basis
    degrees = multi_indices(len(basis.inputs), basis.degree, True).sum(axis=1)
    return np.where(degrees > basis.degree - DEGREES_CUT, fit.coefficients, 0.0)


def _embedded(basis: WeightSpace, wide: WeightSpace, b: np.ndarray) -> np.ndarray:
    """Coefficients (..., function) among features of more degrees, and more inputs."""
    powers = multi_indices(len(wide.inputs), wide.degree, True)
    unseen = powers[:, len(basis.inputs) :].any(axis=1)
    result = np.zeros((*b.shape[:-1], wide.size))
    result[..., ~unseen & (powers.sum(axis=1) <= basis.degree)] = b
    return result


def _values(symmetries: Sequence[Symmetry], dof: int) -> dict[str, np.ndarray]:
    """Variables of the contract, what was found first; NaN where there are fewer."""
    room = most_symmetries(dof)
    best = sorted(symmetries, key=lambda one: one.verdict != "found")[:room]
    values = {
        "symmetry_offset": np.full((room, dof), np.nan),
        "symmetry_matrix": np.full((room, dof, dof), np.nan),
        "symmetry_violation": np.full(room, np.nan),
        "symmetry_bound": np.full(room, np.nan),
        "symmetry_decided": np.zeros(room),
        "symmetry_log_odds": np.full(room, np.nan),
    }
    for i, one in enumerate(best):
        for name, array in values.items():
            array[i] = getattr(one, name.removeprefix("symmetry_"))
    return values


def find(fits: SymmetricFits, resolution: float) -> list[Symmetry]:
    """Affine symmetries of a learned L, decided on all pairs of adjusted snapshots."""
    problem = invariance(fits.free, fits.line)
    readings = problem.readings(resolution)
    result = settled(readings[1:] or readings, fits)
    if not any(one.log_odds > DECISIVE for one in result):
        # A basis need not hold the nearest itself.
        near = problem.isometries(resolution)
        screws = [[one] for one in screw_of(near, fits)]
        result = settled(screws, fits) if screws else []
        if not any(one.log_odds > DECISIVE for one in result):
            result = settled([*readings, *near], fits)
    likeliest = [one for one in result if one.log_odds > DECISIVE]
    judged = []
    for one in without_fits(result, fits):
        if one.log_odds > DECISIVE:
            one = limited(one, likeliest, fits, resolution)
        elif one.log_odds < -DECISIVE and one.change < MOST_CHANGE:
            one = limited(one, [one], fits, resolution)
        judged.append(one)
    return judged


def screw_of(near: Sequence[Sequence[Symmetry]], fits: SymmetricFits) -> list[Symmetry]:
    """The likeliest screw of space about an axis of a coordinate or of a near rotation.

    Among advances of all sizes by features as rich as those without symmetries; then
    about the motion of the likeliest by richer ones. None if no isometry passes, and in
    other dimensions.
    """
    poor, n = fits.free.basis, fits.free.basis.dof
    if not near or n != 3:
        return []
    turns = [np.cross(np.eye(n), axis) for axis in np.eye(n)]
    for one in (some[0].matrix for some in near if some[0].matrix.any()):
        one = one / np.abs(one).max()
        if not any(np.array_equal(np.abs(one), np.abs(turn)) for turn in turns):
            turns.append(one)

    def screw(turn: np.ndarray, advance: float) -> Symmetry:
        offset = advance * scipy.linalg.null_space(turn)[:, 0]
        size = max(1.0, np.abs(offset).max())
        return replace(near[-1][-1], offset=offset / size, matrix=turn / size)

    def height(turn, basis: WeightSpace, about: SymmetricFits, advance: float) -> float:
        # The length scale that is known is enough.
        some = [screw(turn, advance)]
        return evidence(about.most_probable(some, basis, -np.inf))

    spread = float(fits.line.adjusted.std(axis=(0, 1)).max())
    heights = [partial(height, turn, poor, fits) for turn in turns]
    brackets = [bracket(of, spread) for of in heights]
    which = int(np.argmax([top for top, _ in brackets]))
    turn, ends = turns[which], brackets[which][1]
    peak = highest(heights[which], *ends, RESOLVED * spread)
    if np.isneginf(height(turn, fits.wide, fits, peak)):
        return []
    rich, line = fits.about([screw(turn, peak)], fits.wide)
    basis = replace(fits.wide, length_scale=rich.basis.length_scale)
    nearer = partial(height, turn, basis, SymmetricFits(fits.free, line))
    return [screw(turn, readable(nearer, peak, spread))]


def bracket(height, spread: float) -> tuple[float, np.ndarray]:
    """Greatest evidence of advances of all sizes, and those beside its place."""
    one_way = spread / RADIANS
    advances = np.concatenate([-one_way, [0.0], one_way[::-1]])
    heights = [height(advance) for advance in advances]
    best = int(np.argmax(heights))
    return heights[best], advances[np.clip([best - 1, best + 1], 0, len(advances) - 1)]


def readable(height, near: float, spread: float) -> float:
    """The advance of greatest evidence, or a simple number that it does not exclude."""
    margin = NEAR * max(abs(near), RESOLVED * spread)
    peak = highest(height, near - margin, near + margin, RESOLVED * margin)
    simple = [*READABLE, *(1 / number for number in READABLE[1:])]
    nearest = min(simple, key=lambda number: abs(number - abs(peak)))
    nearest = float(np.copysign(nearest, peak))
    return peak if height(nearest) < height(peak) - DECISIVE else nearest


def highest(height, low: float, high: float, error: float) -> float:
    """Where a function of one maximum is greatest."""
    options = {"bounds": (low, high), "options": {"xatol": error}}
    return float(scipy.optimize.minimize_scalar(lambda x: -height(x), **options).x)


def limited(
    symmetry: Symmetry,
    symmetries: Sequence[Symmetry],
    fits: SymmetricFits,
    resolution: float,
) -> Symmetry:
    """A symmetry with the violation, and its bound, of what may be beside it.

    That are springs beside the most probable L that has all `symmetries`: many
    Lagrangians have nearly the same motions, but how isotropic they are the motions
    alone decide.
    """
    fit, line = fits.about(symmetries, fits.wide)
    n, matrix = fit.basis.dof, symmetry.matrix
    positions = line.adjusted.reshape(-1, n)
    centre = np.pad(positions.mean(axis=0), (0, n))
    if matrix.any():
        centre[:n] = -np.linalg.pinv(matrix) @ symmetry.offset
    scaled = np.eye(n, 2 * n) / positions.std(axis=0)[:, None]
    springs = WeightSpace(2, LONG, scaled, centre)
    forms = np.eye(springs.size)[multi_indices(n, 2, True).sum(axis=1) == 2]
    unit = np.zeros(springs.size), forms, 0.0
    _, size, right = np.linalg.svd(
        invariance(fit, line, springs, unit).along(symmetry), full_matrices=False
    )
    broken = forms.T @ right[size > ROUND_OFF * size[0]].T  # others have the symmetry
    values, factor = fit.beside(line, springs, broken)
    beside = broken @ values, factor @ broken.T, 0.0
    one = invariance(fit, line, springs, beside).measured(symmetry)
    return replace(one, decided=one.violation + one.bound < resolution)


def invariance(
    fit: Fit, line: Linearisation, basis: Basis | None = None, posterior=None
) -> Invariance:
    """The eigenproblem of one L, on all pairs of adjusted snapshots.

    Violated by L, or by functions of another `basis` beside it; their `posterior` is
    (coefficients, factor, truncation).
    """
    if basis is None:
        posterior = fit.coefficients, fit.factor, _highest_degrees(fit)
        basis = fit.basis
    positions, (h, rule), degree = line.adjusted, line.step_and_rule, fit.basis.degree
    scale = positions.reshape(-1, basis.dof).std(axis=0)
    first, second = pairs(positions)
    change = sum(
        weight * _change(basis, states, scale)
        for weight, _, states in quadrature(first, second, h, rule)
    )
    # As rich as the basis: what is a total derivative in it must not count.
    ends = [polynomials(q, scale, degree)[0] for q in (first, second)]
    total = np.hstack([(ends[1] - ends[0]) / h, np.ones((len(first), 1))])
    momenta = discrete_momenta(fit.basis, first, second, h, rule)
    momenta = [(p @ fit.coefficients).T for p in momenta]
    speed = (second - first).std(axis=0) / h
    rate = float(np.sqrt(np.mean((speed / scale) ** 2)))
    both = np.concatenate([first, second])
    size = sizes_along(both, np.concatenate(momenta), scale, rate, degree)
    return Invariance(scale, change, total, size, *posterior)


def without_fits(symmetries: Sequence[Symmetry], fits: SymmetricFits) -> list[Symmetry]:
    """Symmetries with which no L could be learned: excluded by a bound, or undecided.

    Nothing denies them but their violation: that of L with the symmetries that odds
    have decided for, which is known better.
    """
    decided = [one for one in symmetries if one.log_odds > DECISIVE]
    left = [one for one in symmetries if np.isneginf(one.log_odds)]
    if decided and left:
        problem = invariance(*fits.about(decided, fits.wide))
        left = [problem.measured(one) for one in left]
    others = [one for one in symmetries if not np.isneginf(one.log_odds)]
    return others + [replace(one, log_odds=np.nan, decided=False) for one in left]


def settled(
    readings: Sequence[Sequence[Symmetry]], fits: SymmetricFits
) -> list[Symmetry]:
    """Symmetries with their odds, the likeliest first, each beside those before it."""
    passed = [some for some in readings if simplest(some).verdict != "not found"]
    alone = (likely(some, fits) for some in passed)
    each = {one.entries: one for one in alone}.values()
    accepted, height, judged = [], 0.0, []
    for one in sorted(each, key=_order):
        further = one.log_odds > DECISIVE and not generated(one, accepted)
        if accepted and further:
            one = replace(one, log_odds=fits.odds([*accepted, one], height))
        judged.append(one)
        if further and one.log_odds > DECISIVE:
            accepted, height = [*accepted, one], height + one.log_odds
    return judged or [simplest(some) for some in readings]


def generated(symmetry: Symmetry, others: Sequence[Symmetry]) -> bool:
    """Whether L has a symmetry if it has others: their sum, or that of brackets."""

    def affine(one: Symmetry) -> np.ndarray:
        return np.pad(np.column_stack([one.matrix, one.offset]), ((0, 1), (0, 0)))

    maps = [affine(one) for one in others]
    maps += [a @ b - b @ a for a, b in combinations(maps, 2)]
    if not maps:
        return False
    columns, target = np.reshape(maps, (len(maps), -1)).T, affine(symmetry).ravel()
    rest = target - columns @ np.linalg.lstsq(columns, target, rcond=None)[0]
    return bool(np.abs(rest).max() < ROUND_OFF)


def likely(readings: Sequence[Symmetry], fits: SymmetricFits) -> Symmetry:
    """The simplest reading of a generator that odds decide for; else the likeliest."""
    judged = []
    *simple, computed = readings
    if not simple or simplest(readings) is computed:
        simple.append(computed)
    for one in simple:
        judged.append(replace(one, log_odds=fits.odds([one])))
        if judged[-1].log_odds > DECISIVE:
            return judged[-1]
    return max(judged, key=_certainty)


def _order(symmetry: Symmetry) -> tuple[bool, float]:
    """Rotations and translations that odds decide for first, then the likeliest."""
    likely = _certainty(symmetry) > DECISIVE and symmetry.kind != "affine map"
    return not likely, -_certainty(symmetry)


def _certainty(symmetry: Symmetry) -> float:
    """Log odds, even where there are none."""
    return float(np.nan_to_num(symmetry.log_odds, nan=0.0))


def _change(basis: Basis, states: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """X_a φ_f at states (sample, 2 dof)."""
    n = basis.dof
    gradient = np.array([basis.partial(states, i) for i in range(2 * n)])
    return change_along(states[:, :n], states[:, n:], gradient, scale)
