"""Slightly uneven clocks: trajectories on one uniform step of time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leastaction.recordings.error import RecordingError
from leastaction.recordings.splitting import Trajectory

# Deviation of a clock from a straight line that counts as rounding of its digits.
ROUNDING = 0.55
# Relative deviation below which times are taken for uniform in any case.
EVEN = 1e-3
# Median steps of trajectories may differ by this fraction.
SAME = 0.01
LEAST_ROWS = 16
UNEVEN = 0.5


@dataclass
class Clock:
    """How even the recorded times are.

    Attributes
    ----------
    step
        s between samples of the result.
    jitter
        Standard deviation of the recorded steps over the step.
    filled
        Samples that were missing and have been interpolated.
    resampled
        Whether values were interpolated to even times.
    """

    step: float
    jitter: float
    filled: int
    resampled: bool


def resample(
    trajectories: Sequence[Trajectory], smooth: int
) -> tuple[list[np.ndarray], list[float], Clock]:
    """Values on even times, by cubic splines where the clock asks for it.

    Times that are a straight line but for the rounding of their digits are taken for
    even; nothing is interpolated then but single samples that are missing.

    Parameters
    ----------
    trajectories
        As recorded.
    smooth
        How many of the first columns are smooth; others are interpolated by lines.

    Returns
    -------
    values, start, clock

    Raises
    ------
    RecordingError
        If the clock is uneven, trajectories have different steps, or none is long
        enough.
    """
    long = [t for t in trajectories if len(t.time) >= LEAST_ROWS]
    if not long:
        worst = max(trajectories, key=lambda t: len(t.time))
        raise RecordingError(
            worst.source,
            f"the longest stretch without a gap has {len(worst.time)} rows",
            f"{LEAST_ROWS} rows and several periods",
            "Check `import.trajectory` and `import.time.unit`, or record longer",
        )
    for t in long:
        scatter = np.diff(t.time).std() / np.diff(t.time).mean()
        if scatter > UNEVEN:
            raise RecordingError(
                f"{t.source}, time",
                f"steps of the clock scatter by {100 * scatter:.0f} % around "
                f"{np.diff(t.time).mean():.3g} s",
                "a clock that is even within 50 %",
                "Check `import.time` and `import.trajectory`",
            )
    steps = [np.median(np.diff(t.time)) for t in long]
    step = float(np.median(steps))
    lines = [_line(t.time, step) for t in long]
    spans = [line[1] for line in lines]
    for t, own in zip(long, spans, strict=True):
        if abs(own / step - 1) > 0.2:
            raise RecordingError(
                t.source,
                f"samples are {own:.4g} s apart, elsewhere {step:.4g} s",
                "one sampling rate",
                "Import recordings of different rates one by one",
            )
    step = float(np.median(spans))
    jitter = float(
        np.sqrt(np.mean(np.concatenate([np.diff(t.time) - step for t in long]) ** 2))
        / step
    )
    values, starts, filled, resampled = [], [], 0, False
    for t, (begin, own, number) in zip(long, lines, strict=True):
        residual = np.abs(t.time - begin - own * number).max()
        even = residual <= max(ROUNDING * _digit(t.time), EVEN * own)
        same = abs(own / step - 1) * number[-1] < 0.05
        whole = len(number) == number[-1] + 1
        starts.append(float(t.time[0]))
        filled += int(number[-1] + 1 - len(number))
        if even and same and whole:
            values.append(t.values)
            continue
        time = number * own if even else t.time - t.time[0]
        count = int(np.floor(time[-1] / step * (1 + 1e-12))) + 1
        values.append(_interpolated(time, t.values, np.arange(count) * step, smooth))
        resampled |= not (even and same)
    return values, starts, Clock(step, jitter, filled, resampled)


def _line(time: np.ndarray, step: float) -> tuple[float, float, np.ndarray]:
    """Begin and step of the straight line through the times, and their numbers."""
    number = np.concatenate(
        [[0], np.cumsum(np.maximum(np.rint(np.diff(time) / step), 1))]
    )
    slope, begin = np.polyfit(number, time - time[0], 1)
    return begin + time[0], slope, number


def _digit(time: np.ndarray) -> float:
    """Quantum of the written times: the largest power of ten that they all share."""
    span = np.ptp(time)
    for exponent in range(3, -10, -1):
        quantum = 10.0**exponent
        scaled = time / quantum
        if quantum < span and np.abs(scaled - np.rint(scaled)).max() < 1e-3:
            return quantum
    return 0.0


def _interpolated(time, values, at, smooth) -> np.ndarray:
    from scipy.interpolate import CubicSpline

    found = np.empty((len(at), values.shape[1]))
    found[:, :smooth] = CubicSpline(time, values[:, :smooth])(at)
    for k in range(smooth, values.shape[1]):
        found[:, k] = np.interp(at, time, values[:, k])
    return found
