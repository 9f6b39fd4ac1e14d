"""The files between stages: read with their contract checked, saved whole.

This is the only module that reads or writes data. A dataset is either absent or
complete on disk (it is written beside its place and then renamed), and equal content
gives equal bytes: no time stamp, host or version is stored.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import netCDF4
import xarray as xr

from leastaction.contracts import ContractError, check


@contextmanager
def open_dataset(path: str | Path) -> Iterator[xr.Dataset]:
    """Open a file lazily; its variables are read when they are used.

    Raises
    ------
    ContractError
        If the file is absent or is not readable NetCDF.
    """
    try:
        dataset = xr.open_dataset(
            path, engine="netcdf4", decode_times=False, cache=False
        )
    except FileNotFoundError:
        raise ContractError(f"{path} does not exist; make it with snakemake") from None
    except OSError as error:
        raise ContractError(
            f"{path} is not readable NetCDF ({error}); delete it and run again"
        ) from None
    with dataset:
        yield dataset


def load(path: str | Path, name: str | None = None) -> xr.Dataset:
    """Read a whole file, checked against the contract `name` (or its own)."""
    with open_dataset(path) as dataset:
        dataset = dataset.load()
    return check(dataset, name or dataset.attrs.get("contract"), str(path))


def sizes(path: str | Path) -> dict[str, int]:
    """Size of every dimension of a file, which is not read."""
    with open_dataset(path) as dataset:
        return {str(name): size for name, size in dataset.sizes.items()}


class Replicates:
    """Files read side by side, one replicate at a time, each checked.

    Memory is bounded by one replicate, however many a file holds. Only the `first` so
    many are read if that is given.

    Raises
    ------
    ContractError
        If the files differ in their number of replicates.
    """

    def __init__(self, *paths: str | Path, first: int | None = None):
        self._paths = paths
        sizes = {}
        for path in paths:
            with open_dataset(path) as dataset:
                sizes[str(path)] = dataset.sizes.get("replicate")
        if len(set(sizes.values())) != 1 or None in sizes.values():
            raise ContractError(f"the files differ in their replicates: {sizes}")
        count = next(iter(sizes.values()))
        self._count = count if first is None else min(first, count)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[list[xr.Dataset]]:
        for i in range(self._count):
            pieces = []
            for path in self._paths:
                with open_dataset(path) as dataset:
                    piece = dataset.isel(replicate=slice(i, i + 1)).load()
                kind = piece.attrs.get("contract")
                pieces.append(check(piece, kind, f"{path}, replicate {i}"))
            yield pieces


def save(dataset: xr.Dataset, path: str | Path, name: str) -> None:
    """Write a dataset that honours `name`, so that `path` is absent or complete."""
    save_replicates([dataset], path, name)


def save_replicates(pieces: Iterable[xr.Dataset], path: str | Path, name: str) -> None:
    """Write pieces along `replicate` as they come, holding one in memory at a time.

    Raises
    ------
    ContractError
        If a piece does not honour the contract `name`; nothing is left at `path`.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    try:
        for i, piece in enumerate(pieces):
            piece = check(piece.assign_attrs(contract=name), name, f"result {path}")
            if i == 0:
                _write(piece, part)
            else:
                _append(piece, part)
            del piece
        if not part.exists():
            raise ContractError(f"there is nothing to write to {path}: no replicates")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _write(dataset: xr.Dataset, path: Path) -> None:
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
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(text)
    os.replace(part, path)


def save_figure(figure, path: str | Path) -> None:
    """Write a Matplotlib figure in the format of the suffix, without a time stamp."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    stamp = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    kind = path.suffix[1:]
    figure.savefig(part, format=kind, metadata=stamp.get(kind))
    os.replace(part, path)


def load_text(path: str | Path) -> str:
    """Read a text file."""
    return Path(path).read_text()
