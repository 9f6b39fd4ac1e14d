"""What a series of samples says about its sensor and about what drives it."""

from collections.abc import Sequence

import numpy as np

from leastaction.recordings.recording_spectrum import difference_noise

LEVELS = 5000
COARSE = 1.0
SPIKE = 12.0
# Fourth moment over the squared second one; 3 for Gaussian increments.
IMPACTS = 8.0


def encoder_step(series: Sequence[np.ndarray]) -> tuple[float, bool]:
    """Smallest step between values, and whether it is one of an encoder.

    All values are then multiples of it, and it is more than 2.5 standard deviations of
    what other noise there is.
    """
    values = np.unique(np.concatenate([y[:20000] for y in series]))
    if not 2 < len(values) < LEVELS:
        return 0.0, False
    gaps = np.diff(values)
    step = float(np.median(gaps[gaps > 0.5 * np.median(gaps)]))
    step = float(gaps[gaps > 1e-3 * step].min())
    # Digits are rounded: the step gets sharper the more of them are spanned.
    last = 1
    while last < len(values) - 1:
        last = min(2 * last, len(values) - 1)
        span = values[last] - values[0]
        step = float(span / max(np.rint(span / step), 1))
    multiple = (values - values[0]) / step
    even = np.abs(multiple - np.rint(multiple)).max() < 0.05
    coarse = step > COARSE * difference_noise(series)
    total = sum(len(y) for y in series)
    return (step, True) if even and coarse and len(values) < total / 3 else (0.0, False)


def repeated_share(series: Sequence[np.ndarray]) -> float:
    """Share of the samples that repeat the one before."""
    same = np.concatenate([np.diff(y) == 0 for y in series])
    return float(same.mean())


def clipped_run(
    series: Sequence[np.ndarray], dt: float, frequency: float, grain: float
) -> tuple[int, float]:
    """Longest run at the extreme, and what a smooth turning point may have.

    A swing A cos ωt stays within a grain g of its extreme for √(8 g / (A ω²)).
    """
    longest, allowed = 0, np.inf
    for sign in (1, -1):
        top = max((sign * y).max() for y in series)
        for y in series:
            at = np.concatenate([[0], (sign * y == top).astype(int), [0]])
            edges = np.flatnonzero(np.diff(at))
            runs = edges[1::2] - edges[::2]
            longest = max(longest, int(runs.max(initial=0)))
    size = max(np.ptp(y) for y in series) / 2
    turn = np.sqrt(8 * max(grain, 1e-9 * size) / size) / (2 * np.pi * frequency)
    allowed = 3 + 2 * turn / dt
    return longest, float(allowed)


def spikes(series: Sequence[np.ndarray]) -> int:
    """Samples that stand out of their neighbours by 12 median deviations."""
    count = 0
    for y in series:
        third = np.diff(y, 3)
        deviation = np.median(np.abs(third - np.median(third)))
        large = np.abs(third) > SPIKE * max(deviation, 1e-300) * 1.5
        smooth = np.abs(third) > 20 * np.quantile(np.abs(third), 0.99)
        count += int((large & smooth).sum() > 0)
    return count


def random_share(series: Sequence[np.ndarray], dt: float, frequency: float) -> float:
    """Largest share of a random force in third differences over short lags h.

    .. math::

        E\\,[q_{t+3h} − 3 q_{t+2h} + 3 q_{t+h} − q_t]^2
        = a + b\\,h^3 + d\\,(2 \\sin πfh)^6

    with parts of white noise of the sensor, of a random force, and of a smooth motion;
    a, b, d ≥ 0 by least squares of relative errors, over lags up to a twelfth of the
    main period. NaN if there are less than four lags, if noise hides all of them, or if
    a few large jumps make them: impacts, or a sensor that clips.
    """
    from scipy.optimize import nnls

    largest = int(1 / (12 * frequency * dt))
    lags = np.unique(np.geomspace(1, max(largest, 1), 14).round().astype(int))
    values, tails = [], []
    for lag in lags:
        parts = [
            y[3 * lag :] - 3 * y[2 * lag : -lag] + 3 * y[lag : -2 * lag] - y[: -3 * lag]
            for y in series
            if len(y) > 4 * lag
        ]
        if parts:
            third = np.concatenate(parts)
            values.append(float(np.mean(third**2)))
            tails.append(float(np.mean(third**4)) / max(values[-1], 1e-300) ** 2)
    if len(values) < 4 or min(values) <= 0 or np.median(tails) > IMPACTS:
        return np.nan
    h = lags[: len(values)] * dt
    shapes = np.stack(
        [np.ones_like(h), (h / h[-1]) ** 3, np.sin(np.pi * frequency * h) ** 6], axis=1
    )
    parts = shapes / np.array(values)[:, None]
    scale = parts.max(axis=0)
    found, _ = nnls(parts / scale, np.ones(len(h)))
    shares = parts / scale * found
    if shares[-1, 0] > 0.5:
        return np.nan
    return float(shares[:, 1].max())
