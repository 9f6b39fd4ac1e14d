"""Tools of four trades on the same data: errors, coverage of 95 % intervals, CPU.

    python benchmarks/trades.py

All data are simulated, of seeds that nothing was tuned on; CPU is that of all draws of
a row, start-up and compilation included.


- Frames of two and four storeys on white shaking ground, absolute accelerations with
  5 % noise, 200 Hz, 120 s: modes by `leastaction modes` and by covariance-driven
  stochastic subspace identification of pyOMA2, which is given the frequencies, of an
  order of 20 and of the lowest stable one. Errors are rms over draws, first mode first.
- A bead in water, corner frequency 3 kHz, 78 125 Hz, 2 s: behind an anti-alias filter,
  and sampled without one. Errors of corner frequency and metres per volt.
- A levitated particle, 30 kHz, damping rate 8000/s, 250 ms: our calibration beside a
  Whittle fit of its spectrum in a few lines. Errors of frequency and damping rate.
- A driven Duffing oscillator, 60 s, 1 mm of noise: a law beside black boxes, the free
  run of another 30 s, rms error over that of the motion. Ours starts from rest, FROLS
  from three samples, the net from a state smoothed over 2 s. Orders and sizes of the
  black boxes are not tuned: near 100 % or above they say nothing of the motion.
- A double pendulum swinging freely, 4 swings of 10 s at 100 Hz, 1 mrad of noise: how
  far the free run of a fifth swing is right, rms error over 2 s. pysindy is given the
  20 candidates of the accelerations that are exact for the masses. False terms are all
  that the motion lacks: ours keeps its viscous dampers, ± .0001/s, which hold zero.
"""

import argparse
import logging
import warnings

import numpy as np
from cpu import Timing, Way, imported, save, side_by_side
from scipy.constants import Boltzmann
from scipy.optimize import minimize
from scipy.signal import lfilter
from trade_frames import (
    DRAWS,
    FRAMES,
    NORMAL,
    modes_by_ours,
    modes_by_pyoma,
    rng,
    sampled,
    scored_modes,
)
from trade_laws import (
    driven,
    driven_by_frols,
    driven_by_jax,
    driven_by_ours,
    free_by_ours,
    free_by_pysindy,
    free_run,
    percent,
)

import leastaction as la

TRAP_RATE, CORNER, METRES, KELVIN = 78_125.0, 3000.0, 5e-7, 293.15
DRAG = 6 * np.pi * 1.002e-3 * 0.5e-6
FREQUENCY, DAMPING, MASS, PARTICLE_RATE = 3e4, 8e3, 3e-18, 2e5


def bead(draw: int, filtered: bool) -> np.ndarray:
    """Volts of a bead in water."""
    finer = 16 if filtered else 1
    count = int(2 * TRAP_RATE) * finer
    a = np.exp(-2 * np.pi * CORNER / TRAP_RATE / finer)
    force = np.sqrt(1 - a**2) * rng(2, draw).standard_normal(count + 4000 * finer)
    x = lfilter([1], [1, -a], force)[4000 * finer :]
    if filtered:
        kept = count // finer
        x = np.fft.irfft(np.fft.rfft(x)[: kept // 2 + 1] / finer, kept)
    return np.sqrt(Boltzmann * KELVIN / (2 * np.pi * DRAG * CORNER)) / METRES * x


def bead_by_ours(filtered: bool):
    """Corner and metres per volt with ends of intervals, by draw."""
    known = {"temperature": KELVIN, "radius": 5e-7, "viscosity": 1.002e-3}
    for draw in range(DRAWS):
        y = bead(draw, filtered)
        table = la.calibrate({"v": y}, time=1 / TRAP_RATE, **known).table
        rows = table.loc[["corner frequency", "displacement per unit"]]
        yield rows[["value", "low", "high"]].to_numpy()


def bead_by_pylake(filtered: bool):
    """As those of ours."""
    import lumicks.pylake as lk

    for draw in range(DRAWS):
        found = lk.calibrate_force(
            bead(draw, filtered),
            bead_diameter=1.0,
            temperature=KELVIN - 273.15,
            viscosity=1.002e-3,
            sample_rate=TRAP_RATE,
            fast_sensor=True,
        ).results
        rows = []
        for name, unit in (("fc", 1.0), ("Rd", 1e-6)):
            value = unit * found[name].value
            half = NORMAL * unit * found[f"err_{name}"].value
            rows.append([value, value - half, value + half])
        yield np.array(rows)


def particle(draw: int) -> np.ndarray:
    """Position of a levitated particle, in nm."""
    w = 2 * np.pi * FREQUENCY
    size = Boltzmann * KELVIN / MASS
    A = np.array([[0, w], [-w, -DAMPING]])
    noise = np.diag([0, 2 * DAMPING * size])
    count = int(0.25 * PARTICLE_RATE)
    path = sampled(A, noise, 1 / PARTICLE_RATE, count, rng(3, draw))[:, 0] / w
    return 1e9 * path


def particle_by_ours():
    """Frequency and damping rate with ends of intervals, by draw."""
    for draw in range(DRAWS):
        table = la.calibrate({"z": particle(draw)}, time=1 / PARTICLE_RATE).table
        rows = table.loc[["natural frequency", "damping rate"]]
        yield rows[["value", "low", "high"]].to_numpy()


def particle_by_whittle():
    """Σ log P + P̂/P about the resonance, errors from the Fisher information."""
    for draw in range(DRAWS):
        y = particle(draw)
        f = np.fft.rfftfreq(len(y), 1 / PARTICLE_RATE)
        near = (f > 0.5 * FREQUENCY) & (f < 1.5 * FREQUENCY)
        f = f[near]
        power = np.abs(np.fft.rfft(y * np.hanning(len(y)))[near]) ** 2

        def density(p, f=f):
            f0, rate, size = np.exp(p)
            return size / ((f0**2 - f**2) ** 2 + (rate * f / 2 / np.pi) ** 2)

        def value(p, power=power, density=density):
            P = density(p)
            return np.sum(np.log(P) + power / P)

        start = [FREQUENCY * 1.02, DAMPING * 1.3]
        size = power.max() * (start[0] * start[1] / 2 / np.pi) ** 2
        how = {"maxiter": 4000, "xatol": 1e-7, "fatol": 1e-4}
        fit = minimize(value, np.log([*start, size]), method="Nelder-Mead", options=how)
        slopes = [
            (np.log(density(fit.x + h)) - np.log(density(fit.x - h))) / 2e-5
            for h in 1e-5 * np.eye(3)
        ]
        # Hann's taper leaves 1/1.94 of the frequencies independent.
        std = np.sqrt(np.diag(np.linalg.inv(np.array(slopes) @ np.transpose(slopes))))
        half = NORMAL * std[:2] * np.sqrt(35 / 18)
        rows = [fit.x[:2], fit.x[:2] - half, fit.x[:2] + half]
        yield np.exp(np.transpose(rows))


def scored(found, truth) -> str:
    """Rms errors and coverage."""
    found, truth = np.array(list(found)), np.array(truth)
    rms = 100 * np.sqrt(np.mean((found[:, :, 0] / truth - 1) ** 2, axis=0))
    inside = ((found[:, :, 1] < truth) & (truth < found[:, :, 2])).sum(axis=0)
    errors = ", ".join(f"{x:.2g}" for x in rms)
    return f"errors {errors} %; inside {inside[0]}, {inside[1]} of {len(found)}"


def comparisons() -> dict[str, dict[str, tuple]]:
    """By title the ways: package, work and words."""
    rows: dict[str, dict[str, tuple]] = {}
    for n in FRAMES:
        words = lambda found, n=n: scored_modes(found, n)  # noqa: E731
        rows[f"{n} storeys"] = {
            "leastaction": ("", lambda n=n: list(modes_by_ours(n)), words),
            "pyOMA2, order 20": (
                "pyoma2",
                lambda n=n: list(modes_by_pyoma(n, 20)),
                words,
            ),
            "pyOMA2, find_min": (
                "pyoma2",
                lambda n=n: list(modes_by_pyoma(n, "find_min")),
                words,
            ),
        }
    for title, filtered in (("bead, filtered", True), ("bead, aliased", False)):
        words = lambda found: scored(found, [CORNER, METRES])  # noqa: E731
        rows[title] = {
            "leastaction": ("", lambda f=filtered: list(bead_by_ours(f)), words),
            "pylake": (
                "lumicks.pylake",
                lambda f=filtered: list(bead_by_pylake(f)),
                words,
            ),
        }
    words = lambda found: scored(found, [FREQUENCY, DAMPING])  # noqa: E731
    rows["particle"] = {
        "leastaction": ("", lambda: list(particle_by_ours()), words),
        "Whittle, by hand": ("", lambda: list(particle_by_whittle()), words),
    }
    rows["Duffing, driven"] = {
        "leastaction": ("", lambda: driven(driven_by_ours), percent),
        "sysidentpy, FROLS": ("sysidentpy", lambda: driven(driven_by_frols), percent),
        "jax-sysid, net": ("jax_sysid", lambda: driven(driven_by_jax), percent),
    }
    rows["double pendulum"] = {
        "leastaction": ("", free_by_ours, free_run),
        "pysindy, STLSQ": ("pysindy", free_by_pysindy, free_run),
    }
    return rows


def main() -> None:
    """Each way once, in this process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("titles", nargs="*", help="comparisons; all if none")
    wanted = parser.parse_args().titles
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    tables = []
    for title, ways in comparisons().items():
        if wanted and title not in wanted:
            continue
        missing = {
            f"{n}, {title}": imported(p) if p else "" for n, (p, *_) in ways.items()
        }
        timed = {
            f"{name}, {title}": Way(work, 0, cold=True, describe=words)
            for name, (_, work, words) in ways.items()
            if not missing[f"{name}, {title}"]
        }
        tables.append(
            [
                *side_by_side(timed),
                *(Timing(name, missing=why) for name, why in missing.items() if why),
            ]
        )
        save("trades", tables=tables)


if __name__ == "__main__":
    main()
