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
  run of another 30 s from the true start, rms error over that of the motion.
- A double pendulum swinging freely, 4 swings of 10 s at 100 Hz, 1 mrad of noise: how
  far the free run of a fifth swing is right, rms error over 2 s. pysindy is given the
  20 candidates of the accelerations that are exact for the masses.
"""

import argparse
import contextlib
import io
import logging
import warnings
from collections.abc import Callable

import numpy as np
from cpu import Timing, Way, imported, save, side_by_side
from scipy.constants import Boltzmann
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import minimize
from scipy.signal import lfilter

import leastaction as la

SEED, DRAWS, NORMAL = 20261127, 10, 1.96
RATE, SECONDS = 200.0, 120.0
FRAMES = {
    2: ([1.0, 0.8], [400.0, 300.0], [0.4, 0.2]),
    4: ([1.0, 1.0, 0.9, 0.8], [900.0, 800.0, 700.0, 600.0], [0.7, 0.6, 0.6, 0.5]),
}
TRAP_RATE, CORNER, METRES, KELVIN = 78_125.0, 3000.0, 5e-7, 293.15
DRAG = 6 * np.pi * 1.002e-3 * 0.5e-6
FREQUENCY, DAMPING, MASS, PARTICLE_RATE = 3e4, 8e3, 3e-18, 2e5
DUFFING = {"mass": 1.2, "damping": 0.4, "stiffness": 30.0, "cubic": 60.0}
STEP, START = 0.01, 20


def rng(*key: int) -> np.random.Generator:
    """Random numbers of a draw."""
    return np.random.default_rng([SEED, *key])


def sampled(A, diffusion, dt: float, count: int, random) -> np.ndarray:
    """Stationary path (count, state) of ẋ = A x + L Ẇ with L Lᵀ = `diffusion`."""
    n = len(A)
    block = expm(
        np.block([[-A, diffusion], [np.zeros((n, n)), A.T]]) * dt
    )  # Van Loan 1978
    transition = block[n:, n:].T
    values, vectors = np.linalg.eigh(transition @ block[:n, n:])
    poles, modes = np.linalg.eig(transition)
    burn = int(-20 / np.log(np.abs(poles).max()))
    noise = random.standard_normal((count + burn, n)) * np.sqrt(np.maximum(values, 0))
    inward = np.linalg.solve(modes, vectors @ noise.T)
    each = [lfilter([1], [1, -p], w) for p, w in zip(poles, inward, strict=True)]
    return (modes @ np.array(each)).real.T[burn:]


def frame(storeys: int) -> tuple[np.ndarray, np.ndarray]:
    """Matrices of q̈ = −[K C] (q, q̇)/M, and of the state."""
    masses, *both = FRAMES[storeys]
    K, C = (np.zeros((storeys, storeys)) for _ in both)
    for matrix, values in zip((K, C), both, strict=True):
        for i, value in enumerate(values):
            matrix[i, i] += value
            if i:
                matrix[i - 1, i - 1] += value
                matrix[i, i - 1] = matrix[i - 1, i] = -value
    force = -np.hstack([K, C]) / np.array(masses)[:, None]
    upper = np.hstack([np.zeros((storeys, storeys)), np.eye(storeys)])
    return force, np.vstack([upper, force])


def shaken(storeys: int, draw: int) -> np.ndarray:
    """Absolute accelerations, (time, storey)."""
    random, (force, A) = rng(1, storeys, draw), frame(storeys)
    ground = np.repeat([0.0, 1.0], storeys)
    count = int(SECONDS * RATE)
    y = sampled(A, np.outer(ground, ground), 1 / RATE, count, random) @ force.T
    return y + 0.05 * y.std(axis=0) * random.standard_normal(y.shape)


def true_modes(storeys: int) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies (Hz) and damping ratios."""
    rates = np.linalg.eigvals(frame(storeys)[1])
    rates = rates[rates.imag > 0]
    rates = rates[np.argsort(np.abs(rates))]
    return np.abs(rates) / (2 * np.pi), -rates.real / np.abs(rates)


def modes_by_ours(storeys: int):
    """Frequencies, their errors, damping ratios and ends of intervals, by draw."""
    for draw in range(DRAWS):
        y = shaken(storeys, draw)
        found = la.modes({f"floor {i}": c for i, c in enumerate(y.T)}, time=1 / RATE)
        data = found.structural
        names = ("frequency", "damping_ratio")
        yield tuple(
            tuple(data[f"{name}{end}"].values for end in ("", "_low", "_high"))
            for name in names
        )


def modes_by_pyoma(storeys: int, order):
    """As those of ours."""
    from pyoma2.algorithms import SSI
    from pyoma2.setup import SingleSetup

    for draw in range(DRAWS):
        setup = SingleSetup(shaken(storeys, draw), fs=RATE)
        setup.detrend_data()
        setup.decimate_data(q=5)
        how = {"method": "cov", "br": 30, "ordmax": 40, "step": 2, "calc_unc": True}
        setup.add_algorithms(algorithm := SSI(name="ssi", **how))
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                setup.run_by_name("ssi")
                known = list(true_modes(storeys)[0])
                setup.mpe("ssi", sel_freq=known, order_in=order)
        except Exception:  # it raises what it likes where no order is stable
            yield ((np.zeros(0),) * 3,) * 2
            continue
        found = algorithm.result
        yield tuple(
            (np.ravel(x), np.ravel(x - NORMAL * s), np.ravel(x + NORMAL * s))
            for x, s in ((found.Fn, found.Fn_std), (found.Xi, found.Xi_std))
        )


def scored_modes(found, storeys: int) -> str:
    """Errors, coverage, and modes missed or invented (within 5 % of none)."""
    truth = true_modes(storeys)
    errors, inside, missed, invented = [[], []], [[], []], 0, 0
    for both in found:
        near = np.abs(both[0][0][:, None] / truth[0] - 1)
        invented += int((near.min(axis=1, initial=1.0) > 0.05).sum())
        for k in range(storeys):
            if not len(near) or near[:, k].min() > 0.05:
                missed += 1
                continue
            place = near[:, k].argmin()
            for i, (x, low, high) in enumerate(both):
                errors[i].append((k, x[place] / truth[i][k] - 1))
                inside[i].append(low[place] < truth[i][k] < high[place])
    rms = [
        ", ".join(
            f"{100 * np.sqrt(np.mean([e**2 for j, e in of if j == k])):.2g}"
            for k in range(storeys)
        )
        for of in errors
    ]
    covered = ", ".join(f"{np.sum(x)} of {len(x)}" for x in inside)
    return (
        f"f {rms[0]} %; ζ {rms[1]} %; inside {covered}; missed {missed}, invented "
        f"{invented}"
    )


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


def duffing(draw: int, seconds: float) -> tuple[np.ndarray, ...]:
    """Times, force, position with noise, and without."""
    random = rng(4, draw)
    frequencies, phases = random.uniform(0.2, 2.0, 6), random.uniform(0, 2 * np.pi, 6)
    time = np.arange(0, seconds, STEP)

    def force(t):
        return 1.2 * np.sin(2 * np.pi * np.multiply.outer(t, frequencies) + phases).sum(
            -1
        )

    p = DUFFING

    def rate(t, s):
        pull = p["damping"] * s[1] + p["stiffness"] * s[0] + p["cubic"] * s[0] ** 3
        return [s[1], (force(t) - pull) / p["mass"]]

    how = {"t_eval": time, "rtol": 1e-9, "atol": 1e-11, "max_step": 0.05}
    x = solve_ivp(rate, (0, seconds), [0.0, 0.0], **how).y[0]
    return time, force(time), x + 1e-3 * random.standard_normal(len(x)), x


def driven(learned: Callable, *settings) -> list[float]:
    """Rms error of the free run, over that of the motion, by draw."""
    result = []
    for draw in range(3):
        time, force, x, _ = duffing(2 * draw, 60.0)
        late, push, noisy, truth = duffing(2 * draw + 1, 30.0)
        run = learned(time, force, x, late, push, noisy, *settings)
        miss = (run - truth)[START:]
        result.append(float(np.sqrt(np.mean(miss**2)) / truth.std()))
    return result


def driven_by_ours(time, force, x, late, push, noisy):
    """By the law, from rest."""
    law = la.learn(
        {"x": [x], "f": [force]}, time=[time], inputs={"x": "f [N]"}, progress=False
    )

    def push_at(t: float) -> list[float]:
        return [np.interp(t, late, push)]

    path = law.predict([0.0], [0.0], time=late, force=push_at)
    return path.q.values[:, 0]


def driven_by_frols(time, force, x, late, push, noisy):
    """Polynomial NARX of degree 3 and lag 3, 12 terms."""
    from sysidentpy.basis_function import Polynomial
    from sysidentpy.model_structure_selection import FROLS

    model = FROLS(
        order_selection=False,
        n_terms=12,
        ylag=3,
        xlag=3,
        basis_function=Polynomial(degree=3),
    )
    model.fit(X=force[:, None], y=x[:, None])
    return np.ravel(model.predict(X=push[:, None], y=noisy[:3, None]))[: len(noisy)]


def driven_by_jax(time, force, x, late, push, noisy):
    """Three states and a net of 8 neurons; its smoother finds the first state."""
    import jax
    from jax import numpy as jnp
    from jax_sysid.models import Model

    jax.config.update("jax_enable_x64", True)
    states, neurons = 3, 8

    def next_state(z, u, p):
        A, B, inner, bias, outer = p[:5]
        hidden = jnp.tanh(inner @ jnp.concatenate([z, u]) + bias)
        return A @ z + B @ u + outer @ hidden

    def output(z, u, p):
        return p[5] @ z

    random = rng(5)
    shapes = [
        (states, 1),
        (neurons, states + 1),
        (neurons,),
        (states, neurons),
        (1, states),
    ]
    first = [0.3 * random.standard_normal(shape) for shape in shapes]
    model = Model(states, 1, 1, state_fcn=next_state, output_fcn=output)
    model.init(params=[0.9 * np.eye(states), *first])
    model.loss(rho_x0=1e-4, rho_th=1e-8)
    model.optimization(adam_epochs=200, lbfgs_epochs=800)
    scale, push_scale = x.std(), force.std()
    with contextlib.redirect_stdout(io.StringIO()):
        model.fit(x[:, None] / scale, force[:, None] / push_scale)
        start = model.learn_x0(push[:200, None] / push_scale, noisy[:200, None] / scale)
        run, _ = model.predict(start, push[:, None] / push_scale)
    return scale * np.ravel(run)


def pendulum(draw: int, seconds: float = 10.0) -> tuple[np.ndarray, np.ndarray]:
    """Times, and angles with their rates (time, 4), of two unit masses and lengths."""
    time = np.arange(0, seconds, STEP)
    how = {"t_eval": time, "rtol": 1e-10, "atol": 1e-12}
    start = [*rng(6, draw).uniform(-1.2, 1.2, 2), 0.0, 0.0]
    return time, solve_ivp(_swing, (0, seconds), start, **how).y.T


def _swing(_, s) -> list[float]:
    (a, b, u, v), g = s, 9.81
    cos, sin = np.cos(a - b), np.sin(a - b)
    forces = [-sin * v**2 - 2 * g * np.sin(a), sin * u**2 - g * np.sin(b)]
    return [u, v, *np.linalg.solve([[2, cos], [cos, 1]], forces)]


def swings() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Times and angles of four swings."""
    runs = [pendulum(draw) for draw in range(4)]
    noise = [
        1e-3 * rng(7, k).standard_normal((len(t), 2)) for k, (t, _) in enumerate(runs)
    ]
    return [t for t, _ in runs], [
        s[:, :2] + e for (_, s), e in zip(runs, noise, strict=True)
    ]


def free_run(path) -> str:
    """Rms error of the angles of the first 2 s of a fifth swing."""
    time, truth = pendulum(4, 2.0)
    with np.errstate(all="ignore"):
        run = path(time, truth[0])
    miss = np.sqrt(np.mean((run - truth[:, :2]) ** 2)) if run is not None else np.inf
    return f"free run {1e3 * miss:.3g} mrad of {1e3 * truth[:, :2].std():.0f}"


def free_by_ours():
    """The law of four swings."""
    times, angles = swings()
    data = {"a": [q[:, 0] for q in angles], "b": [q[:, 1] for q in angles]}
    units = {"a": "rad", "b": "rad"}
    law = la.learn(data, time=times, coordinates=units, progress=False)
    return lambda t, s: law.predict(s[:2], s[2:], time=t).q.values


def free_by_pysindy():
    """Smoothed angles; accelerations over products of the true shapes of terms."""
    import pysindy as ps
    from scipy.signal import savgol_filter

    times, angles = swings()
    q, v, w = (
        np.concatenate(
            [
                savgol_filter(x, 41, 4, deriv=d, delta=STEP, axis=0)[20:-20]
                for x in angles
            ]
        )
        for d in (0, 1, 2)
    )

    def columns(q, v):
        (a, b), (u, v) = q.T, v.T
        d = a - b
        bottom = 2 - np.cos(d) ** 2
        tops = [np.sin(a), np.sin(b), np.sin(d), np.cos(d)]
        tops += [u**2 * np.sin(d), v**2 * np.sin(d)]
        tops += [u**2 * np.sin(2 * d), v**2 * np.sin(2 * d)]
        tops += [np.sin(a - 2 * b), np.sin(2 * a - b)]
        return np.stack([*tops, *(x / bottom for x in tops)], axis=1)

    optimizer = ps.STLSQ(threshold=0.2, alpha=1e-6)
    fitted = optimizer.fit(columns(q, v), w).coef_

    def path(time, start):
        def rate(_, s):
            return [*s[2:], *(columns(s[None, :2], s[None, 2:]) @ fitted.T)[0]]

        run = solve_ivp(rate, time[[0, -1]], start, t_eval=time, rtol=1e-8)
        return run.y[:2].T if run.success else None

    return path


def percent(values: list[float]) -> str:
    """Free runs of all draws."""
    return "free runs " + ", ".join(f"{100 * x:.2g}" for x in values) + " %"


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
