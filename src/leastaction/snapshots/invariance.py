"""Symmetries of a Lagrangian learned from snapshots: found, and imposed on its fit.

The rules commute with affine maps, so L_d has the affine symmetries of L, and
:class:`~leastaction.core.symmetries.Invariance` says on pairs of snapshots which ones
may be there. The odds of the most probable L with a symmetry, a sum of
:mod:`~leastaction.snapshots.invariant_features`, against L without decide.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import xarray as xr

from leastaction.core.multi_index import multi_indices
from leastaction.core.symmetries import (
    DECISIVE,
    Invariance,
    Symmetry,
    change_along,
    most_symmetries,
    polynomials,
    simplest,
    sizes_along,
)
from leastaction.snapshots.bases import Basis, WeightSpace, basis_of
from leastaction.snapshots.constrained_rows import evidence_maximisation
from leastaction.snapshots.contracts import lagrangian_dataset
from leastaction.snapshots.discrete_euler_lagrange import highest
from leastaction.snapshots.discrete_lagrangian import (
    discrete_momenta,
    pairs,
    positions_of,
    quadrature,
)
from leastaction.snapshots.errors_in_variables import (
    Fit,
    Linearisation,
    errors_in_variables,
    learned,
)
from leastaction.snapshots.invariant_features import adapted, invariant_sums, is_far

# Invariant sums are few, so that features of a higher degree are affordable.
DEGREES_MORE = 2
# Features of so many of the highest degrees show where the series is cut: terms that
# are even in something come with every second degree only.
DEGREES_CUT = 2


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
    Lagrangians that have all symmetries found, with features of up to two degrees more.

    Raises
    ------
    ValueError
        If the features are no Taylor features of all coordinates and velocities.
    """
    free = evidence_maximisation(
        equations, {"damping": "evidence"}, observations, library
    )
    basis = basis_of(free)
    if not isinstance(basis, WeightSpace) or len(basis.inputs) != 2 * basis.dof:
        raise ValueError(
            "noether_symmetries needs Taylor features of all coordinates; leave out "
            "assemble.basis.kind and assemble.basis.cyclic"
        )
    fit, line = _adjusted(free, basis, positions_of(observations))
    basis = fit.basis
    found = find(fit, line, settings["resolution"])
    decided = [one for one in found if one.verdict == "found"]
    wide = replace(basis, degree=basis.degree + DEGREES_MORE * settings["impose"])
    if settings["impose"] and decided:
        each = [symmetric(decided, one, line) for one in (basis, wide)]
        fit = max(each, key=evidence)
    features = replace(fit.basis, degree=wide.degree)
    b, factor = (
        _embedded(fit.basis, features, c) for c in (fit.coefficients, fit.factor)
    )
    # As many rows in every case, so that cases can be put together.
    factor = np.pad(factor, ((0, wide.size - len(factor)), (0, 0)))
    damping = fit.damping / fit.system.singular[0]
    diagnostics = {"damping": damping, "row_error": fit.noise}
    symmetries = _values(found, basis.dof)
    return lagrangian_dataset(free, b, diagnostics, factor, features, symmetries)


def _adjusted(
    free: xr.Dataset, basis: WeightSpace, positions: np.ndarray
) -> tuple[Fit, Linearisation]:
    """L by orthogonal distance regression, begun at one with all noise in the rows."""
    b, about = free["coefficient"].values[0], free.attrs
    given = about["time_step"], about["rule"]
    line = Linearisation(basis, b, positions, positions, *given)
    moved = line.moved(basis, b)
    line = moved if moved.is_near() else line
    rescale = not about.get("length_scale_given", 0)
    return errors_in_variables(line, basis, rescale=rescale)


def _highest_degrees(fit: Fit) -> np.ndarray:
    """Coefficients of the highest degrees, zero elsewhere: where the series is cut."""
    basis = fit.basis
    degrees = multi_indices(len(basis.inputs), basis.degree, True).sum(axis=1)
    return np.where(degrees > basis.degree - DEGREES_CUT, fit.coefficients, 0.0)


def _embedded(basis: WeightSpace, wide: WeightSpace, b: np.ndarray) -> np.ndarray:
    """Coefficients (..., function) of the same features among those of more degrees."""
    powers = multi_indices(len(wide.inputs), wide.degree, True)
    whole = np.zeros((*b.shape[:-1], wide.size))
    whole[..., powers.sum(axis=1) <= basis.degree] = b
    return whole


def _values(found: Sequence[Symmetry], dof: int) -> dict[str, np.ndarray]:
    """Variables of the contract, what was found first; NaN where there are fewer."""
    room = most_symmetries(dof)
    best = sorted(found, key=lambda one: one.verdict != "found")[:room]
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


def find(fit: Fit, line: Linearisation, resolution: float) -> list[Symmetry]:
    """Affine symmetries of a learned L, decided on all pairs of adjusted snapshots."""
    basis, positions, (h, rule) = fit.basis, line.adjusted, line.given
    scale = positions.reshape(-1, basis.dof).std(axis=0)
    first, second = pairs(positions)
    change = sum(
        weight * _change(basis, states, scale)
        for weight, _, states in quadrature(first, second, h, rule)
    )
    # As rich as the basis: what is a total derivative in it must not count.
    ends = [polynomials(q, scale, basis.degree)[0] for q in (first, second)]
    total = np.hstack([(ends[1] - ends[0]) / h, np.ones((len(first), 1))])
    momenta = discrete_momenta(basis, first, second, h, rule)
    momenta = [(p @ fit.coefficients).T for p in momenta]
    speed = (second - first).std(axis=0) / h
    rate = float(np.sqrt(np.mean((speed / scale) ** 2)))
    both = np.concatenate([first, second])
    size = sizes_along(both, np.concatenate(momenta), scale, rate, basis.degree)
    readings = Invariance(scale, change, total).readings(
        fit.coefficients, fit.factor, size, resolution, _highest_degrees(fit)
    )
    found = settled(readings[1:] or readings, fit, line)
    if len(readings) == 1 or any(one.verdict == "found" for one in found):
        return found
    return settled(readings, fit, line)  # a basis need not hold the nearest itself


def settled(
    readings: Sequence[Sequence[Symmetry]], fit: Fit, line: Linearisation
) -> list[Symmetry]:
    """Symmetries with their odds, the likeliest first, each beside those before it."""
    passed = [some for some in readings if simplest(some).verdict != "not found"]
    alone = (likely(some, fit, line) for some in passed)
    each = {one.entries: one for one in alone}.values()
    kept, height, judged = [], 0.0, []
    for one in sorted(each, key=_order):
        if kept and one.log_odds > DECISIVE:
            value = odds([*kept, one], fit, line, height)
            one = replace(one, log_odds=value)
        judged.append(one)
        if one.log_odds > DECISIVE:
            kept, height = [*kept, one], height + one.log_odds
    return judged or [simplest(some) for some in readings]


def likely(readings: Sequence[Symmetry], fit: Fit, line: Linearisation) -> Symmetry:
    """The simplest reading of a generator that odds decide for; else the likeliest."""
    judged = []
    *simple, computed = readings
    if not simple or simplest(readings) is computed:
        simple.append(computed)
    for one in simple:
        judged.append(replace(one, log_odds=odds([one], fit, line)))
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


def odds(
    symmetries: Sequence[Symmetry], fit: Fit, line: Linearisation, others: float = 0.0
) -> float:
    """Logarithm of the evidence of L with symmetries over that of L without.

    As where they are imposed, features of two degrees more have the symmetries: else
    what decides without noise is which features mend the truncation. NaN where two
    degrees more that mend as much again would mend all that denies the symmetries.
    `others` are the log odds of those symmetries that L without these has.
    """
    without = fit.log_evidence + others
    wide = replace(fit.basis, degree=fit.basis.degree + DEGREES_MORE)
    richer = evidence(symmetric(symmetries, wide, line, without + DECISIVE))
    if richer > without or np.isneginf(richer):
        return richer - without
    poorer = evidence(symmetric(symmetries, fit.basis, line))
    best = max(richer, poorer)
    return np.nan if richer - poorer > without - best else best - without


def symmetric(
    symmetries: Sequence[Symmetry],
    basis: WeightSpace,
    line: Linearisation,
    enough: float = np.inf,
) -> Fit | None:
    """The most probable L with symmetries; None if no such L has a mass.

    Its features have the symmetries exactly, about a fixed point, or as a Taylor series
    about the centre of the data where no fixed point is near, with a length scale of
    their own. What has `enough` evidence is as good as the best. Else the equations are
    linearised again about this L: a mode that moves freely has many Lagrangians, and
    those of another one weigh its errors wrongly.
    """
    fits: dict[float, Fit] = {}

    def height(scale: float, features: WeightSpace, sums: np.ndarray | None) -> float:
        features = replace(features, length_scale=scale)
        if sums is None:
            sums = invariant_sums(features, symmetries)
        try:
            fit = learned(line, features, sums)
        except np.linalg.LinAlgError:  # conditions of the mass that nothing meets
            return -np.inf
        fits[fit.log_evidence] = fit
        return fit.log_evidence

    exact = adapted(basis, symmetries)
    # A symmetry that does not move the centre has the same sums at all length scales.
    sums = None if exact is None else invariant_sums(exact, symmetries)
    series = basis if is_far(basis, symmetries) else None
    for features, known in ((exact, sums), (series, None)):
        if features is not None and max(fits, default=-np.inf) < enough:
            of_scale = partial(height, features=features, sums=known)
            first = of_scale(basis.length_scale)
            if first < enough:
                highest(of_scale, basis.length_scale, first)
    if not fits:
        return None
    best = fits[max(fits)]
    if best.log_evidence < enough:
        best, _ = errors_in_variables(line, best.basis, best.sums)
    return best


def evidence(fit: Fit | None) -> float:
    """Logarithm of the evidence; -inf of no L."""
    return -np.inf if fit is None else fit.log_evidence


def _change(basis: Basis, states: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """X_a φ_f at states (sample, 2 dof)."""
    n = basis.dof
    gradient = np.array([basis.partial(states, i) for i in range(2 * n)])
    return change_along(states[:, :n], states[:, n:], gradient, scale)
