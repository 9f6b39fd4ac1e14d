"""Sensor noise, its memory, and the noise of the motion, free of any model.

High-order differences remove the smooth motion; what is left is sensor noise and
random force, which differ in their autocovariance. With white sensor noise of variance
s² the third difference has the autocovariance s² (20, −15, 6, −1) at lags 0 to 3, while
a random walk of the velocity gives σ² dt (6, −4, 1, 0), and a coordinate that is driven
by it σ² dt³ (1, −1/3, −1/6, 0). Noise with a memory of c samples is white at stride c.
"""

import logging
from bisect import bisect_left
from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import time_step
from leastaction.ensembles.contracts import CONTRACTS

# Autocovariances of a third difference at lags 0 to 3, over s², σ² dt and σ² dt³.
SENSOR = (20.0, -15.0, 6.0, -1.0)
RANDOM_WALK = (6.0, -4.0, 1.0, 0.0)
INTEGRATED_WALK = (1.0, -1 / 3, -1 / 6, 0.0)
FEWEST_SAMPLES = 30
LONGEST_MEMORY = 20
# Standard errors of an autocovariance that is no chance.
SIGNIFICANT = 5.0
# Variance of the mean square of a fifth difference of white noise, in its squares over
# the number of samples: 2 Σ ρ², ρ = (252, −210, 120, −45, 10, −1)/252 on both sides.
VARIANCE_OF_MEAN_SQUARE = 5.8

log = logging.getLogger(__name__)


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Sensor noise of one replicate, and what depends on it.

    Standard deviations s_q and s_q̇ (NaN if q̇ is not recorded); `realised_covariation`
    g gᵀ, a first guess; `noise_ratio` ξ = s_q̇/(σ√dt), which decides what sensor noise
    does to increments; `smoothing_scale`, samples over which the motion can be
    smoothed; `lag`, the memory of the noise in samples, 1 if white.

    Raises
    ------
    ValueError
        If the paths are too short to tell sensor noise from motion.
    """
    if observations.sizes["time"] < FEWEST_SAMPLES:
        raise ValueError(
            f"paths of {observations.sizes['time']} samples are too short to tell "
            f"sensor noise from motion; record at least {FEWEST_SAMPLES}"
        )
    dt = time_step(observations)
    q = np.moveaxis(observations["q"].values[0], -1, 0)
    dof = len(q)
    lag = max(memory(path, 4) for path in q)
    s_v = np.full(dof, np.nan)
    if "qdot" in observations:
        v = np.moveaxis(observations["qdot"].values[0], -1, 0)
        lag = max(lag, *(memory(path, 3) for path in v))
        s_v = np.array([deviation(path, lag, RANDOM_WALK) for path in v])
        covariation = smoothed_covariation(v, dt, lag)
    else:
        covariation = smoothed_covariation(q, dt, lag, displacements=True)
    if lag == LONGEST_MEMORY:
        log.warning(
            "the sensor noise remembers %d samples or more, or the motion is sampled "
            "too coarsely to be told from it",
            lag,
        )
    s_q = np.array([deviation(path, lag, INTEGRATED_WALK) for path in q])
    ratio = s_v / np.sqrt(np.diag(covariation) * dt)
    scale = min(smoothing_scale(path, s) for path, s in zip(q, s_q, strict=True))
    return CONTRACTS["sensor_noise"].dataset(
        {
            "position_noise": s_q,
            "velocity_noise": s_v,
            "realised_covariation": covariation,
            "noise_ratio": ratio,
            "smoothing_scale": scale,
            "lag": lag,
        },
        coords={
            "replicate": observations["replicate"],
            "dof": observations["dof"].values,
        },
    )


def memory(paths: np.ndarray, order: int) -> int:
    """Samples until the noise has forgotten itself; 1 for white noise or none.

    Differences of `order` 3 for velocities, 4 for coordinates: of motion driven by
    white noise the autocovariance then ends before that of white sensor noise.
    """
    difference = np.diff(paths, n=order, axis=1)
    lags = min(LONGEST_MEMORY + order - 1, difference.shape[1] - 1)
    c = autocovariance(difference, range(lags + 1))
    return max(1, last_significant(c, difference.size) - (order - 1))


def last_significant(c: np.ndarray, count: int) -> int:
    """Largest h whose autocovariance c_h of `count` samples is no chance.

    Its standard error is that of Bartlett's formula.
    """
    if not c[0] > 0:
        return 0
    rho = c / c[0]
    limit = SIGNIFICANT * np.sqrt((2 * rho @ rho - 1) / count)
    return int(np.max(np.flatnonzero(np.abs(rho) > limit), initial=0))


def deviation(paths: np.ndarray, stride: int, motion: tuple) -> float:
    """Standard deviation of the sensor noise beside `motion`, from third differences.

    Least squares on the autocovariance at 0 ... 3 strides, with the weights of pure
    sensor noise (Bartlett's formula).
    """
    third = _third_difference(paths, stride)
    c = autocovariance(third, [h * stride for h in range(4)])
    gamma = np.concatenate([np.zeros(6), SENSOR[:0:-1], SENSOR, np.zeros(6)])
    shifted = np.array([np.roll(gamma, h) + np.roll(gamma, -h) for h in range(4)])
    root = np.linalg.inv(np.linalg.cholesky(shifted @ shifted.T))
    shapes = np.array([SENSOR, motion]).T
    (variance, _), *_ = np.linalg.lstsq(root @ shapes, root @ c, rcond=None)
    return float(np.sqrt(max(variance, 0.0)))


def smoothing_scale(paths: np.ndarray, noise: float) -> int:
    """Smallest stride whose third difference has twice its pure-noise variance 20 s².

    Below it the motion hides behind the noise, and smoothing costs nothing.
    """
    longest = max(1, (paths.shape[1] - 1) // 4)
    strides = np.unique(np.geomspace(1, longest, 64).astype(int))

    def shows_motion(stride: int) -> bool:
        third = _third_difference(paths, stride)
        return np.einsum("ij,ij->", third, third) > 40 * noise**2 * third.size

    found = bisect_left(strides, True, hi=len(strides) - 1, key=shows_motion)
    return int(strides[found])


def smoothed_covariation(
    paths: np.ndarray, dt: float, lag: int, displacements: bool = False
) -> np.ndarray:
    """Realised covariation g gᵀ of block means, in which the sensor noise is averaged.

    The fourth difference of mean velocities over K samples has the covariance
    g gᵀ dt (25 K² + 35)/(3K) + 70 s²/K, and that of differences of q over K samples
    g gᵀ dt 25 K/3 + 252 s_q²/(K dt)²; blocks of K and 2K separate the two parts. The K
    that gives the smallest upper limit is taken: longer blocks contain motion. Where
    sensor noise hides the random force altogether, that upper limit stands in.
    """
    size = paths.shape[2]
    share = 1 / 4 if displacements else 1 / 2

    def fourth_moment(block):
        if displacements:
            means = np.diff(paths[:, :, ::block], axis=2) / (block * dt)
        else:
            count = size // block
            means = paths[:, :, : count * block].reshape(-1, count, block).mean(axis=2)
        fourth = np.diff(means.reshape(*paths.shape[:2], -1), n=4, axis=2)
        fourth = fourth.reshape(len(paths), -1)
        return fourth @ fourth.T / fourth.shape[1], fourth.shape[1]

    def walk(block):
        return 25 * block / 3 + (0 if displacements else 35 / (3 * block))

    blocks = [1 if lag == 1 else 4 * lag]
    while size // (4 * blocks[-1]) >= 10:
        blocks.append(2 * blocks[-1])
    squares, counts = zip(*(fourth_moment(k) for k in blocks), strict=True)
    best, smallest = None, np.inf
    for i in range(len(blocks) - 1):
        weight = dt * (walk(blocks[i + 1]) - walk(blocks[i]) * share)
        found = (squares[i + 1] - squares[i] * share) / weight
        variance = np.diag(squares[i + 1]) ** 2 / counts[i + 1]
        variance += (share * np.diag(squares[i])) ** 2 / counts[i]
        error = np.sqrt(VARIANCE_OF_MEAN_SQUARE * variance) / weight
        upper = np.diag(found) + 2 * error
        if (upper > 0).all() and np.log(upper).sum() < smallest:
            smallest = np.log(upper).sum()
            resolved = (np.diag(found) > 2 * error).all()
            resolved = resolved and np.linalg.eigvalsh(found)[0] > 0
            best = found if resolved else np.diag(upper)
    return np.diag(np.diag(squares[0])) if best is None else best


def autocovariance(series: np.ndarray, lags) -> np.ndarray:
    """Mean of d_k d_{k+h} along paths of shape (trajectory, time), for each lag h."""
    n = series.shape[1]
    return np.array(
        [
            np.einsum("ij,ij->", series[:, : n - h], series[:, h:])
            / (len(series) * (n - h))
            for h in lags
        ]
    )


def _third_difference(paths: np.ndarray, s: int) -> np.ndarray:
    inner = paths[:, s : -2 * s] - paths[:, 2 * s : -s]
    return paths[:, 3 * s :] - paths[:, : -3 * s] + 3 * inner
