"""Central differences of ensemble means, and what differences do to noise."""

import numpy as np
import pytest
from stages import differentiate
from support import OSCILLATOR_LIBRARY, observe, oscillator

from leastaction.core.contracts import problems
from leastaction.core.library import Library
from leastaction.ensembles.squared_increments import Residual

K = 25.0
LIBRARY = {
    "reference": "xdot**2/2",
    "lagrangian": [{"terms": ["xdot**2", "x**2", "x**4", "x*xdot**2"]}],
}


def central(paths):
    found = differentiate(paths, {"method": "central_difference"}, LIBRARY)
    assert problems(found, "ensemble_derivatives") == []
    return found


def test_derivatives_of_a_known_motion():
    """For x = cos 5t: d/dt ∂D/∂q̇ and ∂D/∂q of each candidate, to second order."""
    errors = []
    for dt in (4e-3, 2e-3):
        steps = round(1 / dt)
        found = central(
            observe(oscillator(sigma=0.0), trajectories=1, steps=steps, time_step=dt)
        )
        t = found["time"].values
        x, v, a = np.cos(5 * t), -5 * np.sin(5 * t), -25 * np.cos(5 * t)
        zero = np.zeros_like(t)
        rate = np.array([2 * a, zero, zero, 2 * v * v + 2 * x * a])
        force = np.array([zero, 2 * x, 4 * x**3, v**2])
        errors.append(
            [
                np.abs(found["momentum_rate"].values[0, 0].T - rate).max(),
                np.abs(found["generalised_force"].values[0, 0].T - force).max(),
            ]
        )
    assert np.allclose(t[[0, -1]], [2e-3, 1 - 2e-3])
    coarse, fine = np.array(errors)
    assert (fine < 0.05).all()
    assert (fine < 0.3 * coarse).all()


def test_the_mean_is_taken_over_trajectories():
    paths = observe(oscillator(), trajectories=3, steps=50)
    whole = central(paths)
    single = [central(paths.isel(trajectory=slice(i, i + 1))) for i in range(3)]
    for name in ("momentum_rate", "generalised_force"):
        mean = np.mean([one[name].values for one in single], axis=0)
        np.testing.assert_allclose(whole[name].values, mean, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("stencil", "factor"),
    [
        ("forward difference of the velocity", 1.0),
        ("central difference of the velocity", 1 / 2),
        ("second difference of the coordinate", 2 / 3),
        ("central difference of the central difference", 1 / 3),
    ],
)
def test_what_a_difference_leaves_of_the_noise(stencil, factor, observations):
    """Mean square of the residual acceleration times dt, in units of σ²."""
    dt = 1e-3
    q = observations["q"].values[0, :, :, 0]
    v = observations["qdot"].values[0, :, :, 0]
    if stencil.startswith("forward"):
        residual = np.diff(v) / dt + K * q[:, :-1]
    elif stencil.startswith("central difference of the velocity"):
        residual = (v[:, 2:] - v[:, :-2]) / (2 * dt) + K * q[:, 1:-1]
    elif stencil.startswith("second"):
        residual = (q[:, 2:] - 2 * q[:, 1:-1] + q[:, :-2]) / dt**2 + K * q[:, 1:-1]
    else:
        rate = (q[:, 2:] - q[:, :-2]) / (2 * dt)
        residual = (rate[:, 2:] - rate[:, :-2]) / (2 * dt) + K * q[:, 2:-2]
    found = dt * np.square(residual).mean()
    assert abs(found / factor - 1) < 4.5 * np.sqrt(8 / residual.size)


@pytest.mark.parametrize("sigma", [0.1, 2.0])
def test_the_residual_by_central_differences_holds_half_the_noise(sigma):
    """The same through the package: ½ σ² centrally, σ² by increments."""
    paths = observe(oscillator(sigma=sigma), trajectories=10, steps=2000)
    residual = Residual(OSCILLATOR_LIBRARY, ["x"])
    c = np.zeros(25)
    names = Library.from_config(OSCILLATOR_LIBRARY, ["x"]).names
    c[names.index("x**2")], c[names.index("xdot**2")] = -K / 2, 0.5
    dt = 1e-3
    central_square, forward_square = [], []
    for q, v in zip(paths["q"].values[0], paths["qdot"].values[0], strict=True):
        central_square.append(np.square(residual.central(q, v, dt, c)[0]) * dt)
        forward_square.append(np.square(residual.increments(q, v, dt, c)) / dt)
    error = 4.5 * np.sqrt(4 / 20_000)
    assert np.mean(central_square) / sigma**2 == pytest.approx(0.5, rel=error)
    assert np.mean(forward_square) / sigma**2 == pytest.approx(1.0, rel=error)
