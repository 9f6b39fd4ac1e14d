"""A long path by the Runge–Kutta–Gill scheme, streamed into moments of its states.

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
from leastaction.densities.gill_histogram import check_batches
from leastaction.densities.runge_kutta_gill import stream

# Samples of a path are put together until every lane has one: a loop over the lanes of
# a monomial becomes vector instructions. Four of them are added before they are summed.
LANES = 64
LANES_OF_SUMS = LANES // 4
KERNEL = f"""
@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


def check(system: System, settings: Mapping) -> None:
    """Check what moments need.

    Raises
    ------
    ValueError
        If the batches do not divide the trajectories.
    """
    check_batches(settings)


class MomentSums:
    """Sums of monomials over every so-many-th sample of paths, cut anywhere.

    Attributes
    ----------
    powers
        Exponents of the monomials, shape (monomial, state).
    samples
        Samples of each path so far, shape (trajectory,).
    """

    def __init__(self, trajectories: int, state: int, degree: int, every: int):
        self.powers = multi_indices(state, degree)
        self.samples = np.zeros(trajectories, dtype=np.int64)
        self._every = every
        self._next = np.full(trajectories, every - 1)
        self._recursion = _recursion(self.powers)
        self._waiting = np.zeros((trajectories, state, LANES))
        self._values = np.ones((len(self.powers), LANES))
        self._sums = np.zeros((trajectories, len(self.powers), LANES_OF_SUMS))
        self._kernel = kernel(KERNEL, {})

    def add(self, trajectory: int, path: np.ndarray) -> None:
        """Add samples of shape (steps, state)."""
        first, count = self._next[trajectory], self.samples[trajectory]
        self.samples[trajectory] += len(range(first, len(path), self._every))
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
        count = self.samples[trajectory]
        rest, total = self._waiting[trajectory].copy(), self._sums[trajectory].copy()
        rest[:, count % LANES :] = 0.0
        self._kernel.add_lanes(rest, *self._recursion, self._values, total)
        sums = total.sum(axis=1)
        sums[0] = count
        return sums


def _recursion(powers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each monomial as an earlier one times one coordinate of the state."""
    place = {tuple(row): m for m, row in enumerate(powers)}
    lower = np.zeros(len(powers), dtype=np.int64)
    factor = np.zeros(len(powers), dtype=np.int64)
    for m, row in enumerate(powers[1:], start=1):
        factor[m] = np.flatnonzero(row)[-1]
        row = row.copy()
        row[factor[m]] -= 1
        lower[m] = place[tuple(row)]
    return lower, factor


def simulate(
    system: System,
    settings: Mapping,
    *,
    example: str,
    seed: int,
    replicate: int,
    units: Mapping[str, str],
) -> xr.Dataset:
    """Simulate one replicate.

    Only every so-many-th sample counts: neighbours hold nearly the same.
    """
    check(system, settings)
    batches = settings["batches"]
    recipe = settings["moments"]
    trajectories = settings["trajectories"]
    filled = MomentSums(trajectories, 2 * system.dof, recipe["degree"], recipe["every"])
    stream(
        system, settings, filled.add, example=example, seed=seed, replicate=replicate
    )
    sums = np.zeros((batches, len(filled.powers)))
    for trajectory in range(trajectories):
        sums[trajectory % batches] += filled.sums(trajectory)
    steps = step_count(settings["duration"], settings["time_step"])
    samples = steps * trajectories // batches
    return CONTRACTS["state_moments"].dataset(
        {
            "moment": sums / sums[:, :1],
            "exponent": filled.powers,
            "samples": np.full(batches, int(sums[0, 0])),
            "duration": np.full(batches, samples * settings["time_step"]),
        },
        coords={
            "replicate": [replicate],
            "state": [s.name for s in system.state],
            "dof": list(system.coordinates),
            "coordinate_unit": ("dof", [units[name] for name in system.coordinates]),
        },
    )
