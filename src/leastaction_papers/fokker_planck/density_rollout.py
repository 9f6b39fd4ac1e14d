"""Stationary densities of the truth and of the identified model, from fresh paths."""

import logging
from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.simulation import DivergenceError
from leastaction.core.system import System
from leastaction.densities.runge_kutta_gill import stream
from leastaction.densities.stationary_samples import PlaneHistogram
from leastaction_papers.fokker_planck.contracts import CONTRACTS
from leastaction_papers.rollout import Rollout, compares

log = logging.getLogger(__name__)

# Half width of the planes in root mean squares of the truth, and their cells along each
# side, where the simulation has no histogram.
REACH_IN_RMS = 4.0
CELLS_PER_SIDE = 50


@compares
def validate(run: Rollout) -> xr.Dataset:
    """Compare densities of one replicate, in the plane (q_a, q̇_a) of each coordinate.

    The random numbers differ from those of the training data. Without a model
    (unidentified coefficients, a divergent path), the estimates are NaN.
    """
    system, settings, dof = run.system, run.settings, run.system.dof
    path = {
        **run.simulation,
        "duration": settings["lengths"] * run.simulation["duration"],
        "trajectories": settings["trajectories"],
    }
    key = {"example": run.example, "seed": run.seed, "replicate": run.replicate}
    low, high, bins = grid = _grid(system, path, key)
    step = (high - low) / bins
    centres = low[:, None] + (np.arange(bins) + 0.5) * step[:, None]
    true = _densities(system, path, grid, key)
    estimate = np.full_like(true, np.nan)
    reason = str(run.model["identifiability"].values[0])
    try:
        if reason:
            log.warning(
                "replicate %d has no density of the model: %s", run.replicate, reason
            )
        else:
            estimate = _densities(run.estimate, path, grid, key)
    except DivergenceError as error:
        log.warning("the model of replicate %d: %s", run.replicate, error)
    return CONTRACTS["density_rollout"].dataset(
        {
            "total_variation": _distance(true, estimate, step[:dof] * step[dof:]),
            "cell_centre": centres,
            "density_true": true,
        },
        coords={
            "replicate": [run.replicate],
            "dof": list(system.coordinates),
            "state": [s.name for s in system.state],
        },
    )


def _distance(true: np.ndarray, estimate: np.ndarray, area: np.ndarray) -> np.ndarray:
    """Half the integral of |p − p_estimate|, what lies outside the cells included."""
    outside = [1 - p.sum(axis=(1, 2)) * area for p in (true, estimate)]
    inside = np.abs(true - estimate).sum(axis=(1, 2)) * area
    return 0.5 * (inside + np.abs(outside[0] - outside[1]))


def _grid(system: System, run: Mapping, key: Mapping):
    """Corners and number of cells: those of the data, or some rms of the truth."""
    if run.get("histogram"):
        low, high, bins = (run["histogram"][name] for name in ("low", "high", "bins"))
        return np.array(low), np.array(high), bins
    count, total = 0, np.zeros(2 * system.dof)

    def add(_, path):
        nonlocal count, total
        count, total = count + len(path), total + np.diagonal(path.T @ path)

    stream(system, {**run, "trajectories": 1}, add, **key, purpose="validate")
    reach = REACH_IN_RMS * np.sqrt(total / count)
    return -reach, reach, CELLS_PER_SIDE


def _densities(system: System, run, grid, key) -> np.ndarray:
    """Densities, shape (dof, q_bin, qdot_bin)."""
    low, high, bins = grid
    histogram, count = PlaneHistogram(low, high, bins), 0

    def add(_, path):
        nonlocal count
        histogram.add(path)
        count += len(path)

    stream(system, run, add, **key, purpose="validate")
    cell = (high - low) / bins
    area = (cell[: system.dof] * cell[system.dof :])[:, None, None]
    return histogram.counts / (count * area)
