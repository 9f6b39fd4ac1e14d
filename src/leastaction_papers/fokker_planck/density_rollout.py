"""Stationary densities of the truth and of the identified model, from fresh paths.

The equation of the model is also tested on the density of the truth, bump by bump:
E[𝓛 φ] over its standard error by the Itô isometry is a standard normal number where the
model holds, and its map shows where it does not.
"""

import logging
from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.compiled import evaluator
from leastaction.core.model import IdentifiedModel
from leastaction.core.simulation import DivergenceError
from leastaction.core.system import System
from leastaction.densities.runge_kutta_gill import stream
from leastaction.densities.stationary_samples import PlaneHistogram
from leastaction.densities.weak_fokker_planck import bumps, sheppard
from leastaction_papers.fokker_planck.contracts import CONTRACTS

log = logging.getLogger(__name__)

# Half width of the planes in root mean squares of the truth, and their cells along each
# side, where the simulation has no histogram.
REACH_IN_RMS = 4.0
CELLS_PER_SIDE = 50
# Test functions of the residual map along each side, and their half width over that of
# the domain.
BUMPS_PER_SIDE = 15
HALF_WIDTH_OF_BUMP = 0.25
# Bumps whose variance is below this part of the largest hold too few samples to judge.
LEAST_VARIANCE_SHARE = 1e-4


def validate(
    system: System,
    model: xr.Dataset,
    simulation: Mapping,
    settings: Mapping,
    library: Mapping,
    *,
    example: str,
    seed: int,
) -> xr.Dataset:
    """Compare densities of one replicate, in the plane (q_a, q̇_a) of each coordinate.

    The random numbers differ from those of the training data. Without a model
    (unidentified coefficients, a divergent path), the estimates are NaN.
    """
    replicate, dof = int(model["replicate"].values[0]), system.dof
    run = {
        **simulation,
        "duration": settings["lengths"] * simulation["duration"],
        "trajectories": settings["trajectories"],
    }
    key = {"example": example, "seed": seed, "replicate": replicate}
    low, high, bins = grid = _grid(system, run, key)
    step = (high - low) / bins
    centres = low[:, None] + (np.arange(bins) + 0.5) * step[:, None]
    true, std_true = _densities(system, run, grid, key)
    found, std = np.full_like(true, np.nan), np.full_like(std_true, np.nan)
    residual = np.full((BUMPS_PER_SIDE, BUMPS_PER_SIDE), np.nan)
    reason = str(model["identifiability"].values[0])
    try:
        if reason:
            log.warning(
                "replicate %d has no density of the model: %s", replicate, reason
            )
        else:
            estimate = IdentifiedModel(model.isel(replicate=0)).system
            found, std = _densities(estimate, run, grid, key)
            if dof == 1:
                total = run["duration"] * run["trajectories"]
                residual = _residual(estimate, true[0], centres, step, total)
    except DivergenceError as error:
        log.warning("the model of replicate %d: %s", replicate, error)
    return CONTRACTS["density_rollout"].dataset(
        {
            "residual_score": residual,
            "total_variation": _distance(true, found, step[:dof] * step[dof:]),
            "cell_centre": centres,
            "density_true": true,
            "std_true": std_true,
            "density_estimate": found,
            "std_estimate": std,
        },
        coords={
            "replicate": [replicate],
            "dof": list(system.coordinates),
            "state": [s.name for s in system.state],
        },
    )


def _distance(true: np.ndarray, found: np.ndarray, area: np.ndarray) -> np.ndarray:
    """Half the integral of |p − p_estimate|, what lies outside the cells included."""
    outside = [1 - p.sum(axis=(1, 2)) * area for p in (true, found)]
    inside = np.abs(true - found).sum(axis=(1, 2)) * area
    return 0.5 * (inside + np.abs(outside[0] - outside[1]))


def _grid(system: System, run: Mapping, key: Mapping):
    """Corners and number of cells: those of the data, or some rms of the truth."""
    if run.get("histogram"):
        low, high, bins = (run["histogram"][name] for name in ("low", "high", "bins"))
        return np.array(low), np.array(high), bins
    _, _, squares = _means(system, {**run, "trajectories": 1}, key)
    reach = REACH_IN_RMS * np.sqrt(squares)
    return -reach, reach, CELLS_PER_SIDE


def _means(system: System, run: Mapping, key: Mapping, sink=lambda path: None):
    """Number, mean and mean square of the samples, which `sink` gets piece by piece."""
    count, total, square = sums = np.zeros((3, 2 * system.dof))

    def add(_, path):
        sink(path)
        sums[0] += len(path)
        sums[1] += np.ones(len(path)) @ path
        sums[2] += np.diagonal(path.T @ path)

    stream(system, run, add, **key, purpose="validate")
    return count[0], total / count, square / count


def _densities(system: System, run, grid, key) -> tuple[np.ndarray, np.ndarray]:
    """Densities, shape (dof, q_bin, qdot_bin), and standard deviations (state,)."""
    low, high, bins = grid
    histogram = PlaneHistogram(low, high, bins)
    count, mean, square = _means(system, run, key, histogram.add)
    cell = (high - low) / bins
    area = (cell[: system.dof] * cell[system.dof :])[:, None, None]
    return histogram.counts / (count * area), np.sqrt(square - mean**2)


def _residual(model: System, density, centres, step, duration) -> np.ndarray:
    """E[L φ] over its standard error, shape (bump_q, bump_qdot)."""
    q, qdot = (g.reshape(-1, 1) for g in np.meshgrid(*centres, indexing="ij"))
    noise = (model.diffusion * model.diffusion.T)[0, 0]
    evaluate = evaluator(
        [model.acceleration[0], noise], model.coordinates, list(model.parameters)
    )
    values = evaluate(q, qdot, model.parameter_values).reshape(*density.shape, 2)
    drift, noise = values[..., 0], values[..., 1]
    probability = sheppard(density * step[0] * step[1])
    along_q, along_qdot = (
        bumps(x, BUMPS_PER_SIDE, HALF_WIDTH_OF_BUMP) for x in centres
    )

    def mean(weight, one, other):
        return one @ (weight * probability) @ other.T

    generator = (
        mean(centres[1], along_q[1], along_qdot[0])
        + mean(drift, along_q[0], along_qdot[1])
        + 0.5 * mean(noise, along_q[0], along_qdot[2])
    )
    variance = mean(noise, along_q[0] ** 2, along_qdot[1] ** 2) / duration
    usual = variance > LEAST_VARIANCE_SHARE * variance.max()
    score = np.full_like(generator, np.nan)
    return np.divide(generator, np.sqrt(np.abs(variance)), out=score, where=usual)
