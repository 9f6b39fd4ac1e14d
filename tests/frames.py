"""Shear frames on shaking ground, sampled exactly, for tests of their laws."""

import numpy as np
import xarray as xr

from leastaction.ensembles import kalman_filter

LEVEL = 0.5


def frame(
    stiffness, damping, sensors, noise, samples, dt, seed=0, memory=0.0
) -> xr.Dataset:
    """Readings of a chain of unit masses a, b, ... that the ground shakes.

    `stiffness` and `damping` are those of the storeys from the ground up; `sensors` are
    coordinates, or absolute accelerations such as ``bddot + ground``; `noise` is theirs
    in SI units; `memory` is the correlation time of the ground, s.
    """
    n, rng = len(stiffness), np.random.default_rng(seed)
    drift = np.eye(n) - np.eye(n, k=-1)
    K, C = (drift.T @ np.diag(x) @ drift for x in (stiffness, damping))
    rates = np.block([[np.zeros((n, n)), np.eye(n)], [-K, -C]])
    push = np.zeros((2 * n, 2 * n))
    push[n:, n:] = LEVEL**2
    if memory:
        ground = np.repeat([0.0, LEVEL], n)[:, None]
        last = np.append(np.zeros(2 * n), -1 / memory)
        rates = np.vstack([np.hstack([rates, ground]), last])
        push = np.diag(np.append(np.zeros(2 * n), memory**-2))
    A, Q = kalman_filter.discretised(rates, push, dt)
    state = _root(kalman_filter.stationary(A, Q)) @ rng.standard_normal(len(A))
    path = []
    for kick in rng.standard_normal((samples, len(A))) @ _root(Q).T:
        path.append(state)
        state = A @ state + kick
    path = np.array(path)
    names = [chr(97 + a) for a in range(n)]
    accelerations = rates[n : 2 * n, : 2 * n] @ path.T[: 2 * n]
    texts = [*names, *(f"{name}ddot + ground" for name in names)]
    seen = dict(zip(texts, [*path.T[:n], *accelerations], strict=True))
    y = np.stack([seen[sensor] for sensor in sensors], axis=1)
    y = y + noise * rng.standard_normal(y.shape)
    about = {"units": "mixed", "long_name": "reading"}
    return xr.Dataset(
        {
            "reading": (("replicate", "sample", "channel"), y[None], about),
            "first_sample": ("trajectory", [0], about),
            "sample_count": ("trajectory", [samples], about),
        },
        {"replicate": [0], "dof": names, "channel": list(sensors)},
        {"time_step": dt, "contract": "sensor_readings"},
    )


def storeys(n: int, every: bool = False) -> dict:
    """Candidates of a shear frame; with `every`, springs and dampers between all."""
    names = [chr(97 + a) for a in range(n)]
    pairs = [(i, j) for j in range(n) for i in range(j) if every or j == i + 1]
    alone = names if every else names[:1]
    springs = [f"{x}**2" for x in alone]
    springs += [f"({names[j]} - {names[i]})**2" for i, j in pairs]
    dampers = [f"{x}dot**2" for x in alone]
    dampers += [f"({names[j]}dot - {names[i]}dot)**2" for i, j in pairs]
    return {
        "reference": "adot**2/2",
        "lagrangian": [{"terms": [*(f"{x}dot**2" for x in names), *springs]}],
        "dissipation": [{"terms": dampers}],
    }


def _root(covariance: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0.0))
