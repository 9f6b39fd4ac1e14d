"""What sensors measured: channels as combinations of q, q̇ and q̈, and their samples."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.contracts import time_step
from leastaction.core.euler_lagrange import acceleration_names, symbols, velocity_names
from leastaction.core.expressions import parse

# Name of the acceleration of the ground in what a sensor measures.
GROUND = "ground"
# Mean square of the third difference of white noise of unit variance.
OF_THIRD_DIFFERENCE = 20
# Angle, rad, that a motion turns between samples which are close enough, and samples
# that are enough.
CLOSE, ENOUGH = 0.1, 100_000
# Mean squares of third differences that are more than those of white noise by less than
# this part are those of noise.
PART_OF_MOTION = 0.3


@dataclass(frozen=True)
class Channels:
    """What sensors measure: y = C_q q + C_v q̇ + C_a q̈, each of shape (channel, dof).

    `absolute` tells accelerations that hold that of the ground, too.
    """

    names: tuple[str, ...]
    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    absolute: np.ndarray


class Record(NamedTuple):
    """Samples `y` of one stretch, (time, channel), and of recorded forces `w`.

    These have the shape (time, dof), one row if there are none. `late` is true of
    coordinates whose lag between record and force is unknown.
    """

    y: np.ndarray
    w: np.ndarray
    late: np.ndarray


def channels_of(texts: Sequence[str], coordinates: Sequence[str]) -> Channels:
    """Matrices of sensors from what each measures, a text such as ``x2 - x1``.

    Texts are linear in `coordinates`, velocities (``xdot``) and accelerations
    (``xddot``), and in ``ground``, the acceleration of the ground that absolute ones
    hold; ValueError if one is not, or holds part of the ground alone.

    Examples
    --------
    >>> found = channels_of(["x2 - x1", "x2ddot + ground"], ["x1", "x2"])
    >>> found.position.tolist(), found.acceleration.tolist(), found.absolute.tolist()
    ([[-1.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]], [False, True])
    """
    q = tuple(map(str, coordinates))
    groups = q, velocity_names(q), acceleration_names(q), (GROUND,)
    names = [name for group in groups for name in group]
    rows = []
    for text in texts:
        expression = parse(text, names)
        row = [sp.diff(expression, one) for one in symbols(names)]
        zero = expression.subs(dict.fromkeys(symbols(names), 0))
        linear = all(x.is_number for x in row) and zero == 0 and any(row)
        if not linear or row[-1] not in (0, sum(row[2 * len(q) : 3 * len(q)])):
            raise ValueError(
                f"the sensor {text!r} is not linear in {', '.join(names)}; expected "
                "something like x2 - x1, x1ddot, or x1ddot + ground of an absolute "
                "acceleration on shaking ground"
            )
        rows.append([float(x) for x in row])
    table = np.reshape(rows, (len(rows), len(names)))
    weights = np.split(table, [len(q), 2 * len(q), 3 * len(q)], axis=1)
    return Channels(tuple(texts), *weights[:3], weights[3][:, 0] != 0)


def records_of(observations: xr.Dataset) -> tuple[Channels, list[Record], float]:
    """Channels, stretches and time step of recordings or of an ensemble."""
    names = [str(n) for n in observations["dof"].values]
    if "reading" in observations:
        texts = [str(text) for text in observations["channel"].values]
        values = observations["reading"].values[0]
    else:
        endings = {"q": "", "qdot": "dot", "qddot": "ddot"}
        recorded = [c for c in endings if c in observations]
        texts = [name + endings[c] for c in recorded for name in names]
        values = np.concatenate([observations[c].values[0] for c in recorded], axis=-1)
    channels, n = channels_of(texts, names), len(names)
    still = np.zeros((1, n)), np.zeros(n, dtype=bool)
    if "first_sample" not in observations:
        records = [Record(np.ascontiguousarray(y, dtype=float), *still) for y in values]
        return channels, records, time_step(observations)
    dt, records = float(observations.attrs["time_step"]), []
    lags = stated_lags(observations) / dt
    starts, counts = (observations[x].values for x in ("first_sample", "sample_count"))
    for first, count in zip(starts, counts, strict=True):
        cut, forces = slice(first, first + count), still
        if "input" in observations:
            samples = observations["input"].values[0][cut]
            late = np.isnan(lags) & samples.any(axis=0)
            forces = splines(samples)(np.arange(count), np.nan_to_num(lags)), late
        records.append(Record(np.ascontiguousarray(values[cut], dtype=float), *forces))
    return channels, records, dt


def stated(observations: xr.Dataset, key: str) -> list:
    """Stated `key` of the input of each coordinate, such as its `gain`, or None."""
    section = json.loads(observations.attrs.get("inputs", "{}"))
    return [section.get(str(name), {}).get(key) for name in observations["dof"].values]


def stated_lags(observations: xr.Dataset) -> np.ndarray:
    """Time after its record at which each input acts, s; NaN where none is stated."""
    lags = stated(observations, "lag")
    return np.array([x if isinstance(x, int | float) else np.nan for x in lags])


def thinned(
    channels: Channels, records: Sequence[Record], turn: float
) -> tuple[list[Record], int, int]:
    """Records with fewer samples where there are very many, close to each other.

    The motion turns by an angle `turn`, rad, between two samples. Records with
    accelerations, or with recorded forces, stay as they are. Returned are the new ones,
    how many samples there were for one of theirs, a power of two, and how many of these
    it is the mean of. Means are taken over times in which the motion hides behind the
    noise: where third differences are those of white noise.

    Examples
    --------
    >>> noise = np.random.default_rng(0).standard_normal((400_000, 1))
    >>> records = [Record(noise, np.zeros((1, 1)), np.zeros(1, dtype=bool))]
    >>> (one,), every, averaged = thinned(channels_of(["x"], ["x"]), records, 0.02)
    >>> one.y.shape, every, averaged
    ((100000, 1), 4, 4)
    """
    most = min(CLOSE / turn, sum(len(record.y) for record in records) / ENOUGH)
    every = 2 ** max(0, int(np.log2(most)))
    forced = any(len(record.w) > 1 for record in records)
    if every == 1 or forced or channels.acceleration.any():
        return list(records), 1, 1
    averaged, white = 1, third_differences(records)
    while averaged < every:
        tried = [_means(record, 2 * averaged) for record in records]
        ratio = 2 * averaged * third_differences(tried) / white
        if not (ratio < 1 + PART_OF_MOTION).all():
            break
        averaged *= 2
    step = every // averaged
    means = [_means(record, averaged) for record in records]
    return [one._replace(y=one.y[::step]) for one in means], every, averaged


def _means(record: Record, count: int) -> Record:
    """Means of `count` samples; one that has a gap is a gap."""
    rows = len(record.y) // count * count
    blocks = record.y[:rows].reshape(-1, count, record.y.shape[1])
    return record._replace(y=blocks.mean(axis=1))


def third_differences(records: Sequence[Record]) -> np.ndarray:
    """Mean square of third differences by channel, over that of white noise."""
    parts = [np.diff(r.y, 3, axis=0) for r in records if len(r.y) > 3]
    return np.nanmean(np.concatenate(parts) ** 2, axis=0) / OF_THIRD_DIFFERENCE


def splines(samples: np.ndarray) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Samples, (time, dof), as a function of times and of lags by coordinate, in rows.

    Before the first one and after the last one they are what they are there.

    Examples
    --------
    >>> line = splines(np.arange(5.0)[:, None])
    >>> line(np.array([1.0, 2.5]), np.array([0.5])).ravel().round(12).tolist()
    [0.5, 2.0]
    """
    from scipy.interpolate import CubicSpline

    last = len(samples) - 1
    spline = CubicSpline(np.arange(last + 1), samples)

    def at(times, lags):
        result = [
            spline(np.clip(times - late, 0, last))[:, a] for a, late in enumerate(lags)
        ]
        return np.stack(result, axis=1)

    return at
