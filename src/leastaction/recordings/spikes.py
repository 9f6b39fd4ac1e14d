"""Spikes of a sensor: single samples that none of their neighbours expects."""

from collections.abc import Sequence

import numpy as np

from leastaction.recordings.checks import encoder_step, repeated_share
from leastaction.recordings.splitting import Trajectory

# Neighbours at ±i and ±j that predict a sample by the cubic through them.
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
LONGEST_STEP = 3.5
ROUNDS = 8


def replace_spikes(trajectories: Sequence[Trajectory], columns: int) -> np.ndarray:
    """Replace spikes in place by what the neighbours expect.

    The expectation is the median of five predictions from four neighbours each, cubics
    through them (Lagrange) at the times of the samples, so that neither a spike among
    the neighbours nor a missing row does harm. Samples that repeat, such as those of a
    clipped sensor, are none. The first `columns` are smooth; the number of replaced
    samples comes back for each.
    """
    counts = np.zeros(columns, dtype=int)
    for k in range(columns):
        own = [t.values[:, k] for t in trajectories]
        size = max(np.ptp(y) for y in own) / 2
        quantum = encoder_step(own)[0] if repeated_share(own) > REPEATED else 0.0
        floor = max(LEAST_SHARE_OF_RANGE * size, quantum)
        for t in trajectories:
            if len(t.time) > 2 * REACH and size > 0:
                counts[k] += _replaced(t.values[:, k], t.time, floor)
    return counts


def _dense(time: np.ndarray) -> np.ndarray:
    """Whether no step from four samples before to four after is a long one."""
    from scipy.ndimage import maximum_filter1d

    steps = np.diff(time)
    wide = np.concatenate([[False], steps > LONGEST_STEP * np.median(steps), [False]])
    beside = (wide[1:] | wide[:-1]).astype("int8")
    return maximum_filter1d(beside, 2 * REACH + 1) == 0


def _cubics(time: np.ndarray) -> np.ndarray:
    """Weights of the neighbours in every prediction, (pair, neighbour, sample)."""
    inner = np.arange(REACH, len(time) - REACH)
    found = np.empty((len(PAIRS), 4, len(inner)))
    for pair, (i, j) in enumerate(PAIRS):
        nodes = time[inner + np.array([-j, -i, i, j])[:, None]]
        for k in range(4):
            others = np.delete(nodes, k, axis=0)
            parts = (time[inner] - others) / (nodes[k] - others)
            found[pair, k] = parts.prod(axis=0)
    return found


def _replaced(y: np.ndarray, time: np.ndarray, floor: float) -> int:
    """Replace spikes of one series; return how many samples were."""
    from scipy.ndimage import maximum_filter1d, median_filter

    changed = np.zeros(len(y), dtype=bool)
    dense, weights = _dense(time), _cubics(time)
    for _ in range(ROUNDS):
        expected = _expected(y, weights)
        off = np.abs(y - expected)
        usual = np.maximum(median_filter(off, SAMPLES_AROUND), np.median(off))
        limit = np.maximum(DEVIATIONS * STD_PER_MEDIAN * usual, floor)
        beside = maximum_filter1d(off, 2 * REACH + 1)
        repeated = np.diff(y) == 0
        alone = ~np.append(repeated, False) & ~np.append(False, repeated)
        bad = dense & alone & (off > limit) & (off >= LEAST_SHARE_BESIDE * beside)
        if not bad.any():
            break
        y[bad] = expected[bad]
        changed |= bad
    return int(changed.sum())


def _expected(y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Median of the predictions; the samples themselves near both ends."""
    found = y.copy()
    inner = np.arange(REACH, len(y) - REACH)
    predictions = [
        (own * y[inner + np.array([-j, -i, i, j])[:, None]]).sum(axis=0)
        for own, (i, j) in zip(weights, PAIRS, strict=True)
    ]
    found[inner] = np.median(predictions, axis=0)
    return found
