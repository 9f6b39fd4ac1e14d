"""Rollout: on common random numbers, a perfect model makes no error."""

import numpy as np
import pytest
import xarray as xr
from stages import validate
from support import OSCILLATOR_LIBRARY, model_of, observe, oscillator, system

from leastaction.core.contracts import problems
from leastaction_papers.stochastic_lagrangian.rollout import comparison

EXACT = {"xdot**2": 0.5, "x**2": -12.5}
SETTINGS = {"lengths": 3, "trajectories": 20, "samples": 51}


def simulation(truth, **start):
    rest = {str(s): 0.0 for s in truth.state}
    return {
        "method": "strong_taylor",
        "time_step": 1e-3,
        "duration": 1.0,
        "initial_state": {**rest, **start},
    }


def rolled(truth, model, library=OSCILLATOR_LIBRARY, seed=5, settings=None, **start):
    start = start or {"x": 1.0}
    return validate(
        truth,
        model,
        simulation(truth, **start),
        {**SETTINGS, **(settings or {})},
        library,
        example="test",
        seed=seed,
    )


@pytest.fixture(scope="module")
def exact(observations):
    return rolled(oscillator(), model_of(observations, EXACT, [[1.0]]))


def test_it_honours_its_contract(exact):
    assert problems(exact, "rollout") == []
    assert exact.sizes["time"] == 51
    assert exact["time"].values[-1] == pytest.approx(3.0)


def test_the_truth_against_itself_makes_no_error(exact):
    for name in ("mean_error_training", "mean_error_prediction", "std_error"):
        assert exact[name].item() < 1e-10
    assert exact["diverged"].item() == 0
    for name in ("mean", "std", "hamiltonian", "hamiltonian_of_mean"):
        np.testing.assert_allclose(
            exact[f"{name}_estimate"], exact[f"{name}_true"], rtol=1e-9, atol=1e-9
        )


def test_a_wrong_model_makes_an_error_that_grows(observations):
    wrong = rolled(
        oscillator(), model_of(observations, {**EXACT, "x**2": -12.6}, [[1.0]])
    )
    assert wrong["mean_error_training"].item() > 1e-3
    assert wrong["mean_error_training"] < 0.5 * wrong["mean_error_prediction"]


def test_the_error_of_a_mean_that_vanishes_is_one_of_the_spread():
    time, ones = np.linspace(0, 2, 5), np.ones((5, 1))
    energy = {name: time for name in ("hamiltonian", "hamiltonian_of_mean")}
    parts = {
        "growth": 0 * time,
        "diverged": 0,
        "replicate": xr.DataArray([0], dims="replicate"),
    }
    found = comparison(
        {"mean": 0 * ones, "std": 2 * ones, **energy},
        {"mean": 0.1 * ones, "std": 2 * ones, **energy},
        time,
        1.0,
        axis={"state": ["x"]},
        **parts,
    )
    assert found["mean_error_prediction"].item() == pytest.approx(0.05)


def test_wrong_volatility_shows_in_the_standard_deviation_alone(observations):
    """All paths start alike, so the spread of a linear system is linear in σ."""
    wrong = rolled(oscillator(), model_of(observations, EXACT, [[1.1**2]]))
    assert wrong["std_error"].item() == pytest.approx(0.1, rel=1e-6)


def test_a_model_that_diverges_is_counted(observations):
    escaping = {"xdot**2": 0.5, "x**2": -12.5, "x**8": 50.0}
    found = rolled(oscillator(), model_of(observations, escaping, [[1.0]]))
    assert found["diverged"].item() == SETTINGS["trajectories"]
    assert problems(found, "rollout") == []
    assert np.isnan(found["mean_error_prediction"].item())


def test_a_model_without_kinetic_energy_is_counted_as_diverged(observations):
    """A baseline that finds an empty Lagrangian must not stop the others."""
    empty = {"xdot**2": 0.0, "x**2": -12.5}
    found = rolled(oscillator(), model_of(observations, empty, [[1.0]]))
    assert found["diverged"].item() == SETTINGS["trajectories"]


def test_the_energy_of_a_damped_motion_balances(observations):
    """Noise less damping is the energy, but for ∫ q̇ S dW, whose mean is zero."""
    truth = oscillator(dissipation="0.4*xdot**2", volatility="1 + x")
    settings = {"trajectories": 1000, "lengths": 6, "samples": 301}
    found = rolled(truth, model_of(observations, EXACT, [[1.0]]), settings=settings)
    energy = found["hamiltonian_true"].values[0]
    gap = energy - found["hamiltonian_growth"].values[0]
    spread = np.sqrt(2 * np.trapezoid(energy, found["time"].values)) * 2
    assert energy[-1] < 0.2 * energy[0]
    assert np.abs(gap).max() < 4 * spread / np.sqrt(1000)


def test_only_the_diverging_trajectories_are_left_out(observations):
    """An inverted quartic well: some paths escape, the others tell the mean."""
    escaping = {"xdot**2": 0.5, "x**2": -12.5, "x**6": 6.5}
    settings = {"trajectories": 60}
    found = rolled(
        oscillator(),
        model_of(observations, escaping, [[4.0]]),
        settings=settings,
        x=0.5,
    )
    assert 0 < found["diverged"].item() < 60
    assert np.isfinite(found["mean_estimate"]).all()


def test_the_energy_of_the_truth_grows_as_announced(observations):
    found = rolled(
        oscillator(),
        model_of(observations, EXACT, [[1.0]]),
        settings={"trajectories": 1000, "samples": 7},
    )
    assert found["hamiltonian_growth"].values[0, 0] == pytest.approx(12.5)
    assert found["hamiltonian_growth"].values[0, -1] == pytest.approx(12.5 + 1.5)
    gap = (found["hamiltonian_true"] - found["hamiltonian_growth"]).values[0]
    spread = np.sqrt(25.0 * found["time"].values) + 1.0
    assert (np.abs(gap) < 4.5 * spread / np.sqrt(1000)).all()


def test_the_mean_energy_is_not_the_energy_of_the_mean(exact):
    assert (
        exact["hamiltonian_true"][0, -1]
        > exact["hamiltonian_of_mean_true"][0, -1] + 0.2
    )


def test_the_scale_of_the_lagrangian_does_not_matter(observations):
    """m = 2 in the truth, ½ q̇² as reference: energies agree after scaling."""
    truth = system(
        "m*xdot**2/2 - k*x**2/2",
        parameters={"m": 2.0, "k": 50.0, "s": 2.0},
        volatility={"x": "s"},
    )
    found = rolled(truth, model_of(observations, EXACT, [[1.0]]))
    assert found["mean_error_prediction"].item() < 1e-10
    np.testing.assert_allclose(
        found["hamiltonian_estimate"], found["hamiltonian_true"], rtol=1e-9
    )
    assert found["hamiltonian_growth"].values[0, -1] == pytest.approx(12.5 + 1.5)


def test_paths_are_new_for_another_seed_and_replicate(observations, exact):
    model = model_of(observations, EXACT, [[1.0]])
    again = rolled(oscillator(), model)
    np.testing.assert_array_equal(again["mean_true"], exact["mean_true"])
    for other in (
        rolled(oscillator(), model, seed=6),
        rolled(oscillator(), model.assign_coords(replicate=[1])),
    ):
        assert not np.isclose(other["mean_true"], exact["mean_true"])[:, 1:].any()


ROOTS = {
    "second only": {"b": "2"},
    "both, other order": {"b": "2", "a": "1"},
    "negative": {"a": "-1", "b": "2"},
    "shared": [["1"], ["2"]],
    "correlated": [["1", "0"], ["0.6", "0.8"]],
    "three processes": [["1", "0", "1"], ["0", "2", "1"]],
}


@pytest.mark.parametrize("root", ROOTS)
def test_two_degrees_of_freedom_share_their_random_numbers(root):
    """A perfect model makes no error, whichever root of S Sᵀ its noise is."""
    truth = system(
        "adot**2/2 + bdot**2/2 - 2*a**2 - 8*b**2 + a*b",
        ("a", "b"),
        volatility=ROOTS[root],
    )
    kinetic = "adot**2 + bdot**2"
    library = {
        "reference": f"({kinetic})/2",
        "lagrangian": [{"terms": [kinetic, "a**2", "b**2", "a*b"]}],
    }
    s = np.array(truth.volatility, dtype=float)
    model = model_of(
        observe(truth, trajectories=1, steps=3),
        {kinetic: 0.5, "a**2": -2.0, "b**2": -8.0, "a*b": 1.0},
        s @ s.T,
    )
    found = rolled(truth, model, library, a=1.0, b=-1.0)
    assert found["mean_error_prediction"].item() < 1e-10


@pytest.mark.parametrize("truth", ["1 + 2*x", "2*x - 1", "-1 - 0.5*xdot", "xdot"])
@pytest.mark.parametrize("calculus", ["ito", "stratonovich"])
def test_the_sign_of_the_root_is_a_matter_of_convention(observations, truth, calculus):
    """A perfect model with S or −S makes no error."""
    true = oscillator(volatility=truth, calculus=calculus)
    root = {"1 + 2*x": (1, 2, 0), "2*x - 1": (1, -2, 0)}.get(truth, (1, 0, 0.5))
    root = (0, 0, 1) if truth == "xdot" else root
    squares = {"1": 1.0, "x": 1.0, "xdot": 1.0}
    model = model_of(observations, EXACT, [[1.0]], g_square=[squares])
    model["volatility_root_estimate"].values[0, 0] = root
    found = rolled(true, model.assign_attrs(calculus=calculus))
    for name in ("mean_error_training", "mean_error_prediction", "std_error"):
        assert found[name].item() < 1e-9
    unknown = calculus == "stratonovich" and "xdot" in truth
    assert np.isnan(found["hamiltonian_growth"]).all() == unknown
