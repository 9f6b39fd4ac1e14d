"""Rollout of fields: the truth rolls out as itself, errors are those of the model."""

import logging

import numpy as np
import pytest
from field_support import cantilever, model_of, string
from stages import validate

from leastaction.core.contracts import check
from leastaction.core.model import IdentifiedModel

START = {"u": "(1 - cos(2*pi*x/length))/2", "u_t": 0}
BENT = {"u": "x**2*(3*length - x)", "u_t": 0}
LIBRARY = {"reference": "u_t**2/2"}


def roll(system, coefficients, sigma, start=START, duration=1.0, **changes):
    settings = {"lengths": 4, "trajectories": 60, "samples": 81} | changes
    rollout = check(
        validate(
            system,
            model_of(system, coefficients, sigma),
            {"method": "modal", "duration": duration, "initial_state": start},
            settings,
            LIBRARY,
            example="test",
            seed=3,
        ),
        "field_rollout",
    )
    return rollout.isel(replicate=0)


def test_the_true_model_rolls_out_as_the_truth():
    # In the scale of the reference the mass per length 3 becomes 1.
    rollout = roll(cantilever(sigma=2.0), {"u_t**2": 0.5, "u_xx**2": -0.1}, 2.0, BENT)
    for name in ("mean", "std", "hamiltonian", "hamiltonian_of_mean"):
        np.testing.assert_allclose(
            rollout[f"{name}_estimate"], rollout[f"{name}_true"], atol=1e-8
        )
    assert float(rollout["mean_error_prediction"]) < 1e-9
    assert int(rollout["diverged"]) == 0


def test_a_small_error_of_the_coefficient_stays_small():
    rollout = roll(string(nodes=50, length=0.51, sigma=8.0), off(3e-4), 8.0)
    assert 1e-4 < float(rollout["mean_error_training"]) < 0.005
    assert float(rollout["mean_error_training"]) < float(
        rollout["mean_error_prediction"]
    )
    assert float(rollout["mean_error_prediction"]) < 0.02


def off(error):
    return {"u_t**2": 0.5, "u_x**2": -2.0 * (1 + error)}


def test_noise_that_is_too_loud_shows_in_the_scatter():
    rollout = roll(string(sigma=1.0), off(0.0), 1.1)
    assert float(rollout["std_error"]) == pytest.approx(0.1, abs=1e-3)


def test_modes_of_another_shape_get_the_noise_of_the_same_nodes():
    # A foundation changes frequencies; a string under it has the same shapes, but a
    # beam with tension has not.
    nearly = {"u_t**2": 0.5, "u_xx**2": -0.1, "u_x**2": -1e-6}
    rollout = roll(cantilever(sigma=2.0), nearly, 2.0, BENT)
    assert float(rollout["mean_error_prediction"]) < 1e-3
    assert float(rollout["std_error"]) < 1e-3


def test_in_a_short_time_the_noise_of_the_nodes_is_all_that_counts():
    # The same shapes in the opposite order: the stiffest mode is the slowest.
    opposite = {"u_t**2": 0.5, "u**2": -4000.0, "u_x**2": 2.0}
    rest = {"u": 0, "u_t": 0}
    rollout = roll(
        string(), opposite, 1.0, rest, duration=1e-3, lengths=1, trajectories=2
    )
    assert float(rollout["mean_error_training"]) < 0.01


def test_energy_grows_by_ito_s_formula():
    system = string(nodes=12, sigma=3.0)
    rollout = roll(system, off(0.0), 3.0, trajectories=800)
    gain = rollout["hamiltonian_true"] - rollout["hamiltonian_true"][0]
    formula = rollout["hamiltonian_growth"] - rollout["hamiltonian_growth"][0]
    assert float(formula[-1]) == pytest.approx(4 * system.energy_growth)
    np.testing.assert_allclose(gain[20:], formula[20:], rtol=0.1)


@pytest.mark.parametrize(
    "coefficients",
    [
        {"u_t**2": 0.5, "u_x**2": 2.0},
        {"u_t**2": 0.5, "u_x**4": -2.0},
        {"u_t**2": 0.0, "u_x**2": -2.0},
    ],
    ids=["ill-posed", "nonlinear", "without mass"],
)
def test_what_cannot_be_rolled_out_counts_as_diverged(coefficients, caplog):
    with caplog.at_level(logging.WARNING):
        rollout = roll(string(), coefficients, 1.0)
    assert int(rollout["diverged"]) == 60
    assert np.isnan(rollout["mean_estimate"]).all()
    assert np.isfinite(rollout["mean_true"]).all()
    assert "counts as diverged" in caplog.text


def test_a_model_of_a_field_prints_its_equation():
    model = IdentifiedModel(model_of(string(), off(0.0), 1.0).isel(replicate=0))
    assert r"u_{t}^{2}" in model._repr_markdown_()
    shown = str(model)
    assert "u_tt = 1.0*Wdot + 4.0*u_xx" in shown
    empty = {"u_t**2": 0.0, "u_x**2": -2.0}
    nothing = IdentifiedModel(model_of(string(), empty, 1.0).isel(replicate=0))
    assert "No equations of motion" in str(nothing)
