"""Identified efforts beside the true ones: learning curves, time, structure, motion.

Zaspel and Günther (2024), sections 4.3 to 4.6, and what they do not show: whether the
efforts are a gradient, whether the equation determines its algebraic states, how it
moves under inputs it has not seen, and what its posterior bands are worth.

The truth is f evaluated on the recorded states, whatever scheme made them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np
import xarray as xr

from leastaction.core.estimate import NORMAL_QUANTILE
from leastaction.core.simulation import step_count
from leastaction.ports.dae import PortDae, SingularDaeError, energy_balance
from leastaction.ports.minimal_coordinates import draw_sets, path, start
from leastaction.ports.model import PortModel
from leastaction.ports.system import PortHamiltonianSystem, input_function
from leastaction_papers.port_hamiltonian.contracts import (
    CONTRACTS,
    COUPLED,
    ERRORS,
    MOTION,
)
from leastaction_papers.port_hamiltonian.coupling import (
    IDENTIFIED,
    KNOWN,
    couple,
    coupling_of,
)
from leastaction_papers.rollout import Rollout, compares

ROLLOUT = CONTRACTS["port_rollout"]
# Least singular value above which the algebraic rows of a truth are regular.
LEAST_REGULARITY_OF_TRUTH = 1e-9
# Lines along which H is compared with the integral of the efforts, and Gauss–Legendre
# nodes on each.
LINES_OF_INTEGRATION, NODES_PER_LINE = 50, 24


@compares
def validate(run: Rollout) -> xr.Dataset:
    """Scores and motions of one replicate, as the section `port` of `validate` asks."""
    system, model, simulation = run.system, run.model, run.simulation
    settings = run.settings["port"]
    steps = step_count(simulation["duration"], simulation["time_step"])
    time = simulation["time_step"] * np.arange(steps + 1)
    x, _ = path(system, str(model["scheme"].values), time, simulation)
    key = {"example": run.example, "seed": run.seed, "replicate": run.replicate}
    sets, _ = draw_sets(time, simulation["training"], **key)
    test = x[sets["test_index"]]
    fits = [PortModel(model, fit) for fit in range(model.sizes["fit"])]
    chosen = fits[0].trained_on(settings["forward_size"])
    pieces = [
        xr.Dataset(coords={"replicate": model["replicate"].values}),
        _learning_curves(fits, system, test),
        structure_scores([fit.dae for fit in fits], system, test),
        _along_time(fits, system, time, x, settings["shown_size"]),
        port_motion(chosen.dae, system, settings),
    ]
    if settings.get("coupling"):
        pieces.append(coupled_motion(chosen.dae, system, settings["coupling"]))
    return (
        xr.merge(pieces, join="exact")
        .assign(scheme=model["scheme"], state_unit=model["state_unit"])
        .assign_coords(training_size=model["training_size"], pool=model["pool"])
    )


def _learning_curves(fits: Sequence[PortModel], system, points) -> xr.Dataset:
    """Errors on the test samples by fit, and the share inside the posterior bands.

    Against the true efforts, and against the derivative data of the test samples.
    """
    efforts, a = system.dae.efforts(points), system.dae.transformation
    data = fits[0].dataset["y_test"].values[0]
    of_data = data @ np.linalg.pinv(a).T
    errors: dict[str, list] = {name: [] for name in ERRORS}
    for fit in fits:
        error = fit.efforts(points) - efforts
        through = np.einsum("ij,pjk,ik->pi", a, fit.covariance(points), a)
        band = np.sqrt(np.maximum(through, 0.0))
        samples, targets = fit.training_data
        inside = np.abs(error @ a.T) <= NORMAL_QUANTILE * band
        errors["transformed_rmse"].append(_rms(error @ a.T))
        errors["effort_rmse"].append(_rms(error))
        estimate = error + efforts
        errors["transformed_residual"].append(_rms(estimate @ a.T - data))
        errors["effort_residual"].append(_rms(estimate - of_data))
        errors["coverage"].append(inside.mean(axis=0))
        errors["target_rmse"].append(_rms(targets - system.dae.efforts(samples) @ a.T))
    names = fits[0].dataset[["row", "effort"]].coords
    return ROLLOUT.dataset(errors, {k: names[k].values for k in ("row", "effort")})


def _rms(values: np.ndarray) -> np.ndarray:
    return np.sqrt((values**2).mean(axis=0))


def _along_time(fits, system, time, x: np.ndarray, size: int) -> xr.Dataset:
    """Efforts along the recorded path, of the sets of one size from each pool."""
    shown = [fit for fit in fits if fit.training_size == size]
    variance = [np.einsum("pii->pi", fit.covariance(x)).clip(0.0) for fit in shown]
    samples = [fit.dataset["training_index"].values[0, fit.fit] for fit in shown]
    return ROLLOUT.dataset(
        {
            "effort_true": system.dae.efforts(x),
            "effort_estimate": np.array([fit.efforts(x) for fit in shown]),
            "effort_std": np.sqrt(variance),
            "training_sample": np.array([index[:size] for index in samples]),
        },
        {
            "time": ("time", time, {"units": "s", "long_name": "time"}),
            "pool_shown": [str(fit.dataset["pool"].values[fit.fit]) for fit in shown],
        },
    )


def structure_scores(
    daes: Sequence[PortDae], system: PortHamiltonianSystem, points: np.ndarray
) -> xr.Dataset:
    """Symmetry, gradient and regularity of every fit, at the states `points`.

    With a constraint, symmetry is that by the differential states alone. Regularity is
    that by the algebraic states, or by all states if it is lost in the truth, too.
    """
    truth = system.dae

    def regularity(dae: PortDae, columns) -> float:
        if not dae.algebraic.size:
            return np.inf
        part = dae.algebraic_jacobian(points)[:, :, columns]
        return float(np.linalg.svd(part, compute_uv=False)[:, -1].min())

    by = truth.algebraic
    if regularity(truth, by) < LEAST_REGULARITY_OF_TRUTH:
        by = slice(None)
    inner = truth.differential if system.constraint else slice(None)
    return ROLLOUT.dataset(
        {
            "asymmetry": [_asymmetry(dae, points, inner) for dae in daes],
            "gradient_defect": [_gradient_defect(dae, points) for dae in daes],
            "regularity": [regularity(dae, by) for dae in daes],
            "regularity_true": regularity(truth, by),
        }
    )


def _asymmetry(dae: PortDae, points: np.ndarray, inner) -> float:
    slopes = np.einsum("rs,prk->psk", dae.flow, dae.linearised(points)[1])
    slopes = slopes[:, inner][:, :, inner]
    turned = np.swapaxes(slopes, 1, 2)
    odd, even = slopes - turned, slopes + turned
    size = (even**2).sum()
    return float(np.sqrt((odd**2).sum() / size)) if size else np.inf


def _gradient_defect(dae: PortDae, points: np.ndarray) -> float:
    """Along lines between neighbouring points whose algebraic states are kept.

    Infinite without H, of which a difference quotient would show the round-off only.
    """
    if dae.hamiltonian is None:
        return np.inf
    nodes, weights = np.polynomial.legendre.leggauss(NODES_PER_LINE)
    every = max(1, len(points) // LINES_OF_INTEGRATION)
    order = np.argsort(points[:, dae.differential[0]])[::every]
    first = points[order[:-1]]
    last = first.copy()
    last[:, dae.differential] = points[order[1:]][:, dae.differential]
    way = last - first
    along = np.zeros(len(first))
    for node, weight in zip(nodes, weights, strict=True):
        z = dae.efforts(first + 0.5 * (1 + node) * way)
        along += 0.5 * weight * ((z @ dae.flow) * way).sum(axis=1)
    gained = dae.hamiltonian(last) - dae.hamiltonian(first)
    return float(np.abs(gained - along).max())


def _rolled_out(dae: PortDae, true, grids: Sequence[np.ndarray], u: Callable) -> dict:
    """Motion at the finest step, its error, and the energy balance at every step.

    NaN where there is none: without H no balance, and after a `failure` nothing.
    """
    nothing = np.full(len(grids), np.nan)
    outcome = {"estimate": np.full_like(true, np.nan), "failure": ""}
    balances = []
    try:
        for time in grids:
            x = dae.path(true[0], time, u)
            if dae.hamiltonian is not None:
                residual, violations = energy_balance(dae, time, x, u(time))
                balances.append((np.abs(residual).max(), violations))
        outcome["estimate"] = x
    except SingularDaeError as error:
        outcome["failure"], balances = str(error), []
    residual, violations = np.array(balances, float).T if balances else (nothing,) * 2
    ratio, steps = residual[-2] / residual[-1], [time[1] for time in grids]
    return outcome | {
        "error": _rms(outcome["estimate"] - true),
        "residual": residual,
        "order": float(np.log(ratio) / np.log(steps[-2] / steps[-1])),
        "violations": violations,
    }


def _grids(duration: float, steps: Sequence[float]) -> list[np.ndarray]:
    return [step * np.arange(step_count(duration, step) + 1) for step in steps]


def port_motion(dae: PortDae, system, settings: Mapping) -> xr.Dataset:
    """Roll out truth and model in every scenario, at every time step.

    Errors are those at the finest step. `settings` are the section `port` of
    `validate`.
    """
    steps, scenarios = settings["steps"], settings["scenarios"]
    results = [_scenario(dae, system, one, steps) for one in scenarios.values()]
    return ROLLOUT.dataset(
        {key: [result[key] for result in results] for key in MOTION},
        coords={
            "scenario": list(scenarios),
            "step": ("step", list(steps), {"units": "s", "long_name": "time step"}),
            "state": list(system.states),
        },
    )


def _scenario(dae: PortDae, system, scenario: Mapping, steps) -> dict:
    grids = _grids(scenario["duration"], steps)
    true, _ = path(system, "dop853", grids[-1], scenario)
    outcome = _rolled_out(dae, true, grids, input_function(system, scenario["input"]))
    drift, constraint = np.nan, system.dae.constraint
    if not outcome["failure"]:
        x = outcome["estimate"]
        drift = 0.0 if constraint is None else np.abs(constraint.value(x)).max()
    return {
        "forward_error": outcome["error"],
        "constraint_drift": drift,
        "balance_residual": outcome["residual"],
        "duration": scenario["duration"],
        "violations": outcome["violations"],
        "failure": outcome["failure"],
    }


def coupled_motion(dae: PortDae, system, settings: Mapping) -> xr.Dataset:
    """Roll out the coupled truth and the coupled model, at every time step.

    `settings` are the section `port.coupling` of `validate`.
    """
    steps = settings["steps"]
    together, u, truth, true = _coupled_truth(system, json.dumps(dict(settings)))
    grids = _grids(settings["duration"], steps)
    outcome = _rolled_out(together(dae), true, grids, u)
    return ROLLOUT.dataset(
        {key: outcome[key.removeprefix("coupled_")] for key in COUPLED},
        coords={
            "state_coupled": list(truth.states),
            "step_coupled": ("step_coupled", list(steps), {"units": "s"}),
        },
    )


@lru_cache(maxsize=4)
def _coupled_truth(system, written: str) -> tuple:
    """Coupling of a subsystem, input of the free ports, coupled truth and its path."""
    settings = json.loads(written)
    known, ports = coupling_of(system, settings)
    u = input_function(known, settings["input"])
    free = [i for i in range(len(known.inputs)) if (KNOWN, i) not in ports]
    idle = len(system.inputs) - sum(name == IDENTIFIED for name, _ in ports)

    def together(identified: PortDae) -> PortDae:
        matrix = settings["interconnection"]
        return couple({IDENTIFIED: identified, KNOWN: known.dae}, ports, matrix)

    def inputs(time: np.ndarray) -> np.ndarray:
        """Inputs of the free ports; those of the identified one stay at zero."""
        return np.hstack([np.zeros((len(time), idle)), u(time)[:, free]])

    first = []  # Algebraic states are guesses for Newton's method.
    for each in (system, known):
        initial = {name: settings["initial_state"][name] for name in each.coordinates}
        xi, idle_inputs = start(each, initial)[None], np.zeros((1, len(each.inputs)))
        first.append(each.states_at(xi, idle_inputs)[0])
    truth = together(system.dae)
    time = _grids(settings["duration"], settings["steps"])[-1]
    return together, inputs, truth, truth.path(np.concatenate(first), time, inputs)
