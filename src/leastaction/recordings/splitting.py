"""Rows of tables as trajectories: numbers checked, time checked, gaps found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pandas as pd

from leastaction.recordings.columns import clock_scale, uses_of
from leastaction.recordings.inputs import between, degree_of
from leastaction.recordings.refusals import reject
from leastaction.recordings.tables import MOST_ROWS, OUTER, open_table

# Beyond it the sixth power of a number, which candidates have, is infinite.
LARGEST_NUMBER = 1e50
# Rows of one trajectory: a longer one is cut.
MOST_ROWS_OF_TRAJECTORY = 1 << 17
# An import takes 2 ms for each.
MOST_TRAJECTORIES = 10_000
# Deviation of a clock from a straight line that counts as rounding of its digits.
ROUNDING_OF_LAST_DIGIT = 0.55
# Relative deviation below which times are taken for uniform in any case.
EVEN_WITHIN = 1e-3
LEAST_ROWS = 16
LARGEST_SCATTER_OF_STEPS = 0.5
# Steps of two trajectories that differ by more are different rates.
LARGEST_DIFFERENCE_OF_STEPS = 0.2
# Beyond this ratio a unit of the time is wrong.
LARGEST_RATIO_OF_RATES = 20.0


@dataclass
class Trajectory:
    """Rows of one trajectory as they were recorded."""

    label: str  # what the trajectory column says; numbers otherwise
    time: np.ndarray  # s
    values: np.ndarray  # SI units, (row, column)
    source: str  # file and line of the first row

    @property
    def file(self) -> str:
        """File alone."""
        return self.source.rpartition(", line")[0]


@dataclass
class Recorded:
    """Trajectories of all files, in their order, as their clocks cut them."""

    names: Sequence[str]  # columns of numbers, for messages
    sparse: np.ndarray  # which of them may be recorded less often: inputs
    gap: float  # a step of this many median steps begins a new trajectory
    done: list[Trajectory] = field(default_factory=list)
    headings: dict[str, str] = field(default_factory=dict)  # of columns, by their names
    gaps: int = 0
    rows: int = 0

    def add(self, path: str, frame, time: np.ndarray, values: np.ndarray, labels):
        """Rows of one file; `labels` tell trajectories apart, or time that restarts.

        RecordingError if there are more rows or trajectories than can be used, or time
        goes back.
        """
        self.rows += len(time)
        if self.rows > MOST_ROWS:
            reject("rows", path, most=MOST_ROWS)
        runs = [0, len(time)]
        if labels is not None:
            codes = pd.factorize(labels, use_na_sentinel=False)[0]
            runs[1:1] = list(np.flatnonzero(np.diff(codes)) + 1)
        _reject_many(path, len(runs) - 1)
        lines = frame.index.to_numpy()
        for start, stop in pairwise(runs):
            label = None if labels is None else str(labels.iloc[start])
            rows = slice(start, stop)
            self._run(path, lines[rows], time[rows], values[rows], label)

    def _run(self, path: str, lines, time, values, label: str | None) -> None:
        """Rows of one clock: cut at gaps and where time starts again."""
        steps = np.diff(time)
        step = float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0
        start, breaks = 0, np.flatnonzero(~(steps > 0) | (steps > self.gap * step)) + 1
        _reject_many(path, len(self.done) + len(breaks))
        for i in breaks:
            restarted = label is None and time[i] <= time[start] + step
            if steps[i - 1] <= 0 and not restarted:
                when = "time twice" if time[i] == time[i - 1] else "time back"
                where = f"{path}, line {lines[i]}, time"
                reject(when, where, now=time[i], before=time[i - 1])
            self.gaps += not restarted
            self._append(path, lines, time, values, label, slice(start, i))
            start = i
        self._append(path, lines, time, values, label, slice(start, len(time)))

    def _append(self, path, lines, time, values, label, rows: slice) -> None:
        """One trajectory, cut where it is too long."""
        label = str(len(self.done)) if label is None else label
        for start in range(rows.start, rows.stop, MOST_ROWS_OF_TRAJECTORY):
            part = slice(start, min(start + MOST_ROWS_OF_TRAJECTORY, rows.stop))
            self.done.append(
                Trajectory(
                    label, time[part], values[part], f"{path}, line {lines[start]}"
                )
            )


def read_trajectories(paths: Sequence, settings: Mapping, columns) -> Recorded:
    """Trajectories of all files, in their order.

    `settings` is the section `import`; `columns` are those of numbers, in the order of
    the values.
    """
    clock, labels = settings["time"].get("column"), settings.get("trajectory")
    names = [c.name for c in columns]
    uses = uses_of(columns, settings)
    sparse = np.array([c.use.startswith("import.inputs.") for c in columns])
    read = Recorded(names, sparse, settings["gap"])
    for path in paths:
        table = open_table(path, settings)
        table.check_columns(uses)
        read.headings |= {name: table.heading(name) for name in uses}
        numbers = [*names, clock] if clock else names
        frame = table.read(dict.fromkeys(numbers), [labels] if labels else [])
        values = np.stack([c.convert(frame[c.name].to_numpy()) for c in columns], 1)
        time = np.arange(len(values)) / settings["time"].get("rate", 1.0)
        if clock:
            scale = clock_scale(settings["time"], table.heading(clock))
            time = scale * frame[clock].to_numpy()
        if not len(frame):
            continue
        _check_numbers(table.path, frame, read, time, values)
        _reject_size(table.path, names, values)
        read.add(table.path, frame, time, values, frame.get(labels or OUTER))
    if not read.done:
        reject("no rows", table.path)
    return read


def fill_inputs(read: Recorded) -> list[str]:
    """Fill empty cells of inputs; rows without a motion are left out, or are gaps.

    Inputs that were recorded at other times than the motion are taken between their
    samples, :func:`leastaction.recordings.inputs.between`, in place; a sentence for
    each such input comes back, and one for samples of the motion that are missing.

    RecordingError if one is empty for so long that a trajectory would have ended there.
    """
    texts = _lost(read)
    for place in np.flatnonzero(read.sparse):
        name, known = read.names[place], []
        for t in read.done:
            filled = np.isfinite(t.values[:, place])
            known.append(filled[_moving(t, read)])
            if filled.all():
                continue
            _reject_gap(t, name, t.time[filled], read.gap)
            when, values = t.time[filled], t.values[filled, place]
            signal = between(when, values, degree_of(values))
            t.values[:, place] = signal(np.clip(t.time, when[0], when[-1]))
        share = np.concatenate(known).mean()
        if share < 1:
            texts.append(
                f"column {name!r} is empty in {100 - 100 * share:.3g} % of the rows; "
                "there it is interpolated, or held if most of its numbers repeat"
            )
    parts = [p for t in read.done for p in _between_gaps(t, _moving(t, read), read.gap)]
    if not parts:
        reject("no common row", read.done[0].source)
    read.gaps += len(parts) - len(read.done)
    read.done = parts
    return texts


def _lost(read: Recorded) -> list[str]:
    """A sentence if samples of the motion are missing, rows of inputs set aside."""
    empty = [np.isnan(t.values) for t in read.done]
    alone = [e[:, ~read.sparse].all(axis=1) & ~e.all(axis=1) for e in empty]
    lost = [
        e[:, ~read.sparse].any(axis=1) & ~a for e, a in zip(empty, alone, strict=True)
    ]
    count = sum(int(x.sum()) for x in lost)
    read.rows -= sum(int(a.sum()) for a in alone)
    text = f"in {count} rows a cell of the motion is empty: they count as missing"
    return [text] if count else []


def _between_gaps(t: Trajectory, chosen: np.ndarray, gap: float) -> list[Trajectory]:
    """The chosen rows of a trajectory, cut where these are far apart."""
    if chosen.all():
        return [t]
    time, values = t.time[chosen], t.values[chosen]
    steps = np.diff(time)
    edges = np.flatnonzero(steps > gap * np.median(steps)) + 1 if len(steps) else []
    parts = zip(np.split(time, edges), np.split(values, edges), strict=True)
    return [replace(t, time=a, values=b) for a, b in parts if len(a)]


def _moving(t: Trajectory, read: Recorded) -> np.ndarray:
    """Rows that have every number of the motion."""
    return ~np.isnan(t.values[:, ~read.sparse]).any(axis=1)


def _reject_gap(t: Trajectory, name: str, when: np.ndarray, gap: float) -> None:
    """Inputs must not be empty for more than a gap between their samples."""
    steps = np.diff(np.concatenate([t.time[:1], when, t.time[-1:]]))
    usual = np.median(np.diff(when)) if len(when) >= LEAST_ROWS else 0.0
    if steps.max() > gap * usual:
        begin = t.time[0] + steps[: steps.argmax()].sum()
        where = f"{t.source}, column {name!r}"
        reject("gap of input", where, begin=begin, end=begin + steps.max())


def _reject_many(path: str, count: int) -> None:
    if count > MOST_TRAJECTORIES:
        reject("trajectories", path, count=count, most=MOST_TRAJECTORIES)


def _check_numbers(path: str, frame, read: Recorded, time, values) -> None:
    """Times everywhere, nothing infinite, no column of the motion without a number."""
    empty = np.isnan(values).all(axis=0) & ~read.sparse
    for names, block, bad in (
        ([], time[:, None], ~np.isfinite(time[:, None])),
        (read.names, values, np.isinf(values) | empty),
    ):
        bad = np.argwhere(bad)
        if len(bad):
            row, place = map(int, bad[0])
            name = f"column {names[place]!r}" if names else "the time column"
            infinite = np.isinf(block[row, place])
            what = "infinite" if infinite else "empty or not a number"
            where = f"{path}, line {frame.index[row]}, {name}"
            reject("empty cell", where, what=what, count=len(bad))


def _reject_size(path: str, names: Sequence[str], values: np.ndarray) -> None:
    size = np.nanmax(np.abs(values), axis=0, initial=0.0)
    extreme = (size > LARGEST_NUMBER) | (size > 0) & (size < 1 / LARGEST_NUMBER)
    for place in np.flatnonzero(extreme):
        reject("size", f"{path}, column {names[place]!r}", size=size[place])


@dataclass
class Clock:
    """How even the recorded times are."""

    step: float  # s between samples of the result
    jitter: float  # standard deviation of the recorded steps over the step
    filled: int  # samples that were missing and have been interpolated
    resampled: bool  # whether values were interpolated to even times
    mixed: bool = False  # whether rates differed; all get the slowest


def resample(
    trajectories: Sequence[Trajectory], smooth: int
) -> tuple[list[np.ndarray], list[float], Clock]:
    """Values on even times, by cubic splines where the clock asks for it.

    Times that are a straight line but for the rounding of their digits are taken for
    even; nothing is interpolated then but single samples that are missing. The first
    columns are smooth, others inputs, which may be held. Values, first times, clock.
    RecordingError if the clock is uneven, rates differ by far, or no trajectory is long
    enough.
    """
    long = [t for t in trajectories if len(t.time) >= LEAST_ROWS]
    if not long:
        worst = max(trajectories, key=lambda t: len(t.time))
        reject("short", worst.source, count=len(worst.time), least=LEAST_ROWS)
    for t in long:
        mean = np.diff(t.time).mean()
        scatter = np.diff(t.time).std() / mean
        if scatter > LARGEST_SCATTER_OF_STEPS:
            reject("scatter", f"{t.source}, time", percent=100 * scatter, step=mean)
    lines = [_line(t.time) for t in long]
    spans = np.array([line[1] for line in lines])
    step = float(np.median(spans))
    if spans.max() > LARGEST_RATIO_OF_RATES * spans.min():
        ends = {"largest": spans.max(), "least": spans.min()}
        source = long[int(spans.argmax())].source
        reject("rates", source, **ends, ratio=LARGEST_RATIO_OF_RATES)
    mixed = bool((np.abs(spans / step - 1) > LARGEST_DIFFERENCE_OF_STEPS).any())
    if mixed:
        step = float(spans.max())
    uneven = [np.diff(t.time) / span - 1 for t, span in zip(long, spans, strict=True)]
    jitter = float(np.sqrt(np.mean(np.concatenate(uneven) ** 2)))
    values, starts, filled, resampled = [], [], 0, False
    for t, (begin, span, number) in zip(long, lines, strict=True):
        residual = np.abs(t.time - begin - span * number).max()
        even = residual <= max(
            ROUNDING_OF_LAST_DIGIT * _digit(t.time), EVEN_WITHIN * span
        )
        same = abs(span / step - 1) * number[-1] < 0.05
        complete = len(number) == number[-1] + 1
        starts.append(float(t.time[0]))
        filled += int(number[-1] + 1 - len(number))
        if even and same and complete:
            values.append(t.values)
            continue
        time = number * span if even else t.time - t.time[0]
        count = int(np.floor(time[-1] / step * (1 + 1e-12))) + 1
        values.append(_interpolated(time, t.values, np.arange(count) * step, smooth))
        resampled |= not (even and same)
    return values, starts, Clock(step, jitter, filled, resampled, mixed)


def _line(time: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Begin and step of the straight line through the times, and their numbers."""
    steps = np.diff(time)
    ahead = np.maximum(np.rint(steps / np.median(steps)), 1)
    number = np.concatenate([[0], np.cumsum(ahead)])
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

    result = np.empty((len(at), values.shape[1]))
    result[:, :smooth] = CubicSpline(time, values[:, :smooth])(at)
    for k in range(smooth, values.shape[1]):
        result[:, k] = between(time, values[:, k], degree_of(values[:, k]))(at)
    return result
