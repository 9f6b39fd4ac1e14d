"""What is refused of tables, columns, clocks, motions, inputs: one sentence each.

A row says when, what was given, what is expected, and what to do; those who read data
call :func:`reject` with the values of a row.
"""

import re
from typing import NoReturn

# Characters that are shown of a value.
LONGEST = 1000
TABLES = """
missing: there is no such file; expected a table of samples. Paths are relative to the
    YAML file that names them
folder: it is a folder; expected a file. List its files under `files`
device: it is a device or a pipe; expected a file. List the files under `files`
empty: the file is empty; expected a table of samples. Export it again
no rows: there is no row below the names of the columns; expected a table of samples.
    Export it again
changed: it changed while it was read; expected a table that is complete. Run again when
    nothing writes to it any more
setting: {key}: {value!r}; expected {expected}. Correct it, or leave it out
not text: the file is not text; expected CSV, a whitespace table or NetCDF. Export it as
    CSV: in a spreadsheet File, Save as, CSV; or set `format: netcdf`
unreadable: it cannot be read ({error}); expected {expected}. {remedy}
two of a name: the column {name!r} appears twice; expected different names. Rename one
    of them
no names: the first line holds numbers; expected names of the columns. Add a line of
    names, or list them under `columns`
no column: {unknown}; expected a column of the table. Correct {use}
no clock: {unknown}; expected the column of the time. Correct {use}, or write `time:
    {{rate: 100}}`, in Hz, if the table has none
no pattern: no column fits {pattern!r}; expected some of {known}. Correct the pattern
long line: it has more than {most} characters; expected a row of samples in each line.
    Export it again, with line ends
nul: it holds a NUL character; expected text. Export it again
quote: a quotation mark is not closed; expected pairs of them. Repair it
cells: it has {count} cells; expected {width}, as many as names. Repair it; of
    numbers with decimal commas export the table with semicolons
no number: the cell holds {cell!r}; expected a number{comma}. Repair the cell; remarks
    begin with #
empty cell: the cell is {what} ({count} such cells); expected a number in every row.
    Delete those rows (a gap splits the trajectory), or interpolate them
size: its largest number is {size:.3g} in SI units; expected numbers between 1e-50 and
    1e+50, whose sixth powers a computer can hold. Check the unit, or write the column
    in another one
dimensions: it has the dimensions {dims}, others {others}; expected (time,) or
    (trajectory, time). Write variables of equal dimensions
rows: it has over {most} rows; expected 1 to {most}, which fit into memory. Thin the
    table, such as to every second row, or cut it into recordings
trajectories: it has {count} trajectories; expected {most} at most. Check
    `import.trajectory` and the clock, or cut the table into recordings
place twice: a time and position appear twice; expected one value for each. Name the
    column that separates motions (`import.trajectory`)
place empty: {count} times have no value at some position; expected a value for every
    time and position. Leave such positions or times out
uneven places: {count} positions with steps of {least:.4g} to {largest:.4g} m; expected
    three or more evenly spaced positions. Interpolate u to even positions, or leave
    some out
"""
CLOCKS = """
time twice: the time {now:g} s appears twice; expected time that increases. Delete the
    repeated row, or export the time with more digits
time back: time goes back from {before:g} s to {now:g} s; expected time that increases.
    Sort the rows by time, or name the column that separates trajectories
    (`import.trajectory`)
short: the longest stretch without a gap has {count} rows; expected {least} rows and
    several periods. Check `import.trajectory` and `import.time.unit`, write a larger
    `import.gap` if the clock has jumps, or record longer
scatter: steps of the clock scatter by {percent:.0f} % around {step:.3g} s; expected a
    clock that is even within 50 %. Check `import.time` and `import.trajectory`; a
    smaller `import.gap` splits the recording where the clock stops
rates: samples are {largest:.4g} s apart, elsewhere {least:.4g} s; expected one unit of
    time, and rates that differ by {ratio:g} times at most. Check the unit of the time,
    or import such recordings one by one
unit of time: {unit!r} is not a unit of time; write s, ms or us
"""
COLUMNS = """
gap of input: its cells are empty from {begin:g} s to {end:g} s; expected an input at
    least as often as every few of its samples. Cut that part out, or write zeros where
    the input is off
no common row: no row has a number in every column of the motion; expected coordinates
    that are recorded at the same times. Interpolate one of them, or leave it out
jumps: the motion jumps between samples and stays there, at row {rows} of this
    trajectory: several runs?; expected one motion in a trajectory. Name the column that
    separates runs (`import.trajectory`), or cut the table there
wide steps: at {percent:.0f} % of the rows the angle jumps by more than a quarter turn;
    expected neighbouring samples that are close to each other. Sample faster, or check
    the unit and the sensor
held out: validate.held_out names {what}; expected some of {labels}, not all. Correct
    `validate.held_out`, name one in four, or leave it out
no value: {name} has no value at {row} (in {count} rows); expected a number in every
    row. Check the expression, or delete those rows
no circle: distances from the best {names} differ by {percent:.3g} % rms; expected
    columns that stay on a circle within {most:g} %. If the distance changes, measure
    {names} and write the numbers into the expression
short arc: {names} cannot be determined: the error is {percent:.3g} % of the radius;
    expected {most:g} % at most. Record larger swings, or measure {names} and write the
    numbers into the expression
constraint: {curve}; expected coordinates that are free. {remedy}
"""
MOTIONS = """
no motion: it is {value:g} in every row; expected something that moves. Check the cable
    and the name of the column, or leave it out
turns: it spans {span:.4g} rad, {turns:.3g} turns; expected an angle in rad. If the
    column is in degrees, write `unit: deg`; if the joint really turns so far, write
    `accept: [turns]`
dead input: it is {value:g} in every row; expected an input that changes. Check the
    cable, or leave the input out
saturated: {count} samples are at its largest or smallest value: the sensor is clipped;
    expected a random motion within the range of the sensor. Measure with a wider range;
    what is cut off cannot be made up for (`accept: [saturation]` if there is a stop)
stuck: nothing changes in {count} samples, {periods:.0f} main periods: the channel is
    dead there; expected a random motion, which does not rest. Check the cable, cut that
    part out, or write `accept: [saturation]`
dead rate: it is the same in every row while the coordinate moves; expected a rate that
    changes. The channel is dead: check the cable, or leave the column out
unlike rate: the coordinate changes {ratio:.3g} times as fast as it states; expected the
    rate of the coordinate. Check the units of both (57.3 is deg for rad; a minus is a
    reversed sensor: `reverse: true`), or write `accept: [rates]`
one way: it goes one way and never turns around, as in a law of first order, x' = f(x),
    which has no inertia and no Lagrangian here; expected motion that oscillates, or
    turns around under a recorded input. If the record is a piece of an oscillation,
    record some periods of it
relaxing: it fluctuates without oscillating, as an overdamped motion does, whose inertia
    is not seen; expected an oscillation. Sample faster if it oscillates between the
    samples, or write `accept: [sampling]`
relaxing particle: it fluctuates without oscillating, as an overdamped particle does,
    whose inertia is not seen; expected an oscillation. `leastaction calibrate` gives
    corner frequency, stiffness and drag of such a motion. Sample faster if it
    oscillates between the samples, or write `accept: [sampling]`
unrelated: neighbouring samples correlate by {correlation:.2g} only: there are a few in
    a main period, or they are mostly noise; expected 8 samples per period at least,
    correlated by 0.7, better 50. Sample faster, or use a better sensor; if the motion
    is no oscillation, write `accept: [sampling]`
few in a period: {count:.1f} samples per main period of {period:.3g} s; expected 8 at
    least, better 50. Sample faster, or use a better sensor if that is noise; if the
    period is not that, write `accept: [sampling]`
noise: it moves by {size:.3g} and its noise is {noise:.3g} (SI units); expected motion
    five times above the noise. Excite it more, or use a better sensor
few periods: it lasts {duration:.3g} s, {count:.1f} periods; expected {least} at least,
    better {better}. Record longer
unbounded: the forces of {names} are not finite somewhere in the recording; expected
    candidates that are defined wherever the motion goes. Leave them out, or shift their
    argument
"""
ENTRIES = """
unknown alone: unknown is {names}, but there is no expression that they are in; write
    one, such as atan2(x - x0, y0 - y)
two sources: give a column or an expression, not both
unknown outside: the unknown {name} is in no atan2 of {text!r}; what can be estimated is
    the centre of a circle, as in atan2(x - x0, y0 - y): write another constant as a
    number
no source: {text!r} has no column of the table in it
expression of a kind: expressions are for motions; write its values into a column of the
    table
no unit: 'unit' is missing; write something like rad, deg, mm or px
unit: {unit!r} is not a unit; write something like rad, deg, count, m, mm, deg/s, N, N m
    or 1; of a column with another name both, `force [N]`
counts: the unit is {unit!r}, which needs the counts per turn; write `per_turn: 4096`,
    or whatever the encoder has
per turn: per_turn is given, but the unit is {unit!r}; write `unit: count`
no coordinate: there is no coordinate {name!r}; these are {known}
rates of some: {missing} is missing; give the column of every coordinate, or none
unit of a rate: the unit gives {unit}, but the coordinate is in {other}; write a unit
    like {such}
unit of a sensor: the unit gives {unit}, but that is in {other}; write such a unit, or
    the factor between both before what it measures, such as 0.5*(x2 - x1)
unit of no coordinate: the unit gives {unit}, {what}
rate and sensors: there are sensors, too; write `{sensor}: <its column and unit>` under
    import.sensors instead
column and sensors: it has a column, and there are sensors, too; write `{name}: <unit>`
    here, and the column under import.sensors
shared: the column {name!r} is that of {other}; name its own, column and unit, such as
    `force [N]`
"""


class RecordingError(ValueError):
    """A recording that cannot be used: where, what, what was expected, what to do."""

    def __init__(self, message: str):
        self.written = message  # for a YAML, whichever interface shows it
        super().__init__(message)


def rows_of(text: str) -> dict[str, str]:
    """Sentences by when they are due; indented lines go on.

    >>> rows_of("late: it is {hour};\\n    go home\\n")
    {'late': 'it is {hour}; go home'}
    """
    lines = filter(None, re.sub(r"\n +", " ", text).split("\n"))
    return {when: sentence for when, _, sentence in (x.partition(": ") for x in lines)}


REFUSALS = rows_of(TABLES + CLOCKS + COLUMNS + MOTIONS + ENTRIES)


def reject(when: str, where: str, **values) -> NoReturn:
    """Raise the :class:`RecordingError` of a row, its values put in.

    >>> reject("empty", "a.csv")
    Traceback (most recent call last):
    ...
    leastaction.recordings.refusals.RecordingError: a.csv: the file is empty; expected \
a table of samples. Export it again
    """
    short = {k: f"{x[:LONGEST]} ..." if _is_long(x) else x for k, x in values.items()}
    raise RecordingError(f"{where}: {REFUSALS[when].format(**short)}") from None


def _is_long(value) -> bool:
    return isinstance(value, str) and len(value) > LONGEST
