"""Small recordings of a pendulum and a cart, for the methods that read motions."""

import numpy as np
import xarray as xr
from scipy.integrate import solve_ivp

GRAVITY = 9.81
LIBRARY = {
    "reference": "thdot**2",
    "lagrangian": [
        {
            "terms": [
                "th**2",
                "sin(th)",
                "cos(th)",
                "thdot**2",
                "th*sin(th)",
                "thdot**2*cos(th)",
                "sin(th)**2",
            ]
        }
    ],
}
# L = θ̇²/4 + 3 ẋ²/4 + ẋ θ̇ cos(θ)/2 + 4.905 cos(θ); the rest is not in it.
CART = {
    "thdot**2": 1.0,
    "xdot**2": 3.0,
    "thdot*xdot*cos(th)": 2.0,
    "cos(th)": 19.62,
}
CART_LIBRARY = {
    "reference": "thdot**2",
    "lagrangian": [
        {"terms": [*CART, "x**2", "thdot**2*cos(th)", "sin(th)**2", "xdot*sin(th)"]}
    ],
}
SPLINE = {
    "knot_spacing": 1,
    "knot_spacing_positions": 2,
    "inflation": 1.2,
    "trim": 5,
    "trim_positions": 25,
}
SEARCH = {"largest": 6, "ranked": 20, "halving": 2.0}


def pendulum(trajectories=12, samples=200, seed=0, damping=0.0, coulomb=0.0, drive=0.0):
    """(time, q, q̇, q̈, input) of L = θ̇²/2 + g cos θ, sampled at 100 Hz by RK4."""
    rng = np.random.default_rng(seed)
    state = np.stack([rng.uniform(-2.5, 2.5, trajectories), np.zeros(trajectories)])
    phase = rng.uniform(0, 6, trajectories)

    def force(time):
        return drive * np.sin(3 * time + phase)

    def rate(state, time):
        th, thdot = state
        friction = damping * thdot + coulomb * np.sign(thdot)
        return np.stack([thdot, -GRAVITY * np.sin(th) - friction + force(time)])

    step, recorded = 0.002, []
    for n in range(samples):
        time = 0.01 * n
        recorded.append([state[0], state[1], rate(state, time)[1], force(time)])
        for k in range(5):
            t = time + k * step
            a = rate(state, t)
            b = rate(state + step / 2 * a, t + step / 2)
            c = rate(state + step / 2 * b, t + step / 2)
            d = rate(state + step * c, t + step)
            state = state + step / 6 * (a + 2 * b + 2 * c + d)
    return 0.01 * np.arange(samples), *np.moveaxis(np.array(recorded), (1, 2), (0, 1))


def cart(trajectories=12, samples=200, seed=0):
    """(time, q, q̇, q̈, input) of :data:`CART` at 100 Hz; q = (θ, x) on the last axis."""
    rng = np.random.default_rng(seed)
    start = np.zeros((4, trajectories))
    start[0] = rng.uniform(-2.5, 2.5, trajectories)
    start[3] = rng.uniform(-0.5, 0.5, trajectories)

    def rate(_, state):
        th, _, thdot, xdot = state.reshape(4, -1)
        coupling, pull = np.cos(th) / 2, np.sin(th) / 2
        first, second = -GRAVITY * pull, pull * thdot**2
        determinant = 0.75 - coupling**2
        thddot = (1.5 * first - coupling * second) / determinant
        xddot = (0.5 * second - coupling * first) / determinant
        return np.concatenate([thdot, xdot, thddot, xddot])

    time = 0.01 * np.arange(samples)
    found = solve_ivp(
        rate, (0, time[-1]), start.ravel(), "DOP853", time, rtol=1e-11, atol=1e-11
    )
    state = found.y.reshape(4, trajectories, samples)
    qddot = rate(0, state).reshape(4, trajectories, samples)[2:]
    q, qdot, qddot = (
        np.moveaxis(part, 0, -1) for part in (state[:2], state[2:], qddot)
    )
    return time, q, qdot, qddot, np.zeros_like(q)


def recording(time, q, qdot, qddot, force, level=0.0, seed=0, channels=3):
    """Contract ``motion`` with noise of that level in every channel."""
    if q.ndim == 2:
        q, qdot, qddot, force = (part[..., None] for part in (q, qdot, qddot, force))
    rng = np.random.default_rng([seed, 1])
    dims = ("replicate", "trajectory", "time", "dof")
    data = {}
    for name, values in zip(
        ("q", "qdot", "qddot")[:channels], (q, qdot, qddot), strict=False
    ):
        noisy = values + level * rng.standard_normal(values.shape)
        data[name] = (dims, noisy[None])
    if force.any():
        data["input"] = (dims, force[None])
    for entry in list(data):
        data[entry] = (*data[entry], {"units": "mixed", "long_name": entry})
    coords = {
        "replicate": [0],
        "time": ("time", time, {"units": "s", "long_name": "time"}),
        "dof": ["th", "x"][: q.shape[-1]],
    }
    return xr.Dataset(data, coords, {"contract": "motion"})
