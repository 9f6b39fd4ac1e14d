"""The road of a recording in memory: from a table or arrays to a law, in one call."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from leastaction.configuration.validation import ConfigError
from leastaction.core.method import rollout
from leastaction.core.progress import progress_bar
from leastaction.core.recipe import Recipe
from leastaction.recordings.configuration import import_settings, recording_from_config
from leastaction.recordings.error import RecordingError

if TYPE_CHECKING:
    from leastaction.recordings.law import Law

# Names that mean an angle where no unit is given.
ANGLES = {
    *("alpha", "beta", "gamma", "delta", "theta", "phi", "varphi", "psi", "angle"),
    *("azimuth", "roll", "pitch", "yaw"),
}
TIME, TRAJECTORY = "time", "trajectory"


def learn(
    data,
    *,
    time,
    coordinates: Mapping | Sequence[str] | None = None,
    trajectory: str | None = None,
    velocities: Mapping | None = None,
    accelerations: Mapping | None = None,
    inputs: Mapping | None = None,
    excitation: str = "none",
    library: Mapping | None = None,
    held_out: Sequence | None = None,
    accept: Sequence[str] = (),
    recipe: Mapping | None = None,
    title: str = "",
    progress: bool = True,
    **reading,
) -> "Law":
    """Law of a recording: multiple shooting, terms chosen by cross-validation.

    The same steps as ``snakemake --configfile`` on the same table, and the same law to
    the last digit. With ``excitation="random"`` martingale moments find the volatility,
    too. Units are converted to SI.

    Parameters
    ----------
    data
        A path (CSV, white space, NetCDF) or several; a :class:`pandas.DataFrame`; a
        mapping of arrays by name, each of shape (time,), (trajectory, time), or a list
        of such trajectories; an :class:`xarray.Dataset` over (time,) or
        (trajectory, time).
    time
        Of a table the name of its column, ``{"column": "ms", "unit": "ms"}``, or
        ``{"rate": 100}`` in Hz. Of arrays their times in s (one array, or a list of
        one per trajectory), or the step between samples.
    coordinates
        Unit by name, ``{"theta": "deg"}``; of a column with another name
        ``{"theta": "encoder [deg]"}``, or all that the key `import.coordinates` of a
        YAML says. Of arrays, all that `velocities`, `accelerations` and `inputs` do not
        name, if None: angles in rad by names such as theta, else lengths in m.
    trajectory
        Column that tells trajectories apart.
    velocities, accelerations, inputs
        As `coordinates`, by the name of the coordinate: ``{"x": "force [N]"}``.
    excitation
        ``none`` or ``random``. Motion that contradicts it is refused.
    library
        Candidates, ``{"also": {"lagrangian": ["exp(-x)"]}}`` or complete; those for the
        kinds of the coordinates if None.
    held_out
        Trajectories that only the prediction sees; one in four if None.
    accept
        Refusals that you know better, such as ``["turns"]``.
    recipe
        Settings of the recipe that differ, ``{"identify": {"largest": 8}}``.
    title
        Heading of the law.
    progress
        Whether a bar is shown once the work takes longer than three seconds.
    reading
        Further keys of `import`, such as `separator`, `skip_lines`, `columns`, `gap`.

    Returns
    -------
    Law
        Terms with intervals, verdict, warnings, prediction of what was held out.

    Raises
    ------
    RecordingError
        If the data cannot be used, or no law follows them; one message says what was
        given, what was expected and what to do.

    Examples
    --------
    >>> import numpy as np, leastaction as la
    >>> t, rng = np.arange(0, 30, 0.02), np.random.default_rng(1)
    >>> swings = [
    ...     a * np.cos(3 * t) + 1e-3 * rng.standard_normal(len(t))
    ...     for a in (0.1, 0.2, 0.3, 0.4, 0.5)
    ... ]
    >>> law = la.learn({"x": swings}, time=t, progress=False)
    >>> law.verdict, law.support, round(law.coefficient("x**2"), 3)
    ('found', ['xdot**2', 'x**2'], -4.5)

    Notes
    -----
    H. G. Bock, Recent advances in parameter identification techniques for O.D.E.
    (1983); M. Stone, Cross-validatory choice and assessment of statistical predictions
    (1974).
    """
    from leastaction.recordings.import_recording import import_recording
    from leastaction.recordings.law import Law

    files, frames, found = _tables(data, time, trajectory)
    columns = {
        "velocities": velocities,
        "accelerations": accelerations,
        "inputs": inputs,
    }
    if coordinates is None:
        coordinates = _all_coordinates(data, columns)
    elif not isinstance(coordinates, Mapping):
        coordinates = {name: _unit(name) for name in coordinates}
    given = {
        "title": title,
        "import": {
            "files": files,
            **found,
            "coordinates": coordinates,
            **{key: value for key, value in columns.items() if value is not None},
            **reading,
        },
        "excitation": excitation,
        "accept": list(accept),
        "library": library or {},
        "validate": {"held_out": None if held_out is None else list(held_out)},
        "estimators": {"recommended": recipe or {}},
    }
    try:
        example = recording_from_config("data", given, Path.cwd(), frames=frames)
    except ConfigError as error:
        raise RecordingError(str(error)) from None
    estimator = Recipe(**example["estimators"]["recommended"])
    with progress_bar(5, progress) as advance:
        advance("import")
        observations = import_recording(import_settings(example))
        model = estimator.dataset(observations, example["library"], advance)
        predicted = None
        if excitation != "random":
            advance("predict")
            predict = rollout("measurements").function()
            predicted = predict(observations, model, example["validate"])
    return Law(model, observations, predicted, title)


def _tables(data, time, trajectory) -> tuple[list[str], list, dict]:
    """Files, frames, and the keys `time` and `trajectory` of `import`."""
    import pandas as pd
    import xarray as xr

    keys = {"time": time} | ({"trajectory": trajectory} if trajectory else {})
    if isinstance(data, str | Path):
        return [str(data)], [], keys
    if isinstance(data, pd.DataFrame):
        return ["the table"], [data], keys
    if isinstance(data, Sequence) and data:
        if all(isinstance(one, str | Path) for one in data):
            return [str(one) for one in data], [], keys
        if all(isinstance(one, pd.DataFrame) for one in data):
            return ["the table"] * len(data), list(data), keys
    if isinstance(data, xr.Dataset):
        data, time = _arrays_of(data, time)
    if isinstance(data, Mapping) and data:
        frame = _frame(data, time)
        step = {"rate": 1 / float(time)} if np.ndim(time) == 0 else TIME
        many = frame[TRAJECTORY].nunique() > 1
        keys = {"time": step} | ({"trajectory": TRAJECTORY} if many else {})
        return ["the arrays"], [frame], keys
    raise RecordingError(
        f"data are {type(data).__name__}; expected a path, a pandas.DataFrame, arrays "
        "by name such as {'theta': theta}, or an xarray.Dataset"
    )


def _arrays_of(data, time) -> tuple[dict, np.ndarray]:
    """Variables of a dataset as arrays over (trajectory, time), and their times."""
    name = time if isinstance(time, str) else TIME
    if name not in data.variables:
        raise RecordingError(f"the dataset has no {name!r}; write time=<its name>")
    dim = data[name].dims[-1]
    arrays = {}
    for key, value in data.data_vars.items():
        if dim in value.dims:
            order = [d for d in value.dims if d != dim]
            arrays[str(key)] = value.transpose(*order, dim).values
    return arrays, data[name].values


def _frame(data: Mapping, time):
    """Arrays by name as one table with the columns `trajectory` and `time`."""
    import pandas as pd

    series = {str(name): _trajectories(name, values) for name, values in data.items()}
    first, *others = series
    lengths = [len(one) for one in series[first]]
    for name in others:
        own = [len(one) for one in series[name]]
        if own != lengths:
            raise RecordingError(
                f"{name} has {_shape(own)}, {first} has {_shape(lengths)}; expected "
                "arrays of equal lengths. Cut them to the same samples"
            )
    columns = {name: np.concatenate(parts) for name, parts in series.items()}
    if np.ndim(time) == 0:
        if not isinstance(time, int | float | np.number) or not time > 0:
            raise RecordingError(
                f"time is {time!r}; expected the times of the samples in s, or the "
                "step between them"
            )
    else:
        times = _trajectories("time", time)
        if len(times) == 1:
            times = times * len(lengths)
        if [len(one) for one in times] != lengths:
            raise RecordingError(
                f"time has {_shape([len(one) for one in times])}, {first} has "
                f"{_shape(lengths)}; expected one time for every sample"
            )
        columns[TIME] = np.concatenate(times)
    columns[TRAJECTORY] = np.repeat(np.arange(len(lengths)), lengths)
    return pd.DataFrame(columns)


def _trajectories(name, values) -> list[np.ndarray]:
    """One array per trajectory."""
    nested = isinstance(values, Sequence) and len(values) and np.ndim(values[0]) > 0
    parts = values if nested else np.asarray(values)
    if not nested and parts.ndim == 1:
        parts = [parts]
    found = [np.asarray(part) for part in parts]
    for part in found:
        if part.ndim != 1 or part.dtype.kind not in "fiu":
            raise RecordingError(
                f"{name} has a part of shape {part.shape} and type {part.dtype}; "
                "expected numbers of shape (time,), (trajectory, time), or a list of "
                "trajectories"
            )
    return found


def _shape(lengths: Sequence[int]) -> str:
    """Lengths in words."""
    if len(lengths) == 1:
        return f"{lengths[0]} samples"
    return f"{len(lengths)} trajectories of {', '.join(map(str, lengths))} samples"


def _all_coordinates(data, columns: Mapping) -> dict[str, str]:
    """Every array that is no velocity, acceleration or input, with a unit by its name.

    Raises
    ------
    RecordingError
        If `data` is a table, whose columns may mean anything.
    """
    if not isinstance(data, Mapping) and not hasattr(data, "data_vars"):
        raise RecordingError(
            "coordinates are missing; write the unit of each column that is one, such "
            'as coordinates={"theta": "deg"}'
        )
    others = {
        str(entry.get("column") if isinstance(entry, Mapping) else entry)
        .partition("[")[0]
        .strip()
        for group in columns.values()
        for entry in (group or {}).values()
    }
    names = [str(name) for name in getattr(data, "data_vars", data)]
    return {
        name: getattr(data[name], "attrs", {}).get("units") or _unit(name)
        for name in names
        if name not in others
    }


def _unit(name: str) -> str:
    return "rad" if angle_by_name(name) else "m"


def angle_by_name(name: str) -> bool:
    """Whether a name, with or without an index, is one of an angle."""
    stem = str(name).rstrip("0123456789").rstrip("_")
    return stem.lower() in ANGLES
