"""Recordings that a random force drives: an ensemble, and its strength."""

from functools import cache

import numpy as np
import pytest
from recorded import completed, rig, write
from stages import assemble, differentiate, identify

import leastaction
from leastaction.recordings.configuration import SETTINGS
from leastaction.recordings.import_recording import import_recording

STIFFNESS, DAMPING, STRENGTH = 40.0, 1.0, 2.0
RATE, FINE = 200.0, 20


@cache
def oscillators(runs=6, duration=40.0):
    """Rows (run, t, x, v) of q̈ = −k q − c q̇ + σ Ẇ, by a fine Euler scheme."""
    rng = np.random.default_rng(5)
    dt = 1 / RATE / FINE
    x, v = 0.2 * rng.standard_normal(runs), rng.standard_normal(runs)
    table = []
    for _ in range(round(duration * RATE)):
        table.append(np.stack([x, v]))
        for _ in range(FINE):
            push = STRENGTH * np.sqrt(dt) * rng.standard_normal(runs)
            v = v - dt * (STIFFNESS * x + DAMPING * v) + push
            x = x + dt * v
    paths = np.array(table)
    return [
        [run, f"{n / RATE:.4f}", f"{paths[n, 0, run]:.8f}", f"{paths[n, 1, run]:.8f}"]
        for run in range(runs)
        for n in range(len(paths))
    ]


@pytest.mark.parametrize("recorded", [True, False])
def test_strength_and_damping(recorded, tmp_path):
    write(tmp_path, oscillators(), "run,t,theta,rate")
    changes = {"velocities": {"theta": {"column": "rate", "unit": "m/s"}}}
    given = rig(coordinates={"theta": "m"}, **(changes if recorded else {}))
    example = completed(given | {"excitation": "random"}, tmp_path)
    observations = import_recording(SETTINGS["import"](example))
    recipe, library = example["estimators"]["recommended"], example["library"]
    rates = differentiate(observations, recipe["differentiate"], library)
    equations = assemble(observations, rates, recipe["assemble"], library)
    model = identify(observations, equations, recipe["identify"], library)
    one = model.isel(replicate=0)
    assert float(one["volatility_estimate"][0]) == pytest.approx(STRENGTH, rel=0.05)
    for name, dim, truth in (
        ("coefficient", "term", -STIFFNESS / 2),
        ("dissipation_coefficient", "dissipation_term", DAMPING / 2),
    ):
        term = "theta**2" if dim == "term" else "thetadot**2"
        place = list(one[dim].values).index(term)
        value = one[f"{name}_estimate"].values[place]
        error = one[f"{name}_std"].values[place]
        assert abs(value - truth) < 4 * error + 0.05 * abs(truth)


def test_a_recorded_input_of_the_wrong_sign_is_a_warning():
    """The acceleration a of the ground acts as −a; wind acts, too."""
    rng, dt, x, v = np.random.default_rng(8), 1e-3, 0.0, 0.0
    ground = 2 * np.sin(7 * dt * np.arange(80_000))
    wind = 0.3 * np.sqrt(dt) * rng.standard_normal(len(ground))
    path = []
    for a, push in zip(ground, wind, strict=True):
        path.append(x)
        v += dt * (-a - STIFFNESS * x - DAMPING * v) + push
        x += dt * v
    x = np.array(path)[::10] + 1e-4 * rng.standard_normal(len(ground) // 10)
    table = {"t": 0.01 * np.arange(len(x)), "x": x, "a": ground[::10]}
    for reverse in (False, True):
        law = leastaction.learn(
            table,
            time="t",
            coordinates={"x": "m"},
            inputs={"x": {"column": "a", "unit": "m/s^2", "reverse": reverse}},
            excitation="random",
            progress=False,
        )
        told = [text for text in law.reservations if "reverse: true" in text]
        assert len(told) == (not reverse)
        assert (law.coefficient("xdot**2") > 0) == reverse
