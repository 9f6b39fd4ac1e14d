"""Schemes mode by mode: exponentials, Van Loan's covariance, implicit steps, limits."""

import mpmath
import numpy as np
import pytest
from field_support import cantilever, field, observe, string
from scipy.linalg import expm

from leastaction.core.simulation import generator
from leastaction.fields import schemes
from leastaction.fields.schemes import UnstableError, check, covariance

STEP = 0.3
TURNS = np.array([1e-6, 5e-3, 9.9e-3, 1.01e-2, 0.4, 0.9, 2.0, 5.0])  # ω h
OMEGA = TURNS / STEP


def generators(omega):
    """Matrices L of (p, v)' = L (p, v) of each mode."""
    return [np.array([[0.0, 1.0], [-(w**2), 0.0]]) for w in omega]


def test_the_exact_transition_is_the_exponential():
    made = np.moveaxis(schemes.transition(OMEGA, STEP), -1, 0)
    expected = [expm(STEP * matrix) for matrix in generators(OMEGA)]
    np.testing.assert_allclose(made, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        schemes.transition(np.zeros(1), STEP)[..., 0], [[1, STEP], [0, 1]]
    )


def test_the_exact_covariance_is_its_closed_form_in_fifty_digits():
    """However small ω h is, on both sides of where the series takes over."""
    mpmath.mp.dps = 50
    h = mpmath.mpf(STEP)
    for w, made in zip(OMEGA, np.moveaxis(covariance(OMEGA, STEP), -1, 0), strict=True):
        w = mpmath.mpf(w)
        twice = mpmath.sin(2 * w * h) / (4 * w)
        cross = mpmath.sin(w * h) ** 2 / (2 * w**2)
        expected = [[(h / 2 - twice) / w**2, cross], [cross, h / 2 + twice]]
        np.testing.assert_allclose(made, np.array(expected, float), rtol=2e-12)


def test_noises_are_lower_roots_of_the_covariance():
    roots = np.moveaxis(schemes.noise(OMEGA, STEP), -1, 0)
    squares = roots @ roots.swapaxes(1, 2)
    expected = np.moveaxis(covariance(OMEGA, STEP), -1, 0)
    np.testing.assert_allclose(squares, expected, rtol=1e-12)
    assert not roots[:, 0, 1].any() and (roots[:, [0, 1], [0, 1]] > 0).all()


def test_newmark_is_the_trapezoidal_step():
    made = np.moveaxis(schemes.newmark_transition(OMEGA, STEP), -1, 0)
    kicks = np.moveaxis(schemes.newmark_noise(OMEGA, STEP), -1, 0)
    for matrix, step, kick in zip(generators(OMEGA), made, kicks, strict=True):
        left = np.eye(2) - STEP / 2 * matrix
        right = np.eye(2) + STEP / 2 * matrix
        np.testing.assert_allclose(step, np.linalg.solve(left, right), rtol=1e-12)
        pushed = np.linalg.solve(left, [0, np.sqrt(STEP)])
        np.testing.assert_allclose(kick[:, 0], pushed, rtol=1e-12)
        assert not kick[:, 1].any()


HOW = {"steps": 4, "time_step": 0.02, "trajectories": 2}
START = {"u": "sin(pi*x/2/length)**2", "u_t": "x**2"}


def made(system, method):
    """Fields, their velocities, and the generators of their noise."""
    data = observe(system, method, start=START, **HOW)
    key = 5, "test", "simulate", 0
    return (
        data["u"].values[0],
        data["u_t"].values[0],
        [generator(*key, i) for i in (0, 1)],
    )


@pytest.mark.parametrize(
    ("method", "step", "kick"),
    [
        ("modal", schemes.transition, schemes.noise),
        ("newmark", schemes.newmark_transition, schemes.newmark_noise),
    ],
)
def test_paths_of_modes_are_their_recursion(method, step, kick):
    system = cantilever(nodes=5, sigma=0.7)
    u, u_t, randoms = made(system, method)
    omega, phi = system.modes
    step, kick = step(omega, 0.02), 0.7 * np.sqrt(3 * 0.2) * kick(omega, 0.02)
    assert system.modal_sigma == pytest.approx(0.7 * np.sqrt(3 * 0.2))
    x = system.domain.x
    for path, speed, random in zip(u, u_t, randoms, strict=True):
        np.testing.assert_allclose(path[0], np.sin(np.pi * x / 2) ** 2, atol=1e-13)
        np.testing.assert_allclose(speed[0], x**2, atol=1e-13)
        normals = random.standard_normal((4, 5, 2))
        p, v = (np.linalg.solve(phi, one[0]) for one in (path, speed))
        for n in range(4):
            first, second = normals[n].T
            p, v = (
                step[i, 0] * p
                + step[i, 1] * v
                + kick[i, 0] * first
                + kick[i, 1] * second
                for i in range(2)
            )
            np.testing.assert_allclose(path[n + 1], phi @ p, atol=1e-12)
            np.testing.assert_allclose(speed[n + 1], phi @ v, atol=1e-11)


def test_paths_of_leapfrog_are_kicked_and_drift():
    """Also of a density that is not quadratic."""
    system = field(
        "rho*u_t**2/2 - u_xx**2/2 - u**4",
        ("clamped", "free"),
        nodes=5,
        volatility="1.4",
        rho=2.0,
    )
    u, u_t, randoms = made(system, "leapfrog")
    h, sigma = 0.02, 0.7 * np.array([1, 1, 1, 1, np.sqrt(2)])
    mass = 2 * 0.2 * np.array([1, 1, 1, 1, 0.5])
    force = system.discrete_potential.force
    for path, speed, random in zip(u, u_t, randoms, strict=True):
        shocks = np.sqrt(h) * sigma * random.standard_normal((4, 5))
        for n in range(4):
            middle = speed[n] + h / 2 * force(path[n]) / mass + shocks[n]
            np.testing.assert_allclose(path[n + 1], path[n] + h * middle, rtol=1e-12)
            after = middle + h / 2 * force(path[n + 1]) / mass
            np.testing.assert_allclose(speed[n + 1], after, rtol=1e-10, atol=1e-12)


def starts(*heights):
    """Fields of 12 nodes of these heights, (trajectory, 2, node)."""
    wave = np.sin(np.pi * np.arange(1, 13) / 13)
    return np.array([[h * wave, 0 * wave] for h in heights])


def test_leapfrog_is_stable_below_two_over_the_highest_frequency():
    """ω = 2 c/dx sin(π n/(2 (n + 1))) of a string between fixed ends."""
    highest = 2 * 3 * 13 * np.sin(np.pi * 12 / 26)
    system = string(nodes=12, c=3.0)
    check("leapfrog", system, starts(1.0), 2 / highest * (1 - 1e-9))
    with pytest.raises(UnstableError, match=f"frequency is {highest:.5g} rad/s") as e:
        check("leapfrog", system, starts(1.0), 2 / highest * (1 + 1e-9))
    assert f"must be below {2 / highest:.4g} s" in str(e.value)
    heavy = field("5*u_t**2/2 - 45*u_x**2/2", ("fixed", "fixed"), nodes=12)
    check("leapfrog", heavy, starts(1.0), 2 / highest * (1 - 1e-9))


def test_of_a_nonlinear_field_the_steepest_start_counts():
    system = field("u_t**2/2 - u_x**2/2 - u_x**4", ("fixed", "fixed"), nodes=12)
    check("leapfrog", system, starts(0.0, 0.1), 0.055)
    for heights in ((0.0, 1.0), (1.0, 0.0)):
        with pytest.raises(UnstableError):
            check("leapfrog", system, starts(*heights), 0.055)
    check(
        "leapfrog",
        field("u_t**2/2 + u**4", ("free", "free")),
        starts(0)[..., :1].repeat(20, 2),
        1e9,
    )


def test_schemes_refuse_what_they_cannot_simulate():
    ring = field("u_t**2/2 - u_x**2/2", ("periodic", "periodic"), nodes=12)
    with pytest.raises(ValueError, match="modal has no periodic line; use .* spectral"):
        check("modal", ring, starts(1.0), 0.01)
    bent = field("u_t**2/2 - u_x**2/2 - u**4", ("fixed", "fixed"), nodes=12)
    for method in ("modal", "newmark"):
        with pytest.raises(ValueError, match="not quadratic"):
            check(method, bent, starts(1.0), 0.01)
    check("leapfrog", bent, starts(1.0), 0.01)
    check("modal", string(nodes=12), starts(1.0), 1e3)
