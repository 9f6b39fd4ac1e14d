"""Fields on a periodic line for tests of Lagrangian Shadow Integration."""

import numpy as np

import leastaction as la
from leastaction.core.observations import simulate

LENGTH = 2 * np.pi


def field(lagrangian: str, nodes: int = 16, ends: str = "periodic"):
    return la.system(
        {
            "field": {"name": "u", "unit": "m"},
            "domain": {"length": LENGTH, "nodes": nodes, "left": ends, "right": ends},
            "parameters": {},
            "lagrangian": lagrangian,
        }
    )


KLEIN_GORDON = "u_t**2/2 - u_x**2/2 - u**2/2 - u**4/4"
STARTS = {
    "random": {name: {"normal": [0, 0.3]} for name in "abcdef"},
    "u": "a + b*cos(x) + c*sin(x)",
    "u_t": "d + e*cos(x) + f*sin(2*x)",
}


def settings(**changed) -> dict:
    """Of the stage simulate."""
    given = {
        "method": "spectral",
        "time_step": 0.2,
        "duration": 3.0,
        "trajectories": 4,
        "integration_step": 0.05,
        "initial_state": STARTS,
        "noise": {"channels": ["q"]},
    }
    return given | changed


def snapshots(
    lagrangian: str = KLEIN_GORDON, nodes: int = 16, seed: int = 1, **changed
):
    """Contract ``recordings``."""
    return simulate(field(lagrangian, nodes), seed=seed, **settings(**changed))


def waves(
    time_step: float, nodes: int, times: int, motions: int = 4, mass: float = 1.0
) -> np.ndarray:
    """Exact motions of u_tt = u_xx − mass u: (motion, time, node)."""
    rng = np.random.default_rng(3)
    x = LENGTH / nodes * np.arange(nodes)
    t = time_step * np.arange(times)[:, None]
    found = np.zeros((motions, times, nodes))
    for u in found:
        for k in range(4):
            # Of a negative square the real part of cos is cosh: the wave grows.
            omega = np.sqrt(complex(k**2 + mass))
            for sign in (1, -1):
                size, phase = rng.normal(), rng.uniform(0, 2 * np.pi)
                u += size * (np.cos(k * x + phase) * np.cos(sign * omega * t)).real
                u += size * (np.sin(k * x + phase) * np.sin(omega * t) / omega).real
    return found
