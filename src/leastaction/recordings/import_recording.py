"""Stage `import`: recordings of sensors instead of simulated observations."""

import json
import logging
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch

import numpy as np
import xarray as xr

from leastaction.ensembles.contracts import CONTRACTS as ENSEMBLES
from leastaction.recordings.bandwidth_spline import spectrum
from leastaction.recordings.checks import (
    LARGEST_ANGLE,
    LEAST_PERIODS,
    refuse,
    warnings_of,
)
from leastaction.recordings.columns import (
    Column,
    accelerometers,
    as_measured,
    columns_of,
    remarks_of_units,
)
from leastaction.recordings.configuration import KNOWN_OF_PARTICLE
from leastaction.recordings.contracts import CONTRACTS
from leastaction.recordings.inputs import SHARED, STATED_OF_INPUTS, UNKNOWN
from leastaction.recordings.pivot import (
    constraints,
    derive,
    raw_columns,
    smooth_sources,
)
from leastaction.recordings.refusals import reject
from leastaction.recordings.spikes import empty_stale, refuse_jumps, replace_spikes
from leastaction.recordings.splitting import (
    LEAST_ROWS,
    Clock,
    Recorded,
    Trajectory,
    fill_inputs,
    read_trajectories,
    resample,
)
from leastaction.recordings.tables import unchanged

# One trajectory in so many is held out; of fewer, as much of the longest.
TRAJECTORIES_PER_HELD_OUT = 4
# Share of steps beyond a quarter turn up to which whole turns can be counted.
LARGEST_SHARE_OF_WIDE_STEPS = 0.02
# Mean of an acceleration, over its standard deviation, that is mentioned.
LEAST_MENTIONED_OFFSET = 0.1
# Text of users stands in Markdown, HTML and figures, and is to be text there.
NO_TAGS = str.maketrans({"<": "‹", ">": "›"})
NO_MARKUP = NO_TAGS | str.maketrans({"|": "¦", "$": "＄", "`": "'", "\\": "/"})
LONGEST_LABEL = 60
log = logging.getLogger(__name__)


def import_recording(settings: Mapping) -> xr.Dataset:
    """Read, convert, split and resample a user's tables; then refuse or warn.

    Parameters
    ----------
    settings
        `import` with `files` that can be opened, `held_out`, `excitation`, `accept`.

    Returns
    -------
    xr.Dataset
        Contract ``measurements``, or ``sensor_readings`` if there are sensors. Its
        attribute `warnings` is a list in JSON.

    Raises
    ------
    RecordingError
        One message: file, row or column, what was expected, what to do.
    """
    with unchanged(settings["import"]["files"]):
        return _measurements(settings)


def _measurements(settings: Mapping) -> xr.Dataset:
    section, random = settings["import"], settings["excitation"] == "random"
    channels = columns_of(section)
    measured = as_measured(channels)
    smooth = [c for k in ("q", "qdot", "qddot") for c in measured[k].values()]
    columns = [*smooth, *measured["input"].values()]
    read = read_trajectories(section["files"], section, raw_columns(columns))
    texts = remarks_of_units(section, read.headings, channels)
    moving = {k: read.names[k] for k in np.flatnonzero(~read.sparse)}
    texts += [*empty_stale(read.done, moving, read.gap), *fill_inputs(read)]
    trajectories = read.done
    used = sum(len(t.time) for t in trajectories)
    clean = smooth_sources(smooth)
    if not section["sensors"]:
        places = dict(enumerate(raw_columns(columns)))
        moving = {c.name for c in channels["q"].values()} | set(clean)
        refuse_jumps(
            trajectories, {k: c for k, c in places.items() if c.name in moving}
        )
    raw = {k: c.name for k, c in enumerate(raw_columns(columns)) if c.name in clean}
    replaced = _replaced(trajectories, raw)
    texts += derive(trajectories, columns)
    spans = np.max([np.ptp(t.values, axis=0) for t in trajectories], axis=0)
    turned = _unwrap(trajectories, measured, spans)
    rest = {k: c.name for k, c in enumerate(smooth) if not {*c.sources} <= {*clean}}
    replaced |= _replaced(trajectories, rest)
    values, starts, clock = resample(trajectories, len(smooth))
    long = [t for t in trajectories if len(t.time) >= LEAST_ROWS]
    series = _by_channel(values, measured, list(channels["q"]))
    refuse(long, series, measured, clock, settings, spans)
    if random:
        texts += _without_offsets(series, measured, accelerometers(section))
    sampled = list(long)
    if settings["held_out"] is not None:
        labels = [t.label for t in long]
        held = held_out_by_name(labels, settings["held_out"], long[0].file)
    elif random:
        held = np.zeros(len(long), dtype=bool)
    elif len(long) < TRAJECTORIES_PER_HELD_OUT:
        angles = [c.angle for c in channels["q"].values()]
        held = _end_held_out(long, series, starts, clock, angles)
    else:
        held = _middling(series["q"])
    accepted = "constraint" in settings["accept"]
    if not section["sensors"]:
        texts += constraints(series["q"], channels["q"], long[0].file, accepted)
    texts += warnings_of(sampled, series, measured, clock, settings, held)
    texts += read_out(read, used, sampled, replaced, turned)
    for text in texts:
        log.warning("%s", text)
    observations = _dataset(
        series, starts, held, long, channels, clock, texts, section["inputs"]
    )
    of_particle = {n: section[n] for n in KNOWN_OF_PARTICLE if n in section}
    if not of_particle:
        return observations
    return observations.assign_attrs(particle=json.dumps(of_particle))


def plain_text(label: str) -> str:
    """A label without what Markdown, HTML or mathematical text would interpret.

    >>> plain_text("a|<b>")
    'a¦‹b›'
    """
    line = " ".join(label.split())
    shown = "".join(c for c in line if c.isprintable()).translate(NO_MARKUP)
    long = len(shown) > LONGEST_LABEL
    return f"{shown[: LONGEST_LABEL - 1]}…" if long else shown


def _replaced(trajectories: Sequence, names: Mapping[int, str]) -> dict[str, int]:
    """Replace spikes of columns by their places; the number of each, by name."""
    counts = replace_spikes(trajectories, list(names))
    return dict(zip(names.values(), counts, strict=True))


def read_out(
    read: Recorded, used: int, sampled, replaced: Mapping, turned: int
) -> list:
    """What was cut, left out, replaced and unwrapped, a sentence each."""
    texts = []
    short = len(read.done) - len(sampled)
    if read.gaps:
        texts.append(
            f"{read.gaps} gap{'s' * (read.gaps > 1)} in time split the recording into "
            f"{len(sampled)} trajector{'y' if len(sampled) == 1 else 'ies'}"
        )
    if short:
        texts.append(f"stretches below {LEAST_ROWS} rows that are left out: {short}")
    texts += [
        f"spikes of column {name!r} were replaced by what their neighbours expect: "
        f"{count} of {used} samples ({100 * count / used:.2g} %)"
        for name, count in replaced.items()
        if count
    ]
    if turned:
        texts.append(f"angles were unwrapped; jumps of a whole turn: {turned}")
    return texts


def _unwrap(trajectories: Sequence[Trajectory], channels, spans) -> int:
    """Angles made continuous before anything is smoothed; returns the jumps."""
    jumps = 0
    for place, column in enumerate(channels["q"].values()):
        if not column.angle:
            continue
        for t in trajectories:
            steps = np.abs(np.diff(t.values[:, place])) > np.pi
            if steps.any():
                jumps += int(steps.sum())
                t.values[:, place] = np.unwrap(t.values[:, place])
        wide = [np.abs(np.diff(t.values[:, place])) > np.pi / 2 for t in trajectories]
        share = np.concatenate(wide).mean()
        turns = column.in_radians and spans[place] / 2 > LARGEST_ANGLE
        if share > LARGEST_SHARE_OF_WIDE_STEPS and not turns:
            where = f"{trajectories[0].file}, column {column.name!r}"
            reject("wide steps", where, percent=100 * share)
    return jumps


def _without_offsets(series, channels, accelerometers) -> list[str]:
    """Take means off accelerations: a stationary motion has none, gravity is one."""
    texts = []
    for channel, names in (("qddot", channels["qddot"]), ("q", accelerometers)):
        for place, (name, column) in enumerate(channels[channel].items()):
            if name not in names:
                continue
            values = [y[:, place] for y in series[channel]]
            mean, size = np.mean(np.concatenate(values)), np.std(np.concatenate(values))
            for y in values:
                y -= mean
            if abs(mean) > LEAST_MENTIONED_OFFSET * size:
                texts.append(
                    f"column {column.name!r} has a mean of {mean:.4g} {column.unit}, "
                    "which a random motion has not: it is taken off"
                )
    return texts


def _by_channel(values, channels, names) -> dict[str, list[np.ndarray]]:
    """Series by channel; those of inputs by coordinate, zero where there is none."""
    by_channel, place = {}, 0
    for channel in ("q", "qdot", "qddot", "input"):
        columns = channels[channel]
        if not columns:
            continue
        order_of = names if channel == "input" else channels["q"]
        order = [
            place + list(columns).index(n) if n in columns else None for n in order_of
        ]
        by_channel[channel] = [
            np.stack(
                [np.zeros(len(v)) if k is None else v[:, k] for k in order], axis=1
            )
            for v in values
        ]
        place += len(columns)
    return by_channel


def held_out_by_name(labels: Sequence[str], names: Sequence, where: str) -> np.ndarray:
    """Which trajectories the user reserves for validation, some and not all."""
    fits = [[fnmatch(label, str(name)) for label in labels] for name in names]
    fits = np.array(fits, dtype=bool).reshape(-1, len(labels))
    for name, of_name in zip(names, fits, strict=True):
        if not of_name.any():
            shown = ", ".join(dict.fromkeys(labels))
            reject("held out", where, what=f"the trajectory {name}", labels=shown)
    if fits.any(axis=0).all():
        shown = ", ".join(dict.fromkeys(labels))
        reject("held out", where, what="every trajectory", labels=shown)
    return fits.any(axis=0)


def _middling(q: Sequence[np.ndarray]) -> np.ndarray:
    """One trajectory in four, of middling size."""
    scale = np.concatenate(q).std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    size = np.array([np.mean(np.ptp(x, axis=0) / scale) for x in q])
    place = np.linspace(0, len(q) - 1, len(q) // TRAJECTORIES_PER_HELD_OUT + 2)[1:-1]
    held = np.zeros(len(q), dtype=bool)
    held[np.argsort(size)[place.round().astype(int)]] = True
    return held


def _end_held_out(long, series, starts, clock: Clock, angles) -> np.ndarray:
    """Cut the end of the longest of a few trajectories off, for validation."""
    number = int(np.argmax([len(q) for q in series["q"]]))
    longest = series["q"][number]
    main = min(
        spectrum([q[:, a] for q in series["q"]], clock.step, angle).main
        for a, angle in enumerate(angles)
    )
    cut = round((1 - 1 / TRAJECTORIES_PER_HELD_OUT) * len(longest))
    if (len(longest) - cut) * clock.step * main < LEAST_PERIODS:
        return np.zeros(len(long), dtype=bool)
    for parts in series.values():
        parts.append(parts[number][cut:])
        parts[number] = parts[number][:cut]
    old = long[number]
    long.append(
        Trajectory(f"{old.label} (end)", old.time[:0], old.values[:0], old.source)
    )
    starts.append(starts[number] + cut * clock.step)
    return np.arange(len(long)) == len(long) - 1


def _dataset(
    series, starts, held, long, channels, clock: Clock, texts, inputs
) -> xr.Dataset:
    stated = {
        name: {
            key: UNKNOWN if entry[key] == SHARED else entry[key]
            for key in STATED_OF_INPUTS
            if entry.get(key) is not None
        }
        for name, entry in inputs.items()
    }
    count = np.array([len(q) for q in series["q"]])
    names, sensors = list(channels["q"]), list(channels["reading"])
    kinds = {n: "angle" if c.angle else "length" for n, c in channels["q"].items()}
    arrays = {name: np.concatenate(parts) for name, parts in series.items()}
    name, contract = "measurements", CONTRACTS["measurements"]
    if sensors:
        name, contract = "sensor_readings", ENSEMBLES["sensor_readings"]
        arrays["reading"] = arrays.pop("q")
    return contract.dataset(
        {
            **arrays,
            "first_sample": np.concatenate([[0], np.cumsum(count)[:-1]]),
            "sample_count": count,
            "start_time": starts,
            "held_out": held.astype("int8"),
        },
        {
            "replicate": [0],
            "dof": names,
            **({"channel": sensors} if sensors else {}),
            **_units("coordinate", channels["q"], names),
            **(_units("input", channels["input"], names) if channels["input"] else {}),
            "label": (
                "trajectory",
                np.array([plain_text(t.label) for t in long], dtype=object),
            ),
        },
        {
            "contract": name,
            "time_step": clock.step,
            "warnings": json.dumps([text.translate(NO_TAGS) for text in texts]),
            "kinds": json.dumps(kinds),
            "inputs": json.dumps(stated),
        },
    )


def _units(kind: str, columns: Mapping[str, Column], names: Sequence[str]) -> dict:
    """SI unit of every coordinate or input, and the unit of the user with its SI value.

    The unit of an input that a coordinate has not is empty.
    """
    shown = [columns.get(name, Column("", "", unit="")) for name in names]
    return {
        f"{kind}_unit": ("dof", [one.unit for one in shown]),
        f"{kind}_shown_unit": ("dof", [one.shown or one.unit for one in shown]),
        f"{kind}_shown_factor": (
            "dof",
            [one.shown_factor if one.shown else 1.0 for one in shown],
        ),
    }
