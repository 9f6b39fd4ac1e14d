"""Rows of the scorecard that only fields have."""

import copy

import numpy as np
import pytest
from field_support import model_of
from test_space_time import CONFIG

from leastaction.core.families import system_from_config
from leastaction.fields.time_scheme import EXACT, LEAPFROG
from leastaction_papers.scorecard.panel import Panel
from leastaction_papers.scorecard.scorecard import example_rows


def model(replicates=3, **data):
    system = system_from_config(CONFIG["system"])
    coefficients = {"u_t**2": 0.5, "u_x**2": -4.5, "u_xx**2": 0.0}
    square = np.tile([0.25, 0.0], (replicates, 1, 1))
    of_square = ("replicate", "dof", "volatility_term")
    found = model_of(system, coefficients, 0.5, replicates=replicates)
    return found.assign(
        volatility_support=(of_square, (square != 0).astype("int8")), **data
    ).assign_coords(volatility_term=["1", "u**2"])


def rows(found, targets=None, method="modal"):
    config = copy.deepcopy(CONFIG)
    config["simulate"]["method"] = method
    config["publish"] = {"targets": targets or {}, "rows": ERRORS}
    return example_rows(
        "p", Panel("string", config, {"recommended": found}, {})
    ).set_index("quantity")


ERRORS = [
    {
        "item": "5",
        "quantity": f"relative error of the {what}",
        "unit": "%",
        "printed": 1.0,
        "corrected": 1.0,
        "ours": {"relative_error": what},
        "target": {"maximum": 0.5},
    }
    for what in ("coefficient", "volatility")
]


def schemes(names, rho, used):
    each = "replicate"
    return model(
        scheme=(each, np.array(names, dtype=object)),
        dispersion=(each, np.array(rho)),
        dispersion_std=(each, np.full(3, 1e-3)),
        dispersion_used=(each, np.array(used)),
    )


def test_the_scheme_is_compared_with_the_one_that_simulates():
    found = schemes([LEAPFROG, EXACT, LEAPFROG], [-0.08, 0.5, -0.09], [1, 0, 1])
    result = rows(found, {"time_scheme": 0.5, "dispersion": 0.01}, "leapfrog")
    named = result.loc["time scheme of the data is named: leapfrog"]
    assert (named["ours_median"], named["verdict"]) == (2, "meets")
    (spread,) = result.index[result.index.str.startswith("dispersion of the data")]
    # Of the two replicates whose modes show it.
    assert result.loc[spread, "ours_median"] == pytest.approx(0.005)
    assert result.loc[spread, "verdict"] == "meets"
    exact = rows(found, {"time_scheme": 0.5}, "modal")
    assert exact.loc["time scheme of the data is named: exact", "verdict"] == "misses"


def test_modes_that_are_too_slow_give_no_row_of_dispersion():
    found = rows(schemes([EXACT] * 3, [5.0] * 3, [0] * 3))
    assert not found.index.str.startswith("dispersion of the data").any()


def test_printed_relative_errors_have_rows():
    wrong = model()
    wrong["volatility_estimate"] = 1.01 * wrong["volatility_estimate"]
    found = rows(wrong)
    of_coefficient = found.loc["relative error of the coefficient"]
    assert of_coefficient["ours_median"] == pytest.approx(0.0, abs=1e-9)
    of_volatility = found.loc["relative error of the volatility"]
    assert of_volatility["ours_median"] == pytest.approx(1.0)
    assert (of_coefficient["verdict"], of_volatility["verdict"]) == ("meets", "misses")
