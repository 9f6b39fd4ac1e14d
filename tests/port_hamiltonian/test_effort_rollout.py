"""Validation of identified efforts, on a short path."""

import numpy as np
import pytest
from port_support import rollout

from leastaction_papers.port_hamiltonian.scores import selected


def test_errors_fall_with_the_training_set():
    found = rollout()
    errors = [selected(found, "effort_rmse", {"size": n})[0] for n in (8, 16)]
    assert errors[1] < errors[0]


def test_recommended_moves_as_the_truth_and_keeps_its_structure():
    found = rollout()
    assert found["failure"].values.tolist() == [["", ""]]
    assert float(found["forward_error"].max()) < 1e-2
    assert selected(found, "asymmetry", {"size": 16})[0] == 0.0
    assert selected(found, "violations", {"scenario": "unseen", "step": 0.0125})[0] == 0
    assert 1.8 < selected(found, "coupled_order", {})[0] < 2.2


def test_what_cannot_be_simulated_states_why():
    found = rollout(estimator="published_high_order")
    assert "algebraic" in str(found["failure"].values[0, 0])
    assert np.isnan(found["forward_error"]).all()
    assert np.isnan(found["coupled_error"]).all()


@pytest.mark.parametrize(
    ("name", "at", "message"),
    [
        ("nothing", {}, "no 'nothing'"),
        ("effort_rmse", {"size": 17}, "no size 17"),
        ("effort_rmse", {"state": "x1"}, "has no state"),
    ],
)
def test_a_number_that_is_not_there_is_named(name, at, message):
    with pytest.raises(ValueError, match=message):
        selected(rollout(), name, at)
