"""Motions of a pendulum with noisy positions, for the tests of segments."""

from functools import lru_cache

import numpy as np

from leastaction.core.expressions import parse
from leastaction.trajectories.multiple_shooting import Positions
from leastaction.trajectories.variational_equations import variational_equations

NAMES = ("th", "thdot")
# The gauge term th*thdot has no equation of motion; D is the last one.
TERMS = ("thdot**2", "cos(th)", "th**2", "thdot**2*cos(th)", "cos(th)**2", "th*thdot")
DAMPING = ("thdot**2",)
TRUTH = np.array([0.5, 9.81, 0, 0, 0, 0, 0])
SIGMA = 0.02


@lru_cache
def equations():
    """Compiled library."""
    return variational_equations(
        [parse(t, NAMES) for t in TERMS], ("th",), [parse(t, NAMES) for t in DAMPING]
    )


def motions(seed, c=TRUTH, sigma=SIGMA, trajectories=12, samples=100, dt=0.02):
    """Noisy positions, shape (trajectory, time, 1), and the states behind them."""
    rng = np.random.default_rng(seed)
    start = np.stack(
        [rng.uniform(-2.5, 2.5, trajectories), rng.normal(size=trajectories)], axis=1
    )
    path = equations().rollout(start, c, dt, samples, 8)
    return path[..., :1] + sigma * rng.normal(size=(*path.shape[:2], 1)), path


def positions(seed=1, **settings):
    """Positions of such motions."""
    q, _ = motions(seed, **settings)
    return Positions(
        equations(),
        np.ascontiguousarray(q[0]),
        settings.get("dt", 0.02),
        np.array([settings.get("sigma", SIGMA)]),
        2,
    )
