"""A long path by the Runge–Kutta–Gill scheme, streamed into moments of its states.

Where a histogram ends, at two or more degrees of freedom, means of monomials of the
samples take its place: E[q₁^a q₂^b … q̇₁^c …] up to a total degree. They are exact, with
no cells, but they exist only for densities with light tails.
"""

import itertools
from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.mechanics.compiled import kernel
from leastaction.mechanics.system import System
from leastaction.simulate.gill_histogram import check_batches
from leastaction.simulate.streamed_path import stream
from leastaction.simulate.time_grid import step_count

KERNEL = """
@njit(cache=True, nogil=True)
def add(path, first, every, lower, factor, sums):
    values = np.empty(sums.shape[0])
    values[0] = 1.0
    n = first
    while n < path.shape[0]:
        sums[0] += 1.0
        for m in range(1, sums.shape[0]):
            values[m] = values[lower[m]] * path[n, factor[m]]
            sums[m] += values[m]
        n += every
    return n - path.shape[0]
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
    """Sums of monomials over every so-many-th sample.

    The pieces of one path may be cut anywhere: the first sample of the next piece that
    counts is remembered by trajectory.
    """

    def __init__(self, state: int, degree: int, every: int):
        self.powers = exponents(state, degree)
        self.sums = np.zeros(len(self.powers))
        self._every = every
        self._next: dict[int, int] = {}
        self._lower, self._factor = _recursion(self.powers)
        self._add = kernel(KERNEL, {}).add

    def add(self, trajectory: int, path: np.ndarray) -> None:
        """Add samples of shape (steps, state)."""
        first = self._next.get(trajectory, self._every - 1)
        self._next[trajectory] = self._add(
            path, first, self._every, self._lower, self._factor, self.sums
        )


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
    filled = [
        MomentSums(2 * system.dof, recipe["degree"], recipe["every"])
        for _ in range(batches)
    ]
    stream(
        system,
        settings,
        lambda trajectory, path: filled[trajectory % batches].add(trajectory, path),
        example=example,
        seed=seed,
        replicate=replicate,
    )
    sums = np.stack([f.sums for f in filled])
    steps = step_count(settings["duration"], settings["time_step"])
    samples = steps * settings["trajectories"] // batches
    each = ("replicate", "batch")
    return xr.Dataset(
        {
            "moment": (
                (*each, "monomial"),
                (sums / sums[:, :1])[None],
                {"units": "mixed", "long_name": "mean of a monomial of the state"},
            ),
            "exponent": (
                ("monomial", "state"),
                filled[0].powers,
                {"units": "1", "long_name": "exponent of the monomial"},
            ),
            "samples": (
                each,
                np.full((1, batches), int(sums[0, 0])),
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
