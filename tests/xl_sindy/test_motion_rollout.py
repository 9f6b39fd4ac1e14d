"""Laws of a rollout without noise: a perfect model, and models that are none."""

import numpy as np
import pytest
from stages import simulate
from support import PENDULUM, motion_settings, system

from leastaction.core.contracts import check
from leastaction.core.estimate import LagrangianEstimate, model_dataset, no_volatility
from leastaction.core.library import Library
from leastaction.core.noise_sweep import over_cases
from leastaction_papers.xl_sindy.motion_rollout import validate

LIBRARY = {
    "reference": "thdot**2/2",
    "lagrangian": [
        {"polynomial": {"of": ["th", "thdot"], "degree": 2, "lowest": 1}},
        {"terms": ["cos(th)"]},
    ],
}
SETTINGS = {"lengths": 2, "trajectories": 3, "samples": 401}


@pytest.fixture(scope="module")
def truth():
    return system(PENDULUM, ("th",))


def rollout(truth, coefficients, cases=None):
    simulation = motion_settings()
    key = {"example": "e", "seed": 1}
    data = simulate(truth, simulation, **key, replicate=0, units={"th": "rad"})
    library = Library.from_config(LIBRARY, ("th",))
    values = np.array([coefficients.get(name, 0.0) for name in library.names])

    def identified(case):
        estimate = LagrangianEstimate(
            library.names,
            values,
            np.zeros_like(values),
            library.status,
            list(library.freedom.equivalent),
        )
        return model_dataset(case, estimate, no_volatility(1))

    model = over_cases(identified, data)
    settings = SETTINGS | ({"cases": cases} if cases else {})
    result = validate(truth, model, simulation, settings, LIBRARY, **key)
    return data, check(result, "motion_rollout")


def test_the_truth_as_a_model_makes_no_error(truth):
    data, result = rollout(truth, {"thdot**2": 0.5, "cos(th)": 9.81})
    assert result["q_estimate"].dims[:3] == ("replicate", "noise_mode", "noise_level")
    assert result["q_true"].dims == ("replicate", "trajectory", "time", "dof")
    training = data.sizes["time"]
    assert np.array_equal(result["q_true"][:, :, :training], data["q"][:, :3])
    np.testing.assert_allclose(result["q_estimate"][0, 0, 0], result["q_true"][0])
    assert float(result["acceleration_error"].max()) < 1e-6
    assert float(result["energy_drift"].max()) < 1e-6


def test_any_multiple_of_the_lagrangian_moves_alike(truth):
    _, one = rollout(truth, {"thdot**2": 0.5, "cos(th)": 9.5})
    _, other = rollout(truth, {"thdot**2": -1.0, "cos(th)": -19.0})
    assert np.allclose(one["q_estimate"], other["q_estimate"], atol=1e-9)
    expected = (9.81 - 9.5) / 9.81
    assert float(one["acceleration_error"].max()) == pytest.approx(expected, rel=1e-9)


def test_a_lagrangian_without_kinetic_energy_counts_as_diverged(truth):
    _, result = rollout(truth, {"cos(th)": 1.0}, {"levels": [0.1]})
    assert (result["diverged"] == 3).all()
    assert np.isnan(result["q_estimate"]).all()
    assert list(result["noise_level"].values) == [0.1]
