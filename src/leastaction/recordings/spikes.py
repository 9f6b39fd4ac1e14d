"""Samples that their neighbours do not expect: jumps, spikes, values held over."""

from collections.abc import Mapping, Sequence

import numpy as np

from leastaction.recordings.checks import encoder_step
from leastaction.recordings.columns import Column
from leastaction.recordings.contracts import DEVIATIONS, LEAST_SHARE_OF_RANGE
from leastaction.recordings.refusals import reject
from leastaction.recordings.splitting import Trajectory

# Neighbours at ±i and ±j that predict a sample by the cubic through them.
PAIRS = ((1, 2), (1, 3), (2, 3), (2, 4), (3, 4))
REACH = max(map(max, PAIRS))
# A standard deviation over the median, and where around a spike it is taken.
STD_PER_MEDIAN, SAMPLES_AROUND = 1.4826, 201
# A spike is also off by this part of the largest sample beside it.
LEAST_SHARE_BESIDE = 0.5
# ... and by so many times what the predictions differ by: in a quick turn all do.
LEAST_OVER_SPREAD = 3.0
# A longer step than so many median ones leaves the samples beside it alone.
LONGEST_STEP = 3.5
# From which on a row is missing.
MISSING = 1.5
# A jump: of half the range at least, how unlike both sides may see it, what parabolas
# beside it may miss of it, and over how many samples.
LEAST_JUMP, LARGEST_UNLIKE, QUIET_BESIDE, BESIDE_JUMP = 0.02, 0.2, 0.1, 6


def refuse_jumps(
    trajectories: Sequence[Trajectory], columns: Mapping[int, Column]
) -> None:
    """Refuse positions that jump to another level and stay there: joined runs.

    At a jump between two samples the parabola through the three before it misses the
    next by its height, and the one through the three behind it misses the last by as
    much to the other side; around there neither misses by a tenth of it. A spike, an
    impact or a quick turn does otherwise. A whole turn of an angle is none. What is
    below 45 standard deviations of the noise is not seen. RecordingError with the rows.
    """
    for place, column in columns.items():
        size = max(np.ptp(t.values[:, place]) for t in trajectories) / 2
        for t in trajectories:
            y, turn = t.values[:, place], 2 * np.pi
            if len(y) < 2 * BESIDE_JUMP or size == 0:
                continue
            ahead, back = _misses(y), -_misses(y[::-1])[::-1]
            height = (ahead + back) / 2
            if column.angle:
                height = height - turn * np.rint(height / turn)
            usual = STD_PER_MEDIAN * np.median(np.abs(ahead))
            limit = max(DEVIATIONS * usual, LEAST_JUMP * size)
            alike = np.abs(ahead - back) < LARGEST_UNLIKE * np.abs(height)
            jumps = (np.abs(height) > limit) & alike & _dense(t.time, MISSING)[:-1]
            quiet = [_is_quiet(ahead, i, height[i]) for i in np.flatnonzero(jumps)]
            rows = np.flatnonzero(jumps)[quiet]
            if len(rows):
                shown = ", ".join(map(str, rows[:5] + 2))
                shown += " ..." if len(rows) > 5 else ""
                reject("jumps", f"{t.source}, column {column.name!r}", rows=shown)


def _misses(y: np.ndarray) -> np.ndarray:
    """Each sample but the first, less what the parabola of the three before expects."""
    missed = np.zeros(len(y) - 1)
    missed[2:] = y[3:] - 3 * y[2:-1] + 3 * y[1:-2] - y[:-3]
    return missed


def _is_quiet(misses: np.ndarray, i: int, height: float) -> bool:
    """Whether parabolas that do not touch a jump fit well."""
    before = misses[max(i - BESIDE_JUMP, 0) : i]
    behind = misses[i + 3 : i + 3 + BESIDE_JUMP]
    around = np.abs(np.concatenate([before, behind]))
    return bool(around.max(initial=0.0) < QUIET_BESIDE * abs(height))


def empty_stale(
    trajectories: Sequence[Trajectory], columns: Mapping[int, str], gap: float
) -> list[str]:
    """Empty cells that hold over the sample before, in place; a sentence per column.

    A continuous reading repeats the one before by chance where the motion turns, and
    that of an encoder within its step: a spline through all others expects it there.
    Where it expects most of them elsewhere, the sensor was not read, and none is a
    measurement. Rests of `gap` samples and more stay, and those at an extreme.
    """
    texts = []
    for place, name in columns.items():
        series = [t.values[:, place] for t in trajectories]
        held = [_held_over(y, gap) for y in series]
        count = sum(map(np.count_nonzero, held))
        if not count:
            continue
        step = encoder_step([y[np.isfinite(y)] for y in series])[0]
        parts = zip(series, held, trajectories, strict=True)
        off = [_off(y, mask, t.time, step) for y, mask, t in parts if mask.any()]
        if np.median(np.concatenate(off)) < 1:
            continue
        for y, mask in zip(series, held, strict=True):
            y[mask] = np.nan
        percent = 100 * count / sum(map(len, series))
        texts.append(
            f"{count} samples of column {name!r} ({percent:.2g} %) repeat the one "
            "before while the motion goes on: the sensor held its value, and their "
            "cells count as empty"
        )
    return texts


def _held_over(y: np.ndarray, gap: float) -> np.ndarray:
    """Samples that repeat the one before, but of long rests and at an extreme."""
    repeats = np.append(False, np.diff(y) == 0)
    edges = np.flatnonzero(np.diff(repeats, prepend=False, append=False))
    for first, last in edges.reshape(-1, 2):
        if last - first >= gap or y[first] in (np.nanmin(y), np.nanmax(y)):
            repeats[first:last] = False
    return repeats


def _off(y: np.ndarray, held: np.ndarray, time: np.ndarray, step: float) -> np.ndarray:
    """Distance of held samples from a spline through all others, over its limit.

    Noise gives the third differences of these √20 of its standard deviation.
    """
    from scipy.interpolate import CubicSpline

    others = np.isfinite(y) & ~held
    noise = STD_PER_MEDIAN * np.median(np.abs(_misses(y[others]))) / 20**0.5
    limit = max(DEVIATIONS * noise, step, 1e-300)
    return np.abs(y[held] - CubicSpline(time[others], y[others])(time[held])) / limit


def replace_spikes(
    trajectories: Sequence[Trajectory], columns: Sequence[int]
) -> np.ndarray:
    """Replace spikes in place by what the neighbours expect.

    The expectation is the median of five predictions from four neighbours each, cubics
    through them (Lagrange) at the times of the samples, so that neither a spike among
    the neighbours nor a missing row does harm. Two spikes among them do; so samples
    that a spline through all others expects are no spikes after all. Samples that
    repeat, such as those of a clipped sensor, are none; up to four beside them none is,
    if they stand out. Where there are spikes, four rows at both ends, which have too
    few neighbours, are left out. The number of replaced samples comes back for each of
    the `columns`, which are smooth.
    """
    counts = np.zeros(len(columns), dtype=int)
    for place, k in enumerate(columns):
        series = [t.values[:, k] for t in trajectories]
        size = max(np.ptp(y) for y in series) / 2
        floor = max(LEAST_SHARE_OF_RANGE * size, encoder_step(series)[0])
        for t in trajectories:
            if len(t.time) > 2 * REACH and size > 0:
                counts[place] += _replaced(t.values[:, k], t.time, floor)
    if counts.any():
        for t in trajectories:
            t.time, t.values = t.time[REACH:-REACH], t.values[REACH:-REACH]
    return counts


def _dense(time: np.ndarray, longest: float = LONGEST_STEP) -> np.ndarray:
    """Whether no step from four samples before to four after is a long one."""
    from scipy.ndimage import maximum_filter1d

    steps = np.diff(time)
    wide = np.concatenate([[False], steps > longest * np.median(steps), [False]])
    beside = (wide[1:] | wide[:-1]).astype("int8")
    return maximum_filter1d(beside, 2 * REACH + 1) == 0


def _cubics(time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours and their weights, (pair, neighbour, sample), but of both ends."""
    inner = np.arange(REACH, len(time) - REACH)
    places = np.array([[-j, -i, i, j] for i, j in PAIRS])[..., None] + inner
    nodes, weights = time[places], np.ones(places.shape)
    for k in range(4):
        for other in {*range(4)} - {k}:
            step = nodes[:, k] - nodes[:, other]
            weights[:, k] *= (time[inner] - nodes[:, other]) / step
    return places, weights


def _replaced(y: np.ndarray, time: np.ndarray, floor: float) -> int:
    """Replace spikes of one series; return how many samples were."""
    from scipy.interpolate import CubicSpline
    from scipy.ndimage import maximum_filter1d, median_filter

    changed, clean = np.zeros(len(y), dtype=bool), y.copy()
    spread = np.zeros(len(y))
    dense, (places, weights) = _dense(time), _cubics(time)
    repeated = np.diff(y) == 0
    alone = ~np.append(repeated, False) & ~np.append(False, repeated)
    while True:
        expected = clean.copy()
        predictions = (weights * clean[places]).sum(axis=1)
        inner = np.median(predictions, axis=0)
        expected[REACH:-REACH] = inner
        spread[REACH:-REACH] = np.median(np.abs(predictions - inner), axis=0)
        off = np.abs(clean - expected)
        usual = np.maximum(median_filter(off, SAMPLES_AROUND), np.median(off))
        limit = np.maximum(DEVIATIONS * STD_PER_MEDIAN * usual, floor)
        limit = np.maximum(limit, LEAST_OVER_SPREAD * spread)
        beside = maximum_filter1d(off, 2 * REACH + 1)
        high = off > limit
        level = maximum_filter1d((high & ~alone).astype("int8"), 2 * REACH + 1) > 0
        bad = dense & ~level & high & alone & (off >= LEAST_SHARE_BESIDE * beside)
        if not (bad & ~changed).any():
            break
        clean[bad] = expected[bad]
        changed |= bad
    while changed.any():
        expected = CubicSpline(time[~changed], y[~changed])(time)
        wrong = changed & (np.abs(y - expected) <= limit)
        if not wrong.any():
            y[changed] = expected[changed]
            break
        changed &= ~wrong
    return int(changed.sum())
