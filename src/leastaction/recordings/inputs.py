"""Recorded inputs: what they are between their samples, and the forces they make."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import xarray as xr

from leastaction.recordings.contracts import pieces

# An input of which more samples repeat the one before is held between its steps.
REPEATED_SHARE_OF_HELD_INPUT = 0.5


class Form(NamedTuple):
    """What an input is between its samples: a spline of a degree."""

    name: str
    late: float  # delay of what was sampled, rows
    remark: str = ""


# By the degree of the spline.
HELD, LINEAR, BAND_LIMITED = 0, 1, 5
FORMS = {
    HELD: Form("held from row to row", 0.5, ", as a controller writes them"),
    LINEAR: Form("straight lines from row to row", 0.0, ", as simulators have them"),
    BAND_LIMITED: Form("band-limited", 0.0),
}
LAG, TIME_CONSTANT, GAIN, OFFSET = "lag", "time_constant", "gain", "offset"
STATED_OF_INPUTS = (LAG, TIME_CONSTANT, GAIN, OFFSET)
UNKNOWN = "unknown"
SHARED = "shared"  # one unknown gain of all inputs
OPPOSED = (
    "with the recorded input as it is all masses are negative: it acts against its "
    "coordinate, as the acceleration of the ground does; write `reverse: true` beside "
    "its column, or leave out an input that does not move it"
)


@dataclass(frozen=True)
class Inputs:
    r"""Inputs u of all trajectories, and the generalised forces F that they make.

    .. math::  T \dot F + F = u(t - τ)

    A negative lag τ is that of an input that was recorded late.
    """

    recorded: np.ndarray  # u, (row, dof)
    parts: Sequence[slice]  # rows of each trajectory
    dt: float  # between rows, s
    lag: np.ndarray  # τ by coordinate, s
    time_constant: np.ndarray  # T by coordinate, s
    degree: int = BAND_LIMITED  # of `FORMS`, of inputs that do not repeat
    # Forces between rows without lag, by part, coordinate, T and degree: what inputs
    # with other lags have in common.
    curves: dict = field(default_factory=dict, repr=False)

    @cached_property
    def degrees(self) -> np.ndarray:
        """Of each input; those that repeat are held between their steps."""
        return np.array([min(self.degree, degree_of(u)) for u in self.recorded.T])

    @cached_property
    def hold(self) -> np.ndarray:
        """Rows that the steps of each input are multiples of; one if it is not held."""
        rows = np.ones(len(self.degrees))
        for a in np.flatnonzero(self.degrees == HELD):
            steps = np.flatnonzero(np.diff(self.recorded[:, a]))
            rows[a] = max(np.gcd.reduce(np.diff(steps)), 1)
        return rows

    def changed(self, name: str, coordinates: Sequence[int], by: float) -> "Inputs":
        """The inputs with the lag or the time constant of some of them changed, s."""
        values = getattr(self, name).copy()
        values[list(coordinates)] += by
        return replace(self, **{name: values})

    def of_degree(self, degree: int, delayed: Sequence[int] = ()) -> "Inputs":
        """The inputs of another form, as late as before where they are `delayed`."""
        late = self.lag.copy()
        late[list(delayed)] += self.dt * (FORMS[self.degree].late - FORMS[degree].late)
        return replace(self, degree=degree, lag=late, curves={})

    def _curve(self, number: int, a: int) -> Callable[[np.ndarray], np.ndarray]:
        constant = float(self.time_constant[a] / self.dt)
        degree = BAND_LIMITED if constant else self.degrees[a]
        key = number, a, constant, degree
        if key not in self.curves:
            values = self.recorded[self.parts[number], a]
            rows = np.arange(len(values))
            curve = between(rows, _first_order(values, constant), degree)
            jumps = degree == HELD
            self.curves[key] = partial(_both_sides, curve) if jumps else curve
        return self.curves[key]

    def at(self, rows: np.ndarray, ahead: Sequence[float] = (0.0,)) -> np.ndarray:
        """F at ascending rows, and so many rows ahead of each.

        Before the begin and after the end of its trajectory an input is what it was
        there. Returns shape (row · ahead, dof).
        """
        forces = np.empty((len(rows), len(ahead), self.recorded.shape[1]))
        edges = np.searchsorted(rows, [part.start for part in self.parts])
        for number, (part, low, high) in enumerate(
            zip(self.parts, edges, [*edges[1:], len(rows)], strict=True)
        ):
            if low == high:
                continue
            relative = rows[low:high, None] - part.start + np.asarray(ahead)
            last = part.stop - part.start - 1
            for a, late in enumerate(self.lag / self.dt):
                when = np.clip(relative - late, 0, last)
                forces[low:high, :, a] = self._curve(number, a)(when)
        return forces.reshape(-1, forces.shape[2])

    def nodes(self, rows: np.ndarray, thin: int) -> Callable[[int], np.ndarray]:
        """F at the nodes of the integrator, as a function of steps per sample.

        Samples are those of some recorded `rows`, each `thin` rows after the other.
        """
        known: dict[int, np.ndarray] = {}

        def nodes(steps: int) -> np.ndarray:
            if steps not in known:
                known[steps] = self.at(rows, np.arange(2 * steps) / (2 * steps) * thin)
            return known[steps]

        return nodes


@dataclass(frozen=True)
class Unknown:
    """A lag or a time constant to be found, of the inputs of some coordinates."""

    name: str  # ``lag`` or ``time_constant``
    coordinates: tuple[int, ...]  # whose inputs have it
    requested: bool  # by the user; others are reported only if significant


def changed(inputs: Inputs, unknowns: Sequence[Unknown], values: np.ndarray) -> Inputs:
    """The inputs with `values` (s) added to their unknown lags and time constants."""
    for unknown, value in zip(unknowns, values, strict=True):
        inputs = inputs.changed(unknown.name, unknown.coordinates, value)
    return inputs


def inputs_of(observations: xr.Dataset) -> Inputs | None:
    """Inputs of a recording with the lags and time constants that it states."""
    if "input" not in observations:
        return None
    names = [str(name) for name in observations["dof"].values]
    stated = stated_of_inputs(observations)
    chain = {
        key: np.array([_number(stated.get(name, {}).get(key)) for name in names])
        for key in (LAG, TIME_CONSTANT)
    }
    recorded = observations["input"].values[0]
    dt = float(observations.attrs["time_step"])
    return Inputs(recorded, pieces(observations), dt, chain[LAG], chain[TIME_CONSTANT])


def unknowns_of(observations: xr.Dataset, inputs: Inputs) -> list[Unknown]:
    """Unknown lags and time constants; one lag of all inputs without a stated one."""
    stated = stated_of_inputs(observations)
    names = [str(name) for name in observations["dof"].values]
    unknowns = [
        Unknown(key, (a,), True)
        for a, name in enumerate(names)
        for key in (LAG, TIME_CONSTANT)
        if stated.get(name, {}).get(key) == UNKNOWN
    ]
    described = {n for n, entry in stated.items() if {LAG, TIME_CONSTANT} & set(entry)}
    driven = inputs.recorded.any(axis=0)
    rest = tuple(
        a for a, name in enumerate(names) if driven[a] and name not in described
    )
    if rest:
        unknowns.append(Unknown(LAG, rest, False))
    return unknowns


def stated_of_inputs(observations: xr.Dataset) -> Mapping[str, Mapping]:
    """Stated properties of inputs, by coordinate: numbers, or ``unknown``."""
    return json.loads(observations.attrs.get("inputs", "{}"))


def has_unknown_gain(observations: xr.Dataset) -> bool:
    """Whether what gives the law its scale is another thing than its input."""
    entries = stated_of_inputs(observations).values()
    return any(of.get(GAIN) == UNKNOWN for of in entries)


def _number(value) -> float:
    return 0.0 if value in (None, UNKNOWN) else float(value)


def between(
    when: np.ndarray, values: np.ndarray, degree: int
) -> Callable[[np.ndarray], np.ndarray]:
    """Spline of an odd `degree`, or steps of degree zero, between ascending samples.

    Of an input sampled at f_s, a frequency f_s / 9 would be lowered by a straight line
    by sinc²(f / f_s), 4 %; by a cubic spline by 0.04 %, by a quintic one by 0.0005 %.
    """
    from scipy.interpolate import make_interp_spline

    most = max(len(values) - 2 + (len(values) - 1) % 2, 0)
    return make_interp_spline(when, values, min(degree, most))


def _both_sides(curve: Callable, at: np.ndarray) -> np.ndarray:
    """Mean of what a held input is before and after each time.

    A jump is between two steps of the integrator, and neither has all of it.
    """
    return (curve(np.maximum(np.nextafter(at, -1.0), 0.0)) + curve(at)) / 2


def _first_order(values: np.ndarray, constant: float) -> np.ndarray:
    """Values behind a first-order lag of `constant` rows, before it if negative.

    By Fourier transform, of the values continued as odd functions about both ends, less
    the line through the ends, which passes the lag as it is but later.
    """
    if constant == 0:
        return values
    pad = len(values) - 1
    long = np.pad(values, pad, mode="reflect", reflect_type="odd")
    slope = (long[-1] - long[0]) / (len(long) - 1)
    line = long[0] + slope * np.arange(len(long))
    frequency = 2 * np.pi * np.fft.rfftfreq(len(long))
    spectrum = np.fft.rfft(long - line) / (1 + 1j * frequency * constant)
    late = np.fft.irfft(spectrum, len(long)) + line - slope * constant
    return late[pad : pad + len(values)]


def degree_of(values: np.ndarray) -> int:
    """Form of an input by its numbers alone: held between its steps, or band-limited.

    Repetitions of its most frequent value do not count: that of free swings is zero, as
    is that of a hammer between two blows.

    >>> degree_of(np.repeat([1.0, -1.0, 2.0], 20)), degree_of(np.sin(np.arange(60)))
    (0, 5)
    """
    levels, counts = np.unique(values, return_counts=True)
    moves = values != levels[counts.argmax()]
    moves = moves[1:] | moves[:-1]
    if not moves.any():
        return BAND_LIMITED
    share = (np.diff(values) == 0)[moves].mean()
    return HELD if share > REPEATED_SHARE_OF_HELD_INPUT else BAND_LIMITED
