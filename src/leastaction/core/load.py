"""Load any model that was identified, by what its file holds."""

from pathlib import Path

import xarray as xr

from leastaction.core import files
from leastaction.core.contracts import check, contracts
from leastaction.core.families import implementation


def load_model(
    path: str | Path,
    replicate: int = 0,
    noise_level: float | None = None,
    noise_mode: str | None = None,
):
    """Load one replicate of a ``model.nc``; of a sweep over noise, one case.

    The class of the model is the one that its contract names: a law of written terms
    is an :class:`~leastaction.IdentifiedModel`; families have classes of their own for
    what has no terms.

    Parameters
    ----------
    path
        The file.
    replicate
        Number of the replicate.
    noise_level, noise_mode
        Case of a sweep; the lowest level and the first mode if not given.

    Raises
    ------
    ContractError
        If the file is absent, is not readable or holds something else.
    IndexError
        If the file has fewer replicates.
    KeyError
        If the file has no such case.
    """
    dataset = files.load(path)
    reference = contracts()[dataset.attrs["contract"]].model
    if reference is None:
        check(dataset, "model", str(path))
    count = dataset.sizes["replicate"]
    if not 0 <= replicate < count:
        raise IndexError(f"{path} has replicates 0 ... {count - 1}, not {replicate}")
    dataset = _case(dataset, path, noise_level, noise_mode)
    return implementation(reference)(dataset.isel(replicate=[replicate]))


def _case(dataset: xr.Dataset, path, level, mode) -> xr.Dataset:
    """One case of a sweep over noise."""
    for name, wanted in (("noise_level", level), ("noise_mode", mode)):
        there = list(dataset[name].values) if name in dataset.dims else []
        if wanted is not None and wanted not in there:
            raise KeyError(f"{path} has no {name} {wanted!r}; it has {there}")
        if there:
            dataset = dataset.sel({name: there[0] if wanted is None else wanted})
    return dataset
