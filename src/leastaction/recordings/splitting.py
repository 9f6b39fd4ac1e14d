"""Rows of tables as trajectories: numbers checked, time checked, gaps found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from leastaction.recordings.columns import uses_of
from leastaction.recordings.error import RecordingError
from leastaction.recordings.inputs import between, is_held
from leastaction.recordings.tables import open_table

# Rows of one trajectory, and of all that are kept: a longer recording is cut, and of
# its stretches every second, fourth, ... is kept.
MOST_ROWS_OF_TRAJECTORY = 1 << 17
MOST_ROWS = 1 << 22
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
class Splitter:
    """Collects rows, piece by piece, into trajectories; memory is bounded."""

    names: Sequence[str]  # columns of numbers, for messages
    sparse: np.ndarray  # which of them may have empty cells: inputs
    gap: float  # a step of this many median steps begins a new trajectory
    labelled: bool  # whether a column tells them apart, or time that starts again
    done: list[Trajectory] = field(default_factory=list)
    gaps: int = 0
    rows: int = 0
    _open: list[tuple] = field(default_factory=list)
    _label: str = "0"
    _source: str = ""
    _step: float = 0.0
    _stride: int = 1
    _closed: int = 0
    _kept: int = 0

    def add(self, path, line: int, labels, time: np.ndarray, values: np.ndarray):
        """Rows of one piece, from `line` on; trajectories may begin within it."""
        _check_numbers(path, line, self, time, values)
        self.rows += len(time)
        text = None if labels is None else labels.astype(str)
        edges = [0, len(time)]
        if text is not None:
            edges[1:1] = list(np.flatnonzero(text[1:] != text[:-1]) + 1)
        for start, stop in zip(edges[:-1], edges[1:], strict=True):
            label = str(len(self.done)) if text is None else str(text[start])
            if text is not None and self._open and label != self._label:
                self.end()
            if not self._open:
                self._label = label
            self._run(path, line + start, time[start:stop], values[start:stop])

    def _run(self, path, line: int, time, values) -> None:
        """Rows with one label: cut at gaps and where time starts again."""
        before = self._open[-1][0][-1] if self._open else np.nan
        steps = np.diff(time, prepend=before)
        if not self._step and (steps > 0).any():
            self._step = float(np.median(steps[steps > 0]))
        start = 0
        begin = self._open[0][0][0] if self._open else time[0]
        for i in np.flatnonzero(~(steps > 0) | (steps > self.gap * self._step)):
            if np.isnan(steps[i]):
                continue
            restarted = not self.labelled and time[i] <= begin + self._step
            if steps[i] <= 0 and not restarted:
                _refuse_time(path, line + i, time[i], time[i] - steps[i])
            self.gaps += not restarted
            self._append(path, line + start, time[start:i], values[start:i])
            label = self._label
            self.close()
            self._label = label if self.labelled else str(self._closed)
            start, begin = i, time[i]
        self._append(path, line + start, time[start:], values[start:])

    def _append(self, path, line, time, values) -> None:
        while len(time):
            room = MOST_ROWS_OF_TRAJECTORY - sum(len(part[0]) for part in self._open)
            if not self._open:
                self._source = f"{path}, line {line}"
            self._open.append((time[:room], values[:room]))
            if len(time) < room:
                return
            time, values, line = time[room:], values[room:], line + room
            label = self._label
            self.close()
            self._label = label

    def end(self) -> None:
        """End the present trajectory; the next may have another clock."""
        self.close()
        self._step = 0.0

    def close(self) -> None:
        """End the present trajectory; of very many, every second one is dropped."""
        if not self._open:
            return
        time, values = (np.concatenate(part) for part in zip(*self._open, strict=True))
        self._open = []
        if self._closed % self._stride == 0:
            self.done.append(Trajectory(self._label, time, values, self._source))
            self._kept += len(time)
        self._closed += 1
        while self._kept > MOST_ROWS and len(self.done) > 1:
            self.done = self.done[::2]
            self._kept = sum(len(t.time) for t in self.done)
            self._stride *= 2


def read_trajectories(
    paths: Sequence, settings: Mapping, columns, factor: float
) -> Splitter:
    """Trajectories of all files, in their order.

    `settings` is the section `import`; `columns` are those of numbers, in the order of
    the values; `factor` is a unit of time in s.
    """
    time_column, labels = settings["time"].get("column"), settings.get("trajectory")
    names = [c.name for c in columns]
    uses = uses_of(columns, settings)
    sparse = np.array([c.use.startswith("import.inputs.") for c in columns])
    splitter = Splitter(names, sparse, settings["gap"], bool(labels))
    for path in paths:
        table = open_table(path, settings)
        table.check_columns(uses)
        count = 0
        for line, piece in table.pieces(list(uses)):
            numbers = {n: _numbers(table.path, line, n, piece[n]) for n in {*names}}
            values = np.stack([c.convert(numbers[c.name]) for c in columns], axis=1)
            if time_column:
                cells = piece[time_column]
                time = factor * _numbers(table.path, line, time_column, cells)
            else:
                time = (count + np.arange(len(values))) / settings["time"]["rate"]
            count += len(values)
            label = piece.get("trajectory of the file")
            label = piece[labels] if labels else label
            splitter.add(table.path, line, label, time, values)
        splitter.end()
    if not splitter.done:
        raise RecordingError(
            str(table.path), "there is no row", "a table of samples", "Export it again"
        )
    return splitter


def _numbers(path, line: int, name: str, cells: np.ndarray) -> np.ndarray:
    """Cells as numbers; the first that is none is named."""
    if cells.dtype.kind in "fiu":
        return cells.astype(float)
    found = np.empty(len(cells))
    for i, cell in enumerate(cells):
        try:
            found[i] = float(str(cell))  # neither true nor complex
        except (TypeError, ValueError):
            raise RecordingError(
                f"{path}, line {line + i}, column {name!r}",
                f"{str(cell)!r} stands there",
                "a number",
                "Repair the cell; lines of units are left out by `skip_lines`, "
                "remarks by a leading #",
            ) from None
    return found


def fill_inputs(read: Splitter) -> list[str]:
    """Fill empty cells of inputs that were recorded at other times than the motion.

    In place, as :func:`leastaction.recordings.inputs.between` their samples; a sentence
    for each such input comes back. Rows of inputs alone are left out then.

    Raises
    ------
    RecordingError
        If cells are empty for so long that a trajectory would have ended there.
    """
    texts = []
    for place in np.flatnonzero(read.sparse):
        name, known = read.names[place], []
        for t in read.done:
            own = np.isfinite(t.values[:, place])
            known.append(own[_moving(t, read)])
            if own.all():
                continue
            _refuse_empty(t, name, t.time[own], read.gap)
            when, values = t.time[own], t.values[own, place]
            signal = between(when, values, is_held(values))
            t.values[:, place] = signal(np.clip(t.time, when[0], when[-1]))
        share = np.concatenate(known).mean()
        if share < 1:
            texts.append(
                f"column {name!r} is empty in {100 - 100 * share:.3g} % of the rows; "
                "there it is interpolated, or held if most of its numbers repeat"
            )
    for t in read.done:
        there = _moving(t, read)
        t.time, t.values = t.time[there], t.values[there]
        read.rows -= int((~there).sum())
    return texts


def _moving(t: Trajectory, read: Splitter) -> np.ndarray:
    """Rows that hold more than inputs."""
    return ~np.isnan(t.values[:, ~read.sparse]).any(axis=1)


def _refuse_empty(t: Trajectory, name: str, when: np.ndarray, gap: float) -> None:
    """Inputs must not be empty for more than a gap between their samples."""
    steps = np.diff(np.concatenate([t.time[:1], when, t.time[-1:]]))
    usual = np.median(np.diff(when)) if len(when) >= LEAST_ROWS else 0.0
    if steps.max() > gap * usual:
        begin = t.time[0] + steps[: steps.argmax()].sum()
        raise RecordingError(
            f"{t.source}, column {name!r}",
            f"its cells are empty from {begin:g} s to {begin + steps.max():g} s",
            "an input at least as often as every few of its samples",
            "Cut that part out, or write zeros where the input is off",
        )


def _check_numbers(path, line, into: Splitter, time, values) -> None:
    """Numbers everywhere, but for inputs, and for the rest in rows of inputs alone."""
    empty = np.isnan(values)
    alone = empty[:, ~into.sparse].all(axis=1) & ~empty.all(axis=1)
    bad_time = ~np.isfinite(time[:, None])
    needed = np.isinf(values) | (empty & ~into.sparse & ~alone[:, None])
    for names, block, bad in (
        (None, time[:, None], bad_time),
        (into.names, values, needed),
    ):
        bad = np.argwhere(bad)
        if len(bad):
            row, place = map(int, bad[0])
            name = f"column {names[place]!r}" if names else "the time column"
            kind = (
                "infinite" if np.isinf(block[row, place]) else "empty or not a number"
            )
            raise RecordingError(
                f"{path}, line {line + row}, {name}",
                f"the cell is {kind} ({len(bad)} such cells in this stretch)",
                "a number in every row",
                "Delete those rows (a gap splits the trajectory), or interpolate them "
                "knowingly",
            )


def _refuse_time(path, line: int, now: float, before: float) -> None:
    if now == before:
        given = f"the time {now:g} s stands there twice"
        remedy = "Delete the repeated row, or export the time with more digits"
    else:
        given = f"time goes back from {before:g} s to {now:g} s"
        remedy = (
            "Sort the rows by time, or name the column that tells trajectories apart "
            "(`import.trajectory`)"
        )
    raise RecordingError(
        f"{path}, line {line}, time", given, "time that increases", remedy
    )


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

    Raises
    ------
    RecordingError
        If the clock is uneven, rates differ by far, or no trajectory is long enough.
    """
    long = [t for t in trajectories if len(t.time) >= LEAST_ROWS]
    if not long:
        worst = max(trajectories, key=lambda t: len(t.time))
        raise RecordingError(
            worst.source,
            f"the longest stretch without a gap has {len(worst.time)} rows",
            f"{LEAST_ROWS} rows and several periods",
            "Check `import.trajectory` and `import.time.unit`, write a larger "
            "`import.gap` if the clock has jumps, or record longer",
        )
    for t in long:
        scatter = np.diff(t.time).std() / np.diff(t.time).mean()
        if scatter > LARGEST_SCATTER_OF_STEPS:
            raise RecordingError(
                f"{t.source}, time",
                f"steps of the clock scatter by {100 * scatter:.0f} % around "
                f"{np.diff(t.time).mean():.3g} s",
                "a clock that is even within 50 %",
                "Check `import.time` and `import.trajectory`; a smaller `import.gap` "
                "splits the recording where the clock stops",
            )
    lines = [_line(t.time) for t in long]
    spans = np.array([line[1] for line in lines])
    step = float(np.median(spans))
    if spans.max() > LARGEST_RATIO_OF_RATES * spans.min():
        raise RecordingError(
            long[int(spans.argmax())].source,
            f"samples are {spans.max():.4g} s apart, elsewhere {spans.min():.4g} s",
            f"one unit of time, and rates that differ by {LARGEST_RATIO_OF_RATES:g} "
            "times at most",
            "Check the unit of the time, or import such recordings one by one",
        )
    mixed = bool((np.abs(spans / step - 1) > LARGEST_DIFFERENCE_OF_STEPS).any())
    if mixed:
        step = float(spans.max())
    uneven = [np.diff(t.time) / own - 1 for t, own in zip(long, spans, strict=True)]
    jitter = float(np.sqrt(np.mean(np.concatenate(uneven) ** 2)))
    values, starts, filled, resampled = [], [], 0, False
    for t, (begin, own, number) in zip(long, lines, strict=True):
        residual = np.abs(t.time - begin - own * number).max()
        even = residual <= max(
            ROUNDING_OF_LAST_DIGIT * _digit(t.time), EVEN_WITHIN * own
        )
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

    found = np.empty((len(at), values.shape[1]))
    found[:, :smooth] = CubicSpline(time, values[:, :smooth])(at)
    for k in range(smooth, values.shape[1]):
        found[:, k] = between(time, values[:, k], is_held(values[:, k]))(at)
    return found
