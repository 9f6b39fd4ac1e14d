"""A user's tables as data frames: every row checked before it is believed.

pandas pads a row that is too short and, where columns are chosen, cuts one that is too
long. So rows are counted on their way into pandas (:func:`_samples`), and cells are
read as numbers or not at all. What is refused stands in :mod:`.refusals`.
"""

import array
import codecs
import csv
import itertools
import os
import re
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from leastaction.core.contracts import ContractError
from leastaction.core.families import unknown
from leastaction.core.files import (
    MOST_BYTES_OF_VARIABLE,
    columns_of_foreign,
    open_foreign,
)
from leastaction.core.units import is_unit
from leastaction.recordings.columns import clock_scale, unit_of_heading
from leastaction.recordings.refusals import RecordingError, reject

if TYPE_CHECKING:
    from pandas import DataFrame, Series

# A longer line has no samples: 3,000 columns of 20 characters fit.
LONGEST_LINE = 2**16
LINES_OF_HEADING, LINES_AT_ONCE = 60, 2**14
# Rows that fit into 500 MB with five columns of numbers, and their copy.
MOST_ROWS = 1 << 22
# Bytes that a workbook unpacks to: openpyxl holds 60 for each element, of 4 or more.
LARGEST_WORKBOOK = 2**25
# Column of a NetCDF file over (trajectory, time).
OUTER = "trajectory of the file"


@contextmanager
def unchanged(paths: Sequence[str | Path]) -> Iterator[None]:
    """Refuse files that are written, cut or replaced while they are used; not frames.

    The RecordingError comes at the end, instead of whatever half a file led to.
    """
    before = {p: _state(p) for p in paths if isinstance(p, str | Path)}
    try:
        yield
    finally:
        for path, state in before.items():
            if _state(path) != state:
                reject("changed", str(path))


def _state(path: str | Path) -> tuple | None:
    """Size, times and identity of a file; None if there is none."""
    try:
        now = os.stat(path)
    except FileNotFoundError:
        return None
    return now.st_size, now.st_mtime_ns, now.st_ctime_ns, now.st_ino


@dataclass(frozen=True)
class Table:
    """Names of the columns of a table; its rows are read when they are needed."""

    path: str  # as messages call it
    columns: Sequence[str]
    # Of names, those that are texts and the most rows: a frame, its index the lines.
    rows: Callable[[Sequence[str], Sequence[str], int | None], "DataFrame"]
    decimal: str = "."

    def __post_init__(self):
        ((name, count),) = Counter(self.columns).most_common(1) or [("", 0)]
        if count > 1:
            reject("two of a name", self.path, name=name)

    def check_columns(self, uses: Mapping[str, str]) -> None:
        """RecordingError if a column is missing; `uses` says what each is for."""
        for column, use in uses.items():
            if self.heading(column) not in self.columns:
                where = f"{self.path}, column {column!r} ({use})"
                names = unknown("column", column, self.columns)
                when = "no clock" if use == "import.time" else "no column"
                reject(when, where, unknown=names, use=use)

    def heading(self, name: str) -> str:
        """Name of a column as the table writes it: ``force`` may be ``force [N]``."""
        with_unit = re.compile(re.escape(name) + r"\s*(\[.*\]|\(.*\))")
        close = [c for c in self.columns if with_unit.fullmatch(c)]
        return close[0] if name not in self.columns and len(close) == 1 else name

    def read(self, numbers: Sequence[str], texts: Sequence[str] = ()) -> "DataFrame":
        """Columns `numbers` as floating-point numbers, `texts` as text.

        The index holds the line of each row; empty cells are NaN. RecordingError,
        naming the line and the cell, if one is no number.
        """
        import pandas as pd

        names = {name: self.heading(name) for name in (*numbers, *texts)}
        headings = list(dict.fromkeys(names.values()))
        frame = self.rows(headings, [names[name] for name in texts], None)
        if len(frame) > MOST_ROWS:
            reject("rows", self.path, most=MOST_ROWS)
        columns = {name: frame[heading] for name, heading in names.items()}
        columns |= {name: self._as_numbers(name, columns[name]) for name in numbers}
        return pd.DataFrame(columns | ({OUTER: frame[OUTER]} if OUTER in frame else {}))

    def _as_numbers(self, name: str, column: "Series") -> "Series":
        """Numbers of a column; the first cell that is none is named with its line."""
        import pandas as pd

        if column.dtype.kind in "iuf":
            return column.astype(float)
        cells = column.where(column.isna(), column.astype(str).str.strip())
        if self.decimal == ",":
            cells = cells.str.replace(".", "?").str.replace(",", ".")
        read = pd.to_numeric(cells, errors="coerce")
        wrong = np.flatnonzero(read.isna() & cells.notna() & (cells != ""))
        if len(wrong):
            where = f"{self.path}, line {column.index[wrong[0]]}, column {name!r}"
            comma = " with a decimal comma" if self.decimal == "," else ""
            reject("no number", where, cell=str(column.iloc[wrong[0]]), comma=comma)
        return read.astype(float)


def open_table(source, settings: Mapping) -> Table:
    """Table of a file (text, workbook, NetCDF, MATLAB, UFF) or of a data frame.

    Settings are those of `import`: `format`, `separator`, `columns` (names, if the file
    has none), `skip_lines`. RecordingError if it is no file, empty, or has no names of
    columns.
    """
    if not isinstance(source, str | Path):
        return _frame_table(source, settings)
    path = Path(source)
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        reject("missing", str(path).replace("\0", "\\0"))
    for when, holds in {
        "folder": stat.S_ISDIR(state.st_mode),
        "device": not stat.S_ISREG(state.st_mode),
        "empty": state.st_size == 0,
    }.items():
        if holds:
            reject(when, str(path))
    for key, fits, expected in (
        ("skip_lines", lambda n: 0 <= n <= MOST_ROWS, f"0 to {MOST_ROWS}"),
        ("separator", lambda text: len(text or ",") == 1, "one character"),
    ):
        if not fits(value := settings.get(key)):
            reject("setting", str(path), key=key, value=value, expected=expected)
    kind = settings["format"]
    if kind == "netcdf" or (kind == "auto" and path.suffix in (".nc", ".nc4", ".h5")):
        with _in_one_sentence():
            return Table(str(path), columns_of_foreign(path), partial(_netcdf, path))
    if kind == "auto" and path.suffix in FOREIGN:
        return _foreign_table(path, settings)
    form = _form(path, settings)
    return Table(str(path), form.names, partial(_text, path, form), form.decimal)


def _foreign_table(path: Path, settings: Mapping) -> Table:
    """First page of a workbook, arrays of a MATLAB file, or series of a universal file.

    Each is read whole and by a library, so what it unpacks to is bounded before.
    """
    import pandas as pd

    read, expected, remedy = FOREIGN[path.suffix]
    try:
        frame = pd.DataFrame(read(path, settings))
        if not frame.size:
            raise ValueError("there are no numbers")
        if any(kind.kind == "c" for kind in frame.dtypes):
            raise ValueError("it holds complex numbers")
    except Exception as error:
        text = str(error)[:200]
        reject("unreadable", str(path), error=text, expected=expected, remedy=remedy)
    return _frame_table(frame, settings, str(path))


def _bounded(size: int, most: int = 2 * MOST_BYTES_OF_VARIABLE) -> None:
    if size > most:
        raise ValueError(f"it unpacks to more than {most} bytes")


def _workbook(path: Path, settings: Mapping) -> "DataFrame":
    """Rows of the first page, each as wide as the heading; blank ones left out."""
    import pandas as pd
    from openpyxl import load_workbook
    from openpyxl.xml.constants import MAX_ROW

    with zipfile.ZipFile(path) as file:
        _bounded(sum(part.file_size for part in file.infolist()), LARGEST_WORKBOOK)
    page = load_workbook(path, read_only=True, data_only=True).worksheets[0]
    page.reset_dimensions()  # what the page says of its size may cut it
    # A page may name a cell of any row: openpyxl, as pandas, fills the gap.
    every = enumerate(page.iter_rows(values_only=True), start=1)
    lines = itertools.islice(every, settings["skip_lines"], None)
    lines = ((k, row) for k, row in lines if k > MAX_ROW or set(row) - {None})
    _, heading = next(lines, (0, ()))
    width = max((k for k, name in enumerate(heading, 1) if name is not None), default=0)
    rows = []
    for k, row in lines:
        if k > MAX_ROW or set(row[width:]) - {None}:
            raise ValueError(f"row {k} is outside the {width} columns of the heading")
        rows.append((*row, *[None] * (width - len(row)))[:width])
    return pd.DataFrame(rows, columns=[str(name) for name in heading[:width]])


def _matlab(path: Path, settings: Mapping) -> dict[str, np.ndarray]:
    """Vectors by name, columns of matrices as name1, name2, ...; numbers alone.

    Beside a sampling rate ``fs`` (Hz), without a clock, there is a column ``time``.
    """
    from scipy.io import loadmat

    _bounded(_unpacked(path))
    columns = {}
    for name, value in loadmat(path, mat_dtype=False).items():
        kind = getattr(value, "dtype", np.dtype(object)).kind
        if name.startswith("__") or kind not in "iufbc" or value.ndim != 2:
            continue
        value = value.T if value.shape[0] < value.shape[1] else value
        several = value.shape[1] > 1
        for i, column in enumerate(value.T, 1):
            columns[f"{name}{i}" if several else name] = column
    longest = max(map(len, columns.values()), default=0)
    rate = columns.get("fs", columns.get("Fs", np.zeros(1)))
    columns = {n: x for n, x in columns.items() if len(x) == longest > 1}
    if columns and len(rate) == 1 and rate[0] > 0 and not {"t", "time"} & set(columns):
        columns = {"time": np.arange(longest) / rate[0], **columns}
    return columns


def _unpacked(path: Path) -> int:
    """Bytes of a MATLAB file (level 5), its compressed elements unpacked to a limit."""
    size, unpacked, most = path.stat().st_size, 0, 2 * MOST_BYTES_OF_VARIABLE
    with path.open("rb") as file:
        order = "little" if file.read(128)[126:] == b"IM" else "big"
        while len(tag := file.read(8)) == 8 and max(size, unpacked) <= most:
            kind, length = (int.from_bytes(x, order) for x in (tag[:4], tag[4:]))
            content = file.read(length)
            if kind == 15:  # compressed
                content = zlib.decompressobj().decompress(content, most + 1)
            unpacked += len(content)
    return max(size, unpacked)


def _universal(path: Path, settings: Mapping) -> dict[str, np.ndarray]:
    """Time series (type 58) by the names of their sensors, with units, and time."""
    import pyuff

    _bounded(path.stat().st_size)
    series = {}
    for part in np.atleast_1d(pyuff.UFF(str(path)).read_sets()):
        if part["type"] != 58 or part["func_type"] != 1:
            continue
        name = str(part.get("id1") or "").strip()
        place = f"{part['rsp_node']}:{part['rsp_dir']}"
        name = place if name in ("", "NONE") else name
        unit = str(part.get("ordinate_axis_units_lab") or "").strip()
        bare = unit and is_unit(unit) and not unit_of_heading(name)
        name += f" [{unit}]" if bare else ""
        name = place if name in series else name
        time = series.setdefault("time", np.asarray(part["x"]))
        if not np.array_equal(time, part["x"]):
            raise ValueError(f"the series {name!r} has another clock than the first")
        series[name] = part["data"]
    return series


WORKBOOK = (
    _workbook,
    "a heading and rows as wide, on the first page",
    "In the spreadsheet choose File, Save as, CSV; or install openpyxl",
)
UNIVERSAL = (
    _universal,
    "time series (type 58) with one clock",
    "Save it as text; or install pyuff",
)
MATLAB = (_matlab, "real arrays of equal length", "Save it with the option -v7")
# Reader, what it expects and what to do if it fails, by the ends of names.
FOREIGN = {".mat": MATLAB, ".uff": UNIVERSAL, ".unv": UNIVERSAL} | dict.fromkeys(
    (".xlsx", ".xlsm"), WORKBOOK
)


def _frame_table(frame, settings: Mapping, path: str = "the table") -> Table:
    """Rows in memory, numbered from 1. An index that has a name is a column.

    Dates and durations become numbers in the unit of the clock.
    """
    index = [n for n in frame.index.names if n not in (None, *frame.columns)]
    frame = frame.reset_index(index) if index else frame
    frame = frame.set_axis(range(1, len(frame) + 1)).set_axis(
        [str(name) for name in frame.columns], axis="columns"
    )
    clock = settings.get("time", {})

    def numbers(column: "Series") -> "Series":
        if column.dtype.kind == "M":
            column = column - column.min()
        if column.dtype.kind != "m":
            return column
        return column.dt.total_seconds() / clock_scale(clock, column.name)

    def rows(names, texts, most):
        part = frame[list(names)].iloc[:most].apply(numbers)
        return part.astype(dict.fromkeys(texts, str))

    return Table(path, list(frame.columns), rows)


@contextmanager
def _in_one_sentence() -> Iterator[None]:
    """What a library was running while it was refused does not matter."""
    try:
        yield
    except (ContractError, RecordingError) as error:
        raise RecordingError(str(error)) from None


def _netcdf(path: Path, names, texts, most) -> "DataFrame":
    """Variables over (time,) or (trajectory, time), after :func:`open_foreign`."""
    with _in_one_sentence(), open_foreign(path, names) as dataset:
        shapes = {name: dataset[name].dims for name in names}
        widest = max(shapes.values(), key=len)
        for name, dims in shapes.items():
            if not set(dims) <= set(widest) or len(widest) > 2:
                where = f"{path}, variable {name!r}"
                reject("dimensions", where, dims=dims, others=widest)
        if not all(dataset.sizes[dim] for dim in widest):
            reject("no rows", str(path))
        frame = dataset[list(names)].to_dataframe(dim_order=list(widest))
        places = np.indices([dataset.sizes[dim] for dim in widest])
    frame = frame.reset_index()[list(names)].set_axis(places[-1].ravel() + 1)
    if len(widest) == 2:
        frame[OUTER] = places[0].ravel().astype(str)
    return frame.iloc[:most]


class _Form(NamedTuple):
    """How a text is written."""

    encoding: str
    separator: str | None  # None for white space
    decimal: str
    first: int  # lines above the first row
    names: Sequence[str]


@dataclass
class _Lines:
    """Lines of a generator as pandas reads a file."""

    lines: Iterator[str]

    def __iter__(self) -> Iterator[str]:
        return self.lines

    def read(self, size: int = -1) -> str:
        return "".join(itertools.islice(self.lines, LINES_AT_ONCE))


def _text(path: Path, form: _Form, names, texts, most) -> "DataFrame":
    import pandas as pd

    numbers = array.array("q")
    opened = path.open(encoding=form.encoding, errors="replace")
    with opened as file, _in_one_sentence():
        # Not the path: pandas would unpack a text whose name ends in .gz.
        frame = pd.read_csv(
            _Lines(_samples(str(path), file, form, numbers)),
            sep=form.separator or r"\s+",
            names=form.names,
            header=None,
            usecols=list(names),
            dtype=dict.fromkeys(texts, str),
            decimal=form.decimal,
            index_col=False,
            skipinitialspace=True,
            skip_blank_lines=False,
            nrows=most,
            low_memory=False,
        )
    return frame.set_axis(np.array(numbers[: len(frame)], dtype=int))


def _samples(path: str, file, form: _Form, numbers: array.array) -> Iterator[str]:
    """Rows of a text, each with as many cells as names; their lines into `numbers`.

    Comments and blank lines are left out.
    """
    sep, width = form.separator, len(form.names)
    lines = iter(partial(file.readline, LONGEST_LINE), "")
    for number, line in enumerate(lines, 1):
        if number <= form.first:
            continue
        quoted = '"' in line
        if "#" in line and not quoted:
            line = line.partition("#")[0].rstrip() + "\n"
        if line.isspace():
            continue
        if quoted:
            count = _count_quoted(line, sep)
        else:
            count = len(line.split()) if sep is None else line.count(sep) + 1
        for when, holds in (
            ("long line", len(line) >= LONGEST_LINE),
            ("nul", "\0" in line),
            ("quote", count is None),
            ("cells", count != width),
        ):
            if holds:
                values = {"most": LONGEST_LINE, "count": count, "width": width}
                reject(when, f"{path}, line {number}", **values)
        numbers.append(number)
        if max(len(numbers), number / 2) > MOST_ROWS:
            reject("rows", path, most=MOST_ROWS)
        yield line


def _count_quoted(line: str, separator: str | None) -> int | None:
    """Cells of a line with quotation marks; None if one is not closed."""
    options = {"delimiter": separator or " ", "skipinitialspace": True}
    try:
        return len(next(csv.reader([line.strip()], strict=True, **options)))
    except csv.Error:
        return None


def _form(path: Path, settings: Mapping) -> _Form:
    """Encoding, separator, decimal sign and names from the first lines of a text."""
    encoding, skipped = _encoding(path), settings["skip_lines"]
    with path.open(encoding=encoding, errors="replace") as file:
        every = iter(partial(file.readline, LONGEST_LINE), "")
        lines = list(itertools.islice(every, skipped, skipped + LINES_OF_HEADING))
    if max(map(len, lines), default=0) == LONGEST_LINE:
        reject("long line", str(path), most=LONGEST_LINE)
    body = {k: line.rstrip("\n") for k, line in enumerate(lines) if _is_sample(line)}
    separator = settings["separator"] or _separator(list(body.values()))
    cells = {k: _split(line, separator) for k, line in body.items()}
    if not cells:
        reject("no rows", str(path))
    names, first = settings["columns"], min(cells)
    if not names:
        names, first = _heading(path, lines, cells, separator)
    if not any(k >= first for k in cells):
        reject("no rows", str(path))
    rows = (cell for k, row in cells.items() if k >= first for cell in row)
    decimal = "," if any("," in c and is_number(c) for c in rows) else "."
    return _Form(encoding, separator, decimal, first + skipped, names)


def _heading(path, lines, cells, separator) -> tuple[list[str], int]:
    """Names of the columns, with units, and the line below them.

    They are the last text above the numbers, or, if there is none, the last comment; a
    row of units may stand below.
    """
    width = Counter(map(len, cells.values())).most_common(1)[0][0]
    numeric = [k for k, row in cells.items() if any(map(is_number, row))]
    first = next((k for k in numeric if len(cells[k]) == width), min(cells))
    texts = [k for k in cells if k < first and k not in numeric]
    if not texts and not all(map(is_number, cells[first])):
        texts = [first]  # some names are numbers, or no row has one
    places = texts or [k for k in range(first) if lines[k].startswith("#")]
    if not places:
        reject("no names", f"{path}, the line above its rows")
    units = [""] * width
    if len(texts) > 1 and _are_units(cells[texts[-1]], width):
        units = [cell.strip("[]() ") for cell in cells[texts[-1]]]
        names = lines[texts[-2]]
    else:
        names = lines[places[-1]]
    names = _names(names.lstrip("# ").rstrip("\n"), separator, width)
    if len(names) == width:
        names = [
            f"{n} [{u}]" if _wants(n, u) else n
            for n, u in zip(names, units, strict=True)
        ]
    return names, places[-1] + 1


def _encoding(path: Path) -> str:
    """UTF-16 by its mark, else UTF-8 where that is possible, else Latin-1."""
    with path.open("rb") as file:
        begin = file.read(4096)
    if begin.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in begin:
        reject("not text", str(path))
    try:
        codecs.getincrementaldecoder("utf-8-sig")().decode(begin)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def _are_units(cells: Sequence[str], width: int) -> bool:
    bare = {cell.strip("[]() ") for cell in cells} - {"", "-"}
    return len(cells) == width and bool(bare) and all(map(is_unit, bare))


def _wants(name: str, unit: str) -> bool:
    """Whether a unit below a name is to be added to it."""
    return unit not in ("", "-") and not name.endswith(("]", ")"))


def _names(line: str, separator: str | None, width: int) -> list[str]:
    """Names of a heading; a unit in brackets belongs to the name before it."""
    if separator is not None:
        return _split(line, separator)
    if width == 1:
        return [line.strip().strip('"')]
    together = re.findall(r'"[^"]*"|\S+(?:\s+[\[(][^\])]*[\])])?', line)
    return together if len(together) == width else line.split()


def _split(line: str, separator: str | None) -> list[str]:
    if separator is None:
        return line.split()
    return [c.strip() for c in next(csv.reader([line.strip()], delimiter=separator))]


def _is_sample(line: str) -> bool:
    return not (line.startswith("#") or line.isspace())


def _separator(lines: Sequence[str]) -> str | None:
    """The separator that more than half of the lines have; None for white space."""
    for separator in (";", "\t", ","):
        if 2 * sum(separator in line for line in lines) > len(lines):
            return separator
    return None


def is_number(cell: str) -> bool:
    """Whether a cell reads as a number, with a decimal point or comma."""
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True
