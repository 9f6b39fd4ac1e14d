"""The stage as a whole: what `identify` writes about each candidate."""

import numpy as np
import pytest
from stages import assemble, differentiate, identify
from support import OSCILLATOR_LIBRARY, example

from leastaction.core.contracts import problems
from leastaction.core.method import steps

RECOMMENDED = {
    "method": "moment_gmm",
    "max_terms": 3,
    "volatility": {"method": "squared_increments", "max_terms": 3},
}
PUBLISHED = {
    "method": "stlsq",
    "threshold": 5.0,
    "volatility": {"method": "mean_square_residual", "threshold": 0.05},
}


@pytest.fixture(scope="module")
def model(observations, moments):
    return identify(observations, moments, RECOMMENDED, OSCILLATOR_LIBRARY)


def test_models_of_both_recipes_honour_the_contract(observations, model):
    assert problems(model, "model") == []
    derivatives = differentiate(
        observations, {"method": "central_difference"}, OSCILLATOR_LIBRARY
    )
    equations = assemble(
        observations,
        derivatives,
        {"method": "ensemble_mean", "remove_null_candidates": False},
        OSCILLATOR_LIBRARY,
    )
    found = identify(observations, equations, PUBLISHED, OSCILLATOR_LIBRARY)
    assert problems(found, "model") == []


def test_every_candidate_is_accounted_for(model):
    assert model.sizes["term"] == 25
    status = model["status"].values
    assert sorted(set(status)) == ["independent", "null", "reference"]
    assert (status == "null").sum() == 6
    coefficient = model["coefficient_estimate"].values[0]
    assert not coefficient[status == "null"].any()
    np.testing.assert_array_equal(
        model["support"].values[0].astype(bool), coefficient != 0
    )
    assert (model["coefficient_std"].values[0][coefficient == 0] == 0).all()
    chosen = (coefficient != 0) & (status == "independent")
    assert (model["coefficient_std"].values[0][chosen] > 0).all()


def test_the_noise_covariance_is_the_squared_volatility(model):
    assert model["noise_covariance"].values.item() == pytest.approx(
        model["volatility_estimate"].values.item() ** 2
    )


def test_settings_of_the_examples_name_methods_that_exist():
    for name in ("harmonic", "duffing", "pendulum"):
        recipe = example(name)["estimators"]["published"]
        assert recipe["differentiate"]["method"] in steps("differentiate")
        assert recipe["assemble"]["method"] in steps("assemble")
        assert recipe["identify"]["method"] in steps("identify")
        volatility = recipe["identify"]["volatility"]["method"]
        assert volatility in steps("volatility")
