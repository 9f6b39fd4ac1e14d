"""Refit on moments from which the noise of the smoothed states is removed.

AᵀA of noisy states is biased even if smoothing is not: E[g(z + e)] is not g(z). The
covariance of e is known, since smoothing is linear and the noise was found with it, so
the bias is evaluated and subtracted (corrected scores: Nakamura 1990; Kanatani 1996).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from leastaction.core.noise_sweep import CHANNELS
from leastaction.trajectories.library_equations import LibraryEquations
from leastaction.trajectories.motion import kept
from leastaction.trajectories.scale_free import RIDGE
from leastaction.trajectories.smoothed_states import Smoothed, smoothed

LEAST_GROUPS = 20
SIGNIFICANT = 3.0
ROUNDING = 1e-12


def corrected_moments(
    equations: LibraryEquations,
    columns: Sequence[int],
    motion: Smoothed,
    force: np.ndarray | None,
    groups: int,
) -> tuple[np.ndarray, np.ndarray]:
    """AᵀA and (m q̈)ᵀ(m q̈) without the bias of noise, by group of samples.

    The expectation over Gaussian errors is that of a cubature with 2 d points in d
    dimensions, exact to third order:

    .. math::

        G_c = 2 G(ẑ) − \\frac{1}{2 d} \\sum_{i, ±} G(ẑ ± \\sqrt{d}\\, L_i)

    Parameters
    ----------
    equations
        Compiled columns.
    columns
        Support.
    motion
        States and the spread of their errors.
    force
        Input Q at the samples; it adds the column −Q.
    groups
        Pieces of each trajectory that are summed apart.

    Returns
    -------
    gram, inertia_gram
        Shape (trajectory × groups, column, column).
    """

    def moments(q, qdot, qddot):
        rows = _rows(equations, columns, (q, qdot, qddot), force, motion.used)
        return [_grouped(part, groups) for part in rows]

    if motion.spread is None:
        return moments(*motion.states)
    dof = motion.states[0].shape[-1]
    points = 3 * dof
    mean = np.zeros(())
    for a in range(dof):
        for direction in range(3):
            for sign in (1, -1):
                moved = [values.copy() for values in motion.states]
                for order in range(direction, 3):
                    shift = sign * points**0.5 * motion.spread[order, direction, ..., a]
                    moved[order][..., a] += shift
                mean = mean + np.array(moments(*moved)) / (2 * points)
    gram, inertia = 2 * np.array(moments(*motion.states)) - mean
    return gram, inertia


def _rows(equations, columns, motion, force, used):
    """A and m q̈, shape (trajectory, time, dof, column); zero where not used."""
    shape = motion[0].shape
    flat = [values.reshape(-1, shape[-1]) for values in motion]
    rows, inertia = equations.columns(*flat, columns)
    if force is not None:
        rows = np.concatenate([rows, -force.reshape(-1, shape[-1], 1)], axis=2)
        inertia = np.concatenate([inertia, np.zeros_like(rows[..., -1:])], axis=2)
    if not used.all():
        rows[~used.ravel()] = 0.0
        inertia[~used.ravel()] = 0.0
    return rows.reshape(*shape, -1), inertia.reshape(*shape, -1)


def _grouped(rows, groups):
    """Sums over the samples of each piece of each trajectory."""
    parts = [
        part.reshape(len(part), -1, part.shape[-1])
        for part in np.array_split(rows, groups, axis=1)
    ]
    return np.concatenate([np.swapaxes(part, 1, 2) @ part for part in parts])


def null_vectors(
    gram: np.ndarray, inertia: np.ndarray, ridge: float = RIDGE
) -> tuple[np.ndarray, np.ndarray]:
    """Minima of τ = cᵀ G c / cᵀ (G + K) c of many pairs, and where they are.

    Returns
    -------
    values, vectors
        Shapes (pair,) and (pair, column). Corrected moments may give a τ below zero.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a G + K is not positive definite, as corrected moments need not be.
    """
    square = np.diagonal(inertia + np.abs(gram), axis1=1, axis2=2).mean(0)
    if not (square > 0).all():
        raise np.linalg.LinAlgError("a column has no positive mean square")
    length = np.sqrt(square)
    scale = np.outer(length, length)
    gram = gram / scale
    whole = gram + inertia / scale
    whole = whole + ridge * np.eye(len(length))
    root = np.linalg.cholesky(whole)
    left = np.linalg.solve(root, gram)
    white = np.linalg.solve(root, np.swapaxes(left, 1, 2))
    values, vectors = np.linalg.eigh((white + np.swapaxes(white, 1, 2)) / 2)
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

    A spline cannot follow a motion to more than some digits; a recording with less
    noise than that is better left as it is.
    """
    motion = smoothed(observations, rates, equations)
    if motion.spread is None or not set(CHANNELS) <= set(observations):
        return motion
    recorded = tuple(kept(observations, rates, name) for name in CHANNELS)
    choices = motion, Smoothed(recorded, None, motion.used)
    residuals = []
    for choice in choices:
        rows = _rows(equations, columns, choice.states, force, choice.used)
        moments = [_grouped(part, 1).sum(0, keepdims=True) for part in rows]
        ((vector,),) = null_vectors(*moments)[1:]
        force_left, inertial = (((part @ vector) ** 2).sum() for part in rows)
        residuals.append(force_left / inertial)
    return choices[int(np.argmin(residuals))]


@dataclass(frozen=True)
class Refit:
    """Coefficients of a support with standard errors.

    Attributes
    ----------
    coefficients, std
        Relative to the fixed one.
    excess, excess_std
        τ of the corrected moments: what neither the support nor the noise explains;
        infinite if the noise is too large for the correction.
    """

    coefficients: np.ndarray
    std: np.ndarray
    excess: float
    excess_std: float

    @property
    def unexplained(self) -> bool:
        """Whether the excess is beyond three standard errors, and beyond rounding."""
        return self.excess > max(SIGNIFICANT * self.excess_std, ROUNDING)


def refit(
    equations: LibraryEquations,
    columns: Sequence[int],
    motion: Smoothed,
    force: np.ndarray | None,
    fixed: int,
) -> Refit:
    """Null vector of the corrected moments, and its jackknife over trajectories.

    Errors of neighbouring samples are correlated, those of trajectories are not. Few
    trajectories are cut into pieces.

    Corrected moments are positive definite in the mean, not always: with much noise and
    candidates that are nearly the same they may not be. Then nothing but the moments as
    they are is left; their bias is unknown, and standard errors are infinite.

    Parameters
    ----------
    equations, columns, motion, force
        See :func:`corrected_moments`.
    fixed
        Position within the support whose coefficient is one; the input is after the
        last.
    """
    groups = max(1, -(-LEAST_GROUPS // len(motion.used)))
    gram, inertia = corrected_moments(equations, columns, motion, force, groups)
    total, inertial = gram.sum(0), inertia.sum(0)
    try:
        (excess,), (whole,) = null_vectors(total[None], inertial[None])
        excesses, without = null_vectors(total - gram, inertial - inertia)
    except np.linalg.LinAlgError:
        return _uncorrected(equations, columns, motion, force, fixed)
    return Refit(
        whole / whole[fixed],
        _jackknife(without / without[:, fixed, None]),
        float(excess),
        float(_jackknife(excesses)),
    )


def _uncorrected(equations, columns, motion, force, fixed) -> Refit:
    """Null vector of the moments with the bias of noise; its errors are not known."""
    plain = replace(motion, spread=None)
    moments = corrected_moments(equations, columns, plain, force, 1)
    (vector,) = null_vectors(*(part.sum(0)[None] for part in moments), ROUNDING)[1]
    std = np.full(len(vector), np.inf)
    std[fixed] = 0.0
    return Refit(vector / vector[fixed], std, np.inf, np.inf)


def _jackknife(without: np.ndarray) -> np.ndarray:
    """Standard error from estimates that leave one group out each."""
    count = len(without)
    return np.sqrt(((without - without.mean(0)) ** 2).sum(0) * (count - 1) / count)
