"""Tables to try with: a known motion as the sensors of a lab would write it."""

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import sympy as sp

from leastaction.core.initial_state import input_force, random_names, state_of_names
from leastaction.core.own_data import kinds
from leastaction.core.runge_kutta import motion_of
from leastaction.core.simulation import generator
from leastaction.core.system import System
from leastaction.recordings.refusals import RecordingError

# Velocity below which Coulomb friction turns around, in units of q per s.
SLIDING_WIDTH = 1e-3
# θ̈ = −40 sin θ − 0.2 sign θ̇ − 0.04 θ̇: 25 cm long, dry and viscous friction.
SWINGS = {
    "example": "demo",
    "seed": 1,
    "system": {
        "coordinates": {"theta": {"unit": "rad"}},
        "parameters": {
            "stiffness": {"value": 40.0, "unit": "s^-2"},
            "dry": {"value": 0.2, "unit": "s^-2"},
            "viscous": {"value": 0.02, "unit": "s^-1"},
        },
        "lagrangian": "thetadot**2/2 + stiffness*cos(theta)",
        "dissipation": "dry*abs(thetadot) + viscous*thetadot**2",
    },
    "simulate": {
        "rate": 50,
        "duration": 8.0,
        "trajectories": 5,
        "initial_state": {
            "random": {"size": {"uniform": [0.7, 2.2]}},
            "theta": "size",
            "thetadot": 0,
        },
    },
    "sensor": {"noise": {"theta": 0.001}},
}


def demo_table() -> str:
    """CSV with the columns `run`, `t` (s), `theta` (rad): five swings of a pendulum.

    >>> print(demo_table().partition("\\n")[0])
    run,t,theta
    """
    return recorded_table(SWINGS)


def demo_of(words: Sequence[str]) -> tuple[str, Callable[[], str], str, str]:
    """File, what makes its table, what is in it, and options that learn from it.

    `words` are those of ``leastaction demo``, a kind of table and a file.

    >>> file, make, about, options = demo_of(["density"])
    >>> file, about
    ('density.csv', 'a stiffening spring, shaken at random')
    """
    known = kinds()
    name, *rest = [*words] if words and words[0] in known else ["", *words]
    if len(rest) > 1:
        raise RecordingError(
            f"demo {' '.join(words)}: expected a kind ({', '.join(known)}) and a file, "
            "or one of them"
        )
    file = rest[0] if rest else f"{name or 'swings'}.csv"
    if not name:
        angle = "--time t --trajectory run --coordinate theta:rad"
        return file, demo_table, "five swings of a pendulum", angle
    kind = known[name]
    return file, kind.demo, kind.about, f"--kind {name} {kind.example}"


def recorded_table(settings: Mapping) -> str:
    """CSV with the columns `run, t`, coordinates, and inputs.

    Settings: `system` as in an example; `simulate`: `rate` (Hz), `duration` (s),
    `trajectories`, `initial_state`, `input`; `sensor`: `noise` and `step` (of an
    encoder) by coordinate, `offset`, `jitter` (of the clock, over its step), `missing`
    (share of the rows); `example` and `seed`, key of the random numbers.
    """
    system = System.from_config(settings["system"])
    simulation, sensor = settings["simulate"], settings["sensor"]
    names = tuple(simulation["initial_state"].get("random", {}))
    inputs = simulation.get("input", {})
    motion = motion_of(sliding(system), inputs, names)
    force_of = input_force(system, inputs, names)
    draw = random_names(simulation["initial_state"])
    state_of = state_of_names(simulation["initial_state"], system)
    rate = float(simulation["rate"])
    count = round(simulation["duration"] * rate) + 1
    # Between two samples the clock may be late by half a step.
    fine = 8
    step = 1 / (rate * fine)
    substeps = math.ceil(step / simulation.get("integration_step", 1e-3))
    driven = [name for name in system.coordinates if name in inputs]
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["run", "t", *system.coordinates, *(f"input_{n}" for n in driven)])
    for number in range(simulation["trajectories"]):
        rng = generator(settings["seed"], settings["example"], "simulate", 0, number)
        drawn = draw(rng, number)
        values = tuple(drawn.values())
        path, _ = motion.integrate(
            state_of(drawn), (count + 1) * fine, step, substeps, values
        )
        late = np.clip(
            rng.standard_normal(count) * sensor.get("jitter", 0.0), -0.4, 0.4
        )
        place = np.arange(count) * fine + np.rint((late + 0.5) * fine).astype(int)
        time = place * step
        q = _sensed(path[place, : system.dof], system.coordinates, sensor, rng)
        force = force_of(time, values)
        recorded = rng.random(count) >= sensor.get("missing", 0.0)
        for n in np.flatnonzero(recorded):
            pushed = [f"{force[n, system.coordinates.index(d)]:.6g}" for d in driven]
            table.writerow(
                [number, f"{time[n]:.6f}", *(f"{x:.8g}" for x in q[n]), *pushed]
            )
    return file.getvalue()


def _sensed(q, names, sensor: Mapping, rng) -> np.ndarray:
    readings = np.empty_like(q)
    for a, name in enumerate(names):
        y = q[:, a] + sensor.get("offset", {}).get(name, 0.0)
        y = y + sensor.get("noise", {}).get(name, 0.0) * rng.standard_normal(len(y))
        step = sensor.get("step", {}).get(name, 0.0)
        readings[:, a] = np.rint(y / step) * step if step else y
    return readings


def sliding(system: System) -> System:
    """The system with |v| in its losses as √(v² + w²), which no step misses."""
    smooth = system.dissipation.replace(
        lambda e: isinstance(e, sp.Abs),
        lambda e: sp.sqrt(e.args[0] ** 2 + sp.Float(SLIDING_WIDTH) ** 2),
    )
    return replace(system, dissipation=smooth)
