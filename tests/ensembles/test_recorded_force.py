"""A recorded force beside a random one gives the law its scale."""

import numpy as np
from test_innovations import model_of, shaken

import leastaction as la
from leastaction.ensembles.innovations_estimate import in_units_of_input
from leastaction.ensembles.innovations_likelihood import Fit
from leastaction.ensembles.state_space import Structure


def test_masses_in_the_unit_of_the_force():
    rng = np.random.default_rng(0)
    mass, stiffness, loss, strength, dt, fine = 2.0, 8.0, 0.4, 0.6, 0.05, 10
    h, push = dt / fine, np.zeros(8000)
    for k in range(2, len(push)):
        push[k] = 1.6 * push[k - 1] - 0.8 * push[k - 2] + 0.3 * rng.standard_normal()
    x = v = 0.0
    path = []
    for k, kicks in enumerate(rng.standard_normal((len(push) - 1, fine))):
        path.append(x)
        for j, kick in enumerate(kicks * np.sqrt(h)):
            force = push[k] + (push[k + 1] - push[k]) * (j + 0.5) / fine
            middle = x + h * v / 2
            v += (h * (force - stiffness * middle - loss * v) + strength * kick) / mass
            x = middle + h * v / 2
    y = np.array(path) + 0.01 * rng.standard_normal(len(path))
    law = la.learn(
        {"x": y, "f": push[:-1]},
        time=dt,
        coordinates={"x": "m"},
        inputs={"x": "f [N]"},
        excitation="random",
        library={"lagrangian": ["xdot**2", "x**2"], "dissipation": ["xdot**2"]},
        progress=False,
    )
    truth = {
        ("L", "xdot**2"): mass / 2,
        ("L", "x**2"): -stiffness / 2,
        ("D", "xdot**2"): loss / 2,
        ("S", "x"): strength,
    }
    found = {(kind, name): (value, error) for kind, name, value, error in law.terms()}
    assert set(found) == set(truth)
    for key, value in truth.items():
        estimate, error = found[key]
        assert abs(estimate - value) < 4 * error < abs(value)
    assert "recorded input gives the scale" in str(law)


def test_a_noise_that_is_not_resolved_leaves_other_errors_finite():
    """Gain 2: coefficients are halved; the noise has no error, all others have one."""
    axes = np.eye(5)[:, [0, 1, 2, 4]]
    theta, information = np.array([-0.5, 0.1, 0.8, -9.0, 2.0]), 1e4 * np.eye(4)
    shape = Structure((2, 5), driven=True)
    fit = Fit(shape, theta, 0.0, axes, np.zeros(4), information, True)
    model = model_of(shaken(samples=200))
    names = [f"L: {t}" for t in model.library.names]
    names += [f"D: {t}" for t in model.library.dissipation_names]
    labels, found, covariance = in_units_of_input(model, fit, names)
    assert labels == ["L: x**2", "D: xdot**2", "S: x x", "log noise: x", "L: xdot**2"]
    np.testing.assert_allclose(found, [-0.25, 0.05, 0.4, -9.0, 0.25])
    assert np.isinf(covariance[3, 3])
    others = np.delete(np.delete(covariance, 3, 0), 3, 1)
    assert np.isfinite(others).all()
    np.testing.assert_allclose(others[0, 0], 0.005**2 + (0.01 * 0.125) ** 2)
