"""Spikes of a sensor: single samples that none of their neighbours expects."""

from collections.abc import Sequence

import numpy as np

from leastaction.recordings.checks import encoder_step, repeated_share
from leastaction.recordings.splitting import Trajectory

# Neighbours at ±i and ±j that predict a sample where the fourth difference vanishes.
PAIRS = ((1, 2), (1, 3), (2, 3), (2, 4), (3, 4))
REACH = 4
# A spike is off by so many standard deviations, from the median of its surroundings.
DEVIATIONS, STD_PER_MEDIAN = 10.0, 1.4826
SAMPLES_AROUND = 201
# ... by this part of half the range, and by this part of the largest beside it.
LEAST_SHARE_OF_RANGE, LEAST_SHARE_BESIDE = 1e-3, 0.5
# Share of repeated samples from which on the steps of an encoder count.
REPEATED = 0.02
# A longer step than so many median ones leaves the samples beside it alone.
LONGEST_STEP = 1.5
ROUNDS = 8


def replace_spikes(trajectories: Sequence[Trajectory], columns: int) -> np.ndarray:
    """Replace spikes in place by what the neighbours expect.

    The expectation is the median of five predictions from four neighbours each,

    .. math::  \\frac{j^2 (x_i + x_{-i}) - i^2 (x_j + x_{-j})}{2 (j^2 - i^2)},

    exact for cubics, so that a spike among the neighbours does no harm. Samples that
    repeat, such as those of a clipped sensor, are none. The first `columns` are smooth;
    the number of replaced samples comes back for each.
    """
    counts = np.zeros(columns, dtype=int)
    for k in range(columns):
        own = [t.values[:, k] for t in trajectories]
        size = max(np.ptp(y) for y in own) / 2
        quantum = encoder_step(own)[0] if repeated_share(own) > REPEATED else 0.0
        floor = max(LEAST_SHARE_OF_RANGE * size, quantum)
        for t in trajectories:
            if len(t.time) > 2 * REACH and size > 0:
                counts[k] += _replaced(t.values[:, k], _evenly(t.time), floor)
    return counts


def _evenly(time: np.ndarray) -> np.ndarray:
    """Whether all steps from four samples before to four after are usual ones."""
    from scipy.ndimage import maximum_filter1d

    steps = np.diff(time)
    wide = np.concatenate([[False], steps > LONGEST_STEP * np.median(steps), [False]])
    beside = (wide[1:] | wide[:-1]).astype("int8")
    return maximum_filter1d(beside, 2 * REACH + 1) == 0


def _replaced(y: np.ndarray, even: np.ndarray, floor: float) -> int:
    """Replace spikes of one series; return how many samples were."""
    from scipy.ndimage import maximum_filter1d, median_filter

    changed = np.zeros(len(y), dtype=bool)
    for _ in range(ROUNDS):
        expected = _expected(y)
        off = np.abs(y - expected)
        usual = np.maximum(median_filter(off, SAMPLES_AROUND), np.median(off))
        limit = np.maximum(DEVIATIONS * STD_PER_MEDIAN * usual, floor)
        beside = maximum_filter1d(off, 2 * REACH + 1)
        repeated = np.diff(y) == 0
        alone = ~np.append(repeated, False) & ~np.append(False, repeated)
        bad = even & alone & (off > limit) & (off >= LEAST_SHARE_BESIDE * beside)
        if not bad.any():
            break
        y[bad] = expected[bad]
        changed |= bad
    return int(changed.sum())


def _expected(y: np.ndarray) -> np.ndarray:
    """Median of the predictions; the samples themselves near both ends."""
    found = y.copy()
    inner = slice(REACH, len(y) - REACH)

    def pair(i: int) -> np.ndarray:
        return y[REACH + i : len(y) - REACH + i] + y[REACH - i : len(y) - REACH - i]

    found[inner] = np.median(
        [(j**2 * pair(i) - i**2 * pair(j)) / (2 * (j**2 - i**2)) for i, j in PAIRS],
        axis=0,
    )
    return found
