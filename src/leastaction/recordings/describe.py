"""What the columns of a table look like, and the YAML to start from."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from leastaction.core.families import unknown
from leastaction.recordings.checks import LARGEST_ANGLE, encoder_step
from leastaction.recordings.columns import unit_of_heading
from leastaction.recordings.command_line import learn_command
from leastaction.recordings.error import RecordingError
from leastaction.recordings.learn import angle_by_name
from leastaction.recordings.tables import Table, open_table

READING = {"format": "auto", "separator": None, "skip_lines": 0, "columns": []}
MOST_ROWS_DESCRIBED = 200_000
# Share of the steps of a clock that go forward, and their scatter over their mean.
LEAST_FORWARD, LARGEST_SCATTER = 0.9, 0.5
# Steps of this many median steps are gaps.
GAP = 5.0
# Rows of a trajectory, at least, that a column of labels leaves.
LEAST_ROWS = 16
# Share of empty cells from which on a column is an input recorded less often.
LEAST_SPARSE = 0.5
# Correlation with the difference quotient of another column that makes one its rate.
LEAST_CORRELATION = 0.95
# Unit by the width of the jumps where an angle begins anew.
TURNS = {360.0: "deg", 2 * np.pi: "rad", 1.0: "turn"}
# Names that mean an input, with a guess of its unit, and units that only inputs have.
INPUTS = {
    **dict.fromkeys(("f", "force", "input"), "N"),
    **dict.fromkeys(("tau", "torque", "effort"), "N*m"),
    **dict.fromkeys(("u", "voltage", "command", "cmd"), "V"),
    "current": "A",
}
UNITS_OF_INPUTS = {"N", "kN", "N*m", "N m", "Nm", "V", "mV", "A", "mA"}


@dataclass(frozen=True)
class Column:
    """What is seen of one column."""

    name: str  # as the table writes it
    role: str  # time, trajectory, coordinate, velocity, input, constant or text
    unit: str  # a guess; empty if there is none
    remarks: tuple[str, ...]  # what was measured, one phrase each
    of: str = ""  # of a velocity, its coordinate


@dataclass(frozen=True)
class Description:
    """Columns of a table; ``print`` shows them with the YAML to start from."""

    source: str
    rows: int
    columns: tuple[Column, ...]

    def of_role(self, role: str) -> list[Column]:
        """Columns that have a role."""
        return [c for c in self.columns if c.role == role]

    @property
    def settings(self) -> dict:
        """Recording of this table, as a YAML says it."""
        found: dict = {"files": self.source}
        for column in self.of_role("trajectory")[:1]:
            found["trajectory"] = column.name
        clock = self.of_role("time")
        found["time"] = clock[0].name if clock else {"rate": 100}
        if clock and clock[0].unit != "s":
            found["time"] = {"column": clock[0].name, "unit": clock[0].unit}
        found["coordinates"] = {
            _identifier(c.name): _entry(c) for c in self.of_role("coordinate")
        }
        rates = {_identifier(c.of): _entry(c) for c in self.of_role("velocity")}
        if rates and set(rates) == set(found["coordinates"]):
            found["velocities"] = rates
        inputs = [_entry(c) for c in self.of_role("input")]
        if inputs:
            found["inputs"] = dict(zip(found["coordinates"], inputs, strict=False))
        return {"recordings": {_identifier(Path(self.source).stem): {"import": found}}}

    def __str__(self) -> str:
        width = max(len(c.name) for c in self.columns)
        lines = [f"{self.source}: {self.rows} rows"]
        for c in self.columns:
            role = f"rate of {c.of}" if c.of else c.role
            lines.append(f"  {c.name:<{width}}  {role:<10}  {'; '.join(c.remarks)}")
        text = yaml.safe_dump(self.settings, sort_keys=False)
        lines += ["", "Next, with the right units and without what is none:"]
        if Path(self.source).exists():
            (part,) = self.settings["recordings"].values()
            lines += [learn_command(part["import"]), "", "or as a YAML for snakemake:"]
        return "\n".join([*lines, text])


def describe(source: Any, **reading: Any) -> Description:
    """Look at the columns of a table: rate, gaps, wraps, quantisation, roles, units.

    Parameters
    ----------
    source
        A path, or a :class:`pandas.DataFrame`.
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
    table = open_table(source, READING | reading)
    values = _first_rows(table)
    rows = len(next(iter(values.values())))
    clock = _clock(values)
    label = _labels(values, clock)
    starts = _starts(values, clock, label)
    found = []
    for name, own in values.items():
        if name == clock:
            found.append(_described_clock(name, own, starts))
        elif name == label:
            found.append(
                Column(name, "trajectory", "", (f"{len(starts)} trajectories",))
            )
        else:
            found.append(_described(name, own, starts, values, clock))
    return Description(str(table.path), rows, tuple(found))


def _first_rows(table: Table) -> dict[str, np.ndarray]:
    """Columns of the first rows; numbers where all cells are numbers."""
    piece = table.rows(table.columns, {}, MOST_ROWS_DESCRIBED)
    return {name: piece[name].to_numpy() for name in table.columns}


def _is_number(values: np.ndarray) -> bool:
    return values.dtype.kind in "fiu"


def _clock(values: Mapping[str, np.ndarray]) -> str | None:
    """Column whose steps are positive and alike, restarts set aside."""
    for name, own in values.items():
        if not _is_number(own) or len(own) < 3:
            continue
        steps = np.diff(own.astype(float))
        forward = steps[steps > 0]
        if len(forward) < LEAST_FORWARD * len(steps):
            continue
        usual = forward[forward < GAP * np.median(forward)]
        if usual.std() < LARGEST_SCATTER * usual.mean():
            return name
    return None


def _labels(values: Mapping[str, np.ndarray], clock: str | None) -> str | None:
    """Column that is constant over stretches, each value in one of them."""
    for name, own in values.items():
        if name == clock or (own.dtype.kind == "f" and (own % 1 != 0).any()):
            continue
        own = own.astype(str)
        changes = int((own[1:] != own[:-1]).sum())
        distinct = len(np.unique(own))
        if changes and distinct == changes + 1 and len(own) >= LEAST_ROWS * distinct:
            return name
    return None


def _starts(values, clock: str | None, label: str | None) -> np.ndarray:
    """Rows with which trajectories begin: a new label, or time that starts again."""
    if label:
        own = values[label].astype(str)
        new = own[1:] != own[:-1]
    elif clock:
        new = np.diff(values[clock]) <= 0
    else:
        new = np.zeros(len(next(iter(values.values()))) - 1, dtype=bool)
    return np.concatenate([[0], np.flatnonzero(new) + 1])


def _parts(own: np.ndarray, starts: np.ndarray) -> list[np.ndarray]:
    return np.split(own.astype(float), starts[1:])


def _described_clock(name: str, own: np.ndarray, starts) -> Column:
    steps = np.concatenate([np.diff(part) for part in _parts(own, starts)])
    step = float(np.median(steps))
    unit = unit_of_heading(name) or ("ms" if step >= 0.5 else "s")
    rate = {"ms": 1e3, "us": 1e6}.get(unit, 1.0) / step
    remarks = [f"{rate:.5g} samples per second"]
    jitter = float((steps[steps < GAP * step] - step).std() / step)
    if jitter > 1e-3:
        remarks.append(f"uneven by {100 * jitter:.2g} %")
    gaps = int((steps > GAP * step).sum())
    if gaps:
        remarks.append(f"{gaps} gaps")
    remarks.append(f"{len(starts)} trajectories")
    return Column(name, "time", unit, tuple(remarks))


def _described(name, own, starts, values, clock) -> Column:
    if not _is_number(own):
        bad = next((repr(str(x)) for x in own if not _reads_as_number(x)), "text")
        return Column(name, "text", "", (f"holds {bad}",))
    missing = int(np.isnan(own.astype(float)).sum())
    if LEAST_SPARSE * len(own) < missing <= len(own) - LEAST_ROWS:
        unit, told = unit_of_heading(name) or "N", f"{missing} empty cells between"
        return Column(name, "input", unit, (f"{len(own) - missing} numbers", told))
    if missing:
        return Column(name, "text", "", (f"{missing} empty cells",))
    if np.ptp(own) == 0:
        return Column(name, "constant", "", (f"{own[0]:g} in every row",))
    parts = _parts(own, starts)
    remarks = [f"{own.min():.4g} … {own.max():.4g}"]
    unit = unit_of_heading(name) or (_angle(own) if angle_by_name(name) else "")
    jumps = np.concatenate([np.diff(part) for part in parts])
    for turn, text in TURNS.items():
        wraps = int((np.abs(np.abs(jumps) - turn) < 0.1 * turn).sum())
        if wraps and np.ptp(own) <= 1.001 * turn and np.ptp(own) > 0.9 * turn:
            remarks.append(f"wraps {wraps} times at {turn:.4g}")
            unit = text
            break
    step, quantised = encoder_step(parts)
    if quantised:
        remarks.append(f"steps of {step:.3g}")
    if pushed := _unit_of_input(name):
        return Column(name, "input", pushed, tuple(remarks))
    whose = _rate_of(name, own, starts, values, clock)
    role = "velocity" if whose else "coordinate"
    unit = unit or ("" if whose else "m")
    return Column(name, role, unit or "m/s", tuple(remarks), whose or "")


def _angle(own: np.ndarray) -> str:
    """Rad, unless half the range is far beyond what a joint turns."""
    return "deg" if np.ptp(own) / 2 > LARGEST_ANGLE else "rad"


def _rate_of(name, own, starts, values, clock) -> str | None:
    """Another column whose difference quotient this one is."""
    time = values[clock].astype(float) if clock else np.arange(len(own), dtype=float)
    parts = list(zip(starts, [*starts[1:], len(own)], strict=True))
    for other, y in values.items():
        if other in (name, clock) or not _is_number(y):
            continue
        pairs = [
            (np.gradient(y[a:b].astype(float), time[a:b]), own[a:b])
            for a, b in parts
            if b - a > 3 and (np.diff(time[a:b]) > 0).all()
        ]
        if not pairs:
            continue
        rate, mine = (np.concatenate(each) for each in zip(*pairs, strict=True))
        if rate.std() > 0 and np.corrcoef(rate, mine)[0, 1] > LEAST_CORRELATION:
            return other
    return None


def _reads_as_number(cell) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


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
