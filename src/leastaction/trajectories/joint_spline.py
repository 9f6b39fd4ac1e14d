"""Penalised quintic spline through all recorded channels of a coordinate at once.

The three channels of a coordinate are one function and its derivatives. A spline that
is fitted to all of them takes its slow part from q, its fast part from q̈, and needs no
difference quotient.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy.linalg
import xarray as xr
from scipy.interpolate import BSpline
from scipy.sparse import csr_array

from leastaction.core.contracts import check, time_step
from leastaction.core.settings import CHANNELS
from leastaction.trajectories.contracts import CONTRACTS

DEGREE = 5
PENALISED_DERIVATIVE = 4
# Rounds of noise ratio and fit; ratios repeat after two or three, of motions that are
# fast for their sampling after ten.
MOST_NOISE_ROUNDS = 12
# Share of the values of a channel that the fit must leave over to tell its noise.
SHARE_THAT_TELLS_NOISE = 0.01
# Share of its freedom that cross-validation leaves a spline whose knots are too few.
FREEDOM_OF_FEW_KNOTS = 0.95
# The noise is that of residuals at a penalty this many times smaller, in which the
# choice of the penalty has left no trace.
PENALTY_OVER_THAT_OF_NOISE = 30.0
PENALTIES_ON_GRID = 60
# Of series, in which a smooth motion leaves no trace.
ORDER_OF_DIFFERENCE = 6


@dataclass(frozen=True)
class DemmlerReinsch:
    """Basis in which the normal matrix is the identity and the penalty diagonal."""

    weights: tuple[float, ...]  # relative weight of each channel
    bases: tuple[csr_array, ...]  # B-splines in each channel, (time, basis)
    penalty: np.ndarray  # eigenvalues μ of the penalty, (basis,)
    vectors: np.ndarray  # spline coefficients of the basis, (basis, basis)
    inverse: np.ndarray
    share: np.ndarray  # of each channel in the normal matrix, (channel, basis)


def knots(samples: int, spacing: float) -> np.ndarray:
    """Clamped knots, one every `spacing` samples; time in samples."""
    inner = np.linspace(0.0, samples - 1, max(2, round((samples - 1) / spacing) + 1))
    return np.concatenate([[inner[0]] * DEGREE, inner, [inner[-1]] * DEGREE])


def design(
    knots: np.ndarray, times: np.ndarray, derivatives: Sequence[int]
) -> list[np.ndarray]:
    """Derivatives of the B-splines at `times`, each of shape (time, basis)."""
    spline = BSpline(knots, np.eye(len(knots) - DEGREE - 1), DEGREE)
    return [spline(times, nu=order) for order in derivatives]


# A basis of some megabytes serves every replicate of a sweep with its dozens of ratios.
@lru_cache(maxsize=64)
def demmler_reinsch(
    samples: int,
    time_step: float,
    spacing: float,
    derivatives: tuple[int, ...],
    steps: tuple[int, ...],
) -> DemmlerReinsch:
    """Diagonalise normal matrix and roughness of a series (Demmler and Reinsch 1975).

    `steps` are half powers of two: the noise of channel i is 2^(steps_i / 2) times that
    of the first, in SI units. Rounded ratios let series share one decomposition.
    """
    bases, dense, rough = _rows(samples, time_step, spacing, derivatives)
    weights = 2.0 ** -np.array(steps, dtype=float)
    # From rows, not from normal matrices: their condition number is the square.
    whitened = [w**0.5 * basis for w, basis in zip(weights, dense, strict=True)]
    root = np.linalg.qr(np.concatenate(whitened), mode="r")
    white = scipy.linalg.solve_triangular(root, rough.T, trans=1)
    square = np.linalg.qr(white.T, mode="r")
    turned, singular, _ = np.linalg.svd(square.T)
    penalty, turned = singular[::-1] ** 2, turned[:, ::-1]
    penalty[:PENALISED_DERIVATIVE] = 0.0
    vectors = scipy.linalg.solve_triangular(root, turned)
    share = np.array(
        [w * ((b @ vectors) ** 2).sum(0) for w, b in zip(weights, bases, strict=True)]
    )
    inverse = turned.T @ root
    return DemmlerReinsch(tuple(weights), bases, penalty, vectors, inverse, share)


@lru_cache(maxsize=16)
def _rows(samples, time_step, spacing, derivatives):
    """B-splines in each channel, sparse and dense, and rows of the roughness."""
    at = knots(samples, spacing)
    bases = zip(derivatives, design(at, np.arange(samples), derivatives), strict=True)
    dense = [basis / time_step**order for order, basis in bases]
    # The squared derivative is a polynomial of degree 2 between knots.
    inner = np.unique(at)
    middle, half = (inner[1:] + inner[:-1]) / 2, np.diff(inner) / 2
    nodes = np.concatenate([middle - half / 3**0.5, middle + half / 3**0.5])
    (rough,) = design(at, nodes, [PENALISED_DERIVATIVE])
    rough *= np.sqrt(np.concatenate([half, half]))[:, None]
    return tuple(csr_array(basis) for basis in dense), dense, rough


def joint_spline(
    channels: Sequence[np.ndarray],
    derivatives: Sequence[int],
    time_step: float,
    spacing: float,
    inflation: float,
    noise: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, ...], np.ndarray]:
    """Fit each series of one coordinate, and find the noise of its channels.

    .. math::

        \\min_β \\sum_i w_i |y_i − B^{(i)} β|^2 + λ \\int (s'''')^2 dt, \\qquad
        w_i = 1/σ_i^2

    λ minimises the generalised cross-validation score of its series (Craven and Wahba
    1979), in which a degree of freedom counts `inflation` times. σ is that of the
    residuals of all series at a smaller λ, where the choice of λ has left no trace.

    Parameters
    ----------
    channels, derivatives
        Series of shape (trajectory, time) per channel, SI units, and its order.
    time_step, spacing
        Seconds between samples; samples per knot.
    inflation
        Above one it guards against fitting noise.
    noise
        σ of each channel where it is known; else it is found in rounds.

    Returns
    -------
    coefficients, noise, penalty, steps, resolution
        Those of the spline, (trajectory, basis); σ of each channel; λ of each
        trajectory; noise ratios of the fit, see :func:`demmler_reinsch`; samples per
        degree of freedom of each trajectory.
    """
    samples, fixed_noise = channels[0].shape[1], noise is not None
    if not fixed_noise:
        noise = np.array([_difference_noise(y) for y in channels])
    steps, tried = _steps(noise), []
    while True:
        tried.append(steps)
        basis = demmler_reinsch(samples, time_step, spacing, tuple(derivatives), steps)
        each = list(zip(basis.weights, channels, basis.bases, strict=True))
        spectrum = sum(w * y @ b for w, y, b in each) @ basis.vectors
        free = spectrum @ basis.vectors.T
        rest = sum(w * ((y - free @ b.T) ** 2).sum(1) for w, y, b in each)
        count = samples * len(channels)
        penalty = _cross_validation(spectrum, rest, basis.penalty, count, inflation)
        if not fixed_noise:
            light = penalty / PENALTY_OVER_THAT_OF_NOISE
            noise = _residual_noise(channels, basis, spectrum, light, noise)
        result = _steps(noise)
        if result in tried or len(tried) == MOST_NOISE_ROUNDS:
            shrink, coefficients = _shrunk(basis, spectrum, penalty)
            return coefficients, noise, penalty, steps, samples / shrink.sum(1)
        steps = result


def _shrunk(basis, spectrum, penalty) -> tuple[np.ndarray, np.ndarray]:
    """Factors of the basis, and spline coefficients, at a penalty."""
    shrink = 1 / (1 + penalty[:, None] * basis.penalty)
    return shrink, (shrink * spectrum) @ basis.vectors.T


def _residual_noise(channels, basis, spectrum, penalty, before) -> np.ndarray:
    """Standard deviation of the residuals of each channel, or that before.

    A channel that the fit follows to the last value has residuals of any size.
    """
    shrink, coefficients = _shrunk(basis, spectrum, penalty)
    # E|y − S y|² = σ² tr(1 − S)² : shrinkage is no projection
    spent = ((shrink * (2 - shrink)) @ basis.share.T).sum(0)
    pairs = zip(channels, basis.bases, strict=True)
    squares = [((y - coefficients @ b.T) ** 2).sum() for y, b in pairs]
    size = channels[0].size
    left = size - spent
    determined = left > SHARE_THAT_TELLS_NOISE * size
    return np.where(determined, np.sqrt(squares / np.maximum(left, 1.0)), before)


def _difference_noise(series: np.ndarray) -> float:
    """Noise of a series from its high differences, which a smooth motion lacks."""
    order = ORDER_OF_DIFFERENCE
    square = np.diff(series, n=order, axis=1) ** 2
    return float(np.sqrt(square.mean() / math.comb(2 * order, order)))


def _steps(noise: np.ndarray) -> tuple[int, ...]:
    """Noise relative to the first channel in half powers of two."""
    floor = np.maximum(noise, 1e-14 * max(noise.max(), 1e-300))
    return tuple(int(round(2 * np.log2(s / floor[0]))) for s in floor)


def _cross_validation(spectrum, rest, penalty, count, inflation):
    """λ of each series: the grid minimum, refined by a parabola in log λ."""
    ends = np.log(1e-3 / penalty[-1]), np.log(1e2 / penalty[penalty > 0][0])
    grid = np.linspace(*ends, PENALTIES_ON_GRID)
    stiff = np.exp(grid)[:, None] * penalty
    shrunk = stiff / (1 + stiff)
    freedom = inflation * (len(penalty) - shrunk.sum(1))
    residual = rest + shrunk**2 @ (spectrum**2).T
    score = np.log(np.maximum(residual, 1e-300))
    score -= 2 * np.log(np.maximum(count - freedom, 1e-3 * count))[:, None]
    best = np.clip(score.argmin(0), 1, PENALTIES_ON_GRID - 2)
    series = np.arange(len(spectrum))
    left, centre, right = (score[best + k, series] for k in (-1, 0, 1))
    bend = left - 2 * centre + right
    shift = np.where(bend > 0, 0.5 * (left - right) / np.where(bend > 0, bend, 1), 0)
    return np.exp(grid[best] + np.clip(shift, -1, 1) * (grid[1] - grid[0]))


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Smooth the recorded channels of one case; the smoother knows no model.

    Raises
    ------
    ValueError
        If the series are too short for the spline and its trims.
    """
    check(observations, "motion")
    step = time_step(observations)
    recorded = [name for name in CHANNELS if name in observations]
    orders = [CHANNELS.index(name) for name in recorded]
    suffix = "" if len(recorded) > 1 else "_positions"
    trim, spacing = settings[f"trim{suffix}"], settings[f"knot_spacing{suffix}"]
    samples = observations.sizes["time"]
    least = max(2 * trim + 2, 4 * DEGREE)
    if samples < least:
        raise ValueError(
            f"joint_spline: trajectories have {samples} samples; with a trim of {trim} "
            f"at each end at least {least} are needed"
        )
    values = {name: observations[name].values[0] for name in recorded}
    noises = [None] * observations.sizes["dof"]
    while True:
        how = orders, step, spacing, settings["inflation"]
        fits = [
            joint_spline([values[n][..., a] for n in recorded], *how, noise)
            for a, noise in enumerate(noises)
        ]
        coefficients, noises, penalty, ratio, resolution = zip(*fits, strict=True)
        functions = coefficients[0].shape[1]
        freedom = samples / (np.mean(resolution, axis=1).min() * functions)
        # Twice as many knots are still fewer than the values recorded.
        if freedom < FREEDOM_OF_FEW_KNOTS or 2 * functions > len(recorded) * samples:
            break
        spacing = spacing / 2
    time = observations["time"].values
    # As much room in every case of a sweep, so that cases can be put together.
    room = max(functions, len(recorded) * samples) + DEGREE + 1
    at = time[0] + knots(samples, spacing) * step
    values = {
        "spline": _padded(np.stack(coefficients, axis=1), room),
        "penalty": np.stack(penalty, axis=1),
        "noise_std": np.stack(noises),
        "noise_ratio": np.array(ratio),
        "resolution": np.stack(resolution, axis=1),
        "knot_spacing": spacing,
        "knot": _padded(at, room),
    }
    return _rates(observations, values, recorded, time[trim : samples - trim])


def _rates(observations, values, channels, time) -> xr.Dataset:
    coords = {name: observations[name] for name in ("replicate", "dof")}
    coords |= {"channel": channels, "time_kept": time}
    return CONTRACTS["rates"].dataset(values, coords)


def _padded(values: np.ndarray, room: int) -> np.ndarray:
    """Values with NaN behind them, up to a length of the last axis."""
    result = np.full((*values.shape[:-1], room), np.nan)
    result[..., : values.shape[-1]] = values
    return result


def spline_of(derivatives: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients, shape (trajectory, dof, basis), and knots of one case."""
    at = derivatives["knot"].values[0]
    at = at[np.isfinite(at)]
    return derivatives["spline"].values[0][..., : len(at) - DEGREE - 1], at


def measured(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Keep every sample of `q`, `qdot` and `qddot` as recorded.

    Only the root mean square of the channels is stored; the recording holds the rest.

    Raises
    ------
    ValueError
        If a channel is not recorded.
    """
    check(observations, "motion")
    missing = [name for name in CHANNELS if name not in observations]
    if missing:
        raise ValueError(
            f"measured: the channel {', '.join(missing)} is not recorded; "
            "use joint_spline, or record it"
        )
    rms = [np.sqrt((observations[n].values[0] ** 2).mean((0, 1))) for n in CHANNELS]
    values = {"channel_rms": np.stack(rms, axis=1)}
    return _rates(observations, values, list(CHANNELS), observations["time"].values)


def states(
    observations: xr.Dataset, derivatives: xr.Dataset
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return q, q̇, q̈ at the samples that are kept, shape (trajectory, time_kept, dof).

    Those of the spline in the `derivatives`, if they hold one; else as recorded.
    """
    if "spline" not in derivatives:
        return tuple(observations[name].values[0] for name in CHANNELS)
    coefficients, _ = spline_of(derivatives)
    series = coefficients.reshape(-1, coefficients.shape[-1])
    values = (series @ basis.T for basis in spline_bases(derivatives))
    shape = (*coefficients.shape[:2], -1)
    return tuple(np.swapaxes(each.reshape(shape), 1, 2) for each in values)


def channel(observations: xr.Dataset, derivatives: xr.Dataset, name: str) -> np.ndarray:
    """Recorded channel `name` at the samples that are kept, (trajectory, time, dof)."""
    time = observations["time"].values
    first = int(np.searchsorted(time, derivatives["time_kept"].values[0] - 1e-9))
    count = derivatives.sizes["time_kept"]
    return observations[name].values[0][:, first : first + count]


def spline_bases(derivatives: xr.Dataset) -> tuple[np.ndarray, ...]:
    """Derivatives 0, 1, 2 of the B-splines at the kept samples, (time_kept, basis)."""
    _, at = spline_of(derivatives)
    return _bases(tuple(at), tuple(derivatives["time_kept"].values))


@lru_cache(maxsize=4)
def _bases(knots: tuple, times: tuple) -> tuple[np.ndarray, ...]:
    return tuple(design(knots, times, range(3)))
