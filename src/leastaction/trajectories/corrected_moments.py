"""Coefficients of a given support, from moments without the bias of noise.

AᵀA of noisy states is biased even if smoothing is not: E[g(z + e)] is not g(z). The
covariance of e is known, since smoothing is linear and the noise was found with it, so
the bias is evaluated and subtracted (corrected scores: Nakamura 1990; Kanatani 1996).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import xarray as xr
from scipy.sparse import csr_array

from leastaction.core.contracts import time_step
from leastaction.core.settings import CHANNELS
from leastaction.trajectories.gram import clear_of_switches
from leastaction.trajectories.joint_spline import (
    channel,
    demmler_reinsch,
    spline_bases,
    spline_of,
    states,
)
from leastaction.trajectories.library_equations import LibraryEquations
from leastaction.trajectories.splicing import RIDGE_OF_UNIT_COLUMNS, whitened

# Penalty of the smoothing over that of the states for a refit: their bias must be small
# against their noise, which is corrected for.
PENALTY_RATIO = 10.0
# Groups of a jackknife at least: its standard error is then known to 16 %.
LEAST_JACKKNIFE_GROUPS = 20
SIGNIFICANT_STANDARD_ERRORS = 3.0
# Smaller residual ratios are round-off: accelerations have six digits at best.
LEAST_EXCESS = 1e-12
# Added to biased moments of unit columns, which may be singular to round-off.
RIDGE_OF_BIASED_MOMENTS = 1e-12


@dataclass(frozen=True)
class Smoothed:
    """Lightly smoothed states, and the covariance of their errors.

    Errors of different coordinates are taken for independent.
    """

    states: tuple[np.ndarray, ...]  # q, q̇, q̈, each (trajectory, time, dof)
    # Cholesky factor, (derivative, derivative, trajectory, time, dof), if known.
    spread: np.ndarray | None
    used: np.ndarray  # samples that count, (trajectory, time)
    force: np.ndarray | None = None  # input, (trajectory, time, dof)


@dataclass(frozen=True)
class Refit:
    """Coefficients of a support with standard errors, relative to the fixed one."""

    coefficients: np.ndarray
    std: np.ndarray
    # τ of the corrected moments: what neither the support nor the noise explains;
    # infinite if the noise is too large for the correction.
    excess: float
    excesses: np.ndarray  # that without each of the groups of the jackknife

    @property
    def excess_std(self) -> float:
        """Standard error of the excess."""
        known = np.isfinite(self.excess)
        return float(_jackknife(self.excesses)) if known else np.inf

    def behind(self, other: "Refit") -> float:
        """How much more is left than by another fit to the same data.

        In standard errors of the difference, in which the noise of both cancels.
        """
        spread = float(_jackknife(self.excesses - other.excesses))
        return (self.excess - other.excess) / max(spread, LEAST_EXCESS)

    def unexplained(self, errors: float = SIGNIFICANT_STANDARD_ERRORS) -> bool:
        """Whether the excess is beyond so many standard errors, and beyond rounding."""
        return bool(self.excess > max(errors * self.excess_std, LEAST_EXCESS))


def smoothed(
    observations: xr.Dataset, rates: xr.Dataset, equations: LibraryEquations
) -> Smoothed:
    """Spline with a tenth of the penalty, applied twice (twicing: Tukey 1977).

    With s = 1 / (1 + λμ/10) the filter s (2 − s) has the bias (1 − s)².
    """
    motion = states(observations, rates)
    used = clear_of_switches(equations, motion[0], motion[1], rates)
    if "spline" not in rates:
        return Smoothed(motion, None, used)
    recorded = [str(name) for name in rates["channel"].values]
    orders = tuple(CHANNELS.index(name) for name in recorded)
    samples, step = observations.sizes["time"], time_step(observations)
    bases = [csr_array(basis) for basis in spline_bases(rates)]
    coefficients, _ = spline_of(rates)
    values, spreads = [], []
    for a in range(observations.sizes["dof"]):
        ratio = tuple(map(int, rates["noise_ratio"].values[0, a]))
        spacing = float(rates["knot_spacing"].values[0])
        basis = demmler_reinsch(samples, step, spacing, orders, ratio)
        rough = rates["penalty"].values[0, :, a, None] * basis.penalty
        light = 1 / (1 + rough / PENALTY_RATIO)
        light = light * (2 - light)
        spectrum = coefficients[:, a] @ basis.inverse.T * (1 + rough)
        modes = [b @ basis.vectors for b in bases]
        noise = rates["noise_std"].values[0, a]
        variance = light**2 * ((np.array(basis.weights) * noise**2) @ basis.share)
        values.append([(light * spectrum) @ mode.T for mode in modes])
        spreads.append(
            _cholesky([[variance @ (m * n).T for n in modes] for m in modes])
        )
    stacked = np.moveaxis(np.array(values), 0, -1)
    return Smoothed(tuple(stacked), np.moveaxis(np.array(spreads), 0, -1), used)


def _cholesky(covariance: list[list[np.ndarray]]) -> np.ndarray:
    """Cholesky factors of many matrices; a variance of zero gives zeros."""
    root = np.zeros_like(covariance)
    for i in range(len(root)):
        for j in range(i + 1):
            rest = covariance[i][j] - (root[i, :j] * root[j, :j]).sum(0)
            if i == j:
                root[i, i] = np.sqrt(np.maximum(rest, 0.0))
            else:
                divisor = np.where(root[j, j] > 0, root[j, j], 1.0)
                root[i, j] = np.where(root[j, j] > 0, rest / divisor, 0.0)
    return root


def corrected_moments(
    equations: LibraryEquations, columns: Sequence[int], motion: Smoothed, groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """AᵀA and (m q̈)ᵀ(m q̈) without the bias of noise, (group, column, column).

    The expectation over Gaussian errors is that of a cubature with 2 d points in d
    dimensions, exact to third order; an input Q adds the column −Q:

    .. math::

        G_c = 2 G(ẑ) − \\frac{1}{2 d} \\sum_{i, ±} G(ẑ ± \\sqrt{d}\\, L_i)

    Each trajectory is cut into so many `groups`, which are summed apart.
    """

    def moments(states) -> np.ndarray:
        rows = _rows(equations, columns, replace(motion, states=states))
        return np.array([_grouped(part, groups) for part in rows])

    result = moments(motion.states)
    if motion.spread is None:
        return tuple(result)
    dof = motion.states[0].shape[-1]
    points, mean = 3 * dof, 0.0
    for a, direction, sign in product(range(dof), range(3), (1, -1)):
        moved = np.array(motion.states)
        moved[..., a] += sign * points**0.5 * motion.spread[:, direction, ..., a]
        mean = mean + moments(moved) / (2 * points)
    return tuple(2 * result - mean)


def _rows(equations, columns, motion):
    """A and m q̈, shape (trajectory, time, dof, column); zero where not used."""
    shape = motion.states[0].shape
    flat = [values.reshape(-1, shape[-1]) for values in motion.states]
    rows, inertia = equations.columns(*flat, columns)
    if motion.force is not None:
        rows = np.concatenate([rows, -motion.force.reshape(-1, shape[-1], 1)], axis=2)
        inertia = np.concatenate([inertia, np.zeros_like(rows[..., -1:])], axis=2)
    if not motion.used.all():
        unused = ~motion.used.ravel()
        rows[unused], inertia[unused] = 0.0, 0.0
    return rows.reshape(*shape, -1), inertia.reshape(*shape, -1)


def _grouped(rows, groups):
    """Sums over the samples of each piece of each trajectory."""
    parts = np.array_split(rows, groups, axis=1)
    parts = [part.reshape(len(part), -1, part.shape[-1]) for part in parts]
    return np.concatenate([np.swapaxes(part, 1, 2) @ part for part in parts])


def null_vectors(
    gram: np.ndarray, inertia: np.ndarray, ridge: float = RIDGE_OF_UNIT_COLUMNS
) -> tuple[np.ndarray, np.ndarray]:
    """Minima of τ = cᵀ G c / cᵀ (G + K) c of many pairs, and where they are.

    Corrected moments may give a τ below zero; a :class:`~numpy.linalg.LinAlgError` is
    raised if a G + K is not positive definite.
    """
    square = np.diagonal(inertia + np.abs(gram), axis1=1, axis2=2).mean(0)
    if not (square > 0).all():
        raise np.linalg.LinAlgError("a column has no positive mean square")
    length = np.sqrt(square)
    scale = np.outer(length, length)
    gram = gram / scale
    metric = gram + inertia / scale + ridge * np.eye(len(length))
    root, white = whitened(gram, metric)
    values, vectors = np.linalg.eigh(white)
    vectors = np.linalg.solve(np.swapaxes(root, 1, 2), vectors[:, :, :1])[..., 0]
    return values[:, 0], vectors / length


def fitting_states(
    equations: LibraryEquations,
    columns: Sequence[int],
    observations: xr.Dataset,
    rates: xr.Dataset,
    force: np.ndarray | None,
) -> Smoothed:
    """Smoothed states, or the recorded ones if these obey the equations better.

    A spline cannot follow a motion to more than some digits.
    """
    motion = replace(smoothed(observations, rates, equations), force=force)
    if motion.spread is None or not set(CHANNELS) <= set(observations):
        return motion
    recorded = tuple(channel(observations, rates, name) for name in CHANNELS)
    choices = motion, replace(motion, states=recorded, spread=None)
    residuals = []
    for choice in choices:
        rows = _rows(equations, columns, choice)
        moments = [_grouped(part, 1).sum(0, keepdims=True) for part in rows]
        vector = null_vectors(*moments)[1][0]
        left, inertial = (((part @ vector) ** 2).sum() for part in rows)
        residuals.append(left / inertial)
    return choices[int(np.argmin(residuals))]


def refit(
    equations: LibraryEquations, columns: Sequence[int], motion: Smoothed, fixed: int
) -> Refit:
    """Null vector of the corrected moments, and its jackknife over trajectories.

    Errors of neighbouring samples are correlated, those of trajectories are not. Few
    trajectories are cut into pieces. The coefficient at `fixed` of the support, or of
    the input after it, is one.

    With much noise and candidates that are nearly the same, corrected moments may not
    be positive definite. Then the moments are taken as they are; their bias is unknown,
    and standard errors are infinite.
    """
    groups = max(1, -(-LEAST_JACKKNIFE_GROUPS // len(motion.used)))
    gram, inertia = corrected_moments(equations, columns, motion, groups)
    total, inertial = gram.sum(0), inertia.sum(0)
    try:
        (excess,), (null,) = null_vectors(total[None], inertial[None])
        excesses, without = null_vectors(total - gram, inertial - inertia)
    except np.linalg.LinAlgError:
        return _uncorrected(equations, columns, motion, fixed)
    std = _jackknife(without / without[:, fixed, None])
    return Refit(null / null[fixed], std, float(excess), excesses)


def _uncorrected(equations, columns, motion, fixed) -> Refit:
    """Null vector of the moments with the bias of noise; its errors are not known."""
    moments = corrected_moments(equations, columns, replace(motion, spread=None), 1)
    pair = (part.sum(0)[None] for part in moments)
    ((vector,),) = null_vectors(*pair, RIDGE_OF_BIASED_MOMENTS)[1:]
    std = np.full(len(vector), np.inf)
    std[fixed] = 0.0
    return Refit(vector / vector[fixed], std, np.inf, np.full(2, np.inf))


def _jackknife(without: np.ndarray) -> np.ndarray:
    """Standard error from estimates that leave one group out each."""
    count = len(without)
    return np.sqrt(((without - without.mean(0)) ** 2).sum(0) * (count - 1) / count)
