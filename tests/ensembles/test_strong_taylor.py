"""The strong Taylor scheme: order 1.5 on given Wiener paths, exact moments, energy."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from support import roll, system, wiener_increments

from leastaction.ensembles.strong_taylor import NoiseError, integrator, step

ADDITIVE = system("xdot**2/2 - 2*x**2 - 3*x**4", volatility={"x": "1.5"})
POSITION = system("xdot**2/2 - 2*x**2 - x**4/4", volatility={"x": "1 + sin(2*x)"})
VELOCITY = system("xdot**2/2 - 2*x**2", volatility={"x": "0.5 + 0.7*xdot"})
COUPLED = system(
    "adot**2/2 + bdot**2 - a**2 - b**2 - a**2*b**2/2",
    ("a", "b"),
    volatility={"a": "1 + b*adot/4", "b": "cos(a)"},
)
STEEP = system(
    "xdot**2/2 - 2*x**2",
    dissipation="xdot**2/2 + xdot**4/8",
    volatility={"x": "0.5 + 0.9*xdot"},
)
CURVED = system("xdot**2/2 - x**2", volatility={"x": "0.5 + 0.4*sin(2*xdot)"})
CASES = {
    "additive": ADDITIVE,
    "steep in qdot": STEEP,
    "curved in qdot": CURVED,
    "g(q)": POSITION,
    "a + b qdot": VELOCITY,
    "two coupled": COUPLED,
}


def coarsened(normals, dt, ratio):
    """Normals of a step of `ratio` dt on the same Wiener path."""
    dw, dz = wiener_increments(normals, dt)
    steps, wiener = dw.shape
    dw = dw.reshape(-1, ratio, wiener)
    dz = dz.reshape(-1, ratio, wiener)
    left = dt * np.arange(ratio - 1, -1, -1)[:, None]
    big_dw = dw.sum(axis=1)
    big_dz = (dz + left * dw).sum(axis=1)
    big = ratio * dt
    first = big_dw / np.sqrt(big)
    second = np.sqrt(3) * (2 * big_dz / big**1.5 - first)
    return np.stack([first, second])


def test_coarse_increments_are_those_of_a_coarse_step(rng):
    """The reconstruction used below is itself a pair of independent N(0, 1)."""
    coarse = coarsened(rng.standard_normal((2, 80_000, 1)), 0.01, 8)[..., 0]
    np.testing.assert_allclose(np.cov(coarse), np.eye(2), atol=4.5 * np.sqrt(2e-4))


@pytest.mark.parametrize("name", CASES)
def test_strong_order_is_one_and_a_half(name):
    """Root mean square error at t = 1 against a fine grid on the same Wiener paths."""
    truth = CASES[name]
    rng = np.random.default_rng(7)
    run = integrator(truth)
    fine = 1024
    ratios = np.array([16, 32, 64, 128])
    start = np.r_[np.full(truth.dof, 0.5), np.full(truth.dof, 0.2)]
    square = np.zeros((len(ratios), 2 * truth.dof))
    for _ in range(300):
        normals = rng.standard_normal((2, fine, truth.wiener_processes))
        reference = run(start, normals, 1 / fine)[-1]
        for i, ratio in enumerate(ratios):
            coarse = coarsened(normals, 1 / fine, ratio)
            square[i] += (run(start, coarse, ratio / fine)[-1] - reference) ** 2
    error = np.sqrt(square.sum(axis=1))
    order = np.polyfit(np.log(ratios), np.log(error), 1)[0]
    assert order >= 1.35, f"order {order:.2f}, errors {error}"


@pytest.mark.parametrize("name", CASES)
def test_the_mean_of_a_step_is_the_taylor_expansion_by_the_generator(name):
    """E[Y] = x + a dt + ½ L⁰a dt², the second derivatives in L⁰ included."""
    truth = CASES[name]
    dt, w = sp.Symbol("dt", real=True), truth.wiener_processes
    drift = [*truth.qdot, *truth.acceleration]
    spread = truth.diffusion * truth.diffusion.T
    nodes = np.array([-np.sqrt(3), 0.0, np.sqrt(3)])  # Gauss-Hermite, degree 5
    weights = np.array([1.0, 4.0, 1.0]) / 6
    run, start, h = integrator(truth), np.full(2 * truth.dof, 0.4), 0.1
    mean = np.zeros(2 * truth.dof)
    for choice in np.ndindex(*[3] * (2 * w)):
        normals = nodes[list(choice)].reshape(2, 1, w)
        mean += weights[list(choice)].prod() * run(start, normals, h)[-1]
    at = dict(zip(truth.state, start, strict=True)) | {dt: h}
    for k, (x, a) in enumerate(zip(truth.state, drift, strict=True)):
        gradient = sum(
            b * sp.diff(a, y) for b, y in zip(drift, truth.state, strict=True)
        )
        curvature = sum(
            spread[i, j] * sp.diff(a, truth.qdot[i], truth.qdot[j]) / 2
            for i in range(truth.dof)
            for j in range(truth.dof)
        )
        expected = x + a * dt + (gradient + curvature) * dt**2 / 2
        assert mean[k] == pytest.approx(float(expected.subs(at)), abs=1e-12)


@pytest.mark.parametrize("name", ["a + b qdot", "g(q)"])
@pytest.mark.parametrize("calculus", ["ito", "stratonovich"])
def test_the_limit_is_the_solution_in_the_chosen_calculus(name, calculus):
    """On the same paths: Euler–Maruyama solves Itô, Heun solves Stratonovich."""
    x, v = CASES[name].state
    truth = system(
        str(CASES[name].lagrangian),
        volatility={"x": str(CASES[name].volatility[0])},
        calculus=calculus,
    )
    acceleration = sp.lambdify((x, v), CASES[name].acceleration[0], "numpy")
    g = sp.lambdify((x, v), CASES[name].diffusion[0], "numpy")
    paths, steps = 200, 4096
    dt = 1 / steps
    normals = np.random.default_rng(3).standard_normal((paths, 2, steps, 1))
    run = integrator(truth)
    found = np.array([run([0.5, 0.2], n, dt)[-1] for n in normals])
    q, p = np.full(paths, 0.5), np.full(paths, 0.2)
    for k in range(steps):
        dw = np.sqrt(dt) * normals[:, 0, k, 0]
        slope = p, acceleration(q, p)
        noise = g(q, p)
        guess_q, guess_p = q + dt * slope[0], p + dt * slope[1] + noise * dw
        if calculus == "ito":
            q, p = guess_q, guess_p
        else:
            again = guess_p, acceleration(guess_q, guess_p)
            q = q + dt * (slope[0] + again[0]) / 2
            p = p + dt * (slope[1] + again[1]) / 2
            p = p + (noise + g(guess_q, guess_p)) * dw / 2
    error = np.sqrt(np.square(found - np.column_stack([q, p])).mean(axis=0))
    assert (error < 0.03).all()  # the correction, if wrong, moves q̇ by 0.2 and more


def test_moments_of_a_linear_system_are_those_of_the_matrix_exponential():
    """Mean and covariance of the exact Gaussian transition, to second order in dt."""
    k, c, s = 9.0, 0.8, 1.7
    truth = system(
        "xdot**2/2 - k*x**2/2",
        parameters={"k": k, "c": c, "s": s},
        dissipation="c*xdot**2/2",
        volatility={"x": "s"},
    )
    a = np.array([[0.0, 1.0], [-k, -c]])
    noise = np.diag([0.0, s**2])
    block = expm(np.block([[-a, noise], [np.zeros((2, 2)), a.T]]))
    exact_mean = block[2:, 2:].T
    exact_covariance = exact_mean @ block[:2, 2:]
    run = integrator(truth)
    errors = []
    for dt in (0.02, 0.01):

        def one(start, normals, dt=dt):
            return run(np.array(start), np.array(normals).reshape(2, 1, 1), dt)[-1]

        drift = np.column_stack([one(e, [0.0, 0.0]) for e in np.eye(2)])
        kick = np.column_stack([one([0.0, 0.0], n) for n in np.eye(2)])
        mean, covariance = np.eye(2), np.zeros((2, 2))
        for _ in range(round(1 / dt)):
            mean = drift @ mean
            covariance = drift @ covariance @ drift.T + kick @ kick.T
        errors.append(
            [
                np.abs(mean - exact_mean).max() / np.abs(exact_mean).max(),
                np.abs(covariance - exact_covariance).max()
                / np.abs(exact_covariance).max(),
            ]
        )
    coarse, fine = np.array(errors)
    assert (fine < 2e-3).all()
    assert (fine < 0.3 * coarse).all()


def test_mean_energy_grows_by_itos_isometry():
    """E H(T) = H(0) + σ² T / 2m, whatever the potential."""
    truth = system(
        "m*xdot**2/2 - 2*x**2 - 3*x**4",
        parameters={"m": 2.0, "s": 1.5},
        volatility={"x": "s"},
    )
    energy = sp.lambdify(truth.state, truth.evaluated(truth.hamiltonian), "numpy")
    run, rng = integrator(truth), np.random.default_rng(11)
    start = np.array([0.7, 0.0])
    final = np.array(
        [run(start, rng.standard_normal((2, 400, 1)), 5e-3)[-1] for _ in range(3000)]
    )
    gain = energy(*final.T) - energy(*start)
    expected = float(truth.evaluated(truth.energy_growth)) * 2.0
    assert expected == pytest.approx(1.5**2 / (2 * 2.0) * 2.0)
    assert abs(gain.mean() - expected) < 4 * gain.std() / np.sqrt(gain.size)


@pytest.mark.parametrize(
    "truth",
    [
        system("xdot**2/2 - 2*x**2 - 3*x**4"),
        system("xdot**2/2 + 9.81*cos(x)", dissipation="0.3*xdot**2/2"),
        system("xdot**2/2 - x**2", dissipation="abs(xdot)**3/3"),
        system(
            "adot**2 + bdot**2/2 + adot*bdot*cos(a - b) + 20*cos(a) + 10*cos(b)",
            ("a", "b"),
        ),
    ],
    ids=["duffing", "damped pendulum", "quadratic drag", "double pendulum"],
)
def test_without_noise_it_solves_the_ordinary_equation(truth, start=0.6):
    names = truth.state
    right = sp.lambdify(names, list(truth.evaluated(truth.drift)), "numpy")
    initial = np.r_[np.full(truth.dof, start), np.zeros(truth.dof)]
    exact = solve_ivp(
        lambda _, y: right(*y), (0, 1), initial, rtol=1e-10, atol=1e-12
    ).y[:, -1]
    errors = [
        np.abs(roll(truth, initial, np.zeros((2, n, 0)), 1 / n)[-1] - exact).max()
        for n in (500, 1000)
    ]
    assert errors[1] < 1e-4
    assert errors[1] < 0.3 * errors[0]


def test_noise_of_size_zero_changes_nothing(rng):
    quiet = system("xdot**2/2 - x**4", parameters={"s": 0.0}, volatility={"x": "s"})
    still = system("xdot**2/2 - x**4")
    normals = rng.standard_normal((2, 100, 1))
    np.testing.assert_allclose(
        roll(quiet, [1.0, 0.0], normals, 0.01), roll(still, [1.0, 0.0], normals, 0.01)
    )


@pytest.mark.parametrize(
    "states, normals",
    [
        ((2,), (5, 1, 2)),
        ((2,), (2, 5, 0)),
        ((4,), (2, 5, 1)),
        ((2, 3), (2, 5, 1)),
        ((2, 3), (2, 5, 1, 4)),
        ((2,), (2, 5, 1, 1)),
        ((2, 3, 1), (2, 5, 1, 3, 1)),
    ],
)
def test_shapes_that_do_not_fit_are_refused(states, normals):
    with pytest.raises(ValueError, match=r"expected \(2, trajectory\)"):
        integrator(ADDITIVE)(np.zeros(states), np.zeros(normals), 0.1)


DEMANDING = [
    {"a": "1 + bdot", "b": "1"},
    {"a": "bdot", "b": "adot"},
    {"a": "1 + a*b", "b": "adot"},
    [["1", "adot"], ["0", "1"]],
]
COVERED = [
    {"a": "1 + a*b", "b": "cos(a)"},
    {"a": "adot", "b": "1 + a*bdot"},
    [["1", "a"], ["b", "1"]],
    [["1", "2"], ["3", "4"]],
]


def excited(volatility):
    return system("adot**2/2 + bdot**2/2", ("a", "b"), volatility=volatility)


@pytest.mark.parametrize("volatility", DEMANDING, ids=str)
def test_noise_that_needs_levy_areas_is_refused(volatility):
    with pytest.raises(NoiseError, match="additive noise and diagonal noise"):
        integrator(excited(volatility))


@pytest.mark.parametrize("volatility", COVERED, ids=str)
def test_only_that_noise_is_refused(volatility):
    step(excited(volatility))
