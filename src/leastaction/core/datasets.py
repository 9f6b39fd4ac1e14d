"""The files between stages: read with their contract checked, saved whole.

This is the only module that reads or writes data. A dataset is either absent or
complete on disk (it is written beside its place and then renamed), and equal content
gives equal bytes: no time stamp, host or version is stored.

A dataset ends with a seal, the digest of everything before it, which other readers of
NetCDF pass over. Checksums of HDF5 itself would cover numbers only: with a flipped bit
in its tables the library returns other texts, crashes or does not return.
"""

import errno
import glob
import hashlib
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import netCDF4
import xarray as xr

from leastaction.core.contracts import ContractError, check

SEAL = b"\nleastaction sha256 "
SEAL_LENGTH = len(SEAL) + hashlib.sha256().digest_size
BLOCK = 2**20
# A variable with more bytes than this is read when it is used.
LARGE = 2**24
# What is read once, chunk by chunk, needs no cache.
netCDF4.set_chunk_cache(BLOCK)


@contextmanager
def open_dataset(path: str | Path) -> Iterator[xr.Dataset]:
    """Open a file lazily; its variables are read when they are used.

    Raises
    ------
    ContractError
        If the file is absent or is not readable NetCDF.
    """
    try:
        dataset = xr.open_dataset(path, engine="netcdf4", decode_times=False)
    except FileNotFoundError:
        raise ContractError(f"{path} does not exist; make it with snakemake") from None
    except OSError as error:
        raise ContractError(
            f"{path} is not readable NetCDF ({error}); {_again(path)}"
        ) from None
    with dataset:
        yield dataset


def check_seal(path: str | Path) -> bool:
    """Check that a file is as it was written; whether it has a seal to tell.

    Raises
    ------
    ContractError
        If a bit of it has changed.
    """
    if not Path(path).is_file():
        return False
    with open(path, "rb") as file:
        length = max(0, os.fstat(file.fileno()).st_size - SEAL_LENGTH)
        digest = _digest(file, length)
        seal = file.read()
    if seal.startswith(SEAL) and seal != SEAL + digest:
        raise ContractError(
            f"{path} is damaged: it is not what was written; {_again(path)}"
        )
    return seal.startswith(SEAL)


def _digest(file, length: int) -> bytes:
    """SHA-256 of the next `length` bytes."""
    digest = hashlib.sha256()
    while length > 0 and (block := file.read(min(BLOCK, length))):
        digest.update(block)
        length -= len(block)
    return digest.digest()


def _again(path: str | Path) -> str:
    return f"make it again with: snakemake --forcerun {path}"


def load(path: str | Path, name: str | None = None) -> xr.Dataset:
    """Read a whole file, checked against the contract `name` (or its own)."""
    check_seal(path)
    with open_dataset(path) as dataset:
        dataset = dataset.load()
    return check(dataset, name or dataset.attrs.get("contract"), str(path))


def sizes(path: str | Path) -> dict[str, int]:
    """Size of every dimension of a file, which is not read."""
    with open_dataset(path) as dataset:
        return {str(name): size for name, size in dataset.sizes.items()}


class Replicates:
    """Files read side by side, one replicate at a time, each checked.

    Memory is bounded by one replicate, however many a file holds, and large variables
    are read when they are used. The numbers of a sealed file are finite: that was
    checked before it was sealed. Of a `block`, those from its first number up to its
    second are read.

    Raises
    ------
    ContractError
        If the files differ in their number of replicates.
    """

    def __init__(self, *paths: str | Path, block: Sequence[int | None] | None = None):
        self._paths = paths
        self._sealed, sizes = {}, {}
        for path in paths:
            self._sealed[path] = check_seal(path)
            with open_dataset(path) as dataset:
                sizes[str(path)] = dataset.sizes.get("replicate")
        if len(set(sizes.values())) != 1 or None in sizes.values():
            raise ContractError(f"the files differ in their replicates: {sizes}")
        self._numbers = range(next(iter(sizes.values())))[slice(*(block or (None,)))]

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[list[xr.Dataset]]:
        with ExitStack() as opened:
            files = [(opened.enter_context(open_dataset(p)), p) for p in self._paths]
            for i in self._numbers:
                yield [self._piece(dataset, path, i) for dataset, path in files]

    def _piece(self, dataset: xr.Dataset, path: str | Path, i: int) -> xr.Dataset:
        piece = dataset.isel(replicate=slice(i, i + 1))
        for variable in piece.variables.values():
            if variable.nbytes <= LARGE:
                variable.load()
        kind, source = piece.attrs.get("contract"), f"{path}, replicate {i}"
        return check(piece, kind, source, numbers=not self._sealed[path])


def save(dataset: xr.Dataset, path: str | Path, name: str) -> None:
    """Write a dataset that honours `name`, so that `path` is absent or complete."""
    save_replicates([dataset], path, name)


def save_replicates(
    pieces: Iterable[xr.Dataset], path: str | Path, name: str | None = None
) -> None:
    """Write pieces along `replicate` as they come, holding one in memory at a time.

    They honour the contract `name`, or the one that they name themselves.

    Raises
    ------
    ContractError
        If a piece does not honour the contract; nothing is left at `path`.
    """
    with whole(path) as part:
        begun = False
        for piece in pieces:
            kind = name or piece.attrs["contract"]
            piece = check(piece.assign_attrs(contract=kind), kind, f"result {path}")
            part.stat()  # netCDF4 would create what another job has removed
            with _told_if_full(path, piece.nbytes):
                if begun:
                    _append(piece, part)
                else:
                    _write(piece, part)
            begun = True
            del piece
        if not begun:
            raise ContractError(f"there is nothing to write to {path}: no replicates")
        with _told_if_full(path), open(part, "r+b") as file:
            length = os.fstat(file.fileno()).st_size
            file.write(SEAL + _digest(file, length))


@contextmanager
def whole(path: str | Path) -> Iterator[Path]:
    """Place to write what becomes `path` at the end: absent or complete, on the disk.

    Who comes last wins: the places of others are removed, so that a job whose Snakemake
    was killed ends with an error instead of overwriting the file of its successor.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    for other in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        other.unlink(missing_ok=True)
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")
    with _told_if_full(path):
        part.touch()
    try:
        yield part
        with _told_if_full(path):
            _sync(part)
        os.replace(part, path)
    except OSError as error:
        if Path(error.filename or "") != part or part.exists():
            raise
        reason = "another job has begun to write this file; this one gives way"
        raise OSError(errno.EBUSY, reason, str(path)) from None
    finally:
        part.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Wait until a file is on the disk: some systems report a full one only then."""
    with open(path, "r+b") as file:
        os.fsync(file.fileno())


@contextmanager
def _told_if_full(path: str | Path, needed: int = 0) -> Iterator[None]:
    """Say so if writing failed because the disk is full; HDF5 does not.

    It counts as full if there is not room for the bytes `needed`.
    """
    try:
        yield
    except (OSError, RuntimeError) as error:
        folder = Path(path).parent
        free = shutil.disk_usage(folder).free
        if free > needed + BLOCK and getattr(error, "errno", None) != errno.ENOSPC:
            raise
        raise OSError(
            errno.ENOSPC,
            f"the disk is full ({free} bytes left); make room, run again",
            str(folder),
        ) from None


def _write(dataset: xr.Dataset, path: Path) -> None:
    # In the order of a dataset that was read, so that a copy has the same bytes.
    coords = {name: dataset[name].variable for name in dataset.coords}
    dataset = dataset.drop_vars(list(coords)).assign_coords(coords)
    encoding = {}
    for name, array in dataset.variables.items():
        encoding[name] = {"_FillValue": None}
        if "replicate" in array.dims and array.dtype.kind != "O":
            sizes = [1 if d == "replicate" else n for d, n in array.sizes.items()]
            encoding[name]["chunksizes"] = tuple(sizes)
    dataset.to_netcdf(
        path, engine="netcdf4", encoding=encoding, unlimited_dims=["replicate"]
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
    """Write a text file, so that `path` is absent or complete."""
    with whole(path) as part, _told_if_full(path):
        part.write_text(text)


def save_bytes(content: bytes, path: str | Path) -> None:
    """Write a binary file, so that `path` is absent or complete."""
    with whole(path) as part, _told_if_full(path):
        part.write_bytes(content)


def save_figure(figure, path: str | Path) -> None:
    """Write a Matplotlib figure in the format of the suffix, without a time stamp."""
    stamp = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    kind = Path(path).suffix[1:]
    with whole(path) as part, _told_if_full(path):
        figure.savefig(part, format=kind, metadata=stamp.get(kind))


def load_text(path: str | Path) -> str:
    """Read a text file."""
    return Path(path).read_text()


def load_bytes(path: str | Path) -> bytes:
    """Read a binary file."""
    return Path(path).read_bytes()


def load_present(paths: Iterable[str | Path]) -> dict[str, str]:
    """Texts of those files that are there, by their path."""
    return {str(path): load_text(path) for path in paths if Path(path).is_file()}
