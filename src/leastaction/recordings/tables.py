"""A user's tables, piece by piece."""

import csv
import itertools
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import xarray as xr

from leastaction.core.families import unknown
from leastaction.recordings.columns import time_factor
from leastaction.recordings.error import RecordingError

LONGEST_LINE = 2**22
ROWS_PER_PIECE = 200_000


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


class Table:
    """Columns by name, and their rows piece by piece."""

    path: Path | str  # what messages call it
    columns: list[str]

    def _set_columns(self, names: Sequence[str], where: str) -> None:
        """Names of the columns, each once."""
        twice = sorted(n for n, count in Counter(names).items() if count > 1)
        if twice:
            raise RecordingError(
                where,
                f"the column {twice[0]!r} stands there twice",
                "different names",
                "Rename one of them",
            )
        self.columns = list(names)

    def check_columns(self, wanted: Mapping[str, str]) -> None:
        """Refuse a column of `wanted` that is not there; it says what each is for."""
        for column, use in wanted.items():
            if self.heading(column) not in self.columns:
                raise RecordingError(
                    f"{self.path}, column {column!r} ({use})",
                    unknown("column", column, self.columns),
                    "a name of the first line",
                    f"Name one of these under {use}, such as `column: ...`",
                )

    def pieces(self, wanted: Sequence[str]) -> Iterator[tuple[int, dict]]:
        """(line of the first row, {column: values}) of each piece.

        Columns of text, such as names of trajectories, come as text.
        """
        headings = {self.heading(name): name for name in wanted}
        for line, piece in self._pieces(list(headings)):
            yield line, {headings.get(k, k): values for k, values in piece.items()}

    def heading(self, name: str) -> str:
        """Name of a column as the table writes it: ``force`` may be ``force [N]``."""
        with_unit = re.compile(re.escape(name) + r"\s*(\[.*\]|\(.*\))")
        close = [c for c in self.columns if with_unit.fullmatch(c)]
        return close[0] if name not in self.columns and len(close) == 1 else name

    def _pieces(self, headings: Sequence[str]) -> Iterator[tuple[int, dict]]:
        raise NotImplementedError


def open_table(source, settings: Mapping) -> Table:
    """Table of a file, text or NetCDF, or of a :class:`pandas.DataFrame`.

    Settings are those of `import`: `format`, `separator`, `columns` (names, if the file
    has none), `skip_lines`.
    """
    if not isinstance(source, str | Path):
        return FrameTable(source, settings)
    path = Path(source)
    if not os.path.exists(path):
        raise RecordingError(
            str(path),
            "there is no such file",
            "a table of samples",
            "Paths are relative to the YAML file that names them",
        )
    if path.is_dir():
        raise RecordingError(
            str(path), "it is a folder", "a file", "List its files under `files`"
        )
    if path.stat().st_size == 0:
        raise RecordingError(
            str(path), "the file is empty", "a table of samples", "Export it again"
        )
    kind = settings["format"]
    if kind == "auto":
        kind = "netcdf" if path.suffix in (".nc", ".nc4", ".h5") else "text"
    return (NetcdfTable if kind == "netcdf" else TextTable)(path, settings)


class FrameTable(Table):
    """Rows in memory; their numbers begin with 1. An index that has a name is a column.

    Dates and durations are told in the unit of the clock.
    """

    path = "the table"

    def __init__(self, frame, settings: Mapping):
        index = [n for n in frame.index.names if n not in (None, *frame.columns)]
        self._frame = frame.reset_index(index) if index else frame
        self._set_columns([str(name) for name in self._frame.columns], self.path)
        self._second = 1 / time_factor(settings.get("time", {}).get("unit", "s"))

    def _pieces(self, wanted: Sequence[str]) -> Iterator[tuple[int, dict]]:
        columns = {name: self._column(self.columns.index(name)) for name in wanted}
        for start in range(0, len(self._frame), ROWS_PER_PIECE):
            rows = slice(start, start + ROWS_PER_PIECE)
            yield start + 1, {n: c.iloc[rows].to_numpy() for n, c in columns.items()}

    def _column(self, place: int):
        column = self._frame.iloc[:, place]
        if column.dtype.kind == "M":
            column = column - column.min()
        if column.dtype.kind == "m":
            return self._second * column.dt.total_seconds()
        return column


class TextTable(Table):
    """CSV, or a table with white space."""

    def __init__(self, path: Path, settings: Mapping):
        self.path = path
        self.settings = settings
        self._read_heading()

    def _read_heading(self) -> None:
        skipped = self.settings["skip_lines"]
        with self.path.open("rb") as file:
            if b"\x00" in file.read(4096):
                raise RecordingError(
                    str(self.path),
                    "the file is not text",
                    "CSV, a whitespace table or NetCDF",
                    "Export it as CSV (a spreadsheet can), or set `format: netcdf`",
                )
        with self._text() as file:
            every = iter(lambda: file.readline(LONGEST_LINE), "")
            lines = list(itertools.islice(every, skipped, skipped + 60))
        if max(map(len, lines), default=0) == LONGEST_LINE:
            raise RecordingError(
                str(self.path),
                f"a line has more than {LONGEST_LINE} characters",
                "a table of samples, one in each line",
                "Export it again, with line ends",
            )
        comments = sum(1 for _ in itertools.takewhile(_is_comment, lines))
        body = lines[comments:]
        given = self.settings["columns"]
        if not given and comments and body and _all_numbers(self._split(body[0], body)):
            heading, self._first = lines[comments - 1].lstrip("# "), comments
        elif given:
            heading, self._first = None, comments
        else:
            heading, self._first = (body or [""])[0], comments + 1
        if len(lines) <= self._first:
            raise RecordingError(
                str(self.path),
                "there is no row below the names of the columns",
                "a table of samples",
                "Export it again",
            )
        self.separator = self.settings["separator"] or _separator(lines[self._first])
        self.decimal = "."
        if self.separator not in (",", None) and "," in lines[self._first]:
            self.decimal = ","
        names = given or self._split(heading.strip(), None)
        if not given and _all_numbers(names):
            raise RecordingError(
                f"{self.path}, line {self._first + skipped}",
                "the first line holds numbers",
                "names of the columns",
                "Add a line of names, or list them under `columns`",
            )
        self._set_columns(names, f"{self.path}, line {self._first + skipped}")
        self._check_width(lines[self._first :], self._first + skipped + 1)
        self._first += skipped

    def _check_width(self, lines, number: int) -> None:
        """Refuse rows with more cells than names, as far as they were read."""
        for line in lines:
            cells = line.split(self.separator) if line.strip() else []
            if len(cells) > len(self.columns):
                raise RecordingError(
                    f"{self.path}, line {number}",
                    f"it has {len(cells)} cells",
                    f"{len(self.columns)}, as many as names",
                    "Repair it; with decimal commas the separator must be another one",
                )
            number += 1

    def _split(self, line: str, body) -> list[str]:
        separator = self.settings["separator"] or _separator(body[0] if body else line)
        if separator is None:
            return line.split()
        return [
            c.strip() for c in next(csv.reader([line.strip()], delimiter=separator))
        ]

    def _text(self):
        return self.path.open(encoding="utf-8-sig", errors="replace", newline="")

    def _pieces(self, wanted: Sequence[str]) -> Iterator[tuple[int, dict]]:
        import pandas as pd

        options = {
            "sep": self.separator or r"\s+",
            "names": self.columns,
            "header": None,
            "usecols": list(wanted),
            "comment": "#",
            "decimal": self.decimal,
            "index_col": False,
            "skipinitialspace": True,
            "chunksize": ROWS_PER_PIECE,
        }
        line = self._first + 1
        try:
            # pandas would look for quotes in the lines that it skips, and unpack a
            # text whose name ends in .gz.
            with self._text() as file:
                for _ in range(self._first):
                    file.readline()
                for frame in pd.read_csv(file, **options):
                    yield line, {name: frame[name].to_numpy() for name in wanted}
                    line += len(frame)
        except pd.errors.ParserError as error:
            raise RecordingError(
                str(self.path),
                f"a line has more cells than the first ({str(error).strip()})",
                f"{len(self.columns)} cells in every line",
                "Repair that line; a decimal comma needs another `separator`",
            ) from None


class NetcdfTable(Table):
    """Variables over (time,) or (trajectory, time)."""

    def __init__(self, path: Path, settings: Mapping):
        self.path = path
        with self._netcdf() as dataset:
            self.columns = [str(n) for n in dataset.variables if dataset[n].ndim]

    @contextmanager
    def _netcdf(self) -> Iterator[xr.Dataset]:
        try:
            dataset = xr.open_dataset(self.path, decode_times=False, engine="netcdf4")
        except OSError as error:
            raise RecordingError(
                str(self.path),
                f"it is not readable NetCDF ({error})",
                "NetCDF-4",
                "Write it again, or set `format: text`",
            ) from None
        with dataset:
            yield dataset

    def _pieces(self, wanted: Sequence[str]) -> Iterator[tuple[int, dict]]:
        with self._netcdf() as dataset:
            shapes = {name: dataset[name].dims for name in wanted}
            widest = max(shapes.values(), key=len)
            for name, dims in shapes.items():
                if not set(dims) <= set(widest) or len(widest) > 2:
                    raise RecordingError(
                        f"{self.path}, variable {name!r}",
                        f"it has the dimensions {dims}, others {widest}",
                        "(time,) or (trajectory, time)",
                        "Write variables of equal dimensions",
                    )
            size = dataset.sizes[widest[-1]]
            outer = range(dataset.sizes[widest[0]]) if len(widest) == 2 else [None]
            for number in outer:
                part = dataset if number is None else dataset.isel({widest[0]: number})
                for start in range(0, size, ROWS_PER_PIECE):
                    count = min(ROWS_PER_PIECE, size - start)
                    some = part.isel({widest[-1]: slice(start, start + count)})
                    data = {
                        name: np.broadcast_to(some[name].values, (count,))
                        for name in wanted
                    }
                    if number is not None:
                        data["trajectory of the file"] = np.full(count, number)
                    yield start + 1, data


def _is_comment(line: str) -> bool:
    return line.startswith("#") or not line.strip()


def _separator(line: str) -> str | None:
    """The separator of a line of numbers; None for white space."""
    for separator in (";", "\t", ","):
        if separator in line:
            return separator
    return None


def _all_numbers(cells: Sequence[str]) -> bool:
    try:
        [float(cell.replace(",", ".")) for cell in cells]
    except ValueError:
        return False
    return bool(cells)
