"""A recorded force beside a random one gives the law its scale."""

import numpy as np
import pytest
from test_innovations import model_of, shaken

import leastaction as la
from leastaction.ensembles.innovations_estimate import (
    in_units_of_input,
    parameter_names,
)
from leastaction.ensembles.innovations_likelihood import Fit
from leastaction.ensembles.state_space import Structure

MASS, STIFFNESS, LOSS, STRENGTH, STEP, FINE = 2.0, 8.0, 0.4, 0.6, 0.05, 10


@pytest.fixture(scope="module")
def motion():
    """Displacements under a recorded force and a random one, and the former."""
    rng = np.random.default_rng(0)
    h, push = STEP / FINE, np.zeros(8000)
    for k in range(2, len(push)):
        push[k] = 1.6 * push[k - 1] - 0.8 * push[k - 2] + 0.3 * rng.standard_normal()
    x = v = 0.0
    path = []
    for k, kicks in enumerate(rng.standard_normal((len(push) - 1, FINE))):
        path.append(x)
        for j, kick in enumerate(kicks * np.sqrt(h)):
            force = push[k] + (push[k + 1] - push[k]) * (j + 0.5) / FINE
            middle = x + h * v / 2
            v += (h * (force - STIFFNESS * middle - LOSS * v) + STRENGTH * kick) / MASS
            x = middle + h * v / 2
    return np.array(path) + 0.01 * rng.standard_normal(len(path)), push[:-1]


def law_of(y, force, said, **library):
    return la.learn(
        {"x": y, "f": force},
        time=STEP,
        coordinates={"x": "m"},
        inputs={"x": {"column": "f"} | said},
        excitation="random",
        library={"lagrangian": ["xdot**2", "x**2"], "dissipation": ["xdot**2"]}
        | library,
        progress=False,
    )


def numbers(law, what):
    """An estimate of what lies between record and force, and its standard error."""
    return tuple(law.dataset[f"input_{what}_{of}"].item() for of in ("estimate", "std"))


def assert_true(law):
    truth = {
        ("L", "xdot**2"): MASS / 2,
        ("L", "x**2"): -STIFFNESS / 2,
        ("D", "xdot**2"): LOSS / 2,
        ("S", "x"): STRENGTH,
    }
    found = {(row.of, row.term): (row.value, row.std) for row in law.terms.itertuples()}
    assert set(found) == set(truth)
    for key, value in truth.items():
        estimate, error = found[key]
        assert abs(estimate - value) <= 4 * error < abs(value)


@pytest.mark.parametrize("lag", ["unknown", -2 * STEP])
def test_masses_in_the_unit_of_the_force(motion, lag):
    """Which is recorded late by two rows; its lag is as much less than zero."""
    y, force = motion
    law = law_of(y, np.roll(force, 2), {"unit": "N", "lag": lag})
    assert_true(law)
    assert "recorded input sets the scale" in str(law)
    found, error = numbers(law, "lag")
    if lag == "unknown":
        assert abs(found + 2 * STEP) < 4 * error < STEP
        assert "the input of x acts" in str(law)
    else:
        assert found == error == 0


def test_a_gain_that_is_unknown_leaves_the_scale_to_what_is_known(motion):
    y, force = motion
    law = law_of(
        y, force / 3, {"unit": "V", "gain": "unknown"}, reference=f"{MASS / 2}*xdot**2"
    )
    assert_true(law)
    assert tuple(law.terms.loc[0, ["value", "std"]]) == (MASS / 2, 0.0)
    assert "scale of L follows from what is known" in str(law)
    gain, error = numbers(law, "gain")
    assert abs(gain - 3) < 4 * error < 1
    assert "the gain (SI units) of the input of x is" in str(law)
    assert numbers(law, "lag") == (0.0, 0.0)


def test_a_noise_that_is_not_resolved_leaves_other_errors_finite():
    """Gain 2: coefficients are halved; the noise has no error, all others have one."""
    axes = np.eye(5)[:, [0, 1, 2, 4]]
    theta, information = np.array([-0.5, 0.1, 0.8, -9.0, 2.0]), 1e4 * np.eye(4)
    shape = Structure((2, 5), driven=True)
    fit = Fit(shape, theta, 0.0, axes, np.zeros(4), information, True)
    model = model_of(shaken(samples=200))
    names = [f"L: {t}" for t in model.library.names]
    names += [f"D: {t}" for t in model.library.dissipation_names]
    every = parameter_names(model, shape, names), theta, fit.covariance
    labels, found, covariance = in_units_of_input(model, *every, names)
    assert labels == ["L: x**2", "D: xdot**2", "S: x x", "log noise: x", "L: xdot**2"]
    np.testing.assert_allclose(found, [-0.25, 0.05, 0.4, -9.0, 0.25])
    assert np.isinf(covariance[3, 3])
    others = np.delete(np.delete(covariance, 3, 0), 3, 1)
    assert np.isfinite(others).all()
    np.testing.assert_allclose(others[0, 0], 0.005**2 + (0.01 * 0.125) ** 2)
