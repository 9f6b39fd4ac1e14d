"""Driven motions of a port-Hamiltonian system: states, inputs and outputs with noise.

Every trajectory has random starts and random inputs of its own. What sensors record at
a noise level is formed by :mod:`leastaction.core.noise_sweep`; a level is a share of
the rms of its channel.
"""

from collections.abc import Mapping

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.expressions import parse
from leastaction.core.initial_state import random_names
from leastaction.core.simulation import generator, step_count
from leastaction.ports.contracts import CONTRACTS
from leastaction.ports.minimal_coordinates import dop853
from leastaction.ports.system import PortHamiltonianSystem, input_function


def start_of(
    system: PortHamiltonianSystem, settings: Mapping, drawn: Mapping[sp.Symbol, float]
) -> np.ndarray:
    """Minimal coordinates at t = 0.

    Raises
    ------
    ValueError
        If one is missing, unknown, or no expression in parameters and random names.
    """
    given = {key: value for key, value in settings.items() if key != "random"}
    if set(given) != set(system.coordinates):
        raise ValueError(
            f"initial_state: expected exactly {list(system.coordinates)}, got "
            f"{list(given)}"
        )
    names = [*system.parameters, *map(str, drawn)]
    texts = [parse(given[name], names) for name in system.coordinates]
    return np.array([float(system.evaluated(text).subs(drawn)) for text in texts])


def motions(
    system: PortHamiltonianSystem,
    settings: Mapping,
    time: np.ndarray,
    key: tuple,
    trajectories: int,
    larger: float = 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """States (trajectory, time, state) and inputs at half steps, without noise.

    Parameters
    ----------
    settings
        With `initial_state` and `input`.
    key
        Arguments of :func:`leastaction.core.simulation.generator` but the trajectory.
    larger
        Factor of all inputs.
    """
    draw, starts, inputs = random_names(settings["initial_state"]), [], []
    for trajectory in range(trajectories):
        drawn = draw(generator(*key, trajectory))
        starts.append(start_of(system, settings["initial_state"], drawn))
        inputs.append(input_function(system, settings["input"], drawn))

    def given(times: np.ndarray) -> np.ndarray:
        return larger * np.array([of_time(times) for of_time in inputs])

    def rates(t: float, flat: np.ndarray) -> np.ndarray:
        u = given(np.array([t]))[:, 0]
        return system.rates(flat.reshape(trajectories, -1), u).ravel()

    step = time[1] - time[0]
    half = given(time[0] + step / 2 * np.arange(2 * time.size - 1))
    path = dop853(rates, np.array(starts).ravel(), time)
    xi = path.reshape(time.size, trajectories, -1).transpose(1, 0, 2)
    flat = half[:, ::2].reshape(-1, len(system.inputs))
    x = system.states_at(xi.reshape(len(flat), -1), flat)
    return x.reshape(trajectories, time.size, -1), half


def simulate(
    system: PortHamiltonianSystem,
    settings: Mapping,
    *,
    example: str,
    seed: int,
    replicate: int,
    units: Mapping[str, str],
) -> xr.Dataset:
    """Simulate one replicate: motions without noise, and one draw of the noise."""
    count, dt = settings["trajectories"], settings["time_step"]
    time = dt * np.arange(step_count(settings["duration"], dt) + 1)
    key = seed, example, "simulate", replicate
    x, half = motions(system, settings, time, key, count)
    efforts = system.effort_values(x.reshape(-1, x.shape[2]))
    y = (efforts @ system.numbers(system.port)).reshape(count, time.size, -1)
    drawn = [
        generator(seed, example, "sensor", replicate, i).standard_normal(
            (time.size, x.shape[2] + y.shape[2])
        )
        for i in range(count)
    ]
    noise_x, noise_y = np.split(np.array(drawn), [x.shape[2]], axis=2)
    return CONTRACTS["port_motions"].dataset(
        {
            "x": x,
            "u": half[:, ::2],
            "y": y,
            "noise_x": (noise_x * _rms(x))[None, None],
            "noise_y": (noise_y * _rms(y))[None, None],
        },
        {
            "replicate": [replicate],
            "time": time,
            "state": list(system.states),
            "state_unit": ("state", [units[name] for name in system.states]),
            "port": list(system.inputs),
            "row": [f"row_{i + 1}" for i in range(len(system.states))],
            "effort": [f"z_{i + 1}" for i in range(len(system.states))],
            "noise_mode": ["independent"],
            "noise_level": np.array(settings["noise"]["levels"], dtype=float),
        },
    )


def _rms(values: np.ndarray) -> np.ndarray:
    return np.sqrt((values**2).mean(axis=(0, 1)))
