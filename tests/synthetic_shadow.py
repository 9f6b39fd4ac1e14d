"""Rollouts of Lagrangians learned from snapshots of a pendulum, with chosen errors."""

import copy

import numpy as np
import xarray as xr

from leastaction_papers.scorecard.panel import Panel

ORDERS = [0, 2, 4]
STEPS, TIME_STEP, STARTS = 40, 0.5, 10
CONFIG = {
    "title": "Pendulum",
    "system": {
        "coordinates": {"th": {"unit": "rad", "label": "\\theta"}},
        "parameters": {"m": {"value": 1.0, "unit": "kg m^2"}},
        "lagrangian": "m*thdot**2/2 + m*cos(th)",
    },
    "simulate": {"method": "runge_kutta", "noise": {"channels": ["q"]}},
}


def config(**publish) -> dict:
    return copy.deepcopy(CONFIG) | ({"publish": publish} if publish else {})


def box() -> tuple[np.ndarray, np.ndarray]:
    """States (point, 2) of a grid and the true H there."""
    sides = [np.linspace(-1.2, 1.2, 30), np.linspace(-0.6, 0.6, 30)]
    points = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 2)
    return points, points[:, 1] ** 2 / 2 - np.cos(points[:, 0])


def model(shadow=1, **attributes) -> xr.Dataset:
    """Diagnostics and attributes; with `shadow` None it is a flow."""
    attrs = {"time_step": TIME_STEP, "rule": "midpoint"} | attributes
    attrs |= {} if shadow is None else {"shadow": shadow}
    return xr.Dataset(
        {
            "coefficient": (("replicate", "function"), np.ones((1, 7))),
            "rank": (("replicate",), [5.0]),
            "residual_square": (("replicate",), [1e-9]),
        },
        coords={"replicate": [0]},
        attrs=attrs,
    )


def rollout(
    misalignment=(1e-2, 1e-4, 1e-6), error=1e-6, scale=0.5, done=STEPS, values=None
) -> xr.Dataset:
    """One replicate; `values` is the learned H in the box, as true if absent."""
    time = np.arange(STEPS + 1) * TIME_STEP
    path = 0.3 * np.cos(time)
    found = path + error * np.linspace(0, 1, time.size)
    found[done + 1 :] = np.nan
    points, true = box()
    learned = scale * (true if values is None else values)
    states = np.column_stack([path, -0.3 * np.sin(time)])
    energy = np.where(np.isfinite(found), error * np.sin(time), np.nan)
    by_order = np.array([1e-2, 1e-4, 1e-6])
    reason = "" if done == STEPS else f"step {done + 1}: left the domain"
    orders = ("replicate", "order")

    def same(value, *dims):
        return (*orders, *dims), np.array([[value] * 3])

    return xr.Dataset(
        {
            "q_true": (("replicate", "time", "dof"), path[None, :, None]),
            "q_estimate": same(found[:, None], "time", "dof"),
            "position_error": same(np.nanmax(np.abs(found - path))),
            "steps_done": same(float(done)),
            "failure": (orders, np.array([[reason] * 3], dtype=object)),
            "momentum_range": same([0.6], "dof"),
            "momentum_start": same([0.1], "dof"),
            "hamiltonian_estimate": same(energy - np.cos(0.3), "time_energy"),
            "hamiltonian_modified": (
                (*orders, "time_energy"),
                by_order[None, :, None] * np.sin(time),
            ),
            "energy_band": (orders, 2 * by_order[None]),
            "energy_drift": same(-1e-12),
            "misalignment": (orders, np.array([misalignment], dtype=float)),
            "misalignment_integrated": (orders, [[0.0, 0.0112, 0.0110]]),
            "scale": same(scale),
            "hamiltonian_point": same(learned, "point"),
            "hamiltonian_point_integrated": same(true, "point"),
            "state_snapshot": (("replicate", "snapshot", "state"), states[None, :13]),
            "horizon_error": (("replicate", "horizon_start"), [[error] * STARTS]),
            "horizon_steps": (("replicate", "horizon_start"), [[20.0] * STARTS]),
            "state_point": (("point", "state"), points),
            "hamiltonian_point_true": (("point",), true),
            "hamiltonian_start_true": ((), -np.cos(0.3)),
            "state_snapshot_true": (("snapshot", "state"), states[:13]),
            "state_line_true": (("line", "state"), states[:13]),
        },
        coords={
            "replicate": [0],
            "order": ORDERS,
            "time": time,
            "time_energy": time,
            "dof": ["th"],
        },
    )


def flow_rollout() -> xr.Dataset:
    """Of a flow map, which has no energy."""
    found = rollout(misalignment=[np.nan] * 3)
    for name in ("scale", "energy_band", "hamiltonian_modified", "hamiltonian_point"):
        found[name] = found[name] * np.nan
    return found.drop_vars(["misalignment_integrated", "hamiltonian_point_integrated"])


def noisy(*rollouts, levels) -> xr.Dataset:
    """A sweep over noise."""
    whole = xr.concat(rollouts, "noise_level", data_vars="all", coords="minimal")
    whole = whole.expand_dims(noise_mode=["independent"])
    return whole.assign_coords(noise_level=list(levels)).transpose("replicate", ...)


def panel(models=None, rollouts=None, example=None) -> Panel:
    """Recommended, published, LGP, LGPExact and a flow, unless told otherwise."""
    models = models or {
        "recommended": model(),
        "published": model(),
        "published_lgp": model(0),
        "published_lgp_exact": model(0),
        "published_gp_flow": model(None),
    }
    rollouts = rollouts or {
        name: rollout() if "shadow" in one.attrs else flow_rollout()
        for name, one in models.items()
    }
    return Panel("pendulum", example or config(), models, rollouts)
