"""Paths of a port-Hamiltonian system, integrated in minimal coordinates.

Zaspel and Günther (2024), section 4.2: the ordinary equation of the chart is solved and
the other states follow from it. The schemes are the explicit Euler scheme of the paper
and the eighth-order scheme of Dormand and Prince (DOP853). Training and test samples
are drawn here, so that every estimator sees the same.
"""

import json
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import xarray as xr

from leastaction.core.expressions import parse, unknown
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
                f"training: {size} samples of {pool} times are asked for, but there "
                f"are {candidates.size}"
            )
        row[:size] = candidates[:size]
    values = {"training_index": index, "test_index": test}
    return values, {
        "training_size": ("fit", [size for size, _, _ in fits]),
        "pool": ("fit", [pool for _, pool, _ in fits]),
    }


def start(system: PortHamiltonianSystem, initial_state: Mapping) -> np.ndarray:
    """Minimal coordinates at t = 0, of a number or an expression for each."""
    given = {k: v for k, v in initial_state.items() if k != "random"}
    if initial_state.get("random"):
        raise ValueError("initial_state.random: the start of this method is not random")
    for name in given:
        if name not in system.coordinates:
            raise ValueError(
                f"initial_state: {unknown('coordinate', name, system.coordinates)}"
            )
    missing = [name for name in system.coordinates if name not in given]
    if missing:
        raise ValueError(f"initial_state: {', '.join(missing)} is missing")
    names = list(system.parameters)
    written = [parse(given[name], names) for name in system.coordinates]
    return np.array([float(system.evaluated(e)) for e in written])


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
    found = solve_ivp(rates, span, xi, method="DOP853", t_eval=time, **tolerances)
    if not found.success:
        raise ValueError(f"the path ends at {found.t[-1]:g} s: {found.message}")
    return found.y.T


SCHEMES = {"explicit_euler": explicit_euler, "dop853": dop853}


def path(
    system: PortHamiltonianSystem, scheme: str, time: np.ndarray, settings: Mapping
) -> tuple[np.ndarray, np.ndarray]:
    """States (time, state) and inputs (time, port) along one path.

    `settings` have the `input` and the `initial_state`.
    """
    given = [dict(settings["input"]), dict(settings["initial_state"])]
    step = (time[-1] - time[0]) / (time.size - 1)
    return _path(system, scheme, time.size, float(step), json.dumps(given))


@lru_cache(maxsize=16)
def _path(system, scheme: str, size: int, step: float, given: str) -> tuple:
    """Path of :func:`path`, once for all replicates, which share it."""
    inputs, initial_state = json.loads(given)
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
            "state": list(system.states),
            "state_unit": ("state", [units[name] for name in system.states]),
            "port": list(system.inputs),
            "row": [f"row_{i + 1}" for i in range(len(system.states))],
            "effort": [f"z_{i + 1}" for i in range(len(system.states))],
            **about_sets,
        },
    )
