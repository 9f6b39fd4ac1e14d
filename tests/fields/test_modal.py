"""Exact simulation of modes: transition, covariance, energy."""

import numpy as np
import pytest
from field_support import cantilever, observe, string
from scipy.linalg import expm

from leastaction.fields.schemes import covariance, noise, transition


def van_loan(omega, step):
    """Transition and covariance of one mode by matrix exponentials (Van Loan 1978)."""
    drift = np.array([[0.0, 1.0], [-(omega**2), 0.0]])
    block = np.zeros((4, 4))
    block[:2, :2], block[2:, 2:] = -drift, drift.T
    block[1, 3] = 1.0
    big = expm(step * block)
    root = big[2:, 2:].T
    return root, root @ big[:2, 2:]


@pytest.mark.parametrize("angle", [1e-8, 9e-3, 1.1e-2, 0.3, 1.9, 40.0])
def test_one_step_is_that_of_the_matrix_exponential(angle):
    step = 0.02
    omega = np.array([angle / step])
    exact, q = van_loan(omega[0], step)
    np.testing.assert_allclose(transition(omega, step)[..., 0], exact, atol=1e-9)
    scale = np.sqrt(np.outer(np.diag(q), np.diag(q)))
    found = covariance(omega, step)[..., 0]
    np.testing.assert_allclose(found / scale, q / scale, atol=1e-7)
    root = noise(omega, step)[..., 0]
    np.testing.assert_allclose(root @ root.T / scale, q / scale, atol=1e-7)


def test_a_mode_without_stiffness_is_an_integrated_wiener_process():
    h = 0.3
    q = covariance(np.array([0.0]), h)[..., 0]
    np.testing.assert_allclose(q, [[h**3 / 3, h**2 / 2], [h**2 / 2, h]])


def test_two_steps_are_one_of_twice_the_length():
    omega = np.array([0.0, 0.4, 7.0, 300.0])
    for once, twice in [(0.01, 0.02), (0.5, 1.0)]:
        e, q = transition(omega, once), covariance(omega, once)
        composed = np.einsum("ijm,jkm,lkm->ilm", e, q, e) + q
        np.testing.assert_allclose(
            composed, covariance(omega, twice), rtol=1e-9, atol=1e-15
        )
        np.testing.assert_allclose(
            np.einsum("ijm,jkm->ikm", e, e), transition(omega, twice), atol=1e-10
        )


@pytest.mark.parametrize("make", [string, cantilever])
def test_without_noise_a_mode_is_a_cosine_at_any_step(make):
    system = make(sigma=0.0)
    omega, phi = system.modes
    time_step = 0.7  # many periods of the highest modes
    observed = observe(system, "modal", steps=5, time_step=time_step, start=REST)
    u = observed["u"].values[0, 0]
    # The displacement of REST spreads over the modes; each keeps its own frequency.
    start = u[0] @ (system.mass[:, None] * phi)
    for n, time in enumerate(observed["time"].values):
        np.testing.assert_allclose(
            u[n], phi @ (start * np.cos(omega * time)), atol=1e-9
        )


REST = {"u": "x**2*(length - x)**2*(3 + x)", "u_t": 0}


def test_energy_grows_as_ito_s_formula_says():
    system = cantilever(nodes=8, sigma=2.0)
    observed = observe(
        system, "modal", steps=4, time_step=0.25, start=REST, trajectories=4000
    )
    energy = system.energy(observed["u"].values[0], observed["u_t"].values[0])
    gain = energy - energy[:, :1]
    expected = system.energy_growth * observed["time"].values
    error = gain.std(axis=0)[1:] / np.sqrt(4000)
    z = (gain.mean(axis=0)[1:] - expected[1:]) / error
    assert np.abs(z).max() < 4
    assert (expected[1:] / error > 30).all()  # sharp enough to see a factor
