"""What is kept of long paths: a histogram of their states, or means of monomials.

The density of Yoshida and Yamanaka (2020), eq. (18). Trajectories are dealt out to
independent batches, each with a histogram of its own.

Where a histogram ends, at two or more degrees of freedom, means of monomials of the
samples take its place: E[q₁^a q₂^b … q̇₁^c …] up to a total degree. They are exact, with
no cells, but they exist only for densities with light tails.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.compiled import kernel
from leastaction.core.multi_index import multi_indices
from leastaction.core.simulation import step_count
from leastaction.core.system import System
from leastaction.densities.contracts import CONTRACTS
from leastaction.densities.runge_kutta_gill import stream

COUNT = """
@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def count(path, low, per_width, counts):
    dof, bins = counts.shape[0], counts.shape[1]
    for n in range(path.shape[0]):
        for a in range(dof):
            i = (path[n, a] - low[a]) * per_width[a]
            j = (path[n, dof + a] - low[dof + a]) * per_width[dof + a]
            if i >= 0.0 and j >= 0.0 and i < bins and j < bins:
                counts[a, int(i), int(j)] += 1
"""
# Samples of a path are put together until every lane has one: a loop over the lanes of
# a monomial becomes vector instructions. Four of them are added before they are summed.
LANES = 64
LANES_OF_SUMS = LANES // 4
ADD = f"""
@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def add(path, first, every, filled, samples, lower, factor, values, sums):
    n = first
    while n < path.shape[0]:
        for i in range(path.shape[1]):
            samples[i, filled] = path[n, i]
        filled += 1
        if filled == {LANES}:
            add_lanes(samples, lower, factor, values, sums)
            filled = 0
        n += every
    return n - path.shape[0]


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def add_lanes(samples, lower, factor, values, sums):
    a, b, c = {LANES_OF_SUMS}, {2 * LANES_OF_SUMS}, {3 * LANES_OF_SUMS}
    for m in range(1, sums.shape[0]):
        before, state = lower[m], factor[m]
        for i in range({LANES}):
            values[m, i] = values[before, i] * samples[state, i]
        for i in range(sums.shape[1]):
            pair = values[m, i] + values[m, i + a]
            sums[m, i] += pair + (values[m, i + b] + values[m, i + c])
"""


class PlaneHistogram:
    """Counts in `bins` by `bins` cells of each plane (q_a, q̇_a); none outside of them.

    `counts` has the shape (dof, q_bin, qdot_bin).
    """

    def __init__(self, low, high, bins: int):
        self._low = np.asarray(low, dtype=float)
        self._per_width = bins / (np.asarray(high, dtype=float) - self._low)
        self.counts = np.zeros((self._low.size // 2, bins, bins), dtype=np.int64)
        self._count = kernel(COUNT, {}).count

    def add(self, path: np.ndarray) -> None:
        """Count samples of shape (steps, state)."""
        self._count(path, self._low, self._per_width, self.counts)


class MomentSums:
    """Sums of monomials over every so-many-th sample of paths, cut anywhere.

    `powers` are their exponents, shape (monomial, state).
    """

    def __init__(self, trajectories: int, state: int, degree: int, every: int):
        self.powers = multi_indices(state, degree)
        self._samples = np.zeros(trajectories, dtype=np.int64)
        self._every = every
        self._next = np.full(trajectories, every - 1)
        self._recursion = _recursion(self.powers)
        self._waiting = np.zeros((trajectories, state, LANES))
        self._values = np.ones((len(self.powers), LANES))
        self._sums = np.zeros((trajectories, len(self.powers), LANES_OF_SUMS))
        self._kernel = kernel(ADD, {})

    def add(self, trajectory: int, path: np.ndarray) -> None:
        """Add samples of shape (steps, state)."""
        first, count = self._next[trajectory], self._samples[trajectory]
        self._samples[trajectory] += len(range(first, len(path), self._every))
        self._next[trajectory] = self._kernel.add(
            path,
            first,
            self._every,
            count % LANES,
            self._waiting[trajectory],
            *self._recursion,
            self._values,
            self._sums[trajectory],
        )

    def sums(self, trajectory: int) -> np.ndarray:
        """Sums over the path of one trajectory, shape (monomial,)."""
        count = self._samples[trajectory]
        rest, total = self._waiting[trajectory].copy(), self._sums[trajectory].copy()
        rest[:, count % LANES :] = 0.0
        self._kernel.add_lanes(rest, *self._recursion, self._values, total)
        sums = total.sum(axis=1)
        sums[0] = count
        return sums


def _recursion(powers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each monomial as an earlier one times one coordinate of the state."""
    place = {tuple(row): m for m, row in enumerate(powers)}
    lower, factor = np.zeros((2, len(powers)), dtype=np.int64)
    for m, row in enumerate(powers[1:], start=1):
        factor[m] = np.flatnonzero(row)[-1]
        row = row.copy()
        row[factor[m]] -= 1
        lower[m] = place[tuple(row)]
    return lower, factor


def check(system: System, settings: Mapping) -> None:
    """Check that a path of `system` can be counted as the section `simulate` asks.

    Raises
    ------
    ValueError
        If the batches do not divide the trajectories; or, of a histogram, the state has
        more than two dimensions, or the domain is empty.
    """
    batches, trajectories = settings["batches"], settings["trajectories"]
    if trajectories % batches:
        raise ValueError(
            f"{trajectories} trajectories cannot be dealt out to {batches} batches "
            "equally; make batches a divisor"
        )
    if "histogram" not in settings:
        return
    low, high, bins = (settings["histogram"][key] for key in ("low", "high", "bins"))
    if system.dof > 1:
        raise ValueError(
            f"method 'gill_histogram' is for one coordinate: with {system.dof} a "
            f"histogram would have {bins}^{2 * system.dof} = "
            f"{float(bins) ** (2 * system.dof):.2g} cells; use 'gill_moments'"
        )
    for i, (a, b) in enumerate(zip(low, high, strict=True)):
        if not a < b:
            raise ValueError(f"histogram: low[{i}] = {a:g} is not below high {b:g}")


def histogram(
    system: System, settings: Mapping, *, units: Mapping[str, str], **key
) -> xr.Dataset:
    """Simulate one replicate and count its states in cells.

    Paper: one path of 10⁷ steps after as many that are discarded; here the samples are
    shared among independent paths, each after a burn-in of many relaxation times. The
    random numbers follow from the `key`: `example`, `seed` and `replicate`.
    """
    check(system, settings)
    grid, batches = settings["histogram"], settings["batches"]
    filled = [PlaneHistogram(**grid) for _ in range(batches)]

    def count(trajectory, path):
        filled[trajectory % batches].add(path)

    stream(system, settings, count, **key)
    counts = [one.counts[0] for one in filled]
    samples = np.full(batches, _samples(settings))
    half = np.arange(grid["bins"]) + 0.5
    centres = [
        low + half * (high - low) / grid["bins"]
        for low, high in zip(grid["low"], grid["high"], strict=True)
    ]
    (name,) = system.coordinates
    about = {"units": units[name], "long_name": "centre of the cell"}
    rate = about | {"units": f"({units[name]})/s"}
    return CONTRACTS["histogram"].dataset(
        {
            "count": np.array(counts),
            "samples": samples,
            "duration": samples * settings["time_step"],
        },
        coords={
            "replicate": [key["replicate"]],
            "q_bin": ("q_bin", centres[0], about),
            "qdot_bin": ("qdot_bin", centres[1], rate),
            "dof": [name],
            "coordinate_unit": ("dof", [units[name]]),
        },
    )


def _samples(settings: Mapping) -> int:
    """Samples of one batch."""
    steps = step_count(settings["duration"], settings["time_step"])
    return steps * settings["trajectories"] // settings["batches"]


def moments(
    system: System, settings: Mapping, *, units: Mapping[str, str], **key
) -> xr.Dataset:
    """Simulate one replicate and take means of monomials of its states.

    Only every so-many-th sample counts: neighbours hold nearly the same.
    """
    check(system, settings)
    batches, trajectories = settings["batches"], settings["trajectories"]
    filled = MomentSums(trajectories, 2 * system.dof, **settings["moments"])
    stream(system, settings, filled.add, **key)
    sums = np.zeros((batches, len(filled.powers)))
    for trajectory in range(trajectories):
        sums[trajectory % batches] += filled.sums(trajectory)
    duration = _samples(settings) * settings["time_step"]
    return CONTRACTS["state_moments"].dataset(
        {
            "moment": sums / sums[:, :1],
            "exponent": filled.powers,
            "samples": np.full(batches, int(sums[0, 0])),
            "duration": np.full(batches, duration),
        },
        coords={
            "replicate": [key["replicate"]],
            "state": [s.name for s in system.state],
            "dof": list(system.coordinates),
            "coordinate_unit": ("dof", [units[name] for name in system.coordinates]),
        },
    )
