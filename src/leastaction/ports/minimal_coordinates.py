"""Paths of a port-Hamiltonian system, integrated in minimal coordinates.

Zaspel and Günther (2024), section 4.2: the ordinary equation of the chart is solved and
the other states follow from it. The schemes are the explicit Euler scheme of the paper
and the eighth-order scheme of Dormand and Prince (DOP853). Either one path, of which
training and test samples are drawn here, so that every estimator sees the same; or
driven motions, with random starts and inputs of their own, whose sensors have noise
(:mod:`leastaction.core.noise_sweep`; a level is a share of the rms of its channel).
"""

import json
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.expressions import parse, unknown
from leastaction.core.initial_state import random_names
from leastaction.core.simulation import generator, step_count
from leastaction.ports.contracts import CONTRACTS
from leastaction.ports.system import PortHamiltonianSystem, input_function

# Samples at each end that have no central difference, and are in no set.
SAMPLES_WITHOUT_DIFFERENCE = 2
ALL, EARLY = "all", "early"

# Relative and absolute tolerance of DOP853, for states of order one.
TOLERANCE = 1e-12


def draw_sets(
    time: np.ndarray, settings: Mapping, *, example: str, seed: int, replicate: int
) -> tuple[dict, dict]:
    """Draw a test set, and nested training sets from one permutation of the rest.

    Every replicate has the same test set. Returns indices, and size and pool of each
    training set.
    """
    inner = np.arange(time.size)[SAMPLES_WITHOUT_DIFFERENCE:-SAMPLES_WITHOUT_DIFFERENCE]
    of_test = generator(seed, example, "simulate", 0, 1)
    of_training = generator(seed, example, "simulate", replicate, 0)
    test = np.sort(of_test.choice(inner, settings["test"], replace=False))
    order = of_training.permutation(np.setdiff1d(inner, test))
    fits = [(size, ALL, order) for size in settings["sizes"]]
    early = settings.get("early")
    if early:
        before = order[time[order] <= early["until"]]
        fits.append((early["size"], EARLY, before))
    longest = max(size for size, _, _ in fits)
    index = np.full((len(fits), longest), -1)
    for row, (size, pool, candidates) in zip(index, fits, strict=True):
        if candidates.size < size:
            raise ValueError(
                f"training: {size} samples of {pool} times; expected {candidates.size} "
                "or fewer, as many as there are"
            )
        row[:size] = candidates[:size]
    values = {"training_index": index, "test_index": test}
    return values, {
        "training_size": ("fit", [size for size, _, _ in fits]),
        "pool": ("fit", [pool for _, pool, _ in fits]),
    }


def start(
    system: PortHamiltonianSystem,
    initial_state: Mapping,
    drawn: Mapping[sp.Symbol, float] | None = None,
) -> np.ndarray:
    """Minimal coordinates at t = 0, of a number or an expression for each.

    Expressions are those in parameters and in the symbols that were `drawn`.
    """
    values = {k: v for k, v in initial_state.items() if k != "random"}
    if initial_state.get("random") and drawn is None:
        raise ValueError("initial_state.random: the start of this method is not random")
    for name in values:
        if name not in system.coordinates:
            raise ValueError(
                f"initial_state: {unknown('coordinate', name, system.coordinates)}"
            )
    missing = [name for name in system.coordinates if name not in values]
    if missing:
        raise ValueError(f"initial_state: {', '.join(missing)} is missing")
    drawn = drawn or {}
    names = [*system.parameters, *map(str, drawn)]
    written = [parse(values[name], names) for name in system.coordinates]
    return np.array([float(system.evaluated(e).subs(drawn)) for e in written])


def explicit_euler(rates, xi: np.ndarray, time: np.ndarray) -> np.ndarray:
    """ξ_{k+1} = ξ_k + h f(t_k, ξ_k), shape (time, coordinate)."""
    path = np.empty((time.size, xi.size))
    path[0] = xi
    for k in range(time.size - 1):
        path[k + 1] = path[k] + (time[k + 1] - time[k]) * rates(time[k], path[k])
    return path


def dop853(rates, xi: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Dormand–Prince of order 8 with a step control far below the data's needs."""
    from scipy.integrate import solve_ivp

    span, tolerances = (time[0], time[-1]), dict.fromkeys(("rtol", "atol"), TOLERANCE)
    result = solve_ivp(rates, span, xi, method="DOP853", t_eval=time, **tolerances)
    if not result.success:
        raise ValueError(f"the path ends at {result.t[-1]:g} s: {result.message}")
    return result.y.T


SCHEMES = {"explicit_euler": explicit_euler, "dop853": dop853}


def path(
    system: PortHamiltonianSystem, scheme: str, time: np.ndarray, settings: Mapping
) -> tuple[np.ndarray, np.ndarray]:
    """States (time, state) and inputs (time, port) along one path.

    `settings` have the `input` and the `initial_state`.
    """
    texts = [dict(settings["input"]), dict(settings["initial_state"])]
    step = (time[-1] - time[0]) / (time.size - 1)
    return _path(system, scheme, time.size, float(step), json.dumps(texts))


@lru_cache(maxsize=16)
def _path(system, scheme: str, size: int, step: float, text: str) -> tuple:
    """Path of :func:`path`, once for all replicates, which share it."""
    inputs, initial_state = json.loads(text)
    time, of_time = step * np.arange(size), input_function(system, inputs)
    u = of_time(time)

    def rates(t, xi):
        return system.rates(xi[None], of_time(np.array([t])))[0]

    xi = SCHEMES[scheme](rates, start(system, initial_state), time)
    x = system.states_at(xi, u)
    x.setflags(write=False)
    u.setflags(write=False)
    return x, u


def simulate(
    system: PortHamiltonianSystem,
    settings: Mapping,
    *,
    example: str,
    seed: int,
    replicate: int,
    units: Mapping[str, str],
) -> xr.Dataset:
    """Simulate one replicate: the same path, other training samples.

    The flow E ẋ belongs to the recorded states, whatever scheme made them; `flow_noise`
    is the standard deviation of what a sensor adds to it.
    """
    steps = step_count(settings["duration"], settings["time_step"])
    time = settings["time_step"] * np.arange(steps + 1)
    dae, schemes = system.dae, settings["schemes"]
    paths = [path(system, scheme, time, settings) for scheme in schemes]
    # The exact derivative belongs to the recorded state, whatever made it.
    flow = np.array(
        [dae.efforts(x) @ dae.transformation.T + u @ dae.port.T for x, u in paths]
    )
    if settings["flow_noise"]:
        rng = generator(seed, example, "sensor", replicate, 0)
        flow = flow + settings["flow_noise"] * rng.standard_normal(flow.shape[1:])
    sets, about_sets = draw_sets(
        time, settings["training"], example=example, seed=seed, replicate=replicate
    )
    return CONTRACTS["port_recordings"].dataset(
        {
            "x": np.array([x for x, _ in paths]),
            "u": paths[0][1],
            "flow": flow,
            "flow_matrix": dae.flow,
            "structure_matrix": dae.structure,
            "dissipation_matrix": dae.dissipation,
            "port_matrix": dae.port,
            "constraint": np.array(system.constraint_texts, dtype=object),
            **sets,
        },
        {
            "replicate": [replicate],
            "scheme": list(schemes),
            "time": ("time", time, {"units": "s", "long_name": "time"}),
            **_names(system, units),
            **about_sets,
        },
    )


def _names(system: PortHamiltonianSystem, units: Mapping[str, str]) -> dict:
    """Coordinates of states, ports and rows."""
    numbers = range(1, len(system.states) + 1)
    return {
        "state": list(system.states),
        "state_unit": ("state", [units[name] for name in system.states]),
        "port": list(system.inputs),
        "row": [f"row_{i}" for i in numbers],
        "effort": [f"z_{i}" for i in numbers],
    }


def motions(
    system: PortHamiltonianSystem,
    settings: Mapping,
    time: np.ndarray,
    key: tuple,
    trajectories: int,
    larger: float = 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """States (trajectory, time, state) and inputs at half steps, without noise.

    The arguments `key` of :func:`leastaction.core.simulation.generator` lack the
    trajectory; all inputs are `larger` times what the `settings` say.
    """
    draw, starts, inputs = random_names(settings["initial_state"]), [], []
    for trajectory in range(trajectories):
        drawn = draw(generator(*key, trajectory))
        starts.append(start(system, settings["initial_state"], drawn))
        inputs.append(input_function(system, settings["input"], drawn))

    def inputs_at(times: np.ndarray) -> np.ndarray:
        return larger * np.array([of_time(times) for of_time in inputs])

    def rates(t: float, flat: np.ndarray) -> np.ndarray:
        u = inputs_at(np.array([t]))[:, 0]
        return system.rates(flat.reshape(trajectories, -1), u).ravel()

    step = time[1] - time[0]
    half = inputs_at(time[0] + step / 2 * np.arange(2 * time.size - 1))
    path = dop853(rates, np.array(starts).ravel(), time)
    xi = path.reshape(time.size, trajectories, -1).transpose(1, 0, 2)
    flat = half[:, ::2].reshape(-1, len(system.inputs))
    x = system.states_at(xi.reshape(len(flat), -1), flat)
    return x.reshape(trajectories, time.size, -1), half


def driven_motions(
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
    size = time.size, x.shape[2] + y.shape[2]
    of = (generator(seed, example, "sensor", replicate, i) for i in range(count))
    drawn = np.array([one.standard_normal(size) for one in of])[None, None]
    noise = (
        unit_noise * np.sqrt((values**2).mean(axis=(0, 1)))
        for unit_noise, values in zip(
            np.split(drawn, [x.shape[2]], 4), (x, y), strict=True
        )
    )
    return CONTRACTS["port_motions"].dataset(
        {
            "x": x,
            "u": half[:, ::2],
            "y": y,
            **dict(zip(("noise_x", "noise_y"), noise, strict=True)),
        },
        {
            "replicate": [replicate],
            "time": time,
            **_names(system, units),
            "noise_mode": ["independent"],
            "noise_level": np.array(settings["noise"]["levels"], dtype=float),
        },
    )
