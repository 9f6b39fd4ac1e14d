"""Symmetries of a Lagrangian learned from snapshots: found, and imposed on its fit.

The rules commute with affine maps, so L_d has the affine symmetries of L, and
:class:`~leastaction.core.symmetries.Invariance` decides on pairs of snapshots. A
symmetry is imposed exactly: the features are given a metric that it leaves unchanged,
in which a polynomial stays one of the same degree, and P X L = 0 is a condition.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import scipy.linalg
import xarray as xr

from leastaction.core.multi_index import multi_indices
from leastaction.core.simulation import first_index, halton_starts
from leastaction.core.symmetries import (
    DECISIVE,
    Invariance,
    Symmetry,
    change_along,
    polynomials,
    sizes_along,
)
from leastaction.snapshots.bases import Basis, WeightSpace, basis_of
from leastaction.snapshots.constrained_rows import compressed, evidence_maximisation
from leastaction.snapshots.contracts import lagrangian_dataset
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

# Invariant sums are few, so that features of a higher degree are affordable.
DEGREES_MORE = 2
# Features of so many of the highest degrees show where the series is cut: terms that
# are even in something come with every second degree only.
DEGREES_CUT = 2
# Of what denies a symmetry, what two further degrees may mend.
SHARE_MENDED = 0.1
# Singular values below this part of the largest are conditions that hold already.
ROUND_OFF = 1e-9
# Smallest eigenvalue of a metric, over the largest, of features that still resolve.
FLATTEST_METRIC = 1e-3


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
    Lagrangians that have all symmetries found, with features of two degrees more.

    Raises
    ------
    ValueError
        If the features are no Taylor features of all coordinates and velocities.
    """
    free = evidence_maximisation(
        equations, {"damping": "evidence"}, observations, library
    )
    basis, about = basis_of(free), free.attrs
    if not isinstance(basis, WeightSpace) or len(basis.inputs) != 2 * basis.dof:
        raise ValueError(
            "noether_symmetries needs Taylor features of all coordinates; leave out "
            "assemble.basis.kind and assemble.basis.cyclic"
        )
    positions, given = positions_of(observations), (about["time_step"], about["rule"])
    b = free["coefficient"].values[0]
    line = Linearisation(basis, b, positions, positions, *given)
    moved = line.moved(basis, b)
    line = moved if moved.is_near() else line
    rescale = not about.get("length_scale_given", 0)
    fit, line = errors_in_variables(line, basis, rescale=rescale)
    basis = fit.basis
    found = find(fit, line, settings["resolution"])
    decided = [one for one in found if one.verdict == "found"]
    wide = replace(basis, degree=basis.degree + DEGREES_MORE * settings["impose"])
    invariant = adapted(wide, decided) if settings["impose"] and decided else wide
    if invariant is wide:
        b, factor = (_embedded(basis, wide, c) for c in (fit.coefficients, fit.factor))
    else:
        sums = invariant_sums(invariant, decided)
        fit, _ = errors_in_variables(line, invariant, sums)
        b, factor = fit.coefficients, fit.factor
    # As many rows in every case, so that cases can be put together.
    factor = np.pad(factor, ((0, wide.size - len(factor)), (0, 0)))
    damping = fit.damping / fit.system.singular[0]
    diagnostics = {"damping": damping, "row_error": fit.noise}
    symmetries = _values(found, basis.dof)
    return lagrangian_dataset(free, b, diagnostics, factor, invariant, symmetries)


def _truncation(fit: Fit, line: Linearisation) -> np.ndarray:
    """Change of the coefficients where the features of the highest degrees are cut."""
    basis = fit.basis
    degrees = multi_indices(len(basis.inputs), basis.degree, True).sum(axis=1)
    kept = np.eye(basis.size)[:, degrees <= basis.degree - DEGREES_CUT]
    return fit.coefficients - learned(line, basis, kept).coefficients


def _embedded(basis: WeightSpace, wide: WeightSpace, b: np.ndarray) -> np.ndarray:
    """Coefficients (..., function) of the same features among those of more degrees."""
    powers = multi_indices(len(wide.inputs), wide.degree, True)
    whole = np.zeros((*b.shape[:-1], wide.size))
    whole[..., powers.sum(axis=1) <= basis.degree] = b
    return whole


def _values(found: Sequence[Symmetry], dof: int) -> dict[str, np.ndarray]:
    """Variables of the contract; NaN where there are fewer symmetries."""
    room = dof * (dof + 1) // 2
    best = sorted(found, key=lambda one: one.violation)[:room]
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
    found = Invariance(scale, change, total).symmetries(
        fit.coefficients, fit.factor, size, resolution, _truncation(fit, line)
    )
    return settled(found, fit, line)


def settled(found: Sequence[Symmetry], fit: Fit, line: Linearisation) -> list[Symmetry]:
    """Symmetries with their odds, the likeliest first, each beside those before it."""
    passed = [one for one in found if one.verdict != "not found"]
    alone = [odds([one], fit, line) for one in passed]
    order = np.argsort([-np.nan_to_num(value, nan=-np.inf) for value in alone])
    kept, height, judged = [], 0.0, []
    for one, value in ((passed[i], alone[i]) for i in order):
        if kept and value > DECISIVE:
            value = odds([*kept, one], fit, line) - height
        judged.append(replace(one, log_odds=float(value)))
        if value > DECISIVE:
            kept, height = [*kept, one], height + value
    return judged or list(found)


def odds(symmetries: Sequence[Symmetry], fit: Fit, line: Linearisation) -> float:
    """Logarithm of the evidence of L with symmetries over that of L without.

    As where they are imposed, features of two degrees more have the symmetries: else
    what decides without noise is which features mend the truncation. NaN where none
    have, or where still more degrees would mend a part of what denies the symmetries.
    """
    with_them = _evidence(symmetries, fit, line, DEGREES_MORE)
    denied = fit.log_evidence - with_them
    if denied > 0:
        richer = _evidence(symmetries, fit, line, 2 * DEGREES_MORE)
        if richer - with_them > SHARE_MENDED * denied:
            return np.nan
    return -denied


def _evidence(symmetries, fit: Fit, line: Linearisation, more: int) -> float:
    """Of L with symmetries and so many degrees more; NaN if no features have these."""
    wide = replace(fit.basis, degree=fit.basis.degree + more)
    basis = adapted(wide, symmetries)
    if basis is wide:
        return np.nan
    return learned(line, basis, invariant_sums(basis, symmetries)).log_evidence


def _change(basis: Basis, states: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """X_a φ_f at states (sample, 2 dof)."""
    n = basis.dof
    gradient = np.array([basis.partial(states, i) for i in range(2 * n)])
    return change_along(states[:, :n], states[:, n:], gradient, scale)


def adapted(basis: WeightSpace, symmetries: Sequence[Symmetry]) -> WeightSpace:
    """The same features in a metric, about a centre, that symmetries leave unchanged.

    Of x = A (z - c) the metric AᵀA of positions, and that of velocities, is replaced by
    the nearest W with MᵀW + W M = 0 for the matrices M of the symmetries; it is blind
    to translations. The basis itself is returned if there is none.
    """
    n = basis.dof
    matrices = [one.matrix for one in symmetries if one.matrix.any()]
    still = [one.offset for one in symmetries if not one.matrix.any()]
    inputs, centre = np.zeros((2 * n, 2 * n)), basis.centre.copy()
    for part in (slice(0, n), slice(n, 2 * n)):
        given = basis.inputs[:, part]
        root = _invariant_root(given.T @ given, matrices)
        if root is None:
            return basis
        inputs[part, part] = root
    for direction in still:
        seen = inputs[:n, :n] @ direction
        inputs[:n, :n] -= np.outer(seen, seen @ inputs[:n, :n]) / (seen @ seen)
    if matrices:
        moved = [one.field(centre[:n]) for one in symmetries if one.matrix.any()]
        step = np.linalg.lstsq(np.vstack(matrices), np.concatenate(moved), rcond=None)
        centre[:n] -= step[0]
    centre[n:] = 0.0
    return replace(basis, inputs=inputs, centre=centre)


def _invariant_root(metric: np.ndarray, matrices) -> np.ndarray | None:
    """Root of the nearest invariant metric; None if that is not positive."""
    n, eye = len(metric), np.eye(len(metric))
    if matrices:
        # Of W in one vector, row by row.
        condition = np.vstack([np.kron(m.T, eye) + np.kron(eye, m.T) for m in matrices])
        free = scipy.linalg.null_space(condition)
        metric = (free @ (free.T @ metric.ravel())).reshape(n, n)
    values, vectors = np.linalg.eigh((metric + metric.T) / 2)
    if not values[0] > FLATTEST_METRIC * values[-1]:
        return None
    return (vectors * np.sqrt(values)) @ vectors.T


def invariant_sums(basis: WeightSpace, symmetries: Sequence[Symmetry]) -> np.ndarray:
    """Orthonormal columns N, shape (function, sum): X L = 0 for L = Σ (N z)_f φ_f.

    The basis is :func:`adapted`, so that a symmetry leaves the total degree of a
    feature as it is. Each degree is asked alone, at more states than it has features.
    """
    n, powers = basis.dof, multi_indices(len(basis.inputs), basis.degree, True)
    reach = np.sqrt(np.diag(np.linalg.pinv(basis.inputs.T @ basis.inputs)))
    reach = np.where(reach > 0, reach, 1.0)
    low, high = basis.centre - reach, basis.centre + reach
    states = halton_starts(first_index(2 * n), low, high, 2 * basis.size)
    change = _change(basis, states, np.ones(n)).swapaxes(1, 2)
    generators = [np.concatenate([s.offset, s.matrix.ravel()]) for s in symmetries]
    moved = np.concatenate([change @ theta for theta in generators])
    degrees, blocks = powers.sum(axis=1), []
    for degree in range(basis.degree + 1):
        kept = np.flatnonzero(degrees == degree)
        size = np.abs(np.concatenate([basis.partial(states)[:, kept]])).max()
        small = compressed(moved[:, kept] / size)
        _, singular, right = np.linalg.svd(small)
        rank = int((singular > ROUND_OFF * len(states)).sum())
        block = np.zeros((basis.size, len(kept) - rank))
        block[kept] = right[rank:].T
        blocks.append(block)
    return np.concatenate(blocks, axis=1)
