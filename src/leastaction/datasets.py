"""The files between stages: what each must hold, checked at the door, saved whole.

This is the only module that reads or writes data. A dataset is either absent or
complete on disk (it is written beside its place and then renamed), and equal content
gives equal bytes: no time stamp, host or version is stored.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import netCDF4
import numpy as np
import xarray as xr

ENSEMBLE = ("replicate", "trajectory", "time", "dof")


@dataclass(frozen=True)
class Contract:
    """What a dataset promises.

    Attributes
    ----------
    made_by
        Stage (and method) whose output it is, named in error messages.
    variables
        Dimensions of each variable, in order.
    finite
        Variables in which a NaN or an infinity is an error.
    """

    made_by: str
    variables: Mapping[str, tuple[str, ...]]
    finite: tuple[str, ...] = ()


CONTRACTS = {
    "observations": Contract(
        "simulate",
        {"q": ENSEMBLE, "qdot": ENSEMBLE},
        finite=("q", "qdot"),
    ),
    "ensemble_derivatives": Contract(
        "differentiate with method central_difference",
        {
            "momentum_rate": ("replicate", "dof", "time", "term"),
            "generalised_force": ("replicate", "dof", "time", "term"),
        },
        finite=("momentum_rate", "generalised_force"),
    ),
    "realised_variation": Contract(
        "differentiate with method realised_variation",
        {
            "realised_covariation": ("replicate", "dof", "dof_other"),
            "frequency": ("replicate", "dof"),
        },
        finite=("realised_covariation",),
    ),
    "regression": Contract(
        "assemble with method ensemble_mean",
        {
            "theta": ("replicate", "equation", "term"),
            "target": ("replicate", "equation"),
            "status": ("term",),
        },
        finite=("theta", "target"),
    ),
    "moments": Contract(
        "assemble with method martingale_moments",
        {
            "moment": ("replicate", "trajectory", "dof", "instrument", "term"),
            "instrument_gram": ("replicate", "instrument", "instrument_other"),
            "increment_gram": ("replicate", "dof", "dof_other", "term", "term_other"),
            "realised_covariation": ("replicate", "dof", "dof_other"),
            "samples": ("replicate",),
            "status": ("term",),
        },
        finite=("moment", "instrument_gram", "increment_gram"),
    ),
    "model": Contract(
        "identify",
        {
            "coefficient_estimate": ("replicate", "term"),
            "coefficient_std": ("replicate", "term"),
            "support": ("replicate", "term"),
            "status": ("term",),
            "volatility_estimate": ("replicate", "dof"),
            "volatility_std": ("replicate", "dof"),
            "volatility_coefficient_estimate": (
                "replicate",
                "dof",
                "volatility_term",
            ),
            "volatility_support": ("replicate", "dof", "volatility_term"),
        },
    ),
    "rollout": Contract(
        "validate",
        {
            "mean_true": ("replicate", "time", "state"),
            "std_true": ("replicate", "time", "state"),
            "mean_estimate": ("replicate", "time", "state"),
            "std_estimate": ("replicate", "time", "state"),
            "hamiltonian_true": ("replicate", "time"),
            "hamiltonian_estimate": ("replicate", "time"),
        },
        finite=("mean_true", "std_true", "hamiltonian_true"),
    ),
}


class ContractError(ValueError):
    """A dataset that does not hold what its stage promised."""


def problems(dataset: xr.Dataset, name: str) -> list[str]:
    """Everything that is wrong with `dataset` as a ``CONTRACTS[name]``."""
    contract = CONTRACTS[name]
    found = []
    for variable, dims in contract.variables.items():
        if variable not in dataset:
            found.append(f"variable {variable!r} {dims} is missing")
            continue
        array = dataset[variable]
        if array.dims != dims:
            found.append(f"{variable!r} has dimensions {array.dims}, expected {dims}")
        missing = [key for key in ("units", "long_name") if key not in array.attrs]
        if missing:
            found.append(f"{variable!r} lacks the attribute {' and '.join(missing)}")
        if 0 in array.shape:
            found.append(f"{variable!r} is empty: {dict(array.sizes)}")
        elif variable in contract.finite and not np.isfinite(array.values).all():
            bad = np.argwhere(~np.isfinite(array.values))
            where = dict(zip(array.dims, map(int, bad[0]), strict=True))
            found.append(
                f"{variable!r} has {len(bad)} values that are not finite, "
                f"the first at {where}"
            )
    if "time" in dataset.coords:
        found += _time_problems(dataset["time"])
    return found


def _time_problems(time: xr.DataArray) -> list[str]:
    if time.size < 3:
        return [f"'time' has {time.size} samples; at least 3 are needed"]
    steps = np.diff(time.values)
    if not (steps > 0).all():
        return [f"'time' does not increase at sample {int(np.argmin(steps)) + 1}"]
    if np.ptp(steps) > 1e-6 * steps.mean():
        return [f"'time' is not uniform: steps {steps.min():g} ... {steps.max():g} s"]
    return []


def check(dataset: xr.Dataset, name: str, source: str = "dataset") -> xr.Dataset:
    """Return `dataset` if it honours the contract `name`.

    Raises
    ------
    ContractError
        Listing all problems at once.
    """
    kind = dataset.attrs.get("contract", name)
    if kind not in CONTRACTS:
        raise ContractError(
            f"{source} was not made by leastaction (its attribute 'contract' is "
            f"{kind!r}); known are {', '.join(CONTRACTS)}"
        )
    if kind != name:
        raise ContractError(
            f"{source} holds {kind!r} (made by {CONTRACTS[kind].made_by}), but "
            f"{name!r} (made by {CONTRACTS[name].made_by}) is needed here; "
            "choose methods that fit together"
        )
    found = problems(dataset, name)
    if found:
        listing = "\n".join(f"  - {problem}" for problem in found)
        raise ContractError(
            f"{source} is not a valid {name!r} dataset "
            f"(made by {CONTRACTS[name].made_by}):\n{listing}"
        )
    return dataset


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


class Replicates:
    """Files read side by side, one replicate at a time, each checked.

    Memory is bounded by one replicate, however many a file holds.

    Raises
    ------
    ContractError
        If the files differ in their number of replicates.
    """

    def __init__(self, *paths: str | Path):
        self._paths = paths
        sizes = {}
        for path in paths:
            with open_dataset(path) as dataset:
                sizes[str(path)] = dataset.sizes.get("replicate")
        if len(set(sizes.values())) != 1 or None in sizes.values():
            raise ContractError(f"the files differ in their replicates: {sizes}")
        self._count = next(iter(sizes.values()))

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
