"""The road of a recording in memory: from a table or arrays to a law, in one call."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from numbers import Real
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction.core.method import rollout
from leastaction.core.observations import equal_lengths, shape, trajectories
from leastaction.core.progress import progress_bar
from leastaction.core.recipe import Recipe
from leastaction.core.settings import ConfigError
from leastaction.recordings.configuration import (
    MOTION,
    import_settings,
    kind_of,
    predict_settings,
    recording_from_config,
)
from leastaction.recordings.interfaces import speaks_python
from leastaction.recordings.refusals import RecordingError

if TYPE_CHECKING:
    import xarray as xr

    from leastaction.recordings.law import Law

# Names that mean an angle where no unit is given.
ANGLES = {
    *("alpha", "beta", "gamma", "delta", "theta", "phi", "varphi", "psi", "angle"),
    *("azimuth", "roll", "pitch", "yaw"),
}
TIME, TRAJECTORY = "time", "trajectory"
# What is no key of `import` here.
NO_KEYS = {
    "files": "files are the data: give their paths first, in a list",
    "t": "unknown argument 't'; write time=..., or the times as second argument",
}


@speaks_python
def learn(
    data: Any,
    time: Any = None,
    *,
    kind: str = MOTION,
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
    **reading: Any,
) -> "Law":
    """Law of a recording: prediction error method, terms by extended BIC.

    The same steps as ``snakemake --configfile`` on the same table, with the same
    digits. With ``excitation="random"`` the innovations likelihood identifies L, D, the
    random force and the noise of the sensors. Units are converted to SI.

    Parameters
    ----------
    data
        Paths (CSV, white space, NetCDF); tables: a :class:`pandas.DataFrame`, one of
        polars, a structured array, a mapping of columns; arrays by name, of shape
        (time,) or (trajectory, time), or lists of trajectories; one array (time,) of a
        coordinate x; or an :class:`xarray.Dataset` over (time,) or (trajectory, time)
        with `units`.
    time
        Of a table or dataset its name, ``{"column": "ms", "unit": "ms"}`` in another
        unit than s, or ``{"rate": 100}`` in Hz. Of arrays their times in s, one array
        or one per trajectory, or the step between samples.
    kind
        ``motion`` of a mechanism; ``density``, one long record of a stationary motion;
        ``field``, u at the nodes of a line; ``ports``, states, inputs and outputs of a
        port-Hamiltonian system; ``snapshots``, positions at coarse steps.
    coordinates
        Unit by name, ``{"theta": "deg"}``; with another column
        ``{"theta": "encoder [deg]"}``; of several columns
        ``{"theta": {"expression": "atan2(x - x0, y - y0)", "unknown": ["x0", "y0"]}}``;
        all keys of `import.coordinates` of a YAML. If None, all arrays that no other
        argument names: angles in rad by names such as theta, else lengths in m;
        ``xdot`` and ``xddot`` are velocity and acceleration of ``x``.
    trajectory
        Column that separates trajectories.
    velocities, accelerations, inputs
        As `coordinates`, by the name of the coordinate: ``{"x": "force [N]"}``. An
        input may be a command, ``{"x": {"column": "u", "unit": "V", "lag": 0.01}}``,
        with `lag`, `time_constant` (s), `gain` and `offset`, numbers or ``unknown``.
    excitation
        ``none`` or ``random``.
    library
        Candidates, ``{"also": {"lagrangian": ["exp(-x)"]}}`` or complete; by default
        those for the kinds of the coordinates. ``{"reference": "xdot**2/2"}`` sets the
        scale, ``{"inertia": "constant"}`` excludes inertias that depend on positions.
    held_out
        Trajectories excluded from the fit; one in four if None.
    accept
        Checks to skip, as their messages name them, such as ``["turns"]``.
    recipe
        Settings of the recipe that differ, ``{"differentiate": {"trim": 3}}``.
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
    >>> motions = [a * np.cos(3 * t) for a in (0.1, 0.2, 0.3, 0.4, 0.5)]
    >>> motions = [x + 1e-3 * rng.standard_normal(len(t)) for x in motions]
    >>> law = la.learn({"x": motions}, time=t, progress=False)
    >>> law.verdict, law.support, round(law.coefficient("x**2"), 3)
    ('found', ['xdot**2', 'x**2'], -4.5)

    Notes
    -----
    L. Ljung, System Identification: Theory for the User (1999); J. Chen and Z. Chen,
    Biometrika 95 (2008) 759. See ``likelihood/README.md``.
    """
    from leastaction.recordings.law import law_of

    begun = process_time()
    sections = {
        "kind": kind,
        "excitation": excitation,
        "accept": _several(accept),
        "library": library or {},
        "validate": {"held_out": None if held_out is None else _several(held_out)},
        "estimators": {"recommended": recipe or {}},
    }
    columns = {
        "velocities": velocities,
        "accelerations": accelerations,
        "inputs": inputs,
    }
    example, source = described(
        data, time, coordinates, trajectory, columns, reading, sections
    )
    with progress_bar(5, progress) as advance:
        results = _identified(example, excitation == "random", advance)
    return law_of(*results, title, process_time() - begun, source)


def _identified(example: Mapping, random: bool, advance: Callable) -> tuple:
    """Model, observations, and rollout (None of a `random` excitation) of a recording.

    RecordingError if the data cannot be used, or no law follows them.
    """
    from leastaction.recordings.import_samples import imported

    estimator = Recipe(**example["estimators"]["recommended"])
    advance("import")
    observations, parts = imported(import_settings(example))
    try:
        model = estimator.dataset(observations, example["library"], advance)
    except ValueError as error:
        if not random and example["kind"] == MOTION:
            raise
        evidence = f". {_sensed_modes(observations)}" if random else ""
        raise RecordingError(f"{error}{evidence}") from None
    if random:
        return model, observations, None
    advance("predict")
    how = predict_settings(example, "recommended")
    return model, observations, predict(observations, parts, model, how)


def predict(
    observations: "xr.Dataset",
    parts: Mapping[str, "xr.Dataset"],
    model: "xr.Dataset",
    settings: Mapping,
) -> "xr.Dataset":
    """Contract ``measured_rollout`` of a recording of any kind.

    Of another kind than a motion what is held out is one of the `parts`, and `settings`
    are those of :func:`~leastaction.recordings.configuration.predict_settings`.
    """
    if settings["kind"] == MOTION:
        return rollout("measurements").function()(
            observations, model, settings["validate"]
        )
    from leastaction.recordings.import_samples import predict_held_out

    return predict_held_out(parts["held_out"], model, observations, settings)


def _sensed_modes(observations) -> str:
    """What the sensors show of a motion that has no law."""
    from leastaction.recordings.modal_analysis import modes_of_observations

    modes = modes_of_observations(observations)
    if modes is None or not (modes["kind"] == "mode").any():
        return "The sensors show no mode of a structure"
    listed = ", ".join(
        f"{f:.4g} Hz ({100 * ratio:.2g} %)"
        for f, ratio, kind in zip(
            *(modes[n].values for n in ("frequency", "damping_ratio", "kind")),
            strict=True,
        )
        if kind == "mode"
    )
    return (
        f"Without a law the sensors show modes at {listed}; `leastaction modes`, or "
        "leastaction.modes(...), writes them with shapes and intervals"
    )


def described(
    data, time, coordinates, trajectory, columns: dict, reading: Mapping, sections=None
) -> tuple[dict, str]:
    """Recording as its YAML describes it, completed and checked; names of its files.

    Arguments and errors as of :func:`learn`; `columns` are its velocities,
    accelerations and inputs, `sections` those of the YAML beside `import`.
    """
    for key, words in NO_KEYS.items():
        if key in reading:
            raise RecordingError(words)
    files, frames, keys, units = tables_of(data, time, trajectory)
    try:
        of_kind = kind_of({**(sections or {}), "import": reading})
        if coordinates is None and of_kind and "coordinates" not in of_kind.sections:
            coordinates = {}
        elif coordinates is None:
            coordinates = _by_name(units, columns)
        elif not isinstance(coordinates, Mapping):
            names = _several(coordinates)
            if not all(isinstance(name, str) for name in names):
                raise RecordingError(
                    f"coordinates are {type(coordinates).__name__}; expected names, or "
                    "units by name, such as {'theta': 'rad'}"
                )
            coordinates = {name: units.get(name) or _unit(name) for name in names}
        config = {
            **(sections or {}),
            "import": {
                **reading,
                "files": files,
                **keys,
                "coordinates": coordinates,
                **{key: value for key, value in columns.items() if value is not None},
            },
        }
        example = recording_from_config("data", config, Path.cwd(), frames=frames)
    except ConfigError as error:
        raise RecordingError("\n".join(error.problems)) from None
    return example, "" if frames else ", ".join(Path(path).name for path in files)


def check_table(data, how: Mapping, sections: Mapping) -> None:
    """RecordingError if a table lacks what :func:`learn` would read with `how`."""
    columns = {k: how.get(k) for k in ("velocities", "accelerations", "inputs")}
    keys = ("time", "coordinates", "trajectory")
    reading = {k: v for k, v in how.items() if k not in (*keys, *columns)}
    described(data, *(how.get(k) for k in keys), columns, reading, sections)


def _several(value) -> list:
    """A list, also of what is given alone."""
    alone = isinstance(value, str) or not isinstance(value, Iterable)
    return [value] if alone else list(value)


def tables_of(data, time, trajectory) -> tuple[list[str], list, dict, dict]:
    """Files, frames, the keys `time` and `trajectory` of `import`, units of arrays."""
    import xarray as xr

    keys = {"time": time} | ({} if trajectory is None else {"trajectory": trajectory})
    is_array = getattr(data, "ndim", 0) == 1 and not getattr(data.dtype, "names", ())
    if is_array or (isinstance(data, list) and data and isinstance(data[0], Real)):
        data = {"x": data}
    parts = data if isinstance(data, list | tuple) and data else [data]
    if all(isinstance(one, str | Path) for one in parts):
        return [str(one) for one in parts], [], keys, {}
    is_named = isinstance(time, str | Mapping)
    frames = [frame_of(one, is_named) for one in parts]
    if all(frame is not None for frame in frames):
        if not is_named:
            raise RecordingError(
                f"time is {type(time).__name__}; of a table write the name of its "
                "column, or {'rate': 100} in Hz"
            )
        return ["the table"] * len(frames), frames, keys, {}
    if trajectory is not None:
        raise RecordingError(
            f"trajectory is {trajectory!r}, a column of a table; of arrays give a list "
            "of trajectories"
        )
    if isinstance(data, xr.Dataset):
        arrays, times, clock, units = _arrays_of(data, time)
    elif isinstance(data, Mapping) and data:
        arrays, times, clock = data, time, {"column": TIME}
        units = dict.fromkeys(map(str, data))
    else:
        raise RecordingError(_nameless(data))
    frame, step = _frame(arrays, times)
    keys = {"time": clock if step is None else {"rate": 1 / step}}
    if frame[TRAJECTORY].nunique() > 1:
        keys["trajectory"] = TRAJECTORY
    return ["the arrays"], [frame], keys, units


def _nameless(data) -> str:
    """What is expected instead of arrays without a name, as the line to type."""
    shape = np.shape(data)
    if len(shape) != 2 or not 0 < shape[1] < shape[0]:
        return (
            f"data are {type(data).__name__}; expected a path, a pandas.DataFrame, "
            "arrays by name such as {'theta': theta}, or an xarray.Dataset"
        )
    names = [f"'x{k}': x[:, {k}]" for k in range(shape[1])]
    pair = ["'x': x[:, 0]", "'xdot': x[:, 1]"] if shape[1] == 2 else []
    lines = [f"la.learn({{{', '.join(some)}}}, t)" for some in (names, pair) if some]
    of_pair = f", or {lines[1]} of a position and its velocity" if pair else ""
    return (
        f"the array of shape {shape} has no names of coordinates; if x is that array "
        f"and t the times, write {lines[0]}{of_pair}"
    )


def frame_of(data, is_named: bool):
    """Table of a DataFrame, also of polars, of a structured array, or of a mapping.

    Whether the time `is_named` tells a mapping of columns from one of arrays.
    """
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        return data
    if isinstance(data, Mapping) and not hasattr(data, "dims"):
        names = list(data) if is_named else None
    else:
        names = getattr(getattr(data, "dtype", None), "names", None)
        names = names or getattr(data, "columns", None)
    if not names:
        return None
    try:
        return pd.DataFrame({name: np.asarray(data[name]) for name in names})
    except ValueError as error:
        raise RecordingError(
            f"the columns do not make a table ({error}); of arrays over (trajectory, "
            "time) give the times themselves"
        ) from None


def _arrays_of(data, time) -> tuple[dict, np.ndarray, dict, dict]:
    """Variables of a dataset over (trajectory, time), times, clock and units."""
    import xarray as xr

    if not isinstance(time, str) or time not in data or not data[time].ndim:
        stated = repr(time) if isinstance(time, str) else f"of {type(time).__name__}"
        raise RecordingError(
            f"the dataset has no times {stated}; write time=<their name> in "
            f"{', '.join(map(str, data.variables))}"
        )
    clock = {"column": TIME, "unit": str(data[time].attrs.get("units", "s"))}
    dim = data[time].dims[-1]
    variables = [v for k, v in data.data_vars.items() if k != time and dim in v.dims]
    if not variables:
        raise RecordingError(f"the dataset has no variable over {dim!r}")
    series = [v.transpose(..., dim) for v in xr.broadcast(*variables)]
    units = {str(v.name): str(v.attrs.get("units", "")) for v in variables}
    return {str(v.name): v.values for v in series}, data[time].values, clock, units


def _frame(data: Mapping, time):
    """Arrays as a table with the columns `trajectory` and `time`; or a step instead."""
    import pandas as pd

    reserved = {TIME, TRAJECTORY} & set(data)
    if reserved:
        raise RecordingError(
            f"{', '.join(sorted(reserved))} cannot name a coordinate; give times as "
            "`time`, and trajectories as a list"
        )
    try:
        series = {str(name): trajectories(name, x) for name, x in data.items()}
        lengths = equal_lengths(series)
        step = _step(time)
        times = [] if step else trajectories(TIME, time)
    except ValueError as error:
        raise RecordingError(str(error)) from None
    columns = {name: np.concatenate(parts) for name, parts in series.items()}
    if step is None:
        if len(times) == 1:
            times = times * len(lengths)
        counts = [len(one) for one in times]
        if len(lengths) > 1 and counts == [len(lengths)] * len(lengths) != lengths:
            raise RecordingError(
                f"the arrays have {shape(lengths)} at {len(lengths)} times: they "
                "look like (time, trajectory); expected (trajectory, time), such "
                "as x.T, or an array for each coordinate: {'x': x[:, 0], 'y': x[:, 1]}"
            )
        if counts != lengths:
            raise RecordingError(
                f"time has {shape(counts)}, the arrays have {shape(lengths)}; expected "
                "one time for every sample, shape (time,) or (trajectory, time)"
            )
        columns[TIME] = np.concatenate(times)
    columns[TRAJECTORY] = np.repeat(np.arange(len(lengths)), lengths)
    return pd.DataFrame(columns), step


def _step(time) -> float | None:
    """Step between samples, s; None of what holds times."""
    if isinstance(time, Sequence) or np.ndim(time) > 0:
        return None
    if isinstance(time, timedelta | np.timedelta64):
        time = np.timedelta64(time) / np.timedelta64(1, "s")
    elif isinstance(time, np.ndarray):
        time = time.item()
    is_step = isinstance(time, Real) and not isinstance(time, bool)
    if not is_step or not 0 < time < np.inf:
        raise ValueError(
            f"time is {time!r}; expected the times of the samples in s, or the step "
            "between them"
        )
    return float(time)


def _by_name(units: Mapping, columns: dict) -> dict[str, str]:
    """Arrays that are coordinates, with a unit by their name.

    Those that are called as formulas call a velocity or an acceleration, ``xdot`` and
    ``xddot``, join `columns`.

    Raises
    ------
    RecordingError
        If there are no arrays: columns of a table may mean anything.
    """
    if not units:
        raise RecordingError(
            "coordinates are missing; write the unit of each column that is one, such "
            'as coordinates={"theta": "deg"}'
        )
    entries = [
        entry.get("column") if isinstance(entry, Mapping) else entry
        for group in columns.values()
        if isinstance(group, Mapping)
        for entry in group.values()
    ]
    used = {str(entry).partition("[")[0].strip() for entry in entries}
    arrays = {name: units[name] or _unit(name) for name in units if name not in used}
    for section, ending, per in (
        ("velocities", "dot", "/s"),
        ("accelerations", "ddot", "/s^2"),
    ):
        rates = {name: name + ending for name in arrays if name + ending in arrays}
        if rates and columns[section] is None:
            columns[section] = {
                name: {"column": rate, "unit": units[rate] or f"{arrays[name]}{per}"}
                for name, rate in rates.items()
            }
            arrays = {k: v for k, v in arrays.items() if k not in rates.values()}
    return arrays


def _unit(name: str) -> str:
    return "rad" if angle_by_name(name) else "m"


def angle_by_name(name: str) -> bool:
    """Whether a name, with or without an index, is one of an angle."""
    stem = str(name).rstrip("0123456789").rstrip("_")
    return stem.lower() in ANGLES
