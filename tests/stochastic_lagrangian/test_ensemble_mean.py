"""The ensemble-mean library of the paper."""

import numpy as np
import pytest
from stages import assemble, differentiate
from support import OSCILLATOR_LIBRARY

from leastaction.core.contracts import problems


@pytest.fixture(scope="module")
def derivatives(observations):
    return differentiate(
        observations, {"method": "central_difference"}, OSCILLATOR_LIBRARY
    )


def assembled(observations, derivatives, remove):
    settings = {"method": "ensemble_mean", "remove_null_candidates": remove}
    found = assemble(observations, derivatives, settings, OSCILLATOR_LIBRARY)
    assert problems(found, "regression") == []
    return found


def test_columns_are_momentum_rate_minus_force(observations, derivatives):
    found = assembled(observations, derivatives, remove=False)
    column = derivatives["momentum_rate"] - derivatives["generalised_force"]
    used = found["used"].values.astype(bool)
    np.testing.assert_array_equal(
        found["theta"].values[0, 0][:, used], column.values[0, 0][:, used]
    )
    reference = list(found["term"].values).index("xdot**2")
    np.testing.assert_array_equal(
        found["target"].values[0, 0], -column.values[0, 0, :, reference]
    )


@pytest.mark.parametrize(("remove", "columns"), [(False, 24), (True, 18)])
def test_null_candidates_enter_only_on_request(
    observations, derivatives, remove, columns
):
    """Six of the 25 are null and one is the reference."""
    found = assembled(observations, derivatives, remove)
    used = found["used"].values.astype(bool)
    assert used.sum() == columns
    assert not found["theta"].values[..., ~used].any()
    if remove:
        assert set(found["status"].values[used]) == {"independent"}


def test_null_candidates_are_nearly_zero_columns(observations, derivatives):
    """They are not exactly zero: that is why algebra has to find them."""
    found = assembled(observations, derivatives, remove=False)
    null = found["status"].values == "null"
    norm = np.linalg.norm(found["theta"].values[0, 0], axis=0)
    target = np.linalg.norm(found["target"].values[0])
    assert (norm[null] < 0.2 * target).all()
    assert norm[null].max() > 0
