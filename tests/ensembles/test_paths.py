"""Batches of trajectories and steps: no number depends on how the work is divided."""

import numpy as np
import pytest
from support import system

from leastaction.ensembles import strong_taylor
from leastaction.ensembles.strong_taylor import fill_paths, integrator, white_noise

CASES = {
    "vector instructions": system(
        "xdot**2/2 - 2*x**2 - 3*x**4", volatility={"x": "1.5"}
    ),
    "sine": system("xdot**2/2 + 9*cos(x)", volatility={"x": "1 + sin(2*x)"}),
    "two processes": system(
        "adot**2/2 + bdot**2/2 - a**2 - b**2 - a**2*b**2/2",
        ("a", "b"),
        volatility={"a": "1 + b*adot/4", "b": "2"},
    ),
    "no noise": system("xdot**2/2 - 2*x**2"),
}


def paths(truth, trajectories=13, samples=31, every=1):
    starts = np.linspace(0.1, 0.5, trajectories * 2 * truth.dof)
    q = np.full((trajectories, samples, truth.dof), np.nan)
    qdot = np.full_like(q, np.nan)
    noise = white_noise(3, "a", "simulate", 0, truth.wiener_processes)
    starts = starts.reshape(trajectories, -1)
    fill_paths(integrator(truth), starts, noise, 0.01, q, qdot, every)
    return np.concatenate([q, qdot], axis=2)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "trajectories, numbers", [(1, 1), (4, 300), (5, 100), (13, 2**20)]
)
def test_batches_change_no_bit(name, trajectories, numbers, monkeypatch):
    whole = paths(CASES[name])
    assert np.isfinite(whole).all()
    monkeypatch.setattr(strong_taylor, "TRAJECTORIES_PER_BATCH", trajectories)
    monkeypatch.setattr(strong_taylor, "NUMBERS_PER_BATCH", numbers)
    np.testing.assert_array_equal(paths(CASES[name]), whole)


@pytest.mark.parametrize("numbers", [1, 100, 250, 2**20])
@pytest.mark.parametrize("every", [2, 3, 7])
def test_every_keeps_each_so_many_states(every, numbers, monkeypatch):
    truth = CASES["two processes"]
    every_step = paths(truth, samples=8 * every + 1)
    monkeypatch.setattr(strong_taylor, "NUMBERS_PER_BATCH", numbers)
    kept = paths(truth, samples=9, every=every)
    np.testing.assert_array_equal(kept, every_step[:, ::every])


def test_a_trajectory_is_what_it_is_alone():
    truth = CASES["vector instructions"]
    together = paths(truth, trajectories=9)
    noise = white_noise(3, "a", "simulate", 0, 1)
    starts = np.linspace(0.1, 0.5, 18).reshape(9, 2)
    for t in (0, 4, 8):
        normals = noise(range(t, t + 1))(30)[..., 0]
        alone = integrator(truth)(starts[t], normals, 0.01)
        np.testing.assert_array_equal(alone, together[t])
