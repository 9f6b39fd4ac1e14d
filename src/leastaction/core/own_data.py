"""What a family makes of a user's own table, and how it puts its law into words.

A family that takes tables has a file `own_data.py` whose ``KINDS`` lists its kinds by
name (:class:`Kind`). The stage `import` reads, converts and evens out the columns
(:class:`Samples`), holds some of them back, and hands both parts to
:meth:`Kind.observations`; the recipe identifies a model; :meth:`Kind.predict` sees what
was held back, and :meth:`Kind.findings` says what is to be believed.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import ClassVar

import numpy as np
import xarray as xr

from leastaction.core import families
from leastaction.core.contracts import SWEEP
from leastaction.core.estimate import NORMAL_QUANTILE as NORMAL
from leastaction.core.units import parsed_unit, shortest

# Gauss–Newton steps to the start of a free run, and their differences over its size.
STEPS, DIFFERENCE = 4, 1e-4
# Beyond it more than half of a squared error is no noise, or of a squared motion not
# predicted.
HALF_OF_SQUARE = 2**0.5
# Noise over the motion that is round-off; error of a run that does not stay finite.
ROUND_OFF, LOST = 1e-9, 1e100
BETTER = (
    "χ²/dof is the square of the error over the expected one. Below 0.5 the latter is "
    "mostly the interval of the law, as a share of the motion, and motions err less; "
    "the noise is not in doubt."
)


@dataclass(frozen=True)
class Samples:
    """Columns of a user's tables on even times, SI units.

    `series` has by section of `import` (``coordinates``, ``velocities``, ``states``,
    ``inputs``, ``outputs``) the columns of each trajectory, shape (time, column).
    """

    series: Mapping[str, Sequence[np.ndarray]]
    names: Mapping[str, tuple[str, ...]]  # by section; of coordinates or ports
    units: Mapping[str, tuple[str, ...]]  # SI unit of each
    time_step: float  # s
    labels: tuple[str, ...]  # of trajectories
    settings: Mapping = field(default_factory=dict)  # the section `import`

    def part(self, trajectories: Sequence[int], rows: slice = slice(None)) -> "Samples":
        """Some of the trajectories, and of each some rows."""
        return replace(
            self,
            series={
                k: [y[i][rows] for i in trajectories] for k, y in self.series.items()
            },
            labels=tuple(self.labels[i] for i in trajectories),
        )

    def refuse_still(self) -> None:
        """Raise a ValueError that names a column without any change."""
        for section, arrays in self.series.items():
            still = np.ptp(np.concatenate(arrays), axis=0) == 0
            # Nodes of a field are one column: its ends may be at rest.
            alike = len(self.names[section]) > len(self.settings.get(section, still))
            if still.all() if alike else still.any():
                raise ValueError(
                    f"{section} {self.names[section][int(still.argmax())]} does not "
                    "change; name another column"
                )

    @property
    def lengths(self) -> list[int]:
        """Samples of each trajectory."""
        return [len(one) for one in next(iter(self.series.values()))]

    def stacked(self, least: int) -> dict[str, np.ndarray]:
        """Arrays (piece, time, column) by section: all trajectories in equal pieces.

        A piece is as long as the shortest trajectory, but at least `least` samples;
        shorter trajectories are left out.

        Raises
        ------
        ValueError
            If none has so many samples.
        """
        long = [n for n in self.lengths if n >= least]
        if not long:
            raise ValueError(
                f"the longest trajectory has {max(self.lengths)} samples; expected "
                f"{least} or more. Record longer, or at shorter steps"
            )
        size = min(long)
        return {
            section: np.stack(
                [
                    y[start : start + size]
                    for y in arrays
                    for start in range(0, len(y) - size + 1, size)
                ]
            )
            for section, arrays in self.series.items()
        }


@dataclass(frozen=True)
class Prediction:
    """What a model says of the data that were held back.

    Arrays have the shape (time, channel), one of each for every run.
    """

    names: Sequence[str]  # of the channels
    units: Sequence[str]
    measured: Sequence[np.ndarray]
    estimate: Sequence[np.ndarray]
    band: Sequence[np.ndarray]  # half width of the 95 % interval of a sample
    labels: Sequence[str]
    numbers: Mapping[str, float] = field(default_factory=dict)  # further results
    along: str = ""  # what the samples are numbered by, where it is not time


@dataclass(frozen=True)
class Findings:
    """What is known of a system after its law was sought, sentences without a period.

    Rows of `terms` are (term, what it is of, value, standard error, unit); an error of
    zero means that the value is given, NaN that the data do not determine it.
    """

    terms: Sequence[tuple[str, str, float, float, str]] = ()
    refusals: Sequence[str] = ()  # why there is no law
    reservations: Sequence[str] = ()
    about: str = ""  # the model as its class prints it
    scale: str = ""  # what gives the numbers their scale
    undecided: Sequence[str] = ()
    predicted: Sequence[str] = ()  # of what was held back
    notes: Sequence[str] = ()
    interval_factor: float = NORMAL


class Kind(ABC):
    """How a family takes a user's table."""

    name: ClassVar[str]
    # Sections of `import` that it reads; True if one is needed.
    sections: ClassVar[Mapping[str, bool]]
    # Further keys of `import` that it reads.
    keys: ClassVar[tuple[str, ...]] = ()
    # What to type of the table of :meth:`demo` behind ``leastaction learn TABLE``, and
    # what the table holds.
    example: ClassVar[str]
    about: ClassVar[str]

    def of_import(self, part: Mapping) -> str:
        """Name of the kind that reads a table with such a section `import`."""
        return self.name

    @abstractmethod
    def demo(self) -> str:
        """A table to try with, as CSV."""

    @abstractmethod
    def data(self, settings: Mapping) -> str:
        """Kind of data whose recommended recipe is used; `settings` is `import`."""

    def prepared(self, example: Mapping) -> Mapping:
        """What a YAML says, with what methods of the recipe need to be complete."""
        return example

    def completed(self, example: dict, units: Mapping) -> list[str]:
        """Fill candidates into a recording in place; what is wrong with it.

        `units` are those of the columns, by section and name.
        """
        return []

    @abstractmethod
    def observations(self, samples: Samples) -> xr.Dataset:
        """What the recipe reads; ValueError if these samples cannot be used."""

    def held_out(self, samples: Samples, like: xr.Dataset) -> xr.Dataset:
        """What is held out, of the same contract as the observations `like`."""
        return self.observations(samples)

    @abstractmethod
    def predict(
        self,
        held_out: xr.Dataset,
        model: xr.Dataset,
        observations: xr.Dataset,
        recipe,
        library: Mapping,
    ) -> Prediction:
        """What a model says of data that it has not seen."""

    @abstractmethod
    def findings(
        self, model: xr.Dataset, observations: xr.Dataset, rollout: xr.Dataset
    ):
        """:class:`Findings` of a model; `rollout` is its :class:`Prediction`."""


def one_case(model: xr.Dataset) -> xr.Dataset:
    """A model without the dimensions of a sweep over noise, which tables have not."""
    return model.isel({name: 0 for name in SWEEP if name in model.dims})


def free_run(
    run: Callable,
    measured: np.ndarray,
    start: np.ndarray,
    noise,
    begin: int,
    with_spread: bool = True,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Free run from the start that fits the begin of `measured` best.

    ``run(starts, count)`` are runs (run, count, channel) of starts (run, parameter).
    The start of least squares, by the Gauss–Newton method from `start`, is that of the
    first `begin` of the samples `measured` (time, channel), whose errors have the
    standard deviations `noise` (channel,).

    Returns
    -------
    path, spread
        The run, and its standard deviation that is due to the noise of the begin, both
        (time, channel); the latter takes runs of its own, and may be left out.
    """
    size = np.sqrt((measured**2).mean(axis=0))
    noise = np.maximum(noise, ROUND_OFF * size.max())
    by = DIFFERENCE * np.sqrt(np.mean(size**2)) * np.eye(len(start))

    def slopes(start: np.ndarray, path: np.ndarray) -> np.ndarray:
        """Derivatives (parameter, time, channel) of a run by its start."""
        moved = run(start + by, len(path))
        return (moved - path) / by.max() / noise

    best = run(start[None], begin)[0]
    for _ in range(STEPS):
        slope, left = slopes(start, best), (measured[:begin] - best) / noise
        if not (np.isfinite(slope).all() and np.isfinite(left).all()):
            break
        rows = slope.reshape(len(start), -1).T
        trial = start + np.linalg.lstsq(rows, left.ravel(), rcond=1e-10)[0]
        attempt = run(trial[None], begin)[0]
        if not (((attempt - measured[:begin]) / noise) ** 2).sum() < (left**2).sum():
            break
        start, best = trial, attempt
    path = run(start[None], len(measured))[0]
    if not with_spread:
        return path, None
    slope = np.nan_to_num(slopes(start, path), nan=0.0, posinf=0.0, neginf=0.0)
    rows = slope[:, :begin].reshape(len(start), -1)
    moved = np.linalg.pinv(rows @ rows.T)
    square = np.einsum("atc,ab,btc->tc", slope, moved, slope)
    return path, noise * np.sqrt(np.maximum(square, 0.0))


def missed(names, units, runs: Prediction, noise, expected, begin: int) -> dict:
    """What runs miss of what was held out, by channel, as :func:`judged` reads it.

    Rms values behind the first `begin` samples: of the error, of the motion about its
    mean, and of what is `expected` of the error, arrays (time, channel) of each run;
    `noise` is that of the sensors. Channels of one name follow each other.
    """
    parts = [
        np.concatenate([one[begin:] for one in some])
        for some in (runs.estimate, runs.measured, expected)
    ]
    path, measured, expected = (a.reshape(len(a), len(names), -1) for a in parts)
    centred = measured - measured.mean(axis=(0, 2), keepdims=True)
    with np.errstate(all="ignore"):
        rms = [
            np.sqrt((a**2).mean(axis=(0, 2)))
            for a in (path - measured, centred, expected)
        ]
    columns = [np.where(np.isfinite(a), a, LOST).tolist() for a in rms]
    columns.append(np.broadcast_to(noise, len(names)).tolist())
    keys = "name", "unit", "error", "size", "expected", "noise"
    rows = zip(names, units, *columns, strict=True)
    return {
        "channels": [dict(zip(keys, row, strict=True)) for row in rows],
        "begin": begin,
    }


def judged(misses: Mapping, what: str = "free runs") -> tuple[list[str], list[str]]:
    """Why what :func:`missed` says of held-out runs denies a law; reservations."""
    refusals, reservations = [], []
    for one in misses["channels"]:
        rest = np.sqrt(max(one["error"] ** 2 - one["noise"] ** 2, 0.0))
        text = f"{what} of held-out data miss {one['name']}"
        if one["error"] >= LOST:
            refusals.append(f"{what} of held-out data diverge")
        elif HALF_OF_SQUARE * rest > one["size"]:
            share = percent(_ratio(one["error"], one["size"]))
            refusals.append(f"{text} by {share} of its rms")
        elif one["error"] > HALF_OF_SQUARE * one["expected"]:
            ratio = _ratio(one["error"], one["expected"])
            reservations.append(
                f"{text} by {ratio:.2g} times the expected error (χ² over its "
                f"degrees of freedom {ratio**2:.3g})"
            )
    return list(dict.fromkeys(refusals)), reservations


def predicted(misses: Mapping, what: str = "Free runs") -> list[str]:
    """Errors of held-out runs, or of `what` was predicted, as a table in Markdown."""
    begin = (
        f", initial states from {misses['begin']} samples" if misses["begin"] else ""
    )
    lines = [
        f"{what} of held-out data{begin}:",
        "| channel | rms error | rms error / rms | rms error / noise | χ²/dof |",
        "|---|---|---|---|---|",
    ]
    for one in misses["channels"]:
        unit = shortest(parsed_unit(one["unit"]))
        error, unit = one["error"], "" if unit == "1" else f" {unit}"
        cells = ["lost", "", "", ""]
        if error < LOST:
            cells = [
                f"{error:.3g}{unit}",
                percent(_ratio(error, one["size"])),
                f"{error / one['noise']:.3g}" if one["noise"] else "",
                f"{_ratio(error, one['expected']) ** 2:.3g}",
            ]
        lines.append(f"| {one['name']} | {' | '.join(cells)} |")
    if any(
        HALF_OF_SQUARE * one["error"] < one["expected"] for one in misses["channels"]
    ):
        lines.append(BETTER)
    return lines


def percent(share: float) -> str:
    """A share with two digits, without a power of ten.

    >>> percent(1.0), percent(0.00484)
    ('100 %', '0.48 %')
    """
    return f"{float(f'{100 * share:.2g}'):g} %"


def _ratio(error: float, size: float) -> float:
    return error / size if size else np.inf


@cache
def kinds() -> Mapping[str, Kind]:
    """Kinds of tables of all families, by name."""
    modules = families.modules("own_data")
    return {name: kind for module in modules for name, kind in module.KINDS.items()}
