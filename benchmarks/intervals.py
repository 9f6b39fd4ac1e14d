"""Coverage of the 95 % intervals of laws of own tables, on draws of new seeds.

    python benchmarks/intervals.py ring --seeds 5001 20
    python benchmarks/intervals.py ring --damping 0.1 --noise 0.005
    python benchmarks/intervals.py string --sensors 3 --order 2

`ring` is u_tt = u_xx − V'(u) − γ u_t at 24 nodes of a ring, by SciPy, spectral in x,
V' = u + u³ of odd seeds and u + .6 u² + u³ of even ones; 8 motions of 26 snapshots, of
which two are held out and forecast. `string` and `beam` are the stochastic wave and the
beam of Tripura et al. (2024) with losses, exact in their modes, at a few sensors of
displacements (`--order` 0) or accelerations (2). A line of each draw, then the counts.
"""

import argparse
import time

import numpy as np
import pandas as pd
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import leastaction as la
from leastaction.core.own_data import NORMAL

NODES, RUNS, STEP, TIMES = 24, 8, 0.1, 26
# Of the lines: E I/(rho A) of the beam, c^2 of the string, their lengths, modes.
BEAM, STRING, LENGTHS, MODES = 0.20703933747412, 4.0, {"beam": 1.0, "string": 0.51}, 60
LIBRARIES = {
    "string": {
        "lagrangian": ["-u_x**2/2", "-u**2/2"],
        "dissipation": ["u_t**2/2", "u_xt**2/2"],
    },
    "beam": {
        "lagrangian": ["-u_xx**2/2", "-u_x**2/2"],
        "dissipation": ["u_t**2/2", "u_xxt**2/2"],
    },
}


def ring(seed: int, noise: float, damping: float) -> tuple[dict, pd.Series]:
    """What is in its interval of one ring, by quantity."""
    rng, nodes = np.random.default_rng(seed), 2 * np.pi * np.arange(NODES) / NODES
    waves, square = np.fft.rfftfreq(NODES, 1 / NODES), 0.0 if seed % 2 else 0.6
    modes = [f(k * nodes) for f in (np.cos, np.sin) for k in range(4) if k or f(0)]

    def force(u):
        return u + square * u**2 + u**3

    def rate(_, y):
        u, v = y.reshape(2, RUNS, NODES)
        bent = np.fft.irfft(-(waves**2) * np.fft.rfft(u), NODES)
        return np.concatenate([v, bent - force(u) - damping * v]).ravel()

    start = 0.5 * rng.normal(size=(2, RUNS, len(modes))) @ np.array(modes)
    moments = STEP * np.arange(TIMES)
    exact = {"rtol": 1e-10, "atol": 1e-12, "method": "DOP853", "t_eval": moments}
    solved = solve_ivp(rate, (0, moments[-1]), start.ravel(), **exact)
    u = solved.y.reshape(2, RUNS, NODES, TIMES)[0].swapaxes(1, 2)
    u = (u + noise * u.std() * rng.standard_normal(u.shape)).reshape(-1, NODES)
    table = pd.DataFrame(u, columns=[f"u_{j}" for j in range(NODES)])
    table["t"], table["run"] = np.tile(moments, RUNS), np.repeat(range(RUNS), TIMES)
    law = la.learn(
        table,
        kind="field",
        time="t",
        trajectory="run",
        coordinates={"u": "u_* [m]"},
        length=2 * np.pi,
        progress=False,
    )
    terms = law.terms.set_index("term")
    z = (terms.value - [1.0, damping, *force(law.learned.force[0])]) / terms["std"]
    rollout = law.rollout
    inside = np.abs(rollout["residual"].values) <= rollout["q_band"].values
    ahead = rollout["path_time"].values > STEP * (TIMES / 4)
    size = np.sqrt(np.mean(rollout["q_measured"].values ** 2))
    about = {
        "verdict": law.verdict,
        "forecast error / rms": np.sqrt(np.mean(rollout["residual"].values ** 2))
        / size,
        "forecast": inside[:, ahead].ravel(),
    }
    return about, z


def line(kind: str, seed: int, noise: float, sensors: int, order: int) -> pd.Series:
    """Readings of a stationary line at evenly spaced places, by place, and its truth.

    An acceleration is the mean over one sample.
    """
    rng, length = np.random.default_rng(seed), LENGTHS[kind]
    x = length * np.arange(1, sensors + 1) / (sensors + (kind == "string"))
    if kind == "string":
        k = np.pi / length * np.arange(1, MODES + 1)
        shapes = np.sqrt(2 / length) * np.sin(np.outer(x, k))
        square, rate = STRING * k**2, 0.8 + 0.005 * k**2
        truth = {"-u_x**2/2": STRING, "u_t**2/2": 0.8, "u_xt**2/2": 0.005}
    else:
        k = np.pi * (np.arange(1, MODES + 1) - 0.5)
        k[:3] = 1.875104068711961, 4.694091132974174, 7.854757438237613
        # cosh z - cos z - r (sinh z - sin z), with 1 - r, which is tiny, by itself.
        small = (np.sin(k) - np.cos(k) - np.exp(-k)) / (np.sinh(k) + np.sin(k))
        z = np.outer(x, k)
        shapes = small / 2 * np.exp(z) + (1 - small / 2) * np.exp(-z)
        shapes += (1 - small) * np.sin(z) - np.cos(z)
        square, rate = BEAM * k**4, 0.3 + 5e-4 * k**4
        truth = {"-u_xx**2/2": BEAM, "u_t**2/2": 0.3, "u_xxt**2/2": 5e-4}
    step, count = (0.005, 4000) if kind == "string" else (0.02, 4000)
    seen = np.zeros((count, sensors))
    for shape, w, c in zip(shapes.T, square, rate, strict=True):
        flow = np.array([[0.0, 1.0], [-w, -c]])
        moved = expm(step * flow)
        settled = np.diag([1 / (2 * c * w), 1 / (2 * c)])
        root = np.linalg.cholesky(settled - moved @ settled @ moved.T)
        kicks = rng.standard_normal((count + 1, 2)) @ root.T
        path = [np.sqrt(np.diag(settled)) * rng.standard_normal(2)]
        for kick in kicks:
            path.append(moved @ path[-1] + kick)
        q, v = np.array(path).T
        one = q[1:-1] if order == 0 else np.diff(v)[:-1] / step
        seen += np.outer(one, shape)
    seen += noise * seen.std(axis=0) * rng.standard_normal(seen.shape)
    return x, step, seen, truth | {"1": 1.0}


def sensed(kind, seed, noise, sensors, order) -> tuple[dict, pd.Series]:
    """What is in its interval of one line at a few sensors, by quantity."""
    x, step, seen, truth = line(kind, seed, noise, sensors, order)
    name, unit = {0: ("u", "m"), 2: ("u_tt", "m/s^2")}[order]
    table = pd.DataFrame(seen, columns=[f"s{j}" for j in range(sensors)])
    table["t"] = step * np.arange(len(seen))
    law = la.learn(
        table,
        kind="field",
        time="t",
        sensors={f"{name}({at:.6g})": f"s{j} [{unit}]" for j, at in enumerate(x)},
        length=LENGTHS[kind],
        ends="fixed" if kind == "string" else "clamped,free",
        library=LIBRARIES[kind],
        progress=False,
    )
    rows = law.terms[law.terms["std"] > 0].set_index("term")
    truth = pd.Series(truth)
    z = (rows.value.reindex(truth.index) - truth) / rows["std"].reindex(truth.index)
    more = sorted({*rows.index} - {*truth.index})
    return {"verdict": law.verdict, "superfluous": more}, z


def main() -> None:
    """Draws of one kind, line by line, then the counts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kind", choices=["ring", *LIBRARIES])
    parser.add_argument("--seeds", nargs=2, type=int, default=[5001, 20])
    parser.add_argument("--noise", type=float, default=0.01)
    parser.add_argument("--damping", type=float, default=0.0)
    parser.add_argument("--sensors", type=int, default=5)
    parser.add_argument("--order", type=int, choices=[0, 2], default=0)
    asked = parser.parse_args()
    first, count = asked.seeds
    over, forecasts = [], []
    for seed in range(first, first + count):
        start = time.process_time()
        if asked.kind == "ring":
            about, z = ring(seed, asked.noise, asked.damping)
            forecasts.append(about.pop("forecast"))
            about["forecast"] = f"{forecasts[-1].mean():.3f}"
        else:
            about, z = sensed(asked.kind, seed, asked.noise, asked.sensors, asked.order)
        over.append(z)
        seconds = time.process_time() - start
        print(seed, about, z.round(2).to_dict(), f"{seconds:.1f} s", flush=True)
    z = pd.concat(over).dropna()
    held, rms = (np.abs(z) <= NORMAL).sum(), np.sqrt(np.mean(z**2))
    print(f"{held} of {len(z)} intervals hold the truth, rms z {rms:.2f}")
    if forecasts:
        print(f"{np.mean(forecasts):.3f} of the samples in intervals of forecasts")


if __name__ == "__main__":
    main()
