"""Laws of simulated motions without any noise, as SciPy's integrators give them."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import solve_ivp

import leastaction as la


def double_pendulum(t, z):
    a, b, u, v = z
    mass = [[2, np.cos(a - b)], [np.cos(a - b), 1]]
    turn = np.sin(a - b)
    force = [-turn * v**2 - 19.62 * np.sin(a), turn * u**2 - 9.81 * np.sin(b)]
    return [u, v, *np.linalg.solve(mass, force)]


def cart(t, z):
    x, a, u, v = z
    mass = [[1.3, 0.15 * np.cos(a)], [0.15 * np.cos(a), 0.075]]
    force = [0.15 * np.sin(a) * v**2 - 4 * x, -1.4715 * np.sin(a)]
    return [u, v, *np.linalg.solve(mass, force)]


MOTIONS = {
    "pendulum": (
        lambda t, z: [z[1], -9.81 * np.sin(z[0])],
        [1.5, 0],
        {"thetadot**2": 0.5, "cos(theta)": 9.81},
        ("theta",),
    ),
    "Duffing": (
        lambda t, z: [z[1], -z[0] - 0.5 * z[0] ** 3 - 0.1 * z[1]],
        [2, 0],
        {"xdot**2": 0.5, "x**2": -0.5, "x**4": -0.125, "D: xdot**2": 0.05},
        ("x",),
    ),
    "double pendulum": (
        double_pendulum,
        [0.8, 0.3, 0, 0],
        {
            **{"theta1dot**2": 0.5, "theta2dot**2": 0.25},
            "theta1dot*theta2dot*cos(theta1 - theta2)": 0.5,
            **{"cos(theta1)": 9.81, "cos(theta2)": 4.905},
        },
        ("theta1", "theta2"),
    ),
    "cart": (
        cart,
        [0.3, 0.8, 0, 0],
        {
            **{"xdot**2": 0.5, "thetadot**2": 0.0375 / 1.3},
            "thetadot*xdot*cos(theta)": 0.15 / 1.3,
            **{"cos(theta)": 1.4715 / 1.3, "x**2": -2 / 1.3},
        },
        ("x", "theta"),
    ),
}


@pytest.mark.parametrize(
    "name, tolerance, digits",
    [
        *(("pendulum", 1e-9, 15), ("pendulum", 1e-10, 15), ("pendulum", 1e-8, 4)),
        *(("Duffing", 1e-6, 15), ("Duffing", 1e-10, 6), ("Duffing", 1e-8, 3)),
        *(("double pendulum", 1e-8, 15), ("cart", 1e-8, 15)),
    ],
)
def test_a_simulated_motion_has_its_terms_and_no_others(name, tolerance, digits):
    rate, start, truth, names = MOTIONS[name]
    duration = 30 if len(names) == 1 else 16
    time = np.arange(0, duration, 0.02)
    how = {"rtol": tolerance, "atol": tolerance / 100}
    path = solve_ivp(rate, (0, duration), start, t_eval=time, **how).y
    data = pd.DataFrame({"t": time} | dict(zip(names, path[: len(names)], strict=True)))
    data[[*names]] = data[[*names]].map(lambda x: float(f"{x:.{digits}g}"))
    law = la.learn(data, time="t", coordinates=names, progress=False)
    assert str(law).splitlines()[0] == "**Law found.**"
    rows = law.terms
    found = rows.term.where(rows.of == "L", "D: " + rows.term)
    for term, value, low, high in zip(
        found, rows.value, rows.low, rows.high, strict=True
    ):
        # Viscous damping stays in every law, with an interval that may hold zero; an
        # integrator loses energy, too, less than its tolerance.
        if term in truth:
            assert abs(value / truth[term] - 1) < max(1e-5, 10.0 ** (1 - digits))
        else:
            assert term.startswith("D: ")
            assert low < 0 < high or abs(value) < tolerance
    assert set(truth) <= set(found)
    percent = law.physical.percent
    assert (percent.isna() | (percent < 51)).all()
