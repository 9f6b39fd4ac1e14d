"""Identified J, R, B and H beside the truth: entries, free runs, energy balance.

Free runs start anew, under inputs that the fit has not seen and under larger ones. The
energy balance is that of the truth: along the drift f of a model the true energy should
change by −zᵀRz, also at states outside the data. A drift that gains energy where the
truth loses some creates it.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.estimate import NORMAL_QUANTILE
from leastaction.core.simulation import generator
from leastaction.ports.dae import runge_kutta_step
from leastaction.ports.minimal_coordinates import motions
from leastaction.ports.model import StructureModel
from leastaction.ports.port_structure import Candidates
from leastaction.ports.system import PortHamiltonianSystem
from leastaction_papers.port_hamiltonian.contracts import CONTRACTS
from leastaction_papers.rollout import Rollout, compares

NEW, LARGER = "new", "larger"
MATRICES = ("J", "R", "B", "H")
# Coefficients of a truth below this share of the largest are rounding.
ROUNDING = 1e-8
# Power that rounding explains, over the mean dissipation.
POWER_OF_ROUNDING = 1e-9
# Points at which the truth is projected on the candidates.
PROJECTED = 400


@compares
def validate(run: Rollout) -> xr.Dataset:
    """One replicate, in every case of its sweep over noise."""
    system, model, simulation = run.system, run.model, run.simulation
    settings = run.settings["structure"]
    time = simulation["time_step"] * np.arange(settings["steps"] + 1)
    key, count = run.key, settings["runs"]
    runs = {
        name: motions(system, simulation, time, key, count, larger)
        for name, larger in ((NEW, 1.0), (LARGER, settings["larger"]))
    }
    random = generator(*key, count)
    points = _box(runs[NEW][0], settings["box"], random, settings["points"])
    truth = _truth(system, model, runs[NEW][0])

    def compared(one: xr.Dataset) -> xr.Dataset:
        identified = StructureModel(one)
        values = _compared(one, truth) | _balance(system, identified, points)
        return CONTRACTS["structure_rollout"].dataset(
            truth | values | _free_runs(identified, runs, time),
            {
                **{key: one[key] for key in ("replicate", "row", "effort", "port")},
                "term": one["term"].values,
                "state": one["state"].values,
                "matrix": list(MATRICES),
                "scenario": list(runs),
            },
        )

    rollout = run.over_cases(compared)
    return rollout.assign_coords(noise_level=model["noise_level"])


def _box(x: np.ndarray, factor: float, random, count: int) -> np.ndarray:
    """States drawn evenly from the box of the data, `factor` times as wide."""
    flat = x.reshape(-1, x.shape[2])
    low, high = flat.min(axis=0), flat.max(axis=0)
    middle, half = (low + high) / 2, factor * (high - low) / 2
    return random.uniform(middle - half, middle + half, (count, len(low)))


def _truth(system: PortHamiltonianSystem, model: xr.Dataset, x: np.ndarray) -> dict:
    """True J, R, B, and H in the candidates; NaN where they do not span it."""
    points = x.reshape(-1, x.shape[2])
    points = points[:: max(1, len(points) // PROJECTED)]
    texts = [str(text) for text in model["term"].values]
    candidates = Candidates.of(system.states, texts)
    g = candidates.values(points)[0]
    columns = np.einsum("kil,tl->tik", candidates.tensor, g).reshape(-1, len(texts))
    z = system.effort_values(points).ravel()
    sizes = np.linalg.norm(columns, axis=0)
    weights = np.linalg.lstsq(columns / sizes, z, rcond=1e-13)[0] / sizes
    weights[np.abs(weights) < ROUNDING * np.abs(weights).max()] = 0.0
    if np.abs(columns @ weights - z).max() > 1e-6 * np.abs(z).max():
        weights[:] = np.nan
    loss = np.full(system.dissipation.shape, np.nan)
    if system.constant:
        loss = system.numbers(system.dissipation)
    return {
        "structure_true": system.numbers(system.structure),
        "dissipation_true": loss,
        "port_true": system.numbers(system.port),
        "coefficient_true": weights,
    }


def _compared(model: xr.Dataset, truth: Mapping) -> dict:
    """Errors of J, R, B and H, and whether exactly the true entries were found."""
    errors, right, covered = [], True, []
    for name in ("structure", "dissipation", "port", "coefficient"):
        estimate, true = model[f"{name}_estimate"].values[0], truth[f"{name}_true"]
        size = np.linalg.norm(true)
        error = np.linalg.norm(estimate - true)
        errors.append(error / size if size else error)
        right &= np.array_equal(estimate != 0, true != 0) and np.isfinite(error)
        compared = true != 0
        if name in ("structure", "dissipation"):
            compared = np.triu(compared)
        spread = model[f"{name}_std"].values[0][compared]
        known = spread > 0
        inside = np.abs(estimate - true)[compared] <= NORMAL_QUANTILE * spread
        covered.append(inside[known])
    inside = np.concatenate(covered)
    return {
        "matrix_error": errors,
        "right": float(right),
        "covered": inside.sum() if right else np.nan,
        "intervals": inside.size if right else np.nan,
        "refused": float(bool(str(model["refusal"].values[0]))),
    }


def _balance(system, model: StructureModel, points: np.ndarray) -> dict:
    """How far the true energy is from balance along the drift of the model."""
    at_rest = np.zeros((len(points), len(system.inputs)))
    with np.errstate(all="ignore"):
        z = system.effort_values(points)
        loss = np.einsum("ti,tij,tj->t", z, system.dissipation_values(points), z)
        power = np.einsum("ti,ti->t", z, model.rates(points, at_rest))
        # Candidates such as V**(1/3) end where the box goes on.
        g = model.candidates.values(points)[0]
        known = np.isfinite(loss) & np.isfinite(np.hstack([z, g])).all(axis=1)
        error = np.sqrt(((power + loss)[known] ** 2).mean())
    scale = np.sqrt((loss[known] ** 2).mean())
    return {
        "energy_error": error / scale,
        "own_energy_created": _own_creation(model, points[known]),
    }


def _own_creation(model: StructureModel, points: np.ndarray) -> float:
    """Share of states at which the model's own energy grows; NaN if it has none."""
    if not np.isfinite(model.structure).all():
        return np.nan
    z = model.dae.efforts(points)
    power = np.einsum("ti,ij,tj->t", z, model.dae.transformation, z)
    return float((power > POWER_OF_ROUNDING * np.abs(power).max()).mean())


def _free_runs(model: StructureModel, runs: Mapping, time: np.ndarray) -> dict:
    """Motions of the model by the classical Runge–Kutta scheme; infinite if lost."""
    errors: dict = {"run_error": []}
    h = time[1] - time[0]
    for x, half in runs.values():
        path = np.empty_like(x)
        path[:, 0] = x[:, 0]
        with np.errstate(all="ignore"):
            for k in range(time.size - 1):
                u = (half[:, 2 * k + i] for i in range(3))
                path[:, k + 1] = runge_kutta_step(model.rates, path[:, k], h, *u)
            error = ((path - x) ** 2).mean(axis=(0, 1)) / x.var(axis=(0, 1))
        error = np.sqrt(error.mean())
        errors["run_error"].append(error if np.isfinite(error) else np.inf)
    return errors
