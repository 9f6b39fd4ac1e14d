"""Implicit equations: any form of the true one counts, and nothing else."""

import copy

import numpy as np
import pytest
import xarray as xr
from synthetic_sweep import PENDULUM

from leastaction_papers.scorecard.recovery import recovery
from leastaction_papers.scorecard.scores import truth_of

TERMS = ["thddot", "sin(th)", "cos(th)", "thddot*cos(th)", "sin(th)*cos(th)"]
CONFIG = copy.deepcopy(PENDULUM)
CONFIG["library"]["implicit"] = {"th": [{"terms": TERMS}]}


def model(*coefficients):
    """One replicate per row of coefficients, one mode, one level."""
    c = np.array(coefficients, dtype=float)[:, None, None, None, :]
    dims = ("replicate", "noise_mode", "noise_level", "dof", "implicit_term")
    return xr.Dataset(
        {
            "coefficient_estimate": (dims, c),
            "support": (dims, (c != 0).astype("int8")),
        },
        coords={
            "replicate": range(len(c)),
            "noise_mode": ["independent"],
            "noise_level": [0.1],
            "dof": ["th"],
            "implicit_term": TERMS,
        },
        attrs={"contract": "implicit_model"},
    )


def compared(*coefficients):
    found = recovery(model(*coefficients), CONFIG, truth_of(CONFIG))
    return found["exact"].values.ravel(), found["worst_error"].values.ravel()


def test_every_form_of_the_equation_of_motion_is_right():
    exact, error = compared(
        [1, 9.81, 0, 0, 0], [-2, -19.62, 0, 0, 0], [0, 0, 0, 1, 9.81]
    )
    assert exact.all()
    np.testing.assert_allclose(error, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    "wrong",
    [
        [1, 9.81, 0.1, 0, 0],
        [1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
        [1, 9.81, 0, 1, 9.81],
        [0, 0, 0, 0, 1],
    ],
)
def test_a_term_too_many_or_too_few_is_wrong(wrong):
    exact, error = compared(wrong)
    assert not exact.any()
    assert np.isinf(error).all()


def test_the_error_is_that_of_the_ratio():
    exact, error = compared([3, 3 * 9.81 * 1.1, 0, 0, 0])
    assert exact.all()
    assert 0.04 < error[0] < 0.06


def test_the_order_of_the_candidates_does_not_matter():
    one = model([1, 9.81, 0, 0, 0])
    turned = one.isel(implicit_term=[4, 1, 3, 0, 2])
    truth = truth_of(CONFIG)
    xr.testing.assert_equal(
        recovery(one, CONFIG, truth), recovery(turned, CONFIG, truth)
    )
