"""Parameters of machines in per cent: a slide, an arm, and what a motion groups."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import leastaction as la
from leastaction.ensembles.modes import Linear
from leastaction.recordings.physical_parameters import _Equilibrium, _Shown

MASS, VISCOUS, DRY, OFFSET = 95.0, 205.0, 20.0, 3.0
# Inertia, gravity and friction of two links, by absolute angles.
FIRST, SECOND, BOTH, GRAVITY, LOSS = 0.9, 0.35, 0.25, (8.0, 3.2), (0.8, 0.4)
BETWEEN = 0.15


def slide(seed, samples=1000, dt=0.01, noise=2e-6):
    """A servo as EMPS: position and held force of m ẍ + F_v ẋ + F_c sign ẋ = F + 3."""
    rng, steps = np.random.default_rng(seed), 20
    rates, phases = 2 * np.pi * np.array([0.15, 0.35, 0.8]), rng.uniform(0, 6, 3)
    sizes = rng.uniform(0.5, 1, 3) * [0.08, 0.03, 0.01]
    x, v, h = sizes @ np.sin(phases), sizes * rates @ np.cos(phases), dt / steps
    rows = []
    for k in range(samples):
        angle = rates * k * dt + phases
        miss = sizes @ np.sin(angle) - x, sizes * rates @ np.cos(angle) - v
        force = 20_000 * miss[0] + 2500 * miss[1]
        rows.append((x, force))
        for _ in range(steps):
            middle = v + h / 2 * _pull(force, v)
            x, v = x + h * middle, v + h * _pull(force, middle)
    x, force = np.array(rows).T
    return x + noise * rng.standard_normal(samples), force


def _pull(force, v):
    return (force + OFFSET - VISCOUS * v - DRY * v / np.sqrt(v**2 + 1e-8)) / MASS


def test_a_slide_without_a_spring_has_its_parameters_in_per_cent():
    truth = {
        "mass": (MASS, "kg"),
        "viscous damping": (VISCOUS, "N·s/m"),
        "dry friction": (DRY, "N"),
        "constant force": (OFFSET, "N"),
    }
    terms = {
        "lagrangian": ["xdot**2", "x", "x**2"],
        "dissipation": ["xdot**2", "abs(xdot)"],
    }
    about = {"inputs": {"x": "F [N]"}, "library": terms, "progress": False}
    inside = []
    for seed in range(2):
        x, force = slide(seed)
        law = la.learn({"x": x, "F": force}, time=0.01, **about)
        found = law.physical.set_index("quantity")
        assert set(found.index) == set(truth)
        for name, (value, unit) in truth.items():
            row = found.loc[name]
            assert row.unit == unit and row.percent < 2
            assert row.percent == pytest.approx(100 * row["std"] / row.value)
            inside.append(row.low < value < row.high)
    assert np.mean(inside) > 0.8
    text = law.to_markdown()
    line = next(x for x in text.splitlines() if x.startswith("| mass |"))
    assert line.endswith(" % | kg |") and "| standard error |" in text


def test_a_mass_without_a_damper_to_the_ground_has_no_damping_of_its_own():
    """Of three masses in a row; 0.6 − 0.2 − 0.4 is 1e-16."""
    C = np.array([[0.2, -0.2, 0.0], [-0.2, 0.2 + 0.4, -0.4], [0.0, -0.4, 0.4]])
    assert C[1].sum() != 0
    chain = SimpleNamespace(
        system=la.System("(xdot**2 + ydot**2 + zdot**2)/2"),
        has_scale=True,
        names=(),
        alone=[True] * 3,
        turns=[False] * 3,
        shown=[_Shown()] * 3,
        unit_of=lambda *term: "kg/s",
    )
    linear = Linear(np.eye(3), C, np.eye(3), np.zeros(3))
    rows = [
        row
        for i, name in enumerate("xyz")
        for row in _Equilibrium._of_coordinate(chain, linear, True, i, name, None)
        if "damping" in row.name
    ]
    between = [f"viscous damping between {pair}" for pair in ("x and y", "y and z")]
    assert {row.name: row.value for row in rows} == dict(
        zip(between, (0.2, 0.4), strict=True)
    )


def arm(seed, samples=400, dt=0.02, noise=1e-4):
    """Angles and torques of two links."""
    rng = np.random.default_rng(seed)
    rates = 2 * np.pi * np.array([0.2, 0.5, 1.1])
    sizes = rng.uniform(2, 5, (2, 3)) * [[1.0], [0.5]]
    phases = rng.uniform(0, 6, (2, 3))

    def torque(t):
        return (sizes * np.sin(rates * t + phases)).sum(axis=1)

    def rate(t, state):
        (a, b), v = state[:2], state[2:]
        mixed = BOTH * np.cos(a - b)
        turn = BOTH * np.sin(a - b) * np.array([v[1] ** 2, -(v[0] ** 2)])
        pull = np.array(GRAVITY) * np.sin([a, b]) + np.array(LOSS) * v
        pull += BETWEEN * (v - v[::-1])
        inertia = [[FIRST, mixed], [mixed, SECOND]]
        return [*v, *np.linalg.solve(inertia, torque(t) - turn - pull)]

    time = dt * np.arange(samples)
    how = {"t_eval": time, "rtol": 1e-9, "atol": 1e-10, "max_step": dt}
    path = solve_ivp(rate, time[[0, -1]], [0.1, -0.1, 0, 0], "DOP853", **how).y[:2]
    path = path + noise * rng.standard_normal(path.shape)
    torques = np.array([torque(t) for t in time]).T
    return dict(zip(("a", "b", "u", "w"), [*path, *torques], strict=True))


def test_an_arm_has_base_parameters_and_friction_of_each_joint():
    coupling = "adot*bdot*cos(a - b)"
    law = la.learn(
        arm(0),
        time=0.02,
        coordinates={"a": "rad", "b": "rad"},
        inputs={"a": "u [N m]", "b": "w [N m]"},
        library={
            "lagrangian": ["adot**2", "bdot**2", coupling, "cos(a)", "cos(b)"],
            "dissipation": ["adot**2", "bdot**2", "(adot - bdot)**2", "abs(adot)"],
        },
        accept=["turns"],
        progress=False,
    )
    found = law.physical.set_index("quantity")
    truth = {
        "adot**2": FIRST / 2,
        "bdot**2": SECOND / 2,
        coupling: BOTH,
        "cos(a)": GRAVITY[0],
        "cos(b)": GRAVITY[1],
    }
    for term, value in truth.items():
        row = found.loc[f"base parameter of `{term}`"]
        assert abs(row.value - value) < 3 * row["std"] < 0.02 * value
    joints = "of a", "of b", "between a and b"
    for joint, value in zip(joints, (*LOSS, BETWEEN), strict=True):
        row = found.loc[f"viscous damping {joint}"]
        assert abs(row.value - value) < 3 * row["std"]


def test_what_a_small_motion_does_not_separate_is_one_parameter():
    """Of a small motion x² and √(1 + x²) are one stiffness."""
    root = "sqrt(x**2 + 1)"
    rng, time = np.random.default_rng(2), 0.05 * np.arange(600)

    def push(t):
        return 0.2 * np.sin(2.2 * t) + 0.2 * np.sin(0.7 * t)

    def rate(t, s):
        return [s[1], (push(t) - 0.6 * s[1] - 9 * s[0]) / 1.5]

    x = solve_ivp(rate, time[[0, -1]], [0, 0], t_eval=time, rtol=1e-9, atol=1e-10).y[0]
    law = la.learn(
        {"x": x + 4e-3 * rng.standard_normal(len(x)), "f": push(time)},
        time=time,
        inputs={"x": "f [N]"},
        library={
            "lagrangian": ["xdot**2", "x**2", root],
            "dissipation": ["xdot**2"],
        },
        progress=False,
    )
    row = law.physical.set_index("quantity").loc["stiffness"]
    other = root if "x**2" in law.support else "x**2"
    assert f"of `{other}`" in row.grouped
    weight = float(row.grouped.split()[0])
    assert weight == pytest.approx({root: -1, "x**2": -2}[other], rel=0.1)
    assert "their sum alone is identified" in law.to_markdown()
