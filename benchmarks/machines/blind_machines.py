"""Machines that nothing was tuned for, and what `leastaction.learn` says of each.

    python benchmarks/machines/blind_machines.py [--seed 1] [NAME ...]

The 28 of a blind test, whose laws the default library holds (`INSIDE`) or does not.
Parameters are drawn by the seed; motions are SciPy's (LSODA, relative tolerance 10⁻⁹),
those with a delay the classical Runge–Kutta method's at a tenth of a row. Outcomes are
those of docs/simulated_machines.md.
"""

import argparse
import sys
import time as clock
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import leastaction as la
from leastaction.core.estimate import NORMAL_QUANTILE
from leastaction.core.library import damped_coordinates
from leastaction.recordings.physical_parameters import covariance_of
from leastaction.recordings.refusals import RecordingError

# Velocity within which dry friction turns, of the motion as it is simulated.
SHARP = 1e-3
# Draws of errors, of which a hundredth is known within 3 %.
DRAWS = 100_000


@dataclass(frozen=True)
class Machine:
    """A table and, if the library holds its law, the truth: L and D.

    Of a field, coefficients by term, that of the force (``1``) among them.
    """

    data: Mapping
    how: Mapping = field(default_factory=dict)
    truth: tuple[str, str] | Mapping[str, float] | None = None


def rates(names, lagrangian: str, loss: str = "0", forced=()) -> Callable:
    """q̈(q, q̇, u) of L and D by Lagrange's equations; u one force per coordinate."""
    q = sp.symbols(list(names))
    v = sp.symbols([f"{n}dot" for n in names])
    u = sp.symbols([f"u{i}" for i in range(len(q))])
    L, D = sp.sympify(lagrangian), sp.sympify(loss)
    # Of |v|³, too, which has no viscous part then: (|v| - w)³ would have one.
    D = D.replace(sp.Abs, lambda x: sp.sqrt(x**2 + SHARP**2))
    M = sp.hessian(L, v)
    force = [
        L.diff(q[i])
        - sum(L.diff(v[i]).diff(q[j]) * v[j] for j in range(len(q)))
        - D.diff(v[i])
        + u[i]
        for i in range(len(q))
    ]
    mass, right = (sp.lambdify([*q, *v, *u], each, "numpy") for each in (M, force))

    def acceleration(state, push):
        at = (*state, *push)
        return np.linalg.solve(np.array(mass(*at), float), np.array(right(*at), float))

    return acceleration


def run(acceleration, start, time, push=None, extra=None) -> np.ndarray:
    """Positions (time, dof); `push(t)` is recorded, `extra(t, z)` is not."""
    n = len(start) // 2

    def rate(t, z):
        u = np.zeros(n) if push is None else np.atleast_1d(push(t))
        u = u if extra is None else u + np.atleast_1d(extra(t, z))
        return np.concatenate([z[n:], acceleration(z[: 2 * n], u)])

    how = {"method": "LSODA", "t_eval": time, "rtol": 1e-9, "atol": 1e-10}
    return solve_ivp(rate, (time[0], time[-1]), start, **how).y[:n].T


def multisine(rng, sizes, low=0.3, high=2.5) -> Callable:
    """Six tones of random phases between two frequencies, Hz."""
    f = np.linspace(low, high, 6)
    phase, size = rng.uniform(0, 2 * np.pi, 6), rng.uniform(*sizes, 6)
    return lambda t: np.sin(2 * np.pi * np.multiply.outer(t, f) + phase) @ size


def late(rng, c, gain, delay, push, time) -> np.ndarray:
    """A Duffing oscillator whose velocity is fed back late (Runge and Kutta)."""
    fine = 10
    h = (time[1] - time[0]) / fine
    z, back = np.zeros((fine * (len(time) - 1) + 1, 2)), round(delay / h)
    z[0] = rng.uniform(-0.5, 0.5, 2)
    m, k, k3, d = c

    def rate(t, y, fed):
        u = push(t) if push else 0.0
        return np.array([y[1], (u - k * y[0] - k3 * y[0] ** 3 - d * y[1] - fed) / m])

    for i in range(len(z) - 1):
        first, last = (gain * z[max(j - back, 0), 1] for j in (i, i + 1))
        half, t = (first + last) / 2, i * h
        a = rate(t, z[i], first)
        b = rate(t + h / 2, z[i] + h / 2 * a, half)
        e = rate(t + h / 2, z[i] + h / 2 * b, half)
        z[i + 1] = z[i] + h / 6 * (a + 2 * b + 2 * e + rate(t + h, z[i] + h * e, last))
    return z[::fine, :1]


def noisy(rng, path, share=5e-4) -> np.ndarray:
    """With noise of a share of the rms motion."""
    return path + share * path.std(axis=0) * rng.standard_normal(path.shape)


def table(names, motions, pushes=None) -> dict:
    """Lists of trajectories by coordinate, and forces ``f_x``."""
    data = {n: [q[:, i] for q in motions] for i, n in enumerate(names)}
    return data | {f"f_{n}": list(p) for n, p in (pushes or {}).items()}


def driven(rng, names, L, D, pushed, sizes, start, units, band=(0.3, 2.5), **more):
    """Two runs of 25 s at 100 Hz under multisines on the coordinates `pushed`."""
    time, acceleration = np.arange(0, 25, 0.01), rates(names, L, D)
    motions, pushes = [], {n: [] for n in pushed}
    for _ in range(2):
        each = {n: multisine(rng, s, *band) for n, s in zip(pushed, sizes, strict=True)}
        for n in pushed:
            pushes[n].append(each[n](time))
        push = _on(names, each)
        state = start * rng.uniform(0.5, 1, len(start))
        motions.append(noisy(rng, run(acceleration, state, time, push)))
    how = {"time": time, "coordinates": units, "inputs": _inputs(units, pushed)}
    return Machine(table(names, motions, pushes), how | more, (L, D))


def _inputs(units, pushed) -> dict:
    return {n: f"f_{n} [{'N*m' if units[n] == 'rad' else 'N'}]" for n in pushed}


def _on(names, each) -> Callable:
    return lambda t: np.array([each[n](t) if n in each else 0.0 for n in names])


def free(rng, names, L, D, starts, units, duration=20.0, rate=100, extra=None):
    """Free runs from the states `starts`; `extra` is outside of the law."""
    time, acceleration = np.arange(0, duration, 1 / rate), rates(names, L, D)
    motions = []
    for state in starts:
        path = run(acceleration, np.asarray(state, float), time, extra=extra)
        motions.append(noisy(rng, path))
    how = {"time": time, "coordinates": units}
    return Machine(table(names, motions), how, None if extra else (L, D))


def draw(rng, *about) -> list[str]:
    """Numbers within 20 % of `about`, as text."""
    return [f"{x * rng.uniform(0.8, 1.2):.6g}" for x in about]


# ---------------------------------------------------------------- laws of the library


def furuta(rng):
    """Furuta pendulum: torque, dry friction, 4096 counts."""
    j, a, b, g, d, f = draw(rng, 0.02, 0.008, 0.006, 0.35, 0.01, 0.004)
    L = (
        f"{j}*adot**2/2 + {a}*thetadot**2/2 + {a}*adot**2*(1 - cos(2*theta))/4"
        f" + {b}*adot*thetadot*cos(theta) - {g}*cos(theta)"
    ).replace("- " + g, "+ " + g)
    D = f"{d}*adot**2/2 + {f}*abs(adot) + 0.002*thetadot**2/2"
    units = {"a": "rad", "theta": "rad"}
    start = np.array([0, 1.5, 0, 0.0])
    return _counted(
        driven(rng, ["a", "theta"], L, D, ["a"], [(0.02, 0.06)], start, units), 4096
    )


def _counted(machine: Machine, counts: int) -> Machine:
    step = 2 * np.pi / counts
    data = {
        n: x if n.startswith("f_") else [step * np.round(q / step) for q in x]
        for n, x in machine.data.items()
    }
    return Machine(data, machine.how, machine.truth)


def position_stage(rng):
    """Mass with viscous and dry friction under force."""
    m, d, f, k = draw(rng, 95, 400, 20, 4000)
    L, D = f"{m}*xdot**2/2 - {k}*x**2/2", f"{d}*xdot**2/2 + {f}*abs(xdot)"
    sizes, start = [(60, 120)], np.array([0.05, 0])
    return driven(rng, ["x"], L, D, ["x"], sizes, start, {"x": "m"}, (0.2, 2.0))


def electronic_duffing(rng):
    """Driven Duffing oscillator."""
    m, k, k3, d = draw(rng, 1.3, 40, 60, 0.6)
    L = f"{m}*xdot**2/2 - {k}*x**2/2 - {k3}*x**4/4"
    start = np.array([0.3, 0])
    return driven(rng, ["x"], L, f"{d}*xdot**2/2", ["x"], [(1, 3)], start, {"x": "m"})


def parametric_drive(rng):
    """The user has written −a sin θ as a column; one gain is unknown to nobody."""
    w, d = draw(rng, 20, 0.2)
    time, motions, pushes = np.arange(0, 25, 0.01), [], []
    acceleration = rates(
        ["theta"], f"thetadot**2/2 + {w}*cos(theta)", f"{d}*thetadot**2/2"
    )
    for _ in range(2):
        lift = multisine(rng, (0.5, 2.0))
        q = run(
            acceleration, [rng.uniform(0.5, 1.2), 0.0], time,
            extra=lambda t, z, lift=lift: -lift(t) * np.sin(z[0]),
        )  # fmt: skip
        q = noisy(rng, q)
        motions.append(q)
        pushes.append(-lift(time) * np.sin(q[:, 0]))
    how = {
        "time": time,
        "coordinates": {"theta": "rad"},
        "inputs": {"theta": "f_theta [N*m]"},
    }
    truth = f"thetadot**2/2 + {w}*cos(theta)", f"{d}*thetadot**2/2"
    return Machine(table(["theta"], motions, {"theta": pushes}), how, truth)


def unbalance(rng):
    """A rotor that runs up; the force ε ω² cos φ is computed from its encoder."""
    m, k, d = draw(rng, 4, 9000, 12)
    time, motions, pushes = np.arange(0, 20, 0.005), [], []
    acceleration = rates(["x"], f"{m}*xdot**2/2 - {k}*x**2/2", f"{d}*xdot**2/2")
    for top in rng.uniform(70, 90, 2):
        ramp = top / time[-1]

        def push(t, ramp=ramp):
            return 0.01 * (ramp * t) ** 2 * np.cos(ramp * t**2 / 2)

        motions.append(noisy(rng, run(acceleration, [1e-4, 0], time, push)))
        pushes.append(push(time))
    how = {"time": time, "coordinates": {"x": "m"}, "inputs": {"x": "f_x [N]"}}
    truth = f"{m}*xdot**2/2 - {k}*x**2/2", f"{d}*xdot**2/2"
    return Machine(table(["x"], motions, {"x": pushes}), how, truth)


def spherical_drag(rng):
    """Spherical pendulum, drag of the square of each joint's velocity."""
    g, d = draw(rng, 15, 0.04)
    L = f"thetadot**2/2 + phidot**2*(1 - cos(2*theta))/4 + {g}*cos(theta)"
    D = f"{d}*abs(thetadot)**3/3"
    starts = [
        (rng.uniform(0.7, 1.3), 0, rng.uniform(-1, 1), rng.uniform(1.5, 4))
        for _ in range(4)
    ]
    units = {"theta": "rad", "phi": "rad"}
    made = free(rng, ["theta", "phi"], L, D, starts, units, 12)
    return Machine(made.data, {**made.how, "accept": ["turns"]}, made.truth)


def wheel_in_bowl(rng):
    """Inertia that depends on x, as of a wheel on a parabola."""
    b, k, d = draw(rng, 0.8, 12, 0.06)
    L = f"xdot**2/2 + {b}*x**2*xdot**2 - {k}*x**2/2"
    starts = [(a, 0) for a in (0.4, 0.6, 0.8, 1.0)]
    return free(rng, ["x"], L, f"{d}*xdot**2/2", starts, {"x": "m"})


def _arms(rng):
    a, g1, g2 = draw(rng, 0.28, 9, 4)
    L = f"{a}*pdot**2/2 + 0.14*qdot**2/2 + 0.09*pdot*qdot*cos(p - q)"
    L += f" + {g1}*cos(p) + {g2}*cos(q)"
    D = "0.01*pdot**2/2 + 0.006*abs(pdot)"
    D += " + 0.006*(pdot - qdot)**2/2 + 0.004*abs(pdot - qdot)"
    return L, D


def double_tracker(rng):
    """Markers of a film at 100 Hz, half a pixel of noise, 3 % of the frames lost."""
    L, D = _arms(rng)
    D = "0.01*pdot**2/2 + 0.006*(pdot - qdot)**2/2"
    starts = [(1.4, -0.8, 0, 0), (0.9, 1.5, 0, 0), (-1.2, 0.7, 0, 0), (1.1, 1.1, 0, 0)]
    made = free(rng, ["p", "q"], L, D, starts, {"p": "rad", "q": "rad"}, 12)
    for x in made.data.values():
        for each in x:
            each[rng.random(len(each)) < 0.03] = np.nan
    return made


def single_pendulum(rng):
    """Free pendulum, dry and viscous friction."""
    g, d, f = draw(rng, 64, 0.03, 0.15)
    L, D = f"thetadot**2/2 + {g}*cos(theta)", f"{d}*thetadot**2/2 + {f}*abs(thetadot)"
    starts = [(a, 0) for a in (0.5, 0.9, 1.3, 1.7)]
    return free(rng, ["theta"], L, D, starts, {"theta": "rad"}, 15)


def two_arms(rng):
    """Free double pendulum, dry and viscous joints."""
    L, D = _arms(rng)
    starts = [(1.4, -0.8, 0, 0), (0.9, 1.5, 0, 0), (-1.2, 0.7, 0, 0), (1.1, 1.1, 0, 0)]
    return free(rng, ["p", "q"], L, D, starts, {"p": "rad", "q": "rad"}, 12)


def three_arms(rng):
    """Free triple pendulum."""
    g = draw(rng, 14, 8, 3)
    L = (
        "0.5*pdot**2/2 + 0.25*qdot**2/2 + 0.1*rdot**2/2 + 0.22*pdot*qdot*cos(p - q)"
        " + 0.08*pdot*rdot*cos(p - r) + 0.09*qdot*rdot*cos(q - r)"
        f" + {g[0]}*cos(p) + {g[1]}*cos(q) + {g[2]}*cos(r)"
    )
    D = "0.02*pdot**2/2 + 0.01*(pdot - qdot)**2/2 + 0.004*(qdot - rdot)**2/2"
    starts = [
        (1.2, -0.8, 0.5, 0, 0, 0),
        (0.8, 1.2, -0.6, 0, 0, 0),
        (-1, 0.6, 1.1, 0, 0, 0),
        (1, 1, 1, 0, 0, 0),
    ]
    return free(rng, ["p", "q", "r"], L, D, starts, dict.fromkeys("pqr", "rad"), 10)


def _driven_arms(rng):
    L, D = _arms(rng)
    units, start = {"p": "rad", "q": "rad"}, np.array([0.5, -0.5, 0, 0])
    sizes = [(0.3, 0.8), (0.2, 0.5)]
    return driven(rng, ["p", "q"], L, D, ["p", "q"], sizes, start, units)


def relative_arms(rng):
    """Two driven arms by the angles of their joints."""
    a, g1, g2 = draw(rng, 0.28, 9, 4)
    L = f"{a}*pdot**2/2 + 0.14*(pdot + rdot)**2/2 + 0.09*pdot*(pdot + rdot)*cos(r)"
    L += f" + {g1}*cos(p) + {g2}*cos(p + r)"
    D = "0.01*pdot**2/2 + 0.006*abs(pdot) + 0.006*rdot**2/2 + 0.004*abs(rdot)"
    units, start = {"p": "rad", "r": "rad"}, np.array([0.5, -0.5, 0, 0])
    sizes = [(0.3, 0.8), (0.2, 0.5)]
    return driven(rng, ["p", "r"], L, D, ["p", "r"], sizes, start, units)


def late_arms(rng):
    """Two driven arms whose inputs act two rows late."""
    made = _driven_arms(rng)
    data = {k: [x[2:] for x in runs] for k, runs in made.data.items()}
    data |= {k: [x[:-2] for x in made.data[k]] for k in data if k.startswith("f_")}
    return Machine(data, {**made.how, "time": made.how["time"][:-2]}, made.truth)


def stale_samples(rng):
    """Two driven arms; 8 % of the samples repeat the one before."""
    made = _driven_arms(rng)
    for x in (made.data["p"], made.data["q"]):
        for each in x:
            stale = 1 + np.flatnonzero(rng.random(len(each) - 1) < 0.08)
            each[stale] = each[stale - 1]
    return made


def _storeys(rng, k, damping, duration):
    """Absolute accelerations of a frame on white ground, 5 % noise."""
    n, dt = len(k), 0.005
    K = np.diag([*(a + b for a, b in zip(k, [*k[1:], 0], strict=True))])
    K -= np.diag(k[1:], 1) + np.diag(k[1:], -1)
    C = damping * K
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-K, -C]])
    fine = 4
    step = expm(A * dt / fine)
    z, rows = np.zeros(2 * n), []
    for i in range(int(duration / dt) * fine):
        push = rng.standard_normal() / np.sqrt(dt / fine)
        if i % fine == 0:
            rows.append(A[n:] @ z)
        z = step @ z
        z[n:] -= push * dt / fine
    a = np.array(rows)
    a = a + 0.05 * a.std(axis=0) * rng.standard_normal(a.shape)
    names = [f"x{i + 1}" for i in range(n)]
    L = " + ".join(f"{x}dot**2/2" for x in names) + f" - {k[0]}*x1**2/2"
    L += "".join(f" - {k[i]}*(x{i + 1} - x{i})**2/2" for i in range(1, n))
    D = f"{damping * k[0]}*x1dot**2/2" + "".join(
        f" + {damping * k[i]}*(x{i + 1}dot - x{i}dot)**2/2" for i in range(1, n)
    )
    data = {f"a{i + 1}": a[:, i] for i in range(n)}
    how = {
        "time": dt,
        "coordinates": dict.fromkeys(names, "m"),
        "sensors": {
            f"{x}ddot + ground": f"a{i} [m/s^2]" for i, x in enumerate(names, 1)
        },
        "excitation": "random",
    }
    return Machine(data, how, (L, D))


def two_storeys(rng):
    """Frame of two storeys."""
    return _storeys(rng, rng.uniform(900, 1300, 2), 0.0006, 120)


def four_storeys(rng):
    """Frame of four storeys."""
    return _storeys(rng, rng.uniform(2500, 4000, 4), 0.0004, 120)


def shaken_oscillator(rng):
    """400 periods under a white force."""
    k, d, dt = rng.uniform(30, 50), rng.uniform(0.15, 0.3), 0.02
    z, rows, fine = np.zeros(2), [], 10
    step = expm(np.array([[0, 1], [-k, -d]]) * dt / fine)
    for i in range(int(400 * 2 * np.pi / np.sqrt(k) / dt) * fine):
        if i % fine == 0:
            rows.append(z[0])
        z = step @ z
        z[1] += np.sqrt(dt / fine) * rng.standard_normal()
    x = np.array(rows)
    x = x + 0.05 * x.std() * rng.standard_normal(len(x))
    how = {"time": dt, "coordinates": {"x": "m"}, "excitation": "random"}
    return Machine({"x": x}, how, (f"xdot**2/2 - {k}*x**2/2", f"{d}*xdot**2/2"))


# ----------------------------------------------------------- outside of the library


def no_input_declared(rng):
    """A driven motion said to be free."""
    made = electronic_duffing(rng)
    how = {k: made.how[k] for k in ("time", "coordinates")}
    return Machine({"x": made.data["x"]}, how)


def additive_for_parametric(rng):
    """A parametric drive given as an additive force."""
    made = parametric_drive(rng)
    pairs = zip(made.data["f_theta"], made.data["theta"], strict=True)
    lift = [
        f / np.where(np.abs(np.sin(q)) > 1e-3, -np.sin(q), np.inf) for f, q in pairs
    ]
    return Machine(made.data | {"f_theta": lift}, made.how)


def circulatory(rng):
    """Two coordinates with a force that turns: no L has it."""
    s = rng.uniform(1.5, 3)
    L = "xdot**2/2 + ydot**2/2 - 40*x**2/2 - 52*y**2/2"
    D = "0.8*xdot**2/2 + 0.8*ydot**2/2"
    starts = rng.uniform(-1, 1, (4, 4)) * [1, 1, 3, 3]
    turn = lambda t, z: (s * z[1], -s * z[0])  # noqa: E731
    return free(rng, ["x", "y"], L, D, starts, {"x": "m", "y": "m"}, extra=turn)


def with_state(rng, kind, m=1.3, k=40.0, d=0.6):
    """A driven mass and a force of a hidden state z: `kind` gives it, and ż."""
    time, motions, pushes = np.arange(0, 25, 0.01), [], []
    for _ in range(2):
        push = multisine(rng, (1, 3))

        def rate(t, y, push=push):
            x, v, z = y
            force, dz = kind(x, v, z)
            return [v, (push(t) - k * x - d * v - force) / m, dz]

        how = {"method": "LSODA", "t_eval": time, "rtol": 1e-9, "atol": 1e-10}
        found = solve_ivp(rate, (0, time[-1]), [0.2, 0, 0], max_step=0.01, **how)
        motions.append(noisy(rng, found.y[:1].T))
        pushes.append(push(time))
    how = {"time": time, "coordinates": {"x": "m"}, "inputs": {"x": "f_x [N]"}}
    return Machine(table(["x"], motions, {"x": pushes}), how)


def no_hidden_state(rng):
    """A driven mass without any force of its past."""
    made = with_state(rng, lambda x, v, z: (0.0, 0.0))
    return Machine(made.data, made.how, ("1.3*xdot**2/2 - 40*x**2/2", "0.6*xdot**2/2"))


def pneumatic(rng):
    """Pressure as a hidden state."""
    p = rng.uniform(15, 25)
    return with_state(rng, lambda x, v, z: (p * z, v / (1 + x) - 4 * z))


def zener(rng):
    """A relaxing spring."""
    k, tau = rng.uniform(15, 25), rng.uniform(0.1, 0.2)
    return with_state(rng, lambda x, v, z: (k * z, v - z / tau))


def backlash(rng):
    """A spring with a gap."""
    gap, k = rng.uniform(0.08, 0.12), rng.uniform(60, 90)
    return with_state(rng, lambda x, v, z: (k * (x - np.clip(x, -gap, gap)), 0 * z))


def _bouc_wen(rng, share):
    k = share * 40 * rng.uniform(0.9, 1.1)
    wide = 0.1

    def kind(x, v, z):
        return k * wide * z, (v - 0.5 * abs(v) * z - 0.5 * v * abs(z)) / wide

    return with_state(rng, kind)


def bouc_wen_strong(rng):
    """Hysteresis of 60 % of the stiffness."""
    return _bouc_wen(rng, 0.6)


def bouc_wen_weak(rng):
    """Hysteresis of 7 % of the stiffness."""
    return _bouc_wen(rng, 0.07)


def _fed_back(rng, gain, delay, is_driven=True):
    time, c = np.arange(0, 25, 0.01), (1.3, 40, 60, 0.6)
    pushes = [multisine(rng, (1, 3)) if is_driven else None for _ in range(2)]
    motions = [noisy(rng, late(rng, c, gain, delay, p, time)) for p in pushes]
    how = {"time": time, "coordinates": {"x": "m"}}
    if not is_driven:
        return Machine(table(["x"], motions), how)
    how["inputs"] = {"x": "f_x [N]"}
    return Machine(table(["x"], motions, {"x": [p(time) for p in pushes]}), how)


def feedback_strong(rng):
    """Late velocity feedback, half of the force."""
    return _fed_back(rng, 3.0, 0.12)


def feedback_weak(rng):
    """Late velocity feedback, 5 % of the force."""
    return _fed_back(rng, 0.3, 0.12)


def feedback_free(rng):
    """Late feedback of a free motion."""
    return _fed_back(rng, -0.5, 0.12, False)


def hidden_cart(rng):
    """A pendulum on a cart with a spring, of which nobody recorded the cart."""
    L = "1.0*thetadot**2/2 + 1.5*xdot**2/2 + 0.8*thetadot*xdot*cos(theta)"
    L += " + 9*cos(theta) - 20*x**2/2"
    acceleration = rates(["theta", "x"], L, "0.05*thetadot**2/2 + 0.3*xdot**2/2")
    time = np.arange(0, 20, 0.01)
    motions = [
        noisy(rng, run(acceleration, [a, 0, 0, 0], time)[:, :1])
        for a in rng.uniform(0.8, 2.2, 4)
    ]
    return Machine(
        table(["theta"], motions), {"time": time, "coordinates": {"theta": "rad"}}
    )


def joined_runs(rng):
    """Four runs one behind the other, and no column that says so."""
    made = single_pendulum(rng)
    joined = np.concatenate(made.data["theta"])
    how = {"time": 0.01 * np.arange(len(joined)), "coordinates": {"theta": "rad"}}
    return Machine({"theta": joined}, how)


INSIDE = (
    *(furuta, position_stage, electronic_duffing, parametric_drive, unbalance),
    *(spherical_drag, wheel_in_bowl, double_tracker, single_pendulum, two_arms),
    *(
        three_arms,
        stale_samples,
        late_arms,
        relative_arms,
        no_hidden_state,
        two_storeys,
        four_storeys,
        shaken_oscillator,
    ),
)
OUTSIDE = (
    *(no_input_declared, additive_for_parametric, circulatory, pneumatic, zener),
    *(backlash, bouc_wen_strong, feedback_strong, bouc_wen_weak, feedback_weak),
    *(hidden_cart, feedback_free, joined_runs),
)


class Outcome(NamedTuple):
    """What is learned of one draw of a machine."""

    machine: str
    seed: int
    kind: str  # see the module
    covered: int  # coefficients inside their 95 % intervals
    free: int  # coefficients that have one
    widths: dict[str, float]  # half intervals over the coefficients
    errors: dict[str, float]  # of coefficients, over their half intervals
    terms: str  # missing, and not in the truth
    cpu: float  # s
    first_line: str


def outcome(make: Callable, seed: int) -> Outcome:
    """Draw parameters by a seed, simulate, learn, and compare with the truth."""
    rng = np.random.default_rng([seed, zlib.crc32(make.__name__.encode())])
    begun = clock.process_time()
    kind, errors, widths, terms, first = _judged(make(rng))
    used = clock.process_time() - begun
    covered = sum(abs(error) <= 1 for error in errors.values())
    about = covered, len(errors), widths, errors, terms
    return Outcome(make.__name__, seed, kind, *about, used, first)


def _judged(machine: Machine):
    """Kind, errors over half intervals, relative widths, other terms, first line."""
    none: dict[str, float] = {}
    try:
        law = la.learn(machine.data, progress=False, **machine.how)
    except RecordingError as error:
        first = str(error).splitlines()[0]
        return ("honest" if machine.truth is None else "refused"), none, none, "", first
    first = str(law).splitlines()[0].strip("*")
    plain = law.verdict == "found"
    outside = "silent" if plain else "honest"
    if machine.truth is None:
        return outside, none, none, "", first
    if law.verdict == "no law found":
        return "refused", none, none, "", first
    if isinstance(machine.truth, Mapping):
        missing, extra, names, *numbers = _of_field(law, machine.truth)
    else:
        L, D = machine.truth
        try:
            compared = law.score(la.System(L, dissipation=D))
        except ValueError as error:
            if "cannot express the truth" not in str(error):
                raise
            return outside, none, none, "", first
        missing = compared.missing
        names, *numbers = _errors(law, compared)
        extra = [t for t in compared.extra if f"D: {t}" not in names]
    errors, widths, correlation = numbers
    terms = "".join(f" − {t}" for t in missing)
    terms += "".join(f" + {t}" for t in extra)
    if not plain:
        kind = "reserved" if terms else "reserved, right terms"
    elif terms:
        kind = "silent"
    else:
        covered = is_covered(errors, correlation)
        kind = "right" if covered else "right terms, intervals miss"
    errors = dict(zip(names, map(float, errors), strict=True))
    # Those of zero have no relative width, and are the last.
    widths = dict(zip(names, map(float, widths), strict=False))
    return kind, errors, widths, terms.strip(), first


def _of_field(law, truth: Mapping[str, float]):
    """Terms that a law of a field lacks, has beyond the truth, shares; and numbers.

    Errors over half intervals, these over the coefficients, and their correlation.
    """
    fitted = law.terms[law.terms["std"] > 0].reset_index(drop=True)
    shared = fitted[fitted.term.isin(truth)]
    half = law.interval_factor * shared["std"]
    true = shared.term.map(truth)
    count, covariance = len(fitted), law.learned.dataset["covariance"].values[0]
    chosen = covariance[:count, :count][np.ix_(shared.index, shared.index)]
    std = np.sqrt(np.diag(chosen))
    return (
        [term for term in truth if term not in [*fitted.term]],
        [term for term in fitted.term if term not in truth],
        [*shared.term],
        ((shared.value - true) / half).to_numpy(),
        (half / true).to_numpy(),
        chosen / np.outer(std, std),
    )


def is_covered(errors: np.ndarray, correlation: np.ndarray) -> bool:
    """Whether as many intervals of 95 % miss as chance allows, and none by its width.

    One in a hundred draws of normal errors with the `correlation` of the coefficients
    has more: of independent ones two of three, three of seven; those that share a scale
    miss together.
    """
    errors = np.abs(errors)
    normal = np.random.default_rng(0).standard_normal((DRAWS, len(errors)))
    values, vectors = np.linalg.eigh(correlation)
    drawn = normal @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    misses = (np.abs(drawn) > NORMAL_QUANTILE).sum(axis=1)
    chance = (misses >= (errors > 1).sum()).mean()
    return bool(chance > 0.01 and errors.max(initial=0.0) < 2)


def _errors(law, compared) -> tuple[list, np.ndarray, np.ndarray, np.ndarray]:
    """Terms, errors over their half intervals, these over coefficients, correlation.

    Viscous damping that the truth has not stays in every law: it is a coefficient of
    zero, the last ones, unless it is off by more than the width of its interval. Of a
    random excitation coefficients count as independent.
    """
    rows = law.terms
    place = {(row.of, row.term): i for i, row in enumerate(rows.itertuples())}
    half = law.interval_factor * rows["std"].to_numpy()
    values = rows["value"].to_numpy()
    names, places, errors, widths = [], [], [], []
    for term, error in zip(compared.terms, compared.error, strict=True):
        kind, name = ("D", term[3:]) if term.startswith("D: ") else ("L", term)
        i = place.get((kind, name))
        if i is not None and half[i] > 0:
            widths.append(half[i] / abs(values[i]))
            errors.append(error / (1 + error) / widths[-1])
            places.append(i)
            names.append(term)
    q = sp.symbols(law.coordinates)
    v = sp.symbols([f"{name}dot" for name in law.coordinates])
    for term in compared.extra:
        i = place.get(("D", term))
        if i is None or i in places or not damped_coordinates(sp.sympify(term), q, v):
            continue
        if abs(values[i]) < 2 * half[i]:
            errors.append(values[i] / half[i])
            places.append(i)
            names.append(f"D: {term}")
    if "jackknife_coefficient" not in law.dataset:
        return names, np.array(errors), np.array(widths), np.eye(len(errors))
    covariance = covariance_of(law)[np.ix_(places, places)]
    std = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(std, std)
    return names, np.array(errors), np.array(widths), correlation


def rows(makers: Mapping[str, Callable], case: Mapping, drawn) -> str:
    """Row of a case: outcomes of its draws by kind, and first lines of those not right.

    `case` has a machine, seeds, and perhaps a target; `drawn` are outcomes.
    """
    name = case["machine"]
    mine = [d for d in drawn if d.machine == name and d.seed in case["seeds"]]
    kinds = Counter(d.kind for d in mine)
    free, widths = (
        sum(d.free for d in mine),
        [100 * w for d in mine for w in d.widths.values()],
    )
    cpu = [d.cpu for d in mine]
    said = {
        f"{d.terms}: {d.first_line}".lstrip(": ") for d in mine if d.kind != "right"
    }
    cells = (
        (makers[name].__doc__ or name).splitlines()[0].rstrip("."),
        case.get("target", "–"),
        ", ".join(map(str, case["seeds"])),
        ", ".join(f"{kind} {count}" for kind, count in kinds.items()),
        f"{sum(d.covered for d in mine)} of {free}" if free else "–",
        f"{min(widths):.2g}–{max(widths):.2g}" if widths else "–",
        f"{min(cpu):.0f}–{max(cpu):.0f}",
        "; ".join(sorted(text.replace("|", "\\|") for text in said)),
    )
    return f"| {' | '.join(cells)} |"


def by_term(makers: Mapping[str, Callable], cases, drawn) -> str:
    """Table of the terms of each case: widths, rms errors over standard errors."""
    lines = [COLUMNS_BY_TERM]
    for case in cases:
        mine = [d for d in drawn if d.machine == case["machine"]]
        for term in dict.fromkeys(term for d in mine for term in d.errors):
            errors = np.array([d.errors[term] for d in mine if term in d.errors])
            width = np.median([100 * d.widths[term] for d in mine if term in d.widths])
            cells = (
                makers[case["machine"]].__doc__,
                "S" if term == "1" else f"`{term}`",
                f"{width:.2g}",
                f"{(np.abs(errors) <= 1).sum()} of {len(errors)}",
                f"{rms_over_std(errors):.2f}",
            )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def rms_over_std(errors) -> float:
    """Rms of errors, which are over half intervals, over standard errors."""
    return float(NORMAL_QUANTILE * np.sqrt(np.mean(np.square(errors))))


def page(makers: Mapping[str, Callable], listed: Mapping, drawn) -> str:
    """All tables of a list of cases as a page in Markdown."""
    parts = [f"{listed['about'].strip()} {OUTCOMES}"]
    for table in listed["tables"]:
        mine = {(c["machine"], s) for c in table["cases"] for s in c["seeds"]}
        of_table = [d for d in drawn if (d.machine, d.seed) in mine]
        kinds = Counter(d.kind for d in of_table)
        counted = ", ".join(f"{kind} {n}" for kind, n in kinds.most_common())
        inside, free = (
            sum(getattr(d, k) for d in of_table) for k in ("covered", "free")
        )
        parts += [
            f"## {table['title']}",
            f"{len(of_table)} draws: {counted}. Inside their intervals are {inside} of "
            f"{free} coefficients; {sum(d.cpu for d in of_table):.0f} CPU-s.",
            "\n".join([COLUMNS, *(rows(makers, c, drawn) for c in table["cases"])]),
        ]
        if table.get("by_term"):
            errors = [error for d in of_table for error in d.errors.values()]
            rms = rms_over_std(errors)
            parts += [
                f"Term by term; the rms error of all is {rms:.2f} standard errors:",
                by_term(makers, table["cases"], of_table),
            ]
    return "\n\n".join(parts) + "\n"


OUTCOMES = """*Covered*: coefficients inside their 95 % intervals. *Width*: half of
these, in % of the coefficient. Outcomes of a draw:

- right: the terms of the truth, plainly found; uniform viscous damping stays in every
  law, of a machine or a line; of a machine without it, it is a coefficient of zero
- right terms, intervals miss: more coefficients outside than one draw in a hundred of
  errors with their correlation has (of independent ones two of three), or one by more
  than its width
- reserved: a reservation on the first line, of another law, or of the right terms
- honest: the library does not have the law, and the first line says that it is not all
- refused: no law, though the library has it
- silent: a wrong law that is plainly found"""
COLUMNS = """| case | target | seeds | outcome | covered | width, % | CPU, s \
| terms and first line, unless right |
|---|---|---|---|---|---|---|---|"""
COLUMNS_BY_TERM = """| case | term | width, %, median | covered \
| rms error / standard error |
|---|---|---|---|---|"""


def main(makers) -> None:
    """Print one row a machine, and how often each outcome came."""
    options = argparse.ArgumentParser()
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("names", nargs="*")
    options = options.parse_args()
    named = {make.__name__: make for make in makers}
    counts: Counter[str] = Counter()
    for name in options.names or named:
        drawn = outcome(named[name], options.seed)
        counts[drawn.kind] += 1
        case = {"machine": name, "seeds": [options.seed]}
        print(rows(named, case, [drawn]), flush=True)
    print(dict(counts))


if __name__ == "__main__":
    sys.exit(main((*INSIDE, *OUTSIDE)))
