"""Stationary densities of the truth and of the identified model, from fresh paths.

Both are simulated anew, with random numbers that no estimate has seen. The equation of
the model is also tested on the density of the truth, bump by bump: E[L φ] over its
standard error by the Itô isometry is a standard normal number where the model holds,
and its map shows where it does not.
"""

import logging
from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.compiled import evaluator
from leastaction.core.model import IdentifiedModel
from leastaction.core.simulation import DivergenceError
from leastaction.core.system import System
from leastaction.densities.contracts import CONTRACTS
from leastaction.densities.gill_histogram import PlaneHistogram
from leastaction.densities.runge_kutta_gill import stream
from leastaction.densities.weak_fokker_planck import bumps, sheppard

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
    replicate = int(model["replicate"].values[0])
    run = {
        **simulation,
        "duration": settings["lengths"] * simulation["duration"],
        "trajectories": settings["trajectories"],
    }
    key = {"example": example, "seed": seed, "replicate": replicate}
    low, high, bins = _domain(system, run, simulation.get("histogram"), key)
    truth = _densities(system, run, (low, high, bins), key)
    estimate = IdentifiedModel(model.isel(replicate=0))
    found = None
    reason = str(model["identifiability"].values[0])
    if reason:
        log.warning("replicate %d has no density of the model: %s", replicate, reason)
    else:
        try:
            found = _densities(estimate.system, run, (low, high, bins), key)
        except DivergenceError as error:
            log.warning("the model of replicate %d: %s", replicate, error)
    if found is None:
        found = tuple(np.full_like(part, np.nan) for part in truth)
    residual = np.full((BUMPS_PER_SIDE, BUMPS_PER_SIDE), np.nan)
    if system.dof == 1 and np.isfinite(found[0]).all():
        total = run["duration"] * run["trajectories"]
        residual = _residual(estimate.system, truth[0][0], low, high, total)
    return _dataset(system, truth, found, residual, (low, high, bins), replicate)


def _domain(system: System, run, histogram, key):
    """Corners and number of cells: those of the data, or some rms of the truth."""
    if histogram:
        return (
            np.array(histogram["low"]),
            np.array(histogram["high"]),
            histogram["bins"],
        )
    squares, count = np.zeros(2 * system.dof), [0]

    def add(_, path):
        squares[:] += np.diagonal(path.T @ path)
        count[0] += len(path)

    stream(system, {**run, "trajectories": 1}, add, **key, purpose="validate")
    reach = REACH_IN_RMS * np.sqrt(squares / count[0])
    return -reach, reach, CELLS_PER_SIDE


def _densities(system: System, run, grid, key) -> tuple[np.ndarray, np.ndarray]:
    """Densities, shape (dof, q_bin, qdot_bin), and standard deviations (state,)."""
    low, high, bins = grid
    histogram = PlaneHistogram(low, high, bins)
    sums, squares, count = np.zeros(low.size), np.zeros(low.size), [0]

    def add(_, path):
        histogram.add(path)
        sums[:] += np.ones(len(path)) @ path
        squares[:] += np.diagonal(path.T @ path)
        count[0] += len(path)

    stream(system, run, add, **key, purpose="validate")
    dof = system.dof
    cell = (high - low) / bins
    area = (cell[:dof] * cell[dof:])[:, None, None]
    std = np.sqrt(squares / count[0] - (sums / count[0]) ** 2)
    return histogram.counts / (count[0] * area), std


def _residual(model: System, density, low, high, duration) -> np.ndarray:
    """E[L φ] over its standard error, shape (bump_q, bump_qdot)."""
    bins = len(density)
    step = (np.asarray(high) - low) / bins
    axes = [low[i] + (np.arange(bins) + 0.5) * step[i] for i in (0, 1)]
    q, qdot = (g.reshape(-1, 1) for g in np.meshgrid(*axes, indexing="ij"))
    noise = (model.diffusion * model.diffusion.T)[0, 0]
    evaluate = evaluator(
        [model.acceleration[0], noise], model.coordinates, list(model.parameters)
    )
    values = evaluate(q, qdot, model.parameter_values).reshape(bins, bins, 2)
    drift, noise = values[..., 0], values[..., 1]
    probability = sheppard(density * step[0] * step[1])
    along_q, along_qdot = (bumps(x, BUMPS_PER_SIDE, HALF_WIDTH_OF_BUMP) for x in axes)

    def mean(weight, one, other):
        return one @ (weight * probability) @ other.T

    generator = (
        mean(axes[1], along_q[1], along_qdot[0])
        + mean(drift, along_q[0], along_qdot[1])
        + 0.5 * mean(noise, along_q[0], along_qdot[2])
    )
    variance = mean(noise, along_q[0] ** 2, along_qdot[1] ** 2) / duration
    usual = variance > LEAST_VARIANCE_SHARE * variance.max()
    score = np.full_like(generator, np.nan)
    return np.divide(generator, np.sqrt(np.abs(variance)), out=score, where=usual)


def _dataset(system, truth, found, residual, grid, replicate) -> xr.Dataset:
    low, high, bins = grid
    dof = system.dof
    step = (high - low) / bins
    centres = low[:, None] + (np.arange(bins) + 0.5) * step[:, None]
    area = step[:dof] * step[dof:]
    # Half the integral of |p - p_estimate|, what lies outside of the cells included.
    outside = [1 - p.sum(axis=(1, 2)) * area for p in (truth[0], found[0])]
    distance = np.abs(truth[0] - found[0]).sum(axis=(1, 2)) * area
    distance = 0.5 * (distance + np.abs(outside[0] - outside[1]))
    values = {
        "residual_score": residual,
        "total_variation": distance,
        "cell_centre": centres,
    }
    for end, (density, std) in (("true", truth), ("estimate", found)):
        values |= {f"density_{end}": density, f"std_{end}": std}
    return CONTRACTS["density_rollout"].dataset(
        values,
        coords={
            "replicate": [replicate],
            "dof": list(system.coordinates),
            "state": [s.name for s in system.state],
        },
    )
