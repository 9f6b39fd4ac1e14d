"""Coverage of the 95 % intervals of laws of own tables, on draws of new seeds.

    python benchmarks/intervals.py --seeds 5001 20
    python benchmarks/intervals.py --damping 0.1 --noise 0.005

A ring, u_tt = u_xx − V'(u) − γ u_t at 24 nodes, by SciPy, spectral in x,
V' = u + u³ of odd seeds and u + .6 u² + u³ of even ones; 8 motions of 26 snapshots, of
which two are held out and forecast. A line of each draw, then the counts. Lines at a
few sensors: benchmarks/machines/lines.py.
"""

import argparse
import time

import numpy as np
import pandas as pd
from scipy.integrate import solve_ivp

import leastaction as la
from leastaction.core.own_data import NORMAL

NODES, RUNS, STEP, TIMES = 24, 8, 0.1, 26


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


def main() -> None:
    """Draws, line by line, then the counts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", nargs=2, type=int, default=[5001, 20])
    parser.add_argument("--noise", type=float, default=0.01)
    parser.add_argument("--damping", type=float, default=0.0)
    asked = parser.parse_args()
    first, count = asked.seeds
    over, forecasts = [], []
    for seed in range(first, first + count):
        start = time.process_time()
        about, z = ring(seed, asked.noise, asked.damping)
        forecasts.append(about.pop("forecast"))
        about["forecast"] = f"{forecasts[-1].mean():.3f}"
        over.append(z)
        seconds = time.process_time() - start
        print(seed, about, z.round(2).to_dict(), f"{seconds:.1f} s", flush=True)
    z = pd.concat(over).dropna()
    held, rms = (np.abs(z) <= NORMAL).sum(), np.sqrt(np.mean(z**2))
    print(f"{held} of {len(z)} intervals hold the truth, rms z {rms:.2f}")
    print(f"{np.mean(forecasts):.3f} of the samples in intervals of forecasts")


if __name__ == "__main__":
    main()
