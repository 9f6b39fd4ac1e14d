"""Laws of the matrix of methods: it reads the right rows, and invents none."""

import numpy as np
import pytest
from test_figures import words

from leastaction_papers.scorecard.case import make_row
from leastaction_papers.scorecard.matrix import matrix, method_matrix
from leastaction_papers.scorecard.scorecard import _frame


def row(estimator, quantity, value, unit="1", item="added", **more):
    head = {"paper": "p", "example": "e", "estimator": estimator}
    return make_row(head, item, quantity, unit, (value, np.nan, np.nan), 10, **more)


def named(*estimators):
    entry = {"paper": "p", "example": "e", "system": "A system", "noise_level": 0.02}
    return [entry | {"estimator": e, "method": f"method_{e}"} for e in estimators]


@pytest.fixture
def scores():
    shared = "right structure, sigma = 0.02, shared noise"
    return _frame(
        [
            row("recommended", "exact supports", 18, "of 20"),
            row("recommended", "relative error of the coefficients, rms", 1e-3),
            row("published", shared, 2, "of 10"),
            row("published", "right structure, sigma = 0.2, shared noise", 9, "of 10"),
            row("sindy_pi", shared, 1, "of 10"),
            row("sindy_pi", shared.replace("shared", "independent"), 3, "of 10"),
            row("sindy_pi", "relative error of the lagrangian: x, rms", 0.1),
            row("sindy_pi", "relative error of the noise strength of x: 1, rms", 0.3),
        ]
    )


@pytest.fixture
def compared(scores):
    names = ("recommended", "published", "sindy_pi", "lagrangian_sindy")
    sizes = [{"replicate": 20, "term": 7}] * len(names)
    return matrix(named(*names), sizes, [30.0] * 4, {("p", "e"): scores})


def test_every_estimator_has_a_row_and_only_its_own_numbers(compared):
    by_name = compared.set_index("estimator")
    assert by_name.loc["recommended", "structure"] == pytest.approx(0.9)
    assert by_name.loc["recommended", "coefficient_error"] == 1e-3
    assert by_name.loc["published", "structure"] == pytest.approx(0.2)
    assert by_name.loc["sindy_pi", "structure"] == pytest.approx(0.3)
    assert by_name.loc["sindy_pi", "coefficient_error"] == 0.3
    assert by_name.loc["lagrangian_sindy", ["structure", "rollout_error"]].isna().all()
    assert (by_name["seconds"] == 1.5).all()


def test_the_figure_has_all_systems(compared):
    text = words(method_matrix(compared, {}))
    assert "A system" in text and "SINDy-PI" in text


def test_the_cost_of_a_fit_is_shared_by_replicates_and_cases(scores):
    sizes = [{"replicate": 10, "noise_level": 4, "term": 7}, {"replicate": 2}]
    seconds = [3.0, 7.0]
    found = matrix(named("a", "b"), sizes, seconds, {("p", "e"): scores})
    assert found["seconds"].tolist() == [3.0 / 40, 3.5]
