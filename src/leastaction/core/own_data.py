"""What a family makes of a user's own table, and how it puts its law into words.

A family that takes tables has a file `own_data.py` whose ``KINDS`` lists its kinds by
name (:class:`Kind`). The stage `import` reads, converts and evens out the columns
(:class:`Samples`), holds some of them back, and hands both parts to
:meth:`Kind.observations`; the recipe identifies a model; :meth:`Kind.predict` sees what
was held back, and :meth:`Kind.findings` says what is to be believed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import ClassVar

import numpy as np
import xarray as xr

from leastaction.core import families
from leastaction.core.contracts import SWEEP


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
    interval_factor: float = 1.96


class Kind:
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

    def demo(self) -> str:
        """A table to try with, as CSV."""
        raise NotImplementedError

    def data(self, settings: Mapping) -> str:
        """Kind of data whose recommended recipe is used; `settings` is `import`."""
        raise NotImplementedError

    def prepared(self, given: Mapping) -> Mapping:
        """What a YAML says, with what methods of the recipe need to be complete."""
        return given

    def completed(self, example: dict, units: Mapping) -> list[str]:
        """Fill candidates into a recording in place; what is wrong with it.

        `units` are those of the columns, by section and name.
        """
        return []

    def observations(self, samples: Samples) -> xr.Dataset:
        """What the recipe reads; ValueError if these samples cannot be used."""
        raise NotImplementedError

    def held_out(self, samples: Samples, like: xr.Dataset) -> xr.Dataset:
        """What is held out, of the same contract as the observations `like`."""
        return self.observations(samples)

    def predict(
        self,
        held_out: xr.Dataset,
        model: xr.Dataset,
        observations: xr.Dataset,
        recipe,
        library: Mapping,
    ) -> Prediction:
        """What a model says of data that it has not seen."""
        raise NotImplementedError

    def findings(
        self, model: xr.Dataset, observations: xr.Dataset, rollout: xr.Dataset
    ):
        """:class:`Findings` of a model; `rollout` is its :class:`Prediction`."""
        raise NotImplementedError


def one_case(model: xr.Dataset) -> xr.Dataset:
    """A model without the dimensions of a sweep over noise, which tables have not."""
    return model.isel({name: 0 for name in SWEEP if name in model.dims})


@cache
def kinds() -> Mapping[str, Kind]:
    """Kinds of tables of all families, by name."""
    found = families.modules("own_data")
    return {name: kind for module in found for name, kind in module.KINDS.items()}


def interval(value: float, width: float) -> str:
    """A number with half the width of its 95 % interval, in words."""
    from leastaction.core.model import rounded

    return " ± ".join(filter(None, rounded(value, width)))
