"""Quintic spline of recordings whose knots and penalty come from the data alone.

Knots stand five times as dense as the bandwidth asks; where data are coarse, the
penalty on the fourth derivative, by generalised cross-validation, does the rest.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
import xarray as xr
from scipy.interpolate import BSpline

from leastaction.core.contracts import check
from leastaction.core.settings import CHANNELS
from leastaction.recordings.contracts import CONTRACTS, pieces, training
from leastaction.trajectories.joint_spline import DEGREE, joint_spline, knots

# Samples of the longest stretch that is transformed at once.
SAMPLES_PER_TRANSFORM = 65536
# Spectrum over the line of the noise that still counts as motion.
MOTION_OVER_NOISE = 3.0
# The bandwidth is sought beyond this multiple of the main frequency.
LEAST_BANDWIDTH_OF_MAIN = 1.5
# The main frequency is at least this part of that of crossings of the median: in the
# lowest bins of a long transform what the window leaves is divided by f⁴.
LEAST_OF_CROSSINGS = 0.05
HIGHEST_DIFFERENCE = 6
# Differences hold motion if the highest frequencies have less than this part of them.
MOTION_IN_DIFFERENCES = 0.25
KNOTS_PER_BANDWIDTH = 5
# Samples per knot at least: with fewer, the spline has more freedom than the data.
LEAST_SAMPLES_PER_KNOT = 2
# A longer trajectory is smoothed piece by piece: a decomposition is cubic in them.
MOST_KNOTS = 400


@dataclass(frozen=True)
class Spectrum:
    """Spectrum of one coordinate, all trajectories together; frequencies in Hz."""

    frequency: np.ndarray
    density: np.ndarray  # unit²/Hz
    noise: np.ndarray  # its density, a straight line in logarithms
    main: float  # of the largest velocity
    bandwidth: float  # where the motion drowns in the noise

    @property
    def highest_noise(self) -> float:
        """Standard deviation of white noise with the density of the highest third.

        Below it differences overestimate the noise of a motion that reaches so far. The
        median of a periodogram, of χ² with two degrees of freedom, is ln 2 of its mean.
        """
        nyquist = self.frequency[-1]
        highest = self.density[self.frequency > 2 / 3 * nyquist]
        return float(np.sqrt(np.median(highest) * nyquist / np.log(2)))


def difference_noise(series: Sequence[np.ndarray]) -> float:
    """Standard deviation of the noise: the smallest of differences of order 1 to 6.

    The noise need not be white: that of an encoder is not.
    """
    deviations = []
    for order in range(1, HIGHEST_DIFFERENCE + 1):
        parts = [np.diff(y, order) for y in series if len(y) > 2 * order]
        if parts:
            square = np.concatenate(parts) ** 2
            deviations.append(np.sqrt(square.mean() / comb(2 * order, order)))
    return float(min(deviations)) if deviations else 0.0


def noise_of(series: Sequence[np.ndarray], estimate: Spectrum) -> float:
    """Noise from differences, unless motion near the Nyquist frequency makes them."""
    differences, highest = difference_noise(series), estimate.highest_noise
    return highest if highest < MOTION_IN_DIFFERENCES * differences else differences


def spectrum(series: Sequence[np.ndarray], dt: float, angle: bool = False) -> Spectrum:
    """Spectrum of the second differences (Welch 1967), divided by (2 sin πf dt)⁴.

    Noise of an encoder is not white: a straight log-log line is fitted above twice the
    bandwidth that a constant one gives. The bandwidth is the first frequency beyond 1.5
    times the main one where the density is below three times that line. `series` are
    the trajectories, dt s between samples. The main frequency of an `angle` that turns
    over is the rms frequency of its velocity, that of its changes of sign (Rice 1944):
    where turns are irregular, most power is in the lowest frequencies.
    """
    from scipy.signal import welch

    size = min(SAMPLES_PER_TRANSFORM, max(map(len, series)) - 2)
    grid = 1 << (size - 1).bit_length()
    total, weight = 0.0, 0
    for y in series:
        d = np.diff(y, 2)
        if len(d) < 8:
            continue
        how = {"nfft": grid, "detrend": "constant"}
        f, p = welch(d, 1 / dt, "blackmanharris", min(size, len(d)), **how)
        total, weight = total + len(d) * p, weight + len(d)
    inside = slice(1, len(f) - 1)
    f = f[inside]
    density = np.maximum(total[inside] / weight, 1e-300)
    density = density / (2 * np.sin(np.pi * f * dt)) ** 4
    line = np.full_like(density, np.median(density[f > 0.25 / dt]))
    longest = max(map(len, series)) * dt
    lowest = max(1.0 / longest, LEAST_OF_CROSSINGS * _crossings(series) / dt)
    # A periodogram of white noise stays below this in all its bins, with 95 %.
    resolved = (density > line * np.log2(len(f) / 0.05)) & (f > lowest)
    motion = f**2 * np.where(resolved if resolved.any() else f > lowest, density, 0.0)
    main = f[np.argmax(motion)]
    bandwidth = _knee(f, density, line, main, dt)
    above = f > min(2 * bandwidth, 0.35 / dt)
    slope, height = np.polyfit(np.log(f[above]), np.log(density[above]), 1)
    line = np.exp(min(slope, 0.0) * np.log(f) + height)
    if slope > 0:
        line = np.full_like(density, np.median(density[above]))
    bandwidth = _knee(f, density, line, main, dt)
    if angle and max(map(np.ptp, series)) > 2 * np.pi:
        motion = np.where(f < bandwidth, motion, 0.0)
        main = max(main, np.sqrt(np.average(f**2, weights=motion)))
    return Spectrum(f, density, line, float(main), float(bandwidth))


def oscillation(q: np.ndarray, turn: int) -> np.ndarray:
    """Half the largest range within a main period, a linear drift removed.

    The angle of a joint that keeps turning has a range that says nothing about how
    well it is to be predicted. Shapes are (sample, dof) and (dof,); a main period has
    `turn` samples.
    """
    turn = min(turn, len(q))
    line = np.stack([np.ones(turn), np.linspace(-1, 1, turn)], axis=1)
    onto = line @ np.linalg.pinv(line)
    starts = range(0, len(q) - turn + 1, max(turn // 4, 1))
    parts = [q[i : i + turn] for i in starts]
    return np.max([np.ptp(p - onto @ p, axis=0) / 2 for p in parts], axis=0)


def _crossings(series: Sequence[np.ndarray]) -> float:
    """Half the share of steps in which a coordinate crosses its median."""
    steps = [np.diff(np.sign(y - np.median(y))) != 0 for y in series]
    return float(np.concatenate(steps).mean() / 2)


def _knee(f, density, line, main, dt) -> float:
    quiet = (f > LEAST_BANDWIDTH_OF_MAIN * main) & (
        _smoothed(density) < MOTION_OVER_NOISE * line
    )
    return f[np.argmax(quiet)] if quiet.any() else 0.5 / dt


def _smoothed(density: np.ndarray, width: int = 9) -> np.ndarray:
    """Running mean of logarithms: the spectrum of a short recording is rough."""
    if len(density) < 3 * width:
        return density
    padded = np.pad(np.log(density), width // 2, mode="edge")
    return np.exp(np.convolve(padded, np.ones(width) / width, mode="valid"))


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Smooth recordings; nothing is set per system, and no model is known."""
    check(observations, "measurements")
    observations = training(observations)
    dt = float(observations.attrs["time_step"])
    trajectories = pieces(observations)
    names = [str(name) for name in observations["dof"].values]
    recorded = [name for name in CHANNELS if name in observations]
    orders = [CHANNELS.index(name) for name in recorded]
    values = {name: observations[name].values[0] for name in recorded}
    series = [
        [values["q"][part, a] for part in trajectories] for a in range(len(names))
    ]
    kinds = json.loads(observations.attrs.get("kinds", "{}"))
    spectra = [
        spectrum(each, dt, kinds.get(name) == "angle")
        for each, name in zip(series, names, strict=True)
    ]
    bandwidth = np.array([s.bandwidth for s in spectra])
    widest = float(bandwidth.max())
    spacing = max(
        round(1 / (KNOTS_PER_BANDWIDTH * widest) / dt), LEAST_SAMPLES_PER_KNOT
    )
    stride = max(round(1 / (settings["points"] * widest) / dt), 1)
    trim = settings["trim"] / widest
    stretches = []
    for number, part in enumerate(trajectories):
        for start, stop, inner in _stretches(part, MOST_KNOTS * spacing):
            row = np.arange(inner.start, inner.stop, stride)
            how = dt, spacing, settings["inflation"], row - start
            smoothed = [
                _smooth([values[n][start:stop, a] for n in recorded], orders, *how)
                for a in range(len(names))
            ]
            when, end = (row - part.start) * dt, (part.stop - 1 - part.start) * dt
            inside = (when >= trim) & (when <= end - trim)
            stretches.append((smoothed, row, np.full(len(row), number), inside))
    states, row, number, inside = (
        np.concatenate(each, axis=-1) for each in zip(*stretches, strict=True)
    )
    if inside.sum() < len(inside) / 4:
        inside = np.ones_like(inside)
    noise = [noise_of(each, psd) for each, psd in zip(series, spectra, strict=True)]
    return CONTRACTS["smoothed_motion"].dataset(
        {
            **dict(zip(CHANNELS, np.moveaxis(states, 0, -1), strict=True)),
            "row": row,
            "trajectory_number": number,
            "inner": inside.astype("int8"),
            "noise_std": noise,
            "bandwidth": bandwidth,
            "frequency": [s.main for s in spectra],
        },
        {"replicate": observations["replicate"], "dof": observations["dof"]},
    )


def _stretches(part: slice, longest: int):
    """Parts of a trajectory that are smoothed at once, and what is kept of each."""
    length = part.stop - part.start
    count = max(-(-length // longest), 1)
    edges = np.linspace(part.start, part.stop, count + 1).round().astype(int)
    margin = longest // 20
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        start = max(part.start, low - margin)
        stop = min(part.stop, high + margin)
        yield start, stop, slice(low, high)


def _smooth(channels, orders, dt, spacing, inflation, at) -> np.ndarray:
    """Value, rate and acceleration at some samples, shape (3, at)."""
    samples = len(channels[0])
    coefficients = joint_spline(
        [y[None] for y in channels], orders, dt, min(spacing, samples // 8), inflation
    )[0][0]
    spline = BSpline(knots(samples, min(spacing, samples // 8)), coefficients, DEGREE)
    return np.stack([spline(at, nu=k) / dt**k for k in range(3)])
