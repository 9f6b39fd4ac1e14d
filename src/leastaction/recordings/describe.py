"""What the columns of a table look like, and the YAML to start from."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from leastaction.core.families import unknown
from leastaction.recordings.checks import (
    FEW_PER_PERIOD,
    LARGEST_ANGLE,
    LEAST_PER_PERIOD,
    encoder_step,
)
from leastaction.recordings.columns import (
    ACCELERATION,
    GRAVITY,
    has_dimension,
    unit_of_heading,
)
from leastaction.recordings.command_line import (
    calibrate_text,
    learn_call,
    learn_command,
    modes_command,
)
from leastaction.recordings.configuration import Import
from leastaction.recordings.excitation import relaxes
from leastaction.recordings.interfaces import speaks_python
from leastaction.recordings.learn import angle_by_name, frame_of
from leastaction.recordings.refusals import RecordingError
from leastaction.recordings.splitting import (
    EVEN_WITHIN,
    LARGEST_SCATTER_OF_STEPS,
    LEAST_ROWS,
)
from leastaction.recordings.tables import Table, is_number, open_table

READING = {
    key: Import.model_fields[key].default
    for key in ("format", "separator", "skip_lines", "columns")
}
MOST_ROWS_DESCRIBED = 200_000
# Share of the steps of a clock that go forward.
LEAST_FORWARD = 0.9
# Steps of this many median steps are gaps.
GAP = Import.model_fields["gap"].default
# Share of empty cells from which on a column is an input recorded less often.
LEAST_SPARSE = 0.5
# Correlation with the difference quotient of another column that makes one its rate.
LEAST_CORRELATION = 0.95
# Unit by the width of the jumps where an angle begins anew.
TURNS = {360.0: "deg", 2 * np.pi: "rad", 1.0: "turn"}
# Scatter of the steps of a second clock over their mean.
LARGEST_SCATTER_OF_CLOCK = 0.01
# Names that mean an input, with a guess of its unit, and units that only inputs have.
INPUTS = {
    **dict.fromkeys(("f", "force", "input"), "N"),
    **dict.fromkeys(("tau", "torque", "effort"), "N*m"),
    **dict.fromkeys(("u", "voltage", "command", "cmd"), "V"),
    "current": "A",
}
FORCES, TORQUES = {"N", "kN"}, {"N*m", "N m", "Nm", "mNm", "kNm", "Ncm", "Nmm"}
SIGNALS = {"V", "mV", "A", "mA"}
UNITS_OF_INPUTS = FORCES | TORQUES | SIGNALS
# Passages through the mean of a stationary motion: a density asks for as many
# correlation times.
LEAST_TURNS = 100
# Share of the variance of a sample that the two before leave: of noise it is 0.99, of
# four and more positions in a period of a pendulum or of coupled springs 0.06 at most.
LARGEST_UNPREDICTED = 0.5
# An overdamped motion, which is calibrated, not learned.
PARTICLE = "particle"
# Why a table looks like one of another kind than a motion.
KINDS = {
    "field": "numbered columns are nodes of a line",
    "ports": "a voltage and a current are the two sides of a port",
    "density": "one long motion with its velocity neither grows nor decays",
    "snapshots": "a period has few samples",
    PARTICLE: "it relaxes without oscillating, as a trapped particle does",
}
# Sections of `import` that hold the rates of coordinates, by role.
RATES = {"velocity": "velocities", "acceleration": "accelerations"}
ROLES = ("time", "coordinate", "velocity", "input")
RATE_IS_MISSING = "write the samples per second in the place of HZ (`rate`)"


@dataclass(frozen=True)
class Column:
    """What is seen of one column."""

    name: str  # as the table writes it
    # time, trajectory, coordinate, velocity, acceleration, input, clock, constant, text
    role: str
    unit: str  # a guess; empty if there is none
    remarks: tuple[str, ...]  # what was measured, one phrase each
    of: str = ""  # of a velocity or an acceleration, its coordinate if it has one


@dataclass(frozen=True)
class Description:
    """Columns of a table; ``print`` shows them with the YAML to start from."""

    source: str
    rows: int
    columns: tuple[Column, ...]
    kind: str = ""  # that it may be instead of a motion, by `KINDS`

    def of_role(self, role: str) -> list[Column]:
        """Columns that have a role."""
        return [c for c in self.columns if c.role == role]

    @property
    def settings(self) -> dict:
        """Recording of this table, as in a YAML; a rate of None is to be filled in.

        Accelerations without a coordinate are `sensors`, of a motion that is randomly
        excited.
        """
        part: dict = {"files": self.source}
        for column in self.of_role("trajectory")[:1]:
            part["trajectory"] = column.name
        clock = self.of_role("time")
        part["time"] = clock[0].name if clock else {"rate": None}
        if clock and clock[0].unit != "s":
            part["time"] = {"column": clock[0].name, "unit": clock[0].unit}
        part["coordinates"] = {
            _identifier(c.name): _entry(c) for c in self.of_role("coordinate")
        }
        for role, section in RATES.items():
            rates = {_identifier(c.of): _entry(c) for c in self.of_role(role)}
            if rates and set(rates) == set(part["coordinates"]):
                part[section] = rates
        inputs = [_entry(c) for c in self.of_role("input")]
        if inputs:
            part["inputs"] = dict(zip(part["coordinates"], inputs, strict=False))
        if self._is_shaken:
            part["coordinates"] = {
                f"x{k}": "m" for k, _ in enumerate(self.of_role("acceleration"), 1)
            }
            part["sensors"] = {
                f"x{k}ddot + ground": _entry(c)
                for k, c in enumerate(self.of_role("acceleration"), 1)
            }
        recording = {"import": part}
        if self._is_shaken:
            recording["excitation"] = "random"
        if self.kind == "field":
            pattern, unit = _nodes(self.columns)
            name = _identifier(pattern.partition("*")[0])
            node = {name: {"column": pattern, "unit": unit}}
            part = {
                key: part[key] for key in part if key not in (*RATES.values(), "inputs")
            }
            part |= {"coordinates": node, "length": None}
            recording = {"kind": self.kind, "import": part}
        return {"recordings": {_identifier(Path(self.source).stem): recording}}

    @property
    def _is_shaken(self) -> bool:
        """Whether accelerations are all that was measured."""
        return bool(self.of_role("acceleration")) and not self.of_role("coordinate")

    def _of_kind(self, recording: Mapping) -> dict:
        """A recording of a motion as one of the kind that it may be."""
        part = dict(recording["import"])
        if self.kind == "ports":
            part = {k: part[k] for k in ("files", "trajectory", "time") if k in part}
            moving = [c for c in self.columns if c.role in ("coordinate", *RATES)]
            entries = {c.unit: _entry(c) for c in self.of_role("input")}
            port = _identifier(entries["V"]["column"])
            part["states"] = {_identifier(c.name): _entry(c) for c in moving}
            part |= {"inputs": {port: entries["V"]}, "outputs": {port: entries["A"]}}
        return {"kind": self.kind, "import": part}

    def __str__(self) -> str:
        width = max(len(c.name) for c in self.columns)
        lines = [f"{self.source}: {self.rows} rows"]
        roles = [f"{c.role} of {c.of}" if c.of else c.role for c in self.columns]
        wide = max(map(len, roles))
        for c, role in zip(self.columns, roles, strict=True):
            lines.append(f"  {c.name:<{width}}  {role:<{wide}}  {'; '.join(c.remarks)}")
        if not self.of_role("time"):
            lines += ["", f"No column is a clock: {RATE_IS_MISSING}"]
        (recording,) = self.settings["recordings"].values()
        lines += ["", "Next, with the right units and without columns not needed:"]
        is_file = Path(self.source).exists()
        typed = learn_command if is_file else learn_call
        if self._is_shaken and is_file:
            lines.append(modes_command(recording["import"]))
        lines.append(typed(recording))
        if self.kind and "kind" not in recording:
            why = KINDS[self.kind]
            lines += ["", f"or, since {why}:"]
            if self.kind == PARTICLE:
                lines.append(calibrate_text(recording["import"], is_file))
            else:
                lines.append(typed(self._of_kind(recording)))
        if not is_file:
            return "\n".join([*lines, ""])
        text = yaml.safe_dump(self.settings, sort_keys=False, allow_unicode=True)
        return "\n".join([*lines, "", "or as a YAML for snakemake:", text])


@speaks_python
def describe(source: Any, **reading: Any) -> Description:
    """Look at the columns of a table: rate, gaps, wraps, quantisation, roles, units.

    Parameters
    ----------
    source
        A path, or a table in memory, as of :func:`leastaction.learn`.
    reading
        `format`, `separator`, `skip_lines`, `columns`, as under `import`.

    Returns
    -------
    Description
        ``print`` shows it, with a YAML file to start from.

    Raises
    ------
    RecordingError
        If it is no table, or a key of `reading` is unknown.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> t = np.arange(0, 20, 0.01)
    >>> about = describe(pd.DataFrame({"t": t, "theta": 0.3 * np.sin(2 * t)}))
    >>> [(c.name, c.role, c.unit) for c in about.columns]
    [('t', 'time', 's'), ('theta', 'coordinate', 'rad')]
    """
    for key in set(reading) - set(READING):
        raise RecordingError(unknown("key", key, READING))
    data = source if isinstance(source, str | Path) else frame_of(source, True)
    if data is None:
        raise RecordingError(
            f"the table is {type(source).__name__}; expected a path, a "
            "pandas.DataFrame, or columns by name such as {'t': t, 'theta': theta}"
        )
    table = open_table(data, READING | reading)
    values = _first_rows(table)
    rows = len(next(iter(values.values())))
    clock = _clock(values)
    label = _labels(values, clock)
    starts = _starts(values, clock, label)
    columns = []
    for name, numbers in values.items():
        if name == clock:
            columns.append(_described_clock(name, numbers, starts))
        elif name == label:
            columns.append(Column(name, "trajectory", "", (_trajectories(starts),)))
        else:
            columns.append(_described(name, numbers, starts, values, clock))
    columns = _taken_together(columns)
    kind = _likely_kind(columns, values, starts)
    return Description(str(table.path), rows, tuple(columns), kind)


def _taken_together(columns: Sequence[Column]) -> list[Column]:
    """Guesses that columns change together.

    A voltage or a current is a sensor if nothing moves beside it, and what torques
    alone drive is an angle, unless its heading has a unit.
    """
    forces = {c.unit for c in columns if c.role == "input"}
    if not any(c.role in ("coordinate", "acceleration") for c in columns):
        moving = [c.role == "input" and c.unit in SIGNALS for c in columns]
        roles = zip(columns, moving, strict=True)
        return [replace(c, role="coordinate") if moves else c for c, moves in roles]
    if forces and forces <= TORQUES:
        guessed = {"m": "rad", "m/s": "rad/s"}
        return [
            c
            if unit_of_heading(c.name)
            else replace(c, unit=guessed.get(c.unit, c.unit))
            for c in columns
        ]
    return list(columns)


def _nodes(columns: Sequence[Column]) -> tuple[str, str] | None:
    """Pattern and unit of numbered columns, such as ``u_*``; None if they are few."""
    moving = [c.name for c in columns if c.role in ("coordinate", "velocity", "input")]
    stems = Counter(re.sub(r"\d+(?=\D*$)", "*", name, count=1) for name in moving)
    pattern, count = stems.most_common(1)[0] if stems else ("", 0)
    return (
        (pattern, unit_of_heading(pattern) or "m")
        if count >= LEAST_PER_PERIOD
        else None
    )


def _likely_kind(columns: Sequence[Column], values, starts) -> str:
    """Kind of table that the columns look like, if not a motion."""
    roles = {role: [c for c in columns if c.role == role] for role in ROLES}
    moving, inputs = roles["coordinate"], roles["input"]
    if _nodes(columns):
        return "field"
    if {"V", "A"} <= {c.unit for c in inputs} and moving:
        return "ports"
    if not moving or inputs:
        return ""
    q = [_parts(values[c.name], starts) for c in moving]
    if len(moving) == 1 and not roles["velocity"] and relaxes(q[0]):
        return PARTICLE
    if not roles["time"]:
        return ""
    turns = max(sum(map(_turns, parts)) for parts in q)
    if len(starts) == len(moving) == len(roles["velocity"]) == 1:
        before, after = (half.std() for half in np.array_split(q[0][0], 2))
        # Two standard errors of the ratio of two rms values of turns/2 samples each.
        steady = abs(np.log(before / after)) < 2 * np.sqrt(2 / max(turns, 1))
        return "density" if steady and turns >= LEAST_TURNS else ""
    rows = len(values[moving[0].name])
    coarse = 2 * rows < FEW_PER_PERIOD * turns and all(map(_follows, q))
    return "snapshots" if coarse else ""


def _follows(parts: Sequence[np.ndarray]) -> bool:
    """Whether two samples predict the next one; those of noise do not."""
    rows = [np.stack([p[:-2], p[1:-1], p[2:]]) for p in parts if len(p) > 2]
    related = np.corrcoef(np.hstack(rows))
    bound = LARGEST_UNPREDICTED * np.linalg.det(related[:2, :2])
    return bool(np.linalg.det(related) < bound)


def _turns(values: np.ndarray) -> int:
    """How often a series passes its mean."""
    return int((np.diff(np.signbit(values - values.mean())) != 0).sum())


def _trajectories(starts: np.ndarray) -> str:
    return "1 trajectory" if len(starts) == 1 else f"{len(starts)} trajectories"


def _first_rows(table: Table) -> dict[str, np.ndarray]:
    """Columns of the first rows; numbers where all cells are numbers."""
    piece = table.rows(table.columns, [], MOST_ROWS_DESCRIBED)
    return {name: piece[name].to_numpy() for name in table.columns}


def _is_number(values: np.ndarray) -> bool:
    return values.dtype.kind in "fiu"


def _clock(values: Mapping[str, np.ndarray]) -> str | None:
    """Column whose steps are positive and alike, restarts set aside."""
    for name, numbers in values.items():
        if not _is_number(numbers) or len(numbers) < 3:
            continue
        steps = np.diff(numbers.astype(float))
        forward = steps[steps > 0]
        if len(forward) < LEAST_FORWARD * len(steps):
            continue
        usual = forward[forward < GAP * np.median(forward)]
        if usual.std() < LARGEST_SCATTER_OF_STEPS * usual.mean():
            return name
    return None


def _labels(values: Mapping[str, np.ndarray], clock: str | None) -> str | None:
    """Column that is constant over stretches, each value in one of them."""
    for name, labels in values.items():
        if name == clock or (labels.dtype.kind == "f" and (labels % 1 != 0).any()):
            continue
        labels = labels.astype(str)
        changed = labels[1:] != labels[:-1]
        distinct = len(np.unique(labels))
        long = len(labels) >= LEAST_ROWS * distinct
        if not long and clock:  # unless the clock starts again with each
            long = bool((changed == (np.diff(values[clock]) <= 0)).all())
        if changed.any() and distinct == changed.sum() + 1 and long:
            return name
    return None


def _starts(values, clock: str | None, label: str | None) -> np.ndarray:
    """Rows with which trajectories begin: a new label, or time that starts again."""
    if label:
        labels = values[label].astype(str)
        new = labels[1:] != labels[:-1]
    elif clock:
        new = np.diff(values[clock]) <= 0
    else:
        new = np.zeros(0)
    return np.concatenate([[0], np.flatnonzero(new) + 1])


def _parts(numbers: np.ndarray, starts: np.ndarray) -> list[np.ndarray]:
    return np.split(numbers.astype(float), starts[1:])


def _described_clock(name: str, numbers: np.ndarray, starts) -> Column:
    steps = np.concatenate([np.diff(part) for part in _parts(numbers, starts)])
    step = float(np.median(steps))
    guessed = not unit_of_heading(name) and step >= 0.5
    unit = unit_of_heading(name) or ("ms" if guessed else "s")
    rate = {"ms": 1e3, "us": 1e6}.get(unit, 1.0) / step
    remarks = [f"{rate:.5g} samples per second" + " if it is in ms" * guessed]
    jitter = float((steps[steps < GAP * step] - step).std() / step)
    if jitter > EVEN_WITHIN:
        remarks.append(f"uneven by {100 * jitter:.2g} %")
    gaps = int((steps > GAP * step).sum())
    if gaps:
        remarks.append(f"{gaps} gap{'s' * (gaps > 1)}")
    remarks.append(_trajectories(starts))
    return Column(name, "time", unit, tuple(remarks))


def _described(name, numbers, starts, values, clock) -> Column:
    if not _is_number(numbers):
        bad = next((repr(x) for x in map(str, numbers) if not is_number(x)), "text")
        return Column(name, "text", "", (f"holds {bad}",))
    missing = int(np.isnan(numbers.astype(float)).sum())
    if LEAST_SPARSE * len(numbers) < missing <= len(numbers) - LEAST_ROWS:
        unit, filled = unit_of_heading(name) or "N", f"{missing} empty cells between"
        return Column(
            name, "input", unit, (f"{len(numbers) - missing} numbers", filled)
        )
    if missing:
        return Column(name, "text", "", (f"{missing} empty cells",))
    if np.ptp(numbers) == 0:
        return Column(name, "constant", "", (f"{numbers[0]:g} in every row",))
    parts = _parts(numbers, starts)
    remarks = [f"{numbers.min():.4g} … {numbers.max():.4g}"]
    unit = unit_of_heading(name) or (_angle(numbers) if angle_by_name(name) else "")
    unit = unit or ("m/s^2" if name.lower().startswith("acc") else "")
    jumps = np.concatenate([np.diff(part) for part in parts])
    for turn, text in TURNS.items():
        wraps = int((np.abs(np.abs(jumps) - turn) < 0.1 * turn).sum())
        if wraps and np.ptp(numbers) <= 1.001 * turn and np.ptp(numbers) > 0.9 * turn:
            remarks.append(f"wraps {wraps} times at {turn:.4g}")
            unit = text
            break
    step, quantised = encoder_step(parts)
    if quantised:
        remarks.append(f"steps of {step:.3g}")
    if force := _unit_of_input(name):
        return Column(name, "input", force, tuple(remarks))
    if clock and _is_clock(parts, _parts(values[clock], starts)):
        return Column(name, "clock", "", (*remarks, f"goes with {clock}"))
    if has_dimension(GRAVITY.get(unit, unit), ACCELERATION):
        of = _rate_of(name, numbers, starts, values, clock, order=2) or ""
        return Column(name, "acceleration", unit, tuple(remarks), of)
    of = _rate_of(name, numbers, starts, values, clock) or ""
    role = "velocity" if of else "coordinate"
    return Column(name, role, unit or ("m/s" if of else "m"), tuple(remarks), of)


def _is_clock(parts: list[np.ndarray], clocks: list[np.ndarray]) -> bool:
    """Whether a column is the clock in another unit, or counts its samples."""
    rates = [
        np.diff(part) / np.diff(clock)
        for part, clock in zip(parts, clocks, strict=True)
        if (np.diff(clock) > 0).all()
    ]
    rate = np.concatenate([[], *rates])
    even = len(rate) and np.ptp(rate) < LARGEST_SCATTER_OF_CLOCK * abs(rate.mean())
    return bool(even)


def _angle(numbers: np.ndarray) -> str:
    """Rad, unless half the range is far beyond what a joint turns."""
    return "deg" if np.ptp(numbers) / 2 > LARGEST_ANGLE else "rad"


def _rate_of(name, numbers, starts, values, clock, order=1) -> str | None:
    """Another column whose difference quotient of an order this one is."""
    time = (
        values[clock].astype(float) if clock else np.arange(len(numbers), dtype=float)
    )
    parts = list(zip(starts, [*starts[1:], len(numbers)], strict=True))
    for other, y in values.items():
        if other in (name, clock) or not _is_number(y):
            continue
        pairs = [
            (_quotient(y[a:b].astype(float), time[a:b], order), numbers[a:b])
            for a, b in parts
            if b - a > 3 and (np.diff(time[a:b]) > 0).all()
        ]
        if not pairs:
            continue
        rate, mine = (np.concatenate(each) for each in zip(*pairs, strict=True))
        if rate.std() > 0 and np.corrcoef(rate, mine)[0, 1] > LEAST_CORRELATION:
            return other
    return None


def _quotient(values: np.ndarray, time: np.ndarray, order: int) -> np.ndarray:
    for _ in range(order):
        values = np.gradient(values, time)
    return values


def _unit_of_input(name: str) -> str:
    """Unit of a column that a motor or a shaker makes; empty if its name says none."""
    stem = re.sub(r"[\[(].*|[\W_\d]+", "", name).lower()
    unit = unit_of_heading(name)
    return unit if unit in UNITS_OF_INPUTS else "" if unit else INPUTS.get(stem, "")


def _identifier(text: str) -> str:
    """Name that formulas can use."""
    bare = re.sub(r"[\[(].*", "", text).strip()
    name = re.sub(r"\W+", "_", bare).strip("_") or "q"
    return name if name[0].isalpha() else f"q_{name}"


def _entry(column: Column):
    """Unit alone, or column and unit where the name differs."""
    if column.role == "coordinate" and _identifier(column.name) == column.name:
        return column.unit
    return {"column": column.name, "unit": column.unit}
