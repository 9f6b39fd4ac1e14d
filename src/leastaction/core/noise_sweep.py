"""A sweep over noise: the same motions, recorded with noise of several kinds, levels.

A file of ``recordings`` holds motions without noise and one draw of unit noise. What
sensors record in one case (mode m, level σ), ỹ = y + σ e_m, is formed here, and only
that is shown to a method.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import product

import xarray as xr

from leastaction.core.contracts import SWEEP


def recorded(observations: xr.Dataset, mode: str, level: float) -> xr.Dataset:
    """Return what sensors record in one case, contract ``motion``."""
    drawn = [
        str(name).removeprefix("noise_")
        for name, draws in observations.data_vars.items()
        if "noise_mode" in draws.dims
    ]
    channels = {}
    for name in drawn:
        clean, draws = observations[name], observations[f"noise_{name}"]
        noise = draws.values[:, list(draws["noise_mode"].values).index(mode)]
        channels[name] = (clean.dims, clean.values + level * noise, clean.attrs)
    case = observations.drop_vars([*SWEEP, *(f"noise_{name}" for name in drawn)])
    return case.assign(channels).assign_attrs(contract="motion")


def cases(dataset: xr.Dataset, selection: Mapping | None = None) -> Iterator[tuple]:
    """(mode, level) of every case of a sweep, of a `selection` of `modes` and `levels`.

    ValueError if the selection names one that the dataset does not have.
    """
    selected = []
    for name, key in zip(SWEEP, ("modes", "levels"), strict=True):
        present = list(dataset[name].values)
        required = (selection or {}).get(key) or present
        missing = [value for value in required if value not in present]
        if missing:
            raise ValueError(
                f"{name}: {missing} are not among the recordings; these have {present}"
            )
        selected.append([value for value in present if value in required])
    yield from ((str(mode), float(level)) for mode, level in product(*selected))


def over_cases(
    function: Callable[..., xr.Dataset],
    observations: xr.Dataset,
    *others: xr.Dataset,
    selection: Mapping | None = None,
) -> xr.Dataset:
    """Apply a stage to every case of a sweep; to the dataset itself if it has none.

    ``function(recorded, *others)`` gets one case of the observations and of the results
    of earlier stages, whose cases are the ones to do; the first stage after simulate
    has a `selection` instead, see :func:`cases`.
    """
    if "noise_level" not in observations.dims:
        return function(observations, *others)
    source = others[0] if others else observations
    done = {}
    for mode, level in cases(source, selection):
        earlier = [o.sel(noise_mode=mode, noise_level=level, drop=True) for o in others]
        done[mode, level] = function(recorded(observations, mode, level), *earlier)
    dataset = gathered(done)
    about = observations["noise_level"].attrs or dataset["noise_level"].attrs
    return dataset.assign_coords(noise_level=dataset["noise_level"].assign_attrs(about))


def over_models(
    function: Callable[[xr.Dataset], xr.Dataset],
    model: xr.Dataset,
    selection: Mapping | None = None,
    same: Collection[str] = (),
) -> xr.Dataset:
    """Apply `function` to the model of every case; to the model if it has no sweep.

    `selection` is that of :func:`cases`, `same` that of :func:`gathered`.
    """
    if "noise_level" not in model.dims:
        return function(model)
    done = {
        (mode, level): function(model.sel(noise_mode=mode, noise_level=level))
        for mode, level in cases(model, selection)
    }
    return gathered(done, same)


def gathered(
    results: Mapping[tuple[str, float], xr.Dataset], same: Collection[str] = ()
) -> xr.Dataset:
    """Put the results of all cases, by (mode, level), together.

    Variables in `same` are the same in every case, although they have a replicate.
    """
    modes, levels = (list(dict.fromkeys(names)) for names in zip(*results, strict=True))
    rows = [
        _joined([results[mode, level] for level in levels], "noise_level", same)
        for mode in modes
    ]
    dataset = _joined(rows, "noise_mode", same)
    about = {"units": "SI units of the channel"}
    about["long_name"] = "standard deviation of the noise"
    return dataset.assign_coords(
        noise_mode=modes, noise_level=("noise_level", levels, about)
    )


def _joined(pieces: list[xr.Dataset], name: str, same: Collection[str]) -> xr.Dataset:
    """Put pieces together along a new dimension that comes after `replicate`."""
    varying = [
        key
        for key, variable in pieces[0].data_vars.items()
        if "replicate" in variable.dims and key not in same
    ]
    constant = pieces[0].drop_vars(varying)
    if len(pieces) == 1:
        joined = pieces[0][varying].expand_dims(name)
    else:
        joined = xr.concat([p[varying] for p in pieces], name, join="exact")
    joined = joined.transpose("replicate", name, ...) if varying else joined
    return joined.merge(constant, combine_attrs="override")


def along_replicates(pieces: Sequence[xr.Dataset]) -> xr.Dataset:
    """Put results of replicates together, as one file of a stage holds them."""
    first = pieces[0]
    names = [k for k, v in first.variables.items() if "replicate" in v.dims]
    fixed = first.drop_vars(names)
    joined = xr.concat([piece[names] for piece in pieces], "replicate", join="exact")
    dataset = joined.merge(fixed, combine_attrs="override")[list(first.data_vars)]
    return dataset.assign_coords(fixed.coords)
