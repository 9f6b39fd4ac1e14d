"""Laws of the comparison of stationary densities."""

import numpy as np
import pytest
from density_support import LIBRARY, exact, identified, oscillator, simulation
from stages import validate

from leastaction.core.contracts import check

SETTINGS = {"lengths": 1, "trajectories": 8}


def rolled_out(system, model, **changes):
    run = simulation(**changes)
    return validate(system, model, run, SETTINGS, {}, example="t", seed=1)


@pytest.fixture(scope="module")
def rollout():
    return rolled_out(oscillator(), identified(exact(), "recommended"))


@pytest.fixture(scope="module")
def wrong():
    """The model of another damping."""
    return rolled_out(oscillator(c=1.0), identified(exact(), "recommended"))


def test_truth_and_its_own_model_have_one_density(rollout):
    """On the same random numbers; the model is that of the exact density."""
    check(rollout, "density_rollout")
    assert float(rollout["total_variation"][0, 0]) < 0.01
    mass = float(rollout["density_true"].sum()) * 0.16**2
    assert mass == pytest.approx(1, abs=1e-3)


def test_a_wrong_model_is_distinguished_from_the_truth(wrong):
    assert float(wrong["total_variation"][0, 0]) > 0.1


def test_what_lies_outside_the_cells_counts():
    """Gaussians of standard deviations 5 and 1 in the plane, two thirds outside."""
    truth = oscillator(c=0.02)
    far = rolled_out(truth, identified(exact(), "recommended"), burn_in=200.0)
    square = 2 * 25 / 24 * np.log(25)  # of the circle on which both are equal
    distance = np.exp(-square / 50) - np.exp(-square / 2)
    assert float(far["total_variation"][0, 0]) == pytest.approx(distance, abs=0.08)


def test_what_is_not_identified_is_not_rolled_out(caplog):
    unknown = {**LIBRARY, "known": {"lagrangian": {"-x**2/2": 1.0}}}
    found = rolled_out(oscillator(), identified(exact(), "recommended", unknown))
    check(found, "density_rollout")
    assert np.isnan(found["total_variation"]).all()
    assert np.isfinite(found["density_true"]).all()
    assert "has no density of the model" in caplog.text
