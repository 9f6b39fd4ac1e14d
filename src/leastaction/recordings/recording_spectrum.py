"""What the spectrum of a recording says: noise, main frequency and bandwidth."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

# Samples of the longest stretch that is transformed at once.
LONGEST = 65536
# Spectrum over the line of the noise that still counts as motion.
MARGIN = 3.0
# The bandwidth is sought beyond this multiple of the main frequency.
BEYOND = 1.5
ROUNDS = 3
# A line of the noise steeper than this is no noise of a sensor.
STEEP = -2.5
HIGHEST_ORDER = 6
# Fraction of the Nyquist frequency taken where the spectrum never reaches the noise.
COARSE = 0.8


@dataclass(frozen=True)
class Spectrum:
    """Spectrum of one coordinate, all trajectories together.

    Attributes
    ----------
    frequency, density
        Hz and unit²/Hz.
    noise
        Density of the noise, a straight line in logarithms.
    main
        Frequency of the largest velocity, Hz.
    bandwidth
        Frequency where the motion drowns in the noise, Hz.
    """

    frequency: np.ndarray
    density: np.ndarray
    noise: np.ndarray
    main: float
    bandwidth: float

    @property
    def slope(self) -> float:
        """Power of the frequency that the density falls with before noise hides it.

        That of a motion with white forces is −4, down to the noise or, if there is
        none, to the end; that of a smooth motion falls ever faster.
        """
        f = self.frequency
        of_line = np.log(self.noise[-1] / self.noise[0]) / np.log(f[-1] / f[0])
        begin = max(self.bandwidth / 3, BEYOND * self.main)
        inside = (f >= begin) & (f <= self.bandwidth)
        if of_line < STEEP or inside.sum() < 8 or self.bandwidth < 1.5 * begin:
            return float(of_line)
        density = _smoothed(self.density)[inside]
        return float(np.polyfit(np.log(f[inside]), np.log(density), 1)[0])


def difference_noise(series: Sequence[np.ndarray]) -> float:
    """Standard deviation of the noise: the smallest of differences of order 1 to 6.

    Unlike :func:`leastaction.trajectories.segments.noise_level` it does not ask the
    noise to be white: that of an encoder is not.
    """
    found = []
    for order in range(1, HIGHEST_ORDER + 1):
        parts = [np.diff(y, order) for y in series if len(y) > 2 * order]
        if parts:
            square = np.concatenate(parts) ** 2
            found.append(np.sqrt(square.mean() / comb(2 * order, order)))
    return float(min(found)) if found else 0.0


def spectrum(series: Sequence[np.ndarray], dt: float) -> Spectrum:
    """Spectrum of the second differences (Welch 1967), divided by (2 sin πf dt)⁴.

    Noise of an encoder is not white: a straight log-log line is fitted above twice the
    bandwidth, three times over. The bandwidth is the first frequency beyond 1.5 times
    the main one where the density is below three times that line.

    Parameters
    ----------
    series
        One array per trajectory.
    dt
        s between samples.
    """
    from scipy.signal import welch

    size = min(LONGEST, max(map(len, series)) - 2)
    grid = 1 << (size - 1).bit_length()
    total, weight = 0.0, 0
    for y in series:
        d = np.diff(y, 2)
        if len(d) < 8:
            continue
        f, p = welch(
            d,
            1 / dt,
            "blackmanharris",
            min(size, len(d)),
            nfft=grid,
            detrend="constant",
        )
        total, weight = total + len(d) * p, weight + len(d)
    inside = slice(1, len(f) - 1)
    f = f[inside]
    density = np.maximum(total[inside] / weight, 1e-300)
    density = density / (2 * np.sin(np.pi * f * dt)) ** 4
    line = np.full_like(density, np.median(density[f > 0.25 / dt]))
    lowest = 1.0 / (max(map(len, series)) * dt)
    motion = f**2 * np.where((density > MARGIN * line) & (f > lowest), density, 0.0)
    main = f[np.argmax(motion if motion.any() else density)]
    bandwidth = _knee(f, density, line, main, dt)
    for _ in range(ROUNDS):
        above = f > min(2 * bandwidth, 0.35 / dt)
        slope, height = np.polyfit(np.log(f[above]), np.log(density[above]), 1)
        line = np.exp(min(slope, 0.0) * np.log(f) + height)
        if slope > 0:
            line = np.full_like(density, np.median(density[above]))
        bandwidth = _knee(f, density, line, main, dt)
    return Spectrum(f, density, line, float(main), float(bandwidth))


def _knee(f, density, line, main, dt) -> float:
    quiet = (f > BEYOND * main) & (_smoothed(density) < MARGIN * line)
    return f[np.argmax(quiet)] if quiet.any() else COARSE * 0.5 / dt


def _smoothed(density: np.ndarray, width: int = 9) -> np.ndarray:
    """Running mean of logarithms: the spectrum of a short recording is rough."""
    if len(density) < 3 * width:
        return density
    padded = np.pad(np.log(density), width // 2, mode="edge")
    return np.exp(np.convolve(padded, np.ones(width) / width, mode="valid"))
