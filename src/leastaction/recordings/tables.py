"""A user's tables as data frames: every row checked before it is believed.

pandas pads a row that is too short and, where columns are chosen, cuts one that is too
long. So rows are counted and measured on their way into pandas (:class:`CheckedRows`),
and cells are read as numbers or not at all.
"""

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
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from leastaction.core.contracts import ContractError
from leastaction.core.families import unknown
from leastaction.core.files import (
    MOST_BYTES_OF_VARIABLE,
    columns_of_foreign,
    open_foreign,
)
from leastaction.core.units import is_unit
from leastaction.recordings.columns import time_factor
from leastaction.recordings.error import RecordingError

if TYPE_CHECKING:
    from pandas import DataFrame, Series

# A longer line has no samples: 3,000 columns of 20 characters fit.
LONGEST_LINE = 2**16
CHARACTERS_AT_ONCE = 2**20
LINES_OF_HEADING = 60
# Rows that fit into 500 MB with five columns of numbers, and their copy.
MOST_ROWS = 1 << 22
# Bytes that a workbook unpacks to: openpyxl holds 60 for each element, of 4 or more.
LARGEST_WORKBOOK = 2**25
# Column of a NetCDF file over (trajectory, time).
OUTER = "trajectory of the file"
TOO_LONG = (
    f"1 to {MOST_ROWS}, which fit into memory",
    "Thin the table, such as to every second row, or cut it into recordings",
)


@contextmanager
def unchanged(paths: Sequence[str | Path]) -> Iterator[None]:
    """Refuse files that are written, cut or replaced while they are used; not frames.

    Raises
    ------
    RecordingError
        At the end, instead of whatever half a file led to.
    """
    paths = [path for path in paths if isinstance(path, str | Path)]
    before = [_state(path) for path in paths]
    try:
        yield
    finally:
        for path, then in zip(paths, before, strict=True):
            if (now := _state(path)) != then:
                raise RecordingError(
                    str(path),
                    f"it changed while it was read (bytes: first {then[0]}, then "
                    f"{now[0]})",
                    "a table that is complete",
                    "Run again when nothing writes to it any more",
                ) from None


def _state(path: str | Path) -> tuple:
    """Size, times and identity of a file; of none, that there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return ("no file",)
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


@dataclass(frozen=True)
class Table:
    """Names of the columns of a table; its rows are read when they are asked for."""

    path: str  # as messages call it
    columns: Sequence[str]
    # Of names, types (of pandas) and the most rows: a frame, its index the lines.
    rows: Callable[[Sequence[str], Mapping, int | None], "DataFrame"]
    decimal: str = "."

    def __post_init__(self):
        twice = [n for n, count in Counter(self.columns).items() if count > 1]
        if twice:
            raise RecordingError(
                self.path,
                f"the column {twice[0]!r} stands there twice",
                "different names",
                "Rename one of them",
            )

    def check_columns(self, wanted: Mapping[str, str]) -> None:
        """Refuse a column of `wanted` that is missing; its values say what it is for.

        Raises
        ------
        RecordingError
            With the names that the table has.
        """
        for column, use in wanted.items():
            if self.heading(column) not in self.columns:
                raise RecordingError(
                    f"{self.path}, column {column!r} ({use})",
                    unknown("column", column, self.columns),
                    "a column of the table",
                    f"Correct {use}",
                )

    def heading(self, name: str) -> str:
        """Name of a column as the table writes it: ``force`` may be ``force [N]``."""
        with_unit = re.compile(re.escape(name) + r"\s*(\[.*\]|\(.*\))")
        close = [c for c in self.columns if with_unit.fullmatch(c)]
        return close[0] if name not in self.columns and len(close) == 1 else name

    def read(self, numbers: Sequence[str], texts: Sequence[str] = ()) -> "DataFrame":
        """Columns `numbers` as floating-point numbers, `texts` as text.

        The index holds the line of each row; empty cells are NaN.

        Raises
        ------
        RecordingError
            Naming the line, and the cell that is no number.
        """
        import pandas as pd

        names = {name: self.heading(name) for name in (*numbers, *texts)}
        kinds = {h: float if n in numbers else str for n, h in names.items()}
        try:
            frame = self.rows(list(kinds), kinds, None)
        except (ValueError, TypeError) as error:
            if isinstance(error, RecordingError):
                raise
            frame = self.rows(list(kinds), dict.fromkeys(kinds, str), None)
        for name in numbers:
            if (column := frame[names[name]]).dtype.kind != "f":
                frame[names[name]] = self._as_numbers(name, column)
        return pd.DataFrame(
            {n: frame[h] for n, h in names.items()}
            | ({OUTER: frame[OUTER]} if OUTER in frame else {})
        )

    def _as_numbers(self, name: str, column: "Series") -> "Series":
        """Numbers of a column, the first cell that is none named with its line."""
        import pandas as pd

        if column.dtype.kind in "iu":
            return column.astype(float)
        cells = column.where(column.isna(), column.astype(str).str.strip())
        if self.decimal == ",":
            cells = cells.str.replace(".", "?").str.replace(",", ".")
        read = pd.to_numeric(cells, errors="coerce")
        wrong = np.flatnonzero(read.isna() & cells.notna() & (cells != ""))
        if len(wrong):
            raise RecordingError(
                f"{self.path}, line {column.index[wrong[0]]}, column {name!r}",
                f"{str(column.iloc[wrong[0]])!r} stands there",
                "a number" + (" with a decimal comma" if self.decimal == "," else ""),
                "Repair the cell; remarks begin with #",
            )
        return read.astype(float)


def open_table(source, settings: Mapping) -> Table:
    """Table of a file (text, workbook, NetCDF, MATLAB, UFF) or of a data frame.

    Settings are those of `import`: `format`, `separator`, `columns` (names, if the file
    has none), `skip_lines`.

    Raises
    ------
    RecordingError
        If it is no file, empty, or has no names of columns.
    """
    if not isinstance(source, str | Path):
        return _frame_table(source, settings)
    path = Path(source)
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        raise RecordingError(
            str(path).replace("\0", "\\0"),
            "there is no such file",
            "a table of samples",
            "Paths are relative to the YAML file that names them",
        ) from None
    if not stat.S_ISREG(state.st_mode):
        kind = "a folder" if path.is_dir() else "no file but a device or a pipe"
        raise RecordingError(
            str(path), f"it is {kind}", "a file", "List its files under `files`"
        )
    if state.st_size == 0:
        raise RecordingError(
            str(path), "the file is empty", "a table of samples", "Export it again"
        )
    if not 0 <= settings["skip_lines"] <= MOST_ROWS:
        given = f"skip_lines: {str(settings['skip_lines'])[:20]}"
        raise RecordingError(str(path), given, f"0 to {MOST_ROWS}", "Count them again")
    if len(settings.get("separator") or ",") != 1:
        given = f"separator: {settings['separator'][:20]!r}"
        raise RecordingError(str(path), given, "one character", "Leave it out")
    kind = settings["format"]
    if kind == "netcdf" or (kind == "auto" and path.suffix in (".nc", ".nc4", ".h5")):
        return _netcdf_table(path)
    if kind == "auto" and path.suffix in FOREIGN:
        return _foreign_table(path, settings)
    return _text_table(path, settings)


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
        raise RecordingError(
            str(path), f"it is not read ({str(error)[:200]})", expected, remedy
        ) from None
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
    # A page may name a cell of any row: openpyxl fills the gap.
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
    """Vectors by name, columns of matrices as name1, name2, ...; numbers alone."""
    from scipy.io import loadmat

    _bounded(_unpacked(path))
    found = {}
    for name, value in loadmat(path, mat_dtype=False).items():
        kind = getattr(value, "dtype", np.dtype(object)).kind
        if name.startswith("__") or kind not in "iufbc" or value.ndim != 2:
            continue
        if min(value.shape) == 1:
            value = value.reshape(-1, 1)
        elif value.shape[0] < value.shape[1]:
            value = value.T
        several = value.shape[1] > 1
        for i, column in enumerate(value.T):
            found[f"{name}{i + 1}" if several else name] = column
    longest = max((len(x) for x in found.values()), default=0)
    return {n: x for n, x in found.items() if len(x) == longest > 1}


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
    """Time series (type 58) by the names of their sensors, and their time."""
    import pyuff

    _bounded(path.stat().st_size)
    found = {}
    for part in np.atleast_1d(pyuff.UFF(str(path)).read_sets()):
        if part["type"] != 58 or part["func_type"] != 1:
            continue
        name = str(part.get("id1") or "").strip()
        place = f"{part['rsp_node']}:{part['rsp_dir']}"
        name = place if name in ("", "NONE", *found) else name
        time = found.setdefault("time", np.asarray(part["x"]))
        if not np.array_equal(time, part["x"]):
            raise ValueError(f"the series {name!r} has another clock than the first")
        found[name] = part["data"]
    return found


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
FOREIGN = {".mat": MATLAB, ".uff": UNIVERSAL, ".unv": UNIVERSAL} | {
    ".xlsx": WORKBOOK,
    ".xlsm": WORKBOOK,
}


def _frame_table(frame, settings: Mapping, path: str = "the table") -> Table:
    """Rows in memory, numbered from 1. An index that has a name is a column.

    Dates and durations become numbers in the unit of the clock.
    """
    index = [n for n in frame.index.names if n not in (None, *frame.columns)]
    frame = frame.reset_index(index) if index else frame
    names = [str(name) for name in frame.columns]
    second = 1 / time_factor(settings.get("time", {}).get("unit", "s"))

    def numbers(column):
        if column.dtype.kind == "M":
            column = column - column.min()
        return (
            second * column.dt.total_seconds() if column.dtype.kind == "m" else column
        )

    def rows(wanted, kinds, most):
        import pandas as pd

        if len(frame) > MOST_ROWS:
            raise RecordingError(path, f"it has {len(frame)} rows", *TOO_LONG)
        columns = [frame.iloc[:most, names.index(name)] for name in wanted]
        found = pd.DataFrame(
            {n: numbers(c).to_numpy() for n, c in zip(wanted, columns, strict=True)}
        )
        found.index += 1
        texts = [n for n, kind in kinds.items() if kind is str]
        return found.astype(dict.fromkeys(texts, str)) if texts else found

    return Table(path, names, rows)


def _netcdf_table(path: Path) -> Table:
    """Variables over (time,) or (trajectory, time), after :func:`open_foreign`."""
    with _named(path):
        return Table(str(path), columns_of_foreign(path), partial(_netcdf_rows, path))


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except ContractError as error:
        raise RecordingError(str(error)) from None


def _netcdf_rows(path: Path, wanted, kinds, most) -> "DataFrame":
    import pandas as pd

    with _named(path), open_foreign(path, wanted) as dataset:
        shapes = {name: dataset[name].dims for name in wanted}
        widest = max(shapes.values(), key=len)
        for name, dims in shapes.items():
            if not set(dims) <= set(widest) or len(widest) > 2:
                raise RecordingError(
                    f"{path}, variable {name!r}",
                    f"it has the dimensions {dims}, others {widest}",
                    "(time,) or (trajectory, time)",
                    "Write variables of equal dimensions",
                )
        shape = tuple(dataset.sizes[d] for d in widest)
        count = int(np.prod(shape))
        if not 0 < count <= MOST_ROWS:
            raise RecordingError(str(path), f"it has {count} rows", *TOO_LONG)
        arrays = {n: dataset[n].transpose(*shapes[n]).load() for n in wanted}
    numbers = np.indices(shape)
    columns = {
        name: array.values[tuple(numbers[widest.index(d)].ravel() for d in array.dims)]
        for name, array in arrays.items()
    }
    if len(shape) == 2:
        columns[OUTER] = numbers[0].ravel().astype(str)
    return pd.DataFrame(columns, index=numbers[-1].ravel() + 1).iloc[:most]


@dataclass(frozen=True)
class _Form:
    """How a text is written."""

    encoding: str
    separator: str | None  # None for white space
    decimal: str
    first: int  # lines above the first row
    names: Sequence[str]


def _text_table(path: Path, settings: Mapping) -> Table:
    form = _form(path, settings)
    return Table(str(path), form.names, partial(_rows, path, form), form.decimal)


def _rows(path: Path, form: _Form, wanted, kinds, most) -> "DataFrame":
    import pandas as pd

    with path.open(encoding=form.encoding, errors="replace") as file:
        for _ in range(form.first):
            file.readline(LONGEST_LINE)
        checked = CheckedRows(
            str(path), file, form.separator, len(form.names), form.first + 1
        )
        # pandas would unpack a text whose name ends in .gz.
        try:
            frame = pd.read_csv(
                checked,
                sep=form.separator or r"\s+",
                names=form.names,
                header=None,
                usecols=list(wanted),
                dtype=dict(kinds),
                decimal=form.decimal,
                index_col=False,
                skipinitialspace=True,
                skip_blank_lines=False,
                nrows=most,
                low_memory=False,
            )
        finally:
            if checked.problem:
                raise checked.problem
    frame.index = np.concatenate(checked.lines)[: len(frame)]
    return frame


@dataclass
class CheckedRows:
    """Rows of a text as pandas reads a file, each with as many cells as names.

    Comments and blank lines are left out; `lines` holds where the others stand.
    """

    path: str
    file: object  # at its first row
    separator: str | None
    width: int  # names of columns
    line: int  # of the first row
    lines: list[np.ndarray] = field(default_factory=lambda: [np.zeros(0, dtype=int)])
    problem: RecordingError | None = None  # what ended the reading
    _rest: str = ""
    _count: int = 0

    def __iter__(self):
        return iter(self.read, "")

    def read(self, size: int = -1) -> str:
        """Rows of about a million characters; empty at the end, and at a `problem`."""
        try:
            return "" if self.problem else self._read()
        except RecordingError as problem:
            self.problem = problem
            return ""

    def _read(self) -> str:
        while True:
            text = self.file.read(CHARACTERS_AT_ONCE)
            if not text and not self._rest:
                return ""
            *rows, self._rest = f"{self._rest}{text}".split("\n")
            if not text and self._rest:
                rows, self._rest = [*rows, self._rest], ""
            if max(map(len, [*rows, self._rest])) > LONGEST_LINE:
                self._refuse(
                    self.line + len(rows),
                    f"it has more than {LONGEST_LINE} characters",
                    "a row of samples in each line",
                )
            if found := self._checked(rows):
                return "\n".join([*found, ""])

    def _checked(self, rows: list[str]) -> list[str]:
        """Rows that hold samples; as they are if each is as wide as the heading."""
        text = "\n".join(rows)
        numbers = np.arange(self.line, self.line + len(rows))
        self.line += len(rows)
        plain = not set('"#\0') & set(text) and all(rows)
        if not plain or {self._cells(row) for row in rows} != {self.width}:
            kept = [self._row(n, row) for n, row in zip(numbers, rows, strict=True)]
            numbers = numbers[[row is not None for row in kept]]
            rows = [row for row in kept if row is not None]
        self.lines.append(numbers)
        self._count += len(rows)
        if max(self._count, self.line / 2) > MOST_ROWS:
            raise RecordingError(self.path, f"it has over {MOST_ROWS} rows", *TOO_LONG)
        return rows

    def _cells(self, row: str) -> int:
        if self.separator is None:
            return len(row.split())
        return row.count(self.separator) + 1

    def _row(self, number: int, row: str) -> str | None:
        """A row without comment; None of a line that is nothing else."""
        quoted = '"' in row
        if "#" in row and not quoted:
            row = row.partition("#")[0].rstrip()
        if not row.strip():
            return None
        if "\0" in row:
            self._refuse(number, "it holds a NUL character", "text")
        cells = self._cells(row)
        if quoted:
            options = {"delimiter": self.separator or " ", "skipinitialspace": True}
            try:
                cells = len(next(csv.reader([row.strip()], strict=True, **options)))
            except csv.Error:
                self._refuse(number, "a quotation mark is not closed", "pairs of them")
        if cells != self.width:
            self._refuse(
                number, f"it has {cells} cells", f"{self.width}, as many as names"
            )
        return row

    def _refuse(self, line: int, given: str, expected: str) -> None:
        remedy = "Repair it; with decimal commas the separator must be another one"
        raise RecordingError(f"{self.path}, line {line}", given, expected, remedy)


def _form(path: Path, settings: Mapping) -> _Form:
    """Encoding, separator, decimal sign and names from the first lines of a text."""
    encoding, skipped = _encoding(path), settings["skip_lines"]
    with path.open(encoding=encoding, errors="replace") as file:
        every = iter(lambda: file.readline(LONGEST_LINE), "")
        lines = list(itertools.islice(every, skipped, skipped + LINES_OF_HEADING))
    if max(map(len, lines), default=0) == LONGEST_LINE:
        raise RecordingError(
            str(path),
            f"a line has more than {LONGEST_LINE} characters",
            "a table of samples, one row in each line",
            "Export it again, with line ends",
        )
    comments = sum(1 for _ in itertools.takewhile(_is_comment, lines))
    body = [(k, line) for k, line in enumerate(lines) if k >= comments]
    body = [(k, line.rstrip("\n")) for k, line in body if not _is_comment(line)]
    separator = settings["separator"] or _separator([line for _, line in body])
    cells = [_split(line, separator) for _, line in body]
    place, units = (None, []) if settings["columns"] else _heading(cells, separator)
    if settings["columns"]:
        names, first = settings["columns"], comments
    elif place is None and comments and cells and _all_numbers(cells[0]):
        text = lines[comments - 1].strip().lstrip("# ")
        names, first = _names(text, separator, len(cells[0])), comments
    else:
        place = place or 0
        width = len(cells[place + 1]) if len(cells) > place + 1 else 0
        text = body[place][1] if body else ""
        names = _with_units(_names(text, separator, width), units)
        first = (body[place][0] if body else 0) + 1
        if units:
            first = body[place + 1][0] + 1
    if len(lines) <= first:
        raise RecordingError(
            str(path),
            "there is no row below the names of the columns",
            "a table of samples",
            "Export it again",
        )
    if not settings["columns"] and _all_numbers(names):
        raise RecordingError(
            f"{path}, line {first + skipped}",
            "the first line holds numbers",
            "names of the columns",
            "Add a line of names, or list them under `columns`",
        )
    rows = [row for (k, _), row in zip(body, cells, strict=True) if k >= first]
    commas = any("," in cell and _is_number(cell) for row in rows for cell in row)
    return _Form(encoding, separator, "," if commas else ".", first + skipped, names)


def _encoding(path: Path) -> str:
    """UTF-16 by its mark, else UTF-8 where that is possible, else Latin-1."""
    with path.open("rb") as file:
        begin = file.read(4096)
    if begin.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in begin:
        raise RecordingError(
            str(path),
            "the file is not text",
            "CSV, a whitespace table or NetCDF",
            "Export it as CSV: in a spreadsheet File, Save as, CSV; or set "
            "`format: netcdf`",
        )
    try:
        codecs.getincrementaldecoder("utf-8-sig")().decode(begin)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def _heading(cells, separator) -> tuple[int | None, list[str]]:
    """Place of the names among the first lines, below titles, and a row of units.

    Names are as many as the cells of most lines, none is a number, and a row with a
    number follows; between both there may be units.
    """
    widths = Counter(map(len, cells))
    width = widths.most_common(1)[0][0] if widths else 0
    for place, names in enumerate(cells[:-1]):
        if any(map(_is_number, names)) or (width != len(names) and separator):
            continue
        below = cells[place + 1 : place + 3]
        if len(below[0]) == width and any(map(_is_number, below[0])):
            return place, []
        is_units = len(names) == width == len(below[0]) and _are_units(below[0])
        if is_units and len(below) == 2 and any(map(_is_number, below[1])):
            return place, below[0]
    return None, []


def _are_units(cells: Sequence[str]) -> bool:
    bare = [cell.strip("[]() ") for cell in cells]
    given = [cell for cell in bare if cell not in ("", "-")]
    return bool(given) and all(map(is_unit, given))


def _with_units(names: Sequence[str], units: Sequence[str]) -> list[str]:
    bare = [unit.strip("[]() ") for unit in units] or [""] * len(names)
    return [
        name if unit in ("", "-") or name.endswith(("]", ")")) else f"{name} [{unit}]"
        for name, unit in zip(names, bare, strict=True)
    ]


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


def _is_comment(line: str) -> bool:
    return line.startswith("#") or not line.strip()


def _separator(lines: Sequence[str]) -> str | None:
    """The separator that more than half of the lines have; None for white space."""
    for separator in (";", "\t", ","):
        if 2 * sum(separator in line for line in lines) > len(lines):
            return separator
    return None


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def _all_numbers(cells: Sequence[str]) -> bool:
    return bool(cells) and all(map(_is_number, cells))
