"""Average acceleration: exact energy, known period elongation, second order."""

import numpy as np
import pytest
from field_support import cantilever, observe

from leastaction.fields import schemes

OMEGA = np.array([0.5, 3.0, 80.0, 1e4])


def test_without_noise_the_energy_of_every_mode_is_kept():
    step = schemes.newmark_transition(OMEGA, 0.01)
    weight = np.array([OMEGA**2, np.ones(4)])
    rng = np.random.default_rng(0)
    state = rng.standard_normal((2, 4))
    after = np.einsum("ijm,jm->im", step, state)
    np.testing.assert_allclose(
        (weight * after**2).sum(axis=0), (weight * state**2).sum(axis=0)
    )


def test_it_lengthens_periods_as_known():
    step = schemes.newmark_transition(OMEGA, 0.01)
    angle = np.arccos(np.clip(step[0, 0], -1, 1))
    np.testing.assert_allclose(angle, 2 * np.arctan(OMEGA * 0.01 / 2), rtol=1e-6)


def test_noise_enters_by_its_increment_alone():
    omega, step = np.array([2.0]), 1e-4
    exact = schemes.covariance(omega, step)[1, 1, 0]
    root = schemes.newmark_noise(omega, step)[..., 0]
    assert (root @ root.T)[1, 1] == pytest.approx(exact, rel=1e-7)
    assert (root[:, 1] == 0).all()


@pytest.mark.parametrize("method", ["newmark", "leapfrog"])
def test_without_noise_it_converges_to_the_modes_at_second_order(method):
    system = cantilever(nodes=6, sigma=0.0)
    start = {"u": "x**2*(3*length - x)", "u_t": "x**2"}
    duration, errors = 0.4, []
    for steps in (400, 800, 1600):
        paths = [
            observe(
                system,
                name,
                steps=steps,
                time_step=duration / steps,
                start=start,
                trajectories=1,
            )
            for name in (method, "modal")
        ]
        errors.append(
            [
                np.abs(
                    paths[0][name].values[0, 0, -1] - paths[1][name].values[0, 0, -1]
                )
                for name in ("u", "u_t")
            ]
        )
    sizes = np.array([[e.max() for e in pair] for pair in errors])
    rates = np.log2(sizes[:-1] / sizes[1:])
    np.testing.assert_allclose(rates, 2.0, atol=0.15)
