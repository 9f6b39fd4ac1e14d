"""Identified efforts beside the true ones: learning curves, time, structure, motion.

Zaspel and Günther (2024), sections 4.3 to 4.6, and what they do not show: whether the
efforts are a gradient, whether the equation determines its algebraic states, how it
moves under inputs it has not seen, and what its posterior bands are worth.

The truth is f evaluated on the recorded states, whatever scheme made them.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from leastaction.core.simulation import generator, step_count
from leastaction.ports.contracts import CONTRACTS, ERRORS, MOTION
from leastaction.ports.coupling import coupled_motion
from leastaction.ports.dae import SingularDaeError, energy_balance, order_of
from leastaction.ports.minimal_coordinates import draw_sets, path
from leastaction.ports.model import PortModel
from leastaction.ports.system import PortHamiltonianSystem, input_function

ROLLOUT = CONTRACTS["port_rollout"]
# In standard deviations of a normal number.
HALF_WIDTH_OF_95_PERCENT = 1.959963984540054

# Least singular value above which the algebraic rows of a truth are regular.
LEAST_REGULARITY_OF_TRUTH = 1e-9
# Lines along which H is compared with the integral of the efforts, and Gauss–Legendre
# nodes on each.
LINES_OF_INTEGRATION, NODES_PER_LINE = 50, 24


def validate(
    system: PortHamiltonianSystem,
    model: xr.Dataset,
    simulation: Mapping,
    settings: Mapping,
    library: Mapping,
    *,
    example: str,
    seed: int,
) -> xr.Dataset:
    """Scores and motions of one replicate, as the section `port` of `validate` asks."""
    wanted = settings["port"]
    steps = step_count(simulation["duration"], simulation["time_step"])
    time = simulation["time_step"] * np.arange(steps + 1)
    scheme = str(model["scheme"].values)
    x, u = path(system, scheme, time, simulation["input"], simulation["initial_state"])
    replicate = model["replicate"].values
    sets, _ = draw_sets(
        time,
        simulation["training"],
        generator(seed, example, "simulate", 0, 1),
        generator(seed, example, "simulate", int(replicate[0]), 0),
    )
    test = sets["test_index"]
    fits = [PortModel(model, fit) for fit in range(model.sizes["fit"])]
    pieces = [
        _learning_curves(fits, system, x, test),
        structure_scores(fits, system, x[test]),
        _along_time(fits, system, time, x, wanted["shown_size"]),
    ]
    chosen = fits[0].trained_on(wanted["forward_size"])
    pieces.append(port_motion(chosen, system, wanted))
    if wanted.get("coupling"):
        pieces.append(coupled_motion(chosen, system, wanted["coupling"]))
    first = xr.Dataset(coords={"replicate": replicate})
    return (
        xr.merge([first, *pieces], join="exact")
        .assign(scheme=model["scheme"], state_unit=model["state_unit"])
        .assign_coords(training_size=model["training_size"], pool=model["pool"])
    )


def _learning_curves(fits, system, x: np.ndarray, test: np.ndarray) -> xr.Dataset:
    """Errors on the test samples by fit, and the share inside the posterior bands."""
    points = x[test]
    efforts = system.efforts_at(points)
    a = system.transformation
    found: dict[str, list] = {name: [] for name in ERRORS}
    for fit in fits:
        estimate = fit.efforts(points)
        error = estimate - efforts
        covariance = fit.covariance(points)
        through = np.einsum("ij,pjk,ik->pi", a, covariance, a)
        band = np.sqrt(np.maximum(through, 0.0))
        own, targets = fit.training_data
        off = targets - system.efforts_at(own) @ a.T
        found["transformed_rmse"].append(_rms(error @ a.T))
        found["effort_rmse"].append(_rms(error))
        found["coverage"].append(
            (np.abs(error @ a.T) <= HALF_WIDTH_OF_95_PERCENT * band).mean(axis=0)
        )
        found["band"].append(_rms(band))
        found["target_rmse"].append(_rms(off))
    return ROLLOUT.dataset(
        found,
        {
            "row": [f"row_{i + 1}" for i in range(len(a))],
            "effort": [f"z_{i + 1}" for i in range(len(a))],
        },
    )


def _rms(values: np.ndarray) -> np.ndarray:
    return np.sqrt((values**2).mean(axis=0))


def _along_time(fits, system, time, x: np.ndarray, size: int) -> xr.Dataset:
    """Efforts along the recorded path, of the sets of one size from each pool."""
    shown = [fit for fit in fits if fit.training_size == size]
    pools = [str(fit.dataset["pool"].values[fit.fit]) for fit in shown]
    estimate = np.array([fit.efforts(x) for fit in shown])
    variance = np.array(
        [np.einsum("pii->pi", fit.covariance(x)).clip(0.0) for fit in shown]
    )
    samples = [fit.dataset["training_index"].values[0, fit.fit] for fit in shown]
    samples = np.array([index[:size] for index in samples])
    return ROLLOUT.dataset(
        {
            "effort_true": system.efforts_at(x),
            "effort_estimate": estimate,
            "effort_std": np.sqrt(variance),
            "training_sample": samples,
        },
        {
            "time": ("time", time, {"units": "s", "long_name": "time"}),
            "pool_shown": pools,
        },
    )


def structure_scores(fits: Sequence, system, points: np.ndarray) -> xr.Dataset:
    """Symmetry, gradient and regularity of every fit, at the states `points`.

    asymmetry
        Antisymmetric over symmetric part of ∂(Eᵀz)/∂x in rms, with a constraint by the
        differential states alone; zero if Eᵀz is a gradient.
    gradient_defect
        Largest |H(b) − H(a) − ∫Eᵀz dx| along lines between neighbouring points, J;
        infinite without H. A difference quotient of H would show its round-off only.
    regularity
        Least singular value, over the points, of the Jacobian of the algebraic rows by
        the algebraic states (by all states if it is singular in the truth, too).
    """
    true_dae = system.dae
    of_all = _regularity(true_dae, true_dae.algebraic_jacobian(points), False)
    of_all = of_all < LEAST_REGULARITY_OF_TRUTH

    def regularity(dae) -> float:
        return _regularity(dae, dae.algebraic_jacobian(points), of_all)

    inner = true_dae.differential if system.constraint else slice(None)
    return ROLLOUT.dataset(
        {
            "asymmetry": [_asymmetry(fit.dae, points, inner) for fit in fits],
            "gradient_defect": [_gradient_defect(fit.dae, points) for fit in fits],
            "regularity": [regularity(fit.dae) for fit in fits],
            "regularity_true": regularity(true_dae),
        }
    )


def _regularity(dae, jacobian: np.ndarray, of_all: bool) -> float:
    columns = slice(None) if of_all else dae.algebraic
    if not dae.algebraic.size:
        return np.inf
    part = jacobian[:, :, columns]
    return float(np.linalg.svd(part, compute_uv=False)[:, -1].min())


def _asymmetry(dae, points: np.ndarray, inner) -> float:
    slopes = np.einsum("rs,prk->psk", dae.flow, dae.jacobian(points))
    slopes = slopes[:, inner][:, :, inner]
    turned = np.swapaxes(slopes, 1, 2)
    odd, even = slopes - turned, slopes + turned
    size = (even**2).sum()
    return float(np.sqrt((odd**2).sum() / size)) if size else np.inf


def _gradient_defect(dae, points: np.ndarray) -> float:
    """Along lines between points whose algebraic states are kept."""
    if dae.hamiltonian is None:
        return np.inf
    nodes, weights = np.polynomial.legendre.leggauss(NODES_PER_LINE)
    order = np.argsort(points[:, dae.differential[0]])[
        :: max(1, len(points) // LINES_OF_INTEGRATION)
    ]
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


def port_motion(model, system, settings: Mapping) -> xr.Dataset:
    """Roll out truth and model in every scenario, at every time step.

    Both start from the same state. Motions and errors are those at the finest step, on
    the grid of the coarsest one; the energy balance is tested at every step. Where the
    equation does not determine its algebraic states, `failure` says so.

    Parameters
    ----------
    model
        :class:`leastaction.ports.model.PortModel`.
    system
        The truth.
    settings
        The section `port` of `validate`.
    """
    steps = settings["steps"]
    results = {
        name: _scenario(model, system, scenario, steps)
        for name, scenario in settings["scenarios"].items()
    }
    names = list(results)

    def stacked(key: str) -> np.ndarray:
        """Values of all scenarios, NaN after the end of the shorter ones."""
        values = [np.asarray(result[key], dtype=float) for result in results.values()]
        longest = np.max([value.shape for value in values], axis=0).astype(int)
        whole = np.full((len(values), *longest), np.nan)
        for i, value in enumerate(values):
            whole[(i, *map(slice, value.shape))] = value
        return whole

    values = {key: stacked(key) for key in MOTION if key != "failure"}
    longest = values["x_true"].shape[1]
    return ROLLOUT.dataset(
        values | {"failure": [results[name]["failure"] for name in names]},
        coords={
            "scenario": names,
            "step": ("step", list(steps), {"units": "s", "long_name": "time step"}),
            "time_forward": (
                "time_forward",
                steps[0] * np.arange(longest),
                {"units": "s", "long_name": "time"},
            ),
            "state": list(system.states),
        },
    )


def _scenario(model, system, scenario: Mapping, steps) -> dict:
    u = input_function(system, scenario["input"])
    grids = {
        step: step * np.arange(step_count(scenario["duration"], step) + 1)
        for step in steps
    }
    finest = grids[steps[-1]]
    true, _ = path(
        system, "dop853", finest, scenario["input"], scenario["initial_state"]
    )
    every = round(steps[0] / steps[-1])
    energy = system.hamiltonian_at(true)
    nothing = np.full_like(true[::every], np.nan)
    result = {
        "x_true": true[::every],
        "x_estimate": nothing,
        "hamiltonian_true": energy[::every],
        "hamiltonian_estimate": nothing[:, 0],
        "forward_error": np.full(true.shape[1], np.nan),
        "constraint_drift": np.nan,
        "balance_residual": np.full(len(steps), np.nan),
        "balance_order": np.nan,
        "violations": np.full(len(steps), np.nan),
        "failure": "",
    }
    try:
        for k, step in enumerate(steps):
            x = model.dae.path(true[0], grids[step], u)
            if model.dae.hamiltonian is not None:
                balance = energy_balance(model.dae, grids[step], x, u(grids[step]))
                result["balance_residual"][k] = np.abs(balance.residual).max()
                result["violations"][k] = balance.violations
    except SingularDaeError as error:
        return result | {"failure": str(error)}
    result["balance_order"] = order_of(result["balance_residual"], steps)
    result["x_estimate"] = x[::every]
    result["forward_error"] = np.sqrt(((x - true) ** 2).mean(axis=0))
    drift = system.constraint_at(x)
    result["constraint_drift"] = np.abs(drift).max() if drift.size else 0.0
    if model.dae.hamiltonian is not None:
        found = model.dae.hamiltonian(x)
        result["hamiltonian_estimate"] = (found - found[0] + energy[0])[::every]
    return result
