"""A long path by the Runge–Kutta–Gill scheme, streamed into moments of its states.

Where a histogram ends, at two or more degrees of freedom, means of monomials of the
samples take its place: E[q₁^a q₂^b … q̇₁^c …] up to a total degree. They are exact, with
no cells, but they exist only for densities with light tails.
"""

import itertools
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import xarray as xr

from leastaction.mechanics.compiled import kernel
from leastaction.mechanics.system import System
from leastaction.simulate.gill_histogram import check_batches
from leastaction.simulate.streamed_path import stream
from leastaction.simulate.time_grid import step_count

LANES = 64  # enough for a loop over them to become vector instructions
# Samples are put together until every lane has one, so that a monomial is multiplied and
# added in all lanes at once.
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
    return n - path.shape[0], filled


@njit(cache=True, nogil=True)
def add_lanes(samples, lower, factor, values, sums):
    for m in range(1, sums.shape[0]):
        before, state = lower[m], factor[m]
        for lane in range({LANES}):
            values[m, lane] = values[before, lane] * samples[state, lane]
        for lane in range({LANES}):
            sums[m, lane] += values[m, lane]
"""


def exponents(state: int, degree: int) -> np.ndarray:
    """Exponents of all monomials up to a total degree, shape (monomial, state).

    Ordered by degree, the constant first.
    """
    rows = [
        np.bincount(chosen, minlength=state)
        for total in range(degree + 1)
        for chosen in itertools.combinations_with_replacement(range(state), total)
    ]
    return np.array(rows, dtype=np.int64)


def check(system: System, settings: Mapping) -> None:
    """Check what moments need.

    Raises
    ------
    ValueError
        If the batches do not divide the trajectories.
    """
    check_batches(settings)


class MomentSums:
    """Sums of monomials over every so-many-th sample of one path, cut anywhere."""

    def __init__(self, state: int, degree: int, every: int):
        self.powers, *self._recursion = _recursion(state, degree)
        self._every, self._next, self._filled = every, every - 1, 0
        self._samples = np.zeros((state, LANES))
        self._values = np.ones((len(self.powers), LANES))
        self._sums = np.zeros((len(self.powers), LANES))
        self._kernel = kernel(KERNEL, {})

    def add(self, path: np.ndarray) -> None:
        """Add samples of shape (steps, state)."""
        self._next, self._filled = self._kernel.add(
            path,
            self._next,
            self._every,
            self._filled,
            self._samples,
            *self._recursion,
            self._values,
            self._sums,
        )

    @property
    def sums(self) -> np.ndarray:
        """Sums of all monomials but the constant, whose sum is zero; (monomial,)."""
        rest = self._samples.copy()
        rest[:, self._filled :] = 0.0
        sums = self._sums.copy()
        self._kernel.add_lanes(rest, *self._recursion, self._values, sums)
        return sums.sum(axis=1)


@lru_cache(maxsize=4)
def _recursion(state: int, degree: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Exponents; and each monomial as an earlier one times one coordinate."""
    powers = exponents(state, degree)
    place = {tuple(row): m for m, row in enumerate(powers)}
    lower = np.zeros(len(powers), dtype=np.int64)
    factor = np.zeros(len(powers), dtype=np.int64)
    for m, row in enumerate(powers[1:], start=1):
        factor[m] = np.flatnonzero(row)[-1]
        row = row.copy()
        row[factor[m]] -= 1
        lower[m] = place[tuple(row)]
    return powers, lower, factor


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

    Parameters
    ----------
    system
        The truth.
    settings
        The `simulate` section: `time_step`, `duration` of each trajectory and
        `burn_in` (s), `trajectories`, `batches`, `initial_state`, and `moments` with
        the total `degree` and the stride `every` (neighbouring samples hold nearly the
        same).
    example, seed, replicate
        Key of the random numbers.
    units
        Unit of each coordinate.

    Returns
    -------
    xr.Dataset
        Contract ``state_moments``.
    """
    check(system, settings)
    batches = settings["batches"]
    recipe = settings["moments"]
    trajectories = settings["trajectories"]
    filled = [
        MomentSums(2 * system.dof, recipe["degree"], recipe["every"])
        for _ in range(trajectories)
    ]
    stream(
        system,
        settings,
        lambda trajectory, path: filled[trajectory].add(path),
        example=example,
        seed=seed,
        replicate=replicate,
    )
    steps = step_count(settings["duration"], settings["time_step"])
    counted = steps // recipe["every"] * trajectories // batches
    sums = np.stack([sum(f.sums for f in filled[b::batches]) for b in range(batches)])
    sums[:, 0] = counted
    samples = steps * trajectories // batches
    each = ("replicate", "batch")
    return xr.Dataset(
        {
            "moment": (
                (*each, "monomial"),
                (sums / counted)[None],
                {"units": "mixed", "long_name": "mean of a monomial of the state"},
            ),
            "exponent": (
                ("monomial", "state"),
                filled[0].powers,
                {"units": "1", "long_name": "exponent of the monomial"},
            ),
            "samples": (
                each,
                np.full((1, batches), counted),
                {"units": "1", "long_name": "samples of the means"},
            ),
            "duration": (
                each,
                np.full((1, batches), samples * settings["time_step"]),
                {"units": "s", "long_name": "total time of the batch"},
            ),
        },
        coords={
            "replicate": [replicate],
            "state": [s.name for s in system.state],
            "dof": list(system.coordinates),
            "coordinate_unit": ("dof", [units[name] for name in system.coordinates]),
        },
    )
