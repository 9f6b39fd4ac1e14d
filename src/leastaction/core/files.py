"""The files between stages: read with their contract checked, written atomically.

This is the only module that reads or writes data. A dataset is either absent or
complete on disk, ends in a checksum without which it is not read, and equal content
gives equal bytes: no time stamp, host or version is stored.
"""

import errno
import glob
import math
import os
import re
import shutil
import stat
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import netCDF4
import numpy as np
import xarray as xr

from leastaction.core.contracts import ContractError, check

# Bytes that a disk must have left, beside those of a dataset, not to count as full.
ROOM_FOR_METADATA = 2**20
# A variable with more bytes than this is read when it is used.
MOST_BYTES_READ_AHEAD = 2**24
# Behind the last byte of HDF5, which ignores it. HDF5's own checksum of a chunk does
# not tell: for a lost block that comes back as zeros it is zero, and so right.
MARK = b"\nCRC-32 %08x\n"
MARKED = re.compile(rb"\nCRC-32 ([0-9a-f]{8})\n")
BYTES_PER_PIECE = 2**20
# Bytes of what a file holds over those of the file: ours are not compressed.
MOST_INFLATED = 4
# The same of a variable of anybody, which may be compressed: 4·10⁶ rows of 16 bytes.
MOST_BYTES_OF_VARIABLE = 2**26
# Attributes by which xarray changes numbers.
SCALING = {"scale_factor", "add_offset", "_FillValue", "missing_value"}
# Attributes: which result a file is, and the digest of the settings that made it.
BELONGING = ("result", "made_with")
# What is read once, chunk by chunk, needs no cache.
netCDF4.set_chunk_cache(2**20)


@contextmanager
def open_dataset(
    path: str | Path,
    checked: bool = False,
    results: Mapping[str, str] | None = None,
) -> Iterator[xr.Dataset]:
    """Open a file lazily, refused as by :func:`sizes` unless that `checked` it."""
    if not checked:
        sizes(path, results)
    with _named_if_unreadable(path):
        dataset = xr.open_dataset(
            path, engine="netcdf4", decode_times=False, mask_and_scale=False
        )
    with dataset:
        yield dataset


def columns_of_foreign(path: str | Path) -> list[str]:
    """Names of the variables of a NetCDF file of anybody, scalars left out."""
    with _named_if_unreadable(path):
        _refuse_special(path)
        with netCDF4.Dataset(path) as file:
            return [name for name, variable in file.variables.items() if variable.ndim]


@contextmanager
def open_foreign(path: str | Path, names: Sequence[str]) -> Iterator[xr.Dataset]:
    """Open variables of a NetCDF file of anybody, checked before anything is read.

    Checked are the bytes that they ask for and their attributes that change numbers;
    ContractError if one does not fit, or the file is unreadable.
    """
    with _named_if_unreadable(path):
        _refuse_special(path)
        with netCDF4.Dataset(path) as file:
            others = [name for name in file.variables if name not in names]
            problems = _oversized(file, names) + _spoilt_attributes(file, names)
        if problems:
            raise ContractError(f"{path}: {problems[0]}")
        with xr.open_dataset(
            path, engine="netcdf4", decode_times=False, drop_variables=others
        ) as dataset:
            yield dataset


def _oversized(file: netCDF4.Dataset, names: Sequence[str]) -> list[str]:
    """What cannot be read within the memory of a table, a sentence each."""
    variables = {name: file.variables[name] for name in names}
    untyped = [
        f"variable {name!r} holds {v.dtype}; expected numbers or text"
        for name, v in variables.items()
        if v.dtype is not str and getattr(v.dtype, "kind", "") not in {*"iufSU"}
    ]
    if untyped:
        return untyped
    sizes = {f"variable {n!r}": v.size * _bytes_of(v) for n, v in variables.items()}
    for name, v in variables.items():
        if v.chunking() not in ("contiguous", None):
            sizes[f"a chunk of {name!r}"] = math.prod(v.chunking()) * _bytes_of(v)
    return [
        f"{what} asks for {size} bytes; expected {MOST_BYTES_OF_VARIABLE} at most: "
        "thin it"
        for what, size in sizes.items()
        if size > MOST_BYTES_OF_VARIABLE
    ]


def _bytes_of(variable: netCDF4.Variable) -> int:
    """Bytes of an entry; a text has 16 in the file, beside its letters."""
    return 16 if variable.dtype is str else np.dtype(variable.dtype).itemsize


def _spoilt_attributes(file: netCDF4.Dataset, names: Sequence[str]) -> list[str]:
    """Attributes by which numbers are scaled or marked that are no numbers."""
    problems = []
    for name in names:
        attributes = file.variables[name].__dict__
        for key in SCALING & set(attributes):
            value = np.asarray(attributes[key])
            is_number = value.dtype.kind in "iuf" and value.size == 1
            is_mark = key in ("_FillValue", "missing_value")
            if not is_number or not (is_mark or np.isfinite(value).all()):
                problems.append(
                    f"attribute {key!r} of variable {name!r} is "
                    f"{str(attributes[key])[:60]!r}; expected one number"
                )
        if str(attributes.get("_Encoding", "utf-8")).lower() not in ("utf-8", "ascii"):
            problems.append(
                f"variable {name!r} has the text encoding "
                f"{str(attributes['_Encoding'])[:60]!r}; expected utf-8"
            )
    return problems


def _refuse_special(path: str | Path) -> None:
    """Refuse what is no regular file, which might never end."""
    try:
        mode = os.stat(path).st_mode
    except ValueError:
        raise ContractError(f"{str(path)!r} is no path: it holds NUL") from None
    if stat.S_ISDIR(mode):
        raise ContractError(f"{path} is a folder; expected a file in it")
    if not stat.S_ISREG(mode):
        raise ContractError(f"{path} is a device or a pipe; expected a file")


def _check_mark(path: str | Path) -> None:
    """Refuse a file of which not every byte is as it was written."""
    size = max(Path(path).stat().st_size - len(MARK % 0), 0)
    with open(path, "rb") as file:
        file.seek(size)
        mark = MARKED.fullmatch(file.read())
    if mark and int(mark[1], 16) == _checksum(path, size):
        return
    raise ContractError(
        f"{path} is damaged, or was not made by leastaction: the checksum at its end "
        f"is {'wrong' if mark else 'missing'}; make it again with: "
        f"snakemake --forcerun {path}"
    )


def add_mark(path: str | Path) -> None:
    """Append to a file the checksum of its bytes, without which it is not read."""
    mark = MARK % _checksum(path, Path(path).stat().st_size)
    with open(path, "ab") as file:
        file.write(mark)


def _checksum(path: str | Path, size: int) -> int:
    """CRC-32 of the first `size` bytes of a file."""
    value = 0
    with open(path, "rb") as file:
        for start in range(0, size, BYTES_PER_PIECE):
            value = zlib.crc32(file.read(min(BYTES_PER_PIECE, size - start)), value)
    return value


def _refuse_inflated(path: str | Path, file: netCDF4.Dataset) -> None:
    """Refuse a file that asks for more memory than it has bytes; nothing is read."""
    asked = sum(
        v.size * _bytes_of(v)
        for one in (file, *file.groups.values())
        for v in one.variables.values()
    )
    size = os.path.getsize(path)
    if asked > MOST_INFLATED * size:
        raise ContractError(
            f"{path} has {size} bytes, but its variables ask for {asked}; "
            "expected a file as leastaction writes it, which is not compressed"
        )


@contextmanager
def _named_if_unreadable(path: str | Path) -> Iterator[None]:
    """Turn what HDF5 says of an absent or unreadable file into one message."""
    try:
        yield
    except FileNotFoundError:
        raise ContractError(f"{path} does not exist; make it with snakemake") from None
    except (OSError, RuntimeError) as error:
        raise ContractError(
            f"{path} is not readable NetCDF ({error}); make it again with: "
            f"snakemake --forcerun {path}"
        ) from None


def load(
    path: str | Path,
    name: str | None = None,
    results: Mapping[str, str] | None = None,
) -> xr.Dataset:
    """Read a whole file, checked against the contract `name` (or its own).

    With `results`, ContractError also for a file that is not the result that belongs
    to its place (:func:`sizes`).
    """
    with open_dataset(path, results=results) as dataset, _named_if_unreadable(path):
        dataset = dataset.load()
    return check(dataset, name or dataset.attrs.get("contract"), str(path))


def load_all(
    paths: Iterable[str | Path], results: Mapping[str, str]
) -> list[xr.Dataset]:
    """Read whole files, the `results` that belong to their places; see :func:`load`."""
    return [load(path, results=results) for path in paths]


def sizes(path: str | Path, results: Mapping[str, str] | None = None) -> dict[str, int]:
    """Size of every dimension of a file, whose checksum is compared.

    ContractError if the file is absent or damaged, was not written by this module, or
    would fill the memory; and if it is not the one of `results` that belongs to its
    place, but such as one of another example, or of other settings, that was copied
    there. These are digests of the settings that each result was made with, by its name
    (:func:`entry_of`).
    """
    with _named_if_unreadable(path):
        _refuse_special(path)
        _check_mark(path)
        with netCDF4.Dataset(path) as file:
            _refuse_inflated(path, file)
            if results:
                _refuse_of_another(path, file, results)
            return {name: one.size for name, one in file.dimensions.items()}


def entry_of(path: str | Path, results: Mapping[str, str]) -> tuple[str, str]:
    """Name and digest, among `results`, of the result that belongs to a place.

    The name is that of the place, ``paper/example/observations`` or
    ``paper/example/estimator/model``; blocks of replicates share it.

    >>> entry_of("out/p/e/model.1_of_2.nc", {"p/e/model": "1f"})
    ('p/e/model', '1f')
    """
    path = Path(path)
    parts = path.with_name(path.name.partition(".")[0]).parts
    for name in ("/".join(parts[-depth:]) for depth in (4, 3)):
        if name in results:
            return name, results[name]
    raise ContractError(f"{path} is no place of one of the results {sorted(results)}")


def _refuse_of_another(
    path: str | Path, file: netCDF4.Dataset, results: Mapping[str, str]
) -> None:
    written = [str(getattr(file, key, ""))[:200] for key in BELONGING]
    expected = entry_of(path, results)
    again = f"make it again with: snakemake --forcerun {path}"
    if written[0] != expected[0]:
        raise ContractError(
            f"{path} is the result {written[0] or 'of nothing that it names'}; "
            f"expected {expected[0]}; {again}"
        )
    if written[1] != expected[1]:
        raise ContractError(
            f"{path} was made with other settings than those of the configuration; "
            f"{again}"
        )


class Replicates:
    """Files read side by side, one replicate at a time, each checked.

    Large variables are read when they are used, and their numbers are not looked
    through: that they are finite was checked before they were written. Of a `block`,
    the replicates from its first number up to its second are read.

    ContractError if the files differ in their number of replicates, or one is not the
    result that belongs to its place (:func:`sizes`).
    """

    def __init__(
        self,
        *paths: str | Path,
        block: Sequence[int | None] | None = None,
        results: Mapping[str, str] | None = None,
    ):
        self._paths = paths
        counts = {str(p): sizes(p, results).get("replicate") for p in paths}
        if len(set(counts.values())) != 1 or None in counts.values():
            raise ContractError(f"the files differ in their replicates: {counts}")
        self._numbers = range(next(iter(counts.values())))[slice(*(block or (None,)))]

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[list[xr.Dataset]]:
        with ExitStack() as opened:
            files = [opened.enter_context(open_dataset(p, True)) for p in self._paths]
            for i in self._numbers:
                pieces = zip(files, self._paths, strict=True)
                yield [_replicate(dataset, path, i) for dataset, path in pieces]


def _replicate(dataset: xr.Dataset, path: str | Path, i: int) -> xr.Dataset:
    piece = dataset.isel(replicate=slice(i, i + 1))
    with _named_if_unreadable(path):
        for variable in piece.variables.values():
            if variable.nbytes <= MOST_BYTES_READ_AHEAD:
                variable.load()
    kind, source = piece.attrs.get("contract"), f"{path}, replicate {i}"
    return check(piece, kind, source, most_bytes=MOST_BYTES_READ_AHEAD)


def load_parts(path: str | Path) -> dict[str, xr.Dataset]:
    """Further datasets of a file, see :func:`save`, checked; its own is not read."""
    sizes(path)
    with netCDF4.Dataset(path) as file:
        names = list(file.groups)
    parts = {}
    for name in names:
        with (
            _named_if_unreadable(path),
            xr.open_dataset(
                path,
                engine="netcdf4",
                group=name,
                decode_times=False,
                mask_and_scale=False,
            ) as part,
        ):
            parts[name] = part.load()
        check(parts[name], parts[name].attrs.get("contract"), f"{path}, {name}")
    return parts


def save(
    dataset: xr.Dataset,
    path: str | Path,
    name: str,
    results: Mapping[str, str] | None = None,
    parts: Mapping[str, xr.Dataset] | None = None,
) -> None:
    """Write a dataset that honours the contract `name`, atomically.

    Further datasets, its `parts` by name, become groups of the file; they honour the
    contracts that they name themselves.
    """
    save_replicates([dataset], path, name, results, parts)


def save_replicates(
    pieces: Iterable[xr.Dataset],
    path: str | Path,
    name: str | None = None,
    results: Mapping[str, str] | None = None,
    parts: Mapping[str, xr.Dataset] | None = None,
) -> None:
    """Write pieces along `replicate` as they come, holding one in memory at a time.

    They honour the contract `name`, or the one that they name themselves; if one does
    not, ContractError, and nothing is left at `path`. The file says which of `results`
    it is (:func:`entry_of`). For `parts` see :func:`save`.
    """
    belonging = {}
    if results:
        belonging = dict(zip(BELONGING, entry_of(path, results), strict=True))
    with atomic_write(path) as part:
        write = _create
        for piece in pieces:
            kind = name or piece.attrs["contract"]
            attrs = {"contract": kind, **belonging}
            piece = check(piece.assign_attrs(attrs), kind, f"result {path}")
            part.stat()  # netCDF4 would create what another job has removed
            with _named_if_full(path, piece.nbytes):
                write(piece, part)
            write = _append
            del piece
        if write is _create:
            raise ContractError(f"there is nothing to write to {path}: no replicates")
        for group, dataset in (parts or {}).items():
            check(dataset, dataset.attrs["contract"], f"result {path}, {group}")
            with _named_if_full(path, dataset.nbytes):
                _create(dataset, part, mode="a", group=group)
        add_mark(part)


@contextmanager
def atomic_write(path: str | Path) -> Iterator[Path]:
    """Temporary file that is renamed to `path` at the end: absent or complete.

    The temporary files of other jobs for `path` are removed. So a job that goes on
    after its Snakemake was killed fails, and does not overwrite the file of the next.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    for other in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        other.unlink(missing_ok=True)
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        with _named_if_full(path):
            part.touch()
            yield part
            with open(part, "r+b") as file:
                os.fsync(file.fileno())  # some systems report a full disk only here
        os.replace(part, path)
    except FileNotFoundError as error:
        if error.filename != str(part):
            raise
        reason = "another job has begun to write this file; this one gives way"
        raise OSError(errno.EBUSY, reason, str(path)) from None
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _named_if_full(path: str | Path, needed: int = 0) -> Iterator[None]:
    """Say so if writing failed because the disk is full; HDF5 does not.

    It counts as full if there is not room for the bytes `needed`.
    """
    try:
        yield
    except (OSError, RuntimeError) as error:
        folder = Path(path).parent
        free = shutil.disk_usage(folder).free
        full = getattr(error, "errno", None) == errno.ENOSPC
        if not full and free > needed + ROOM_FOR_METADATA:
            raise
        raise OSError(
            errno.ENOSPC,
            f"the disk is full ({free} bytes left); make room, run again",
            str(folder),
        ) from None


def _create(dataset: xr.Dataset, path: Path, **place) -> None:
    # In the order of a dataset that was read, so that a copy has the same bytes.
    coords = {name: dataset[name].variable for name in dataset.coords}
    dataset = dataset.drop_vars(list(coords)).assign_coords(coords).copy()
    encoding = {}
    for name, array in dataset.variables.items():
        # HDF5 gives attributes in the order of its pages.
        array.attrs = dict(sorted(array.attrs.items()))
        encoding[name] = {"_FillValue": None}
        if "replicate" in array.dims and array.dtype.kind != "O":
            sizes = [1 if d == "replicate" else n for d, n in array.sizes.items()]
            encoding[name]["chunksizes"] = tuple(sizes)
    dataset.to_netcdf(
        path, engine="netcdf4", encoding=encoding, unlimited_dims=["replicate"], **place
    )


def _append(dataset: xr.Dataset, path: Path) -> None:
    with netCDF4.Dataset(path, "a") as file:
        start = len(file.dimensions["replicate"])
        stop = start + dataset.sizes["replicate"]
        for name, array in dataset.variables.items():
            if "replicate" in array.dims:
                if array.dims[0] != "replicate":
                    raise ContractError(f"{name!r}: 'replicate' must come first")
                file[name][start:stop] = array.values


def save_text(text: str, path: str | Path) -> None:
    """Write a text file atomically."""
    save_bytes(text.encode(), path)


def save_bytes(content: bytes, path: str | Path) -> None:
    """Write a binary file atomically."""
    with atomic_write(path) as part:
        part.write_bytes(content)


def save_figure(figure, path: str | Path) -> None:
    """Write a Matplotlib figure in the format of the suffix, without a time stamp."""
    stamp = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    kind = Path(path).suffix[1:]
    with atomic_write(path) as part:
        figure.savefig(part, format=kind, metadata=stamp.get(kind))


def load_text(path: str | Path) -> str:
    """Read a text file."""
    return Path(path).read_text("utf-8")


def load_bytes(path: str | Path) -> bytes:
    """Read a binary file."""
    return Path(path).read_bytes()


def job_usage(path: str | Path) -> dict[str, float]:
    """What a job used, as :func:`leastaction.core.process.write_usage` has it."""
    names, values = Path(path).read_text("utf-8").splitlines()
    numbers = map(float, values.split("\t"))
    return dict(zip(names.split("\t"), numbers, strict=True))
