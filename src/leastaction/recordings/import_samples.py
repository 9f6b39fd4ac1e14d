"""Stages `import` and `predict` of other kinds than motions.

Reading, units, clocks and gaps are those of motions; what the columns are for, and what
a model predicts of those held out, is up to the kind
(:mod:`leastaction.core.own_data`).
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatch

import numpy as np
import xarray as xr

from leastaction.core.own_data import Kind, Samples, kinds, one_case
from leastaction.core.recipe import Recipe
from leastaction.core.units import parsed_unit, shortest
from leastaction.recordings.columns import (
    column,
    columns_of,
    is_pattern,
    remarks_of_units,
)
from leastaction.recordings.configuration import MOTION
from leastaction.recordings.contracts import CONTRACTS, amount, paths_and_errors
from leastaction.recordings.import_recording import (
    NO_TAGS,
    TRAJECTORIES_PER_HELD_OUT,
    held_out_by_name,
    import_recording,
    plain_text,
    read_out,
)
from leastaction.recordings.refusals import RecordingError, reject
from leastaction.recordings.splitting import (
    LEAST_ROWS,
    fill_inputs,
    read_trajectories,
    resample,
)
from leastaction.recordings.tables import open_table, unchanged

# Samples of a run that are stored; its errors are those of all.
MOST_STORED = 2000


def imported(settings: Mapping) -> tuple[xr.Dataset, dict[str, xr.Dataset]]:
    """Observations of a recording of any kind, and by name what goes with them.

    Of others than motions that is what is ``held_out``.

    `settings` are those of :func:`~.import_recording.import_recording`, and the `kind`.

    One RecordingError: file, row or column, what was expected, what to do.
    """
    if settings["kind"] == MOTION:
        return import_recording(settings), {}
    kind = kinds()[settings["kind"]]
    with unchanged(settings["import"]["files"]):
        samples, texts = _samples(settings["import"], kind)
    held = _held_out(samples, settings["held_out"])
    try:
        held[0].refuse_still()
        observations = kind.observations(held[0])
        rest = kind.held_out(held[1], observations)
    except ValueError as error:
        named = ", ".join(f for f in settings["import"]["files"] if isinstance(f, str))
        raise RecordingError(f"{named}: {error}" if named else str(error)) from None
    about = {
        "kind": kind.name,
        "warnings": json.dumps([text.translate(NO_TAGS) for text in texts]),
        "amounts": json.dumps([amount(part.lengths, part.time_step) for part in held]),
    }
    return observations.assign_attrs(about), {"held_out": rest}


def _samples(part: Mapping, kind: Kind) -> tuple[Samples, list[str]]:
    """Columns on even times, and remarks on them."""
    part = _wide(part) if part["position"] else part
    channels = columns_of(_expanded(part), kind)
    order = [s for s in kind.sections if s in channels and s != "inputs"]
    order += ["inputs"] if "inputs" in channels else []  # may be held between samples
    columns = [c for section in order for c in channels[section].values()]
    read = read_trajectories(part["files"], part, columns)
    texts = [*remarks_of_units(part, read.headings, {}), *fill_inputs(read)]
    smooth = sum(len(channels[s]) for s in order if s != "inputs")
    values, _, clock = resample(read.done, smooth)
    long = [t for t in read.done if len(t.time) >= LEAST_ROWS]
    edges = np.cumsum([0, *(len(channels[s]) for s in order)])
    places = {s: slice(a, b) for s, a, b in zip(order, edges, edges[1:], strict=False)}
    texts += read_out(read, sum(len(t.time) for t in read.done), long, {}, 0)
    if clock.resampled:
        texts.append("the clock is uneven: values were interpolated to even times")
    evened = Samples(
        {s: [v[:, place] for v in values] for s, place in places.items()},
        {s: tuple(channels[s]) for s in order},
        {s: tuple(c.unit for c in channels[s].values()) for s in order},
        clock.step,
        tuple(plain_text(t.label) for t in long),
        part,
    )
    return evened, texts


def _expanded(part: Mapping) -> dict:
    """Coordinates whose column is a pattern, one for each column that fits it."""
    nodes = {}
    for name, entry in part["coordinates"].items():
        pattern = str(entry.get("column", name))
        if not is_pattern(pattern):
            nodes[name] = entry
            continue
        names = open_table(part["files"][0], part).columns
        fitting = [one for one in names if fnmatch(one, pattern)]
        if not fitting:
            known = ", ".join(names[:20])
            where = f"import.coordinates.{name}"
            reject("no pattern", where, pattern=pattern, known=known)
        nodes |= {f"{name}_{i}": {**entry, "column": c} for i, c in enumerate(fitting)}
    return {**part, "coordinates": nodes}


def _wide(part: Mapping) -> dict:
    """A long table, a row for every time and position, as one with a column per node.

    RecordingError if the positions are not even, or one has no value at some time.
    """
    ((place, entry),) = part["position"].items()
    ((name, of),) = part["coordinates"].items()
    metres = column(place, entry, f"import.position.{place}")
    position, value = entry.get("column", place), of.get("column", name)
    clock, label = part["time"].get("column"), part.get("trajectory")
    keys = [label, clock] if label else [clock]
    frames, positions = [], None
    for source in part["files"]:
        table = open_table(source, part)
        table.check_columns(dict.fromkeys([clock, position, value], "import"))
        long = table.read([clock, position, value], [label] if label else [])
        where = f"{table.path}, column {value!r}"
        twice = long.duplicated([*keys, position])
        if twice.any():
            reject("place twice", f"{where}, line {long.index[twice.argmax()]}")
        frame = long.pivot(index=keys, columns=position, values=value)
        if frame.isna().any(axis=None):
            reject("place empty", where, count=int(frame.isna().sum().sum()))
        positions = metres.convert(frame.columns.to_numpy())
        frame.columns = [f"{name}_{i}" for i in range(len(positions))]
        frames.append(frame.reset_index())
    steps = np.diff(positions)
    if len(steps) < 2 or np.ptp(steps) > 1e-3 * steps.mean():
        ends = {"least": steps.min(initial=np.inf), "largest": steps.max(initial=0)}
        where = f"import.position.{place}"
        reject("uneven places", where, count=len(positions), **ends)
    intervals = len(positions) - (part["ends"] != "periodic")
    length = float(steps.mean() * intervals)
    pattern = {name: {**of, "column": f"{name}_*"}}
    return {"length": length, **part, "files": frames, "coordinates": pattern}


def _held_out(samples: Samples, names) -> tuple[Samples, Samples]:
    """What is learned from, and what only the prediction sees."""
    labels = list(samples.labels)
    if names is not None:
        names = [plain_text(str(name)) for name in names]  # as labels are
        held = np.flatnonzero(held_out_by_name(labels, names, "the table"))
        if not len(held):
            shown = ", ".join(labels)
            reject("held out", "the table", what="no trajectory", labels=shown)
    elif len(labels) >= TRAJECTORIES_PER_HELD_OUT:
        count = len(labels) // TRAJECTORIES_PER_HELD_OUT
        held = np.linspace(0, len(labels) - 1, count + 2)[1:-1].round().astype(int)
    else:
        longest = int(np.argmax(samples.lengths))
        cut = round((1 - 1 / TRAJECTORIES_PER_HELD_OUT) * samples.lengths[longest])
        series = {
            k: [v[:cut] if i == longest else v for i, v in enumerate(y)]
            for k, y in samples.series.items()
        }
        end = samples.part([longest], slice(cut, None))
        end = replace(end, labels=(f"{labels[longest]} (end)",))
        return replace(samples, series=series), end
    rest = np.setdiff1d(range(len(labels)), held)
    return samples.part(rest), samples.part(held)


def predict_held_out(
    held_out: xr.Dataset, model: xr.Dataset, observations: xr.Dataset, settings: Mapping
) -> xr.Dataset:
    """What a model says of data that were held out, contract ``measured_rollout``.

    `settings` have the `kind`, the `recipe` of the model and its `library`.
    """
    kind = kinds()[settings["kind"]]
    recipe = Recipe(**settings["recipe"])
    arguments = held_out, one_case(model), observations, recipe, settings["library"]
    forecast = kind.predict(*arguments)
    pairs = zip(forecast.measured, forecast.estimate, forecast.band, strict=True)
    runs = [(y, path, band, y - path) for y, path, band in pairs]
    stride = max(1, max(map(len, forecast.measured)) // MOST_STORED)
    step = 1.0 if forecast.along else held_out.attrs["time_step"]
    windows = np.zeros((1, len(forecast.names)))
    shown = [shortest(parsed_unit(unit)) for unit in forecast.units]
    return CONTRACTS["measured_rollout"].dataset(
        {
            **paths_and_errors(runs, stride, step),
            "force_missed": windows[None],
            "force_recorded": windows[None],
            "window_trajectory": [0],
            "window_time": [0.0],
        },
        {
            "replicate": [0],
            "dof": list(forecast.names),
            "label": ("trajectory", np.array(forecast.labels, dtype=object)),
            "coordinate_unit": ("dof", list(forecast.units)),
            "coordinate_shown_unit": ("dof", shown),
            "coordinate_shown_factor": ("dof", np.ones(len(forecast.names))),
        },
        {
            "start": 0.0,
            "learned_from": 0,
            "numbers": json.dumps(dict(forecast.numbers)),
            "along": forecast.along or "Time (s)",
        },
    )
