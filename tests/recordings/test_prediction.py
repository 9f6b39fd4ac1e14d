"""The figure of a prediction: units, and where an initial state was fitted."""

import numpy as np
import pytest
import xarray as xr

from leastaction.core.settings import Style
from leastaction.figures.panel import MAIN, Panel
from leastaction.recordings.figures.prediction import prediction


def drawn(unit: str, start: float):
    """Figure of one run of one channel."""
    time = np.linspace(0, 1, 11)
    paths = {n: (("replicate", "row", "dof"), np.ones((1, 11, 1))) for n in PATHS}
    rollout = xr.Dataset(
        {
            **paths,
            "path_time": ("row", time),
            "path_trajectory": ("row", np.zeros(11, int)),
            "rms_error": (("replicate", "trajectory", "dof"), [[[0.25]]]),
            "half_range": (("trajectory", "dof"), [[2.0]]),
        },
        {
            "dof": ["x"],
            "coordinate_shown_unit": ("dof", [unit]),
            "coordinate_shown_factor": ("dof", [1.0]),
            "label": ("trajectory", ["first"]),
        },
        {"start": start},
    )
    return prediction([Panel("rig", {}, {}, {MAIN: rollout})], Style().plain())


PATHS = "q_measured", "q_estimate", "q_band"


@pytest.mark.parametrize(
    ("unit", "label", "rms"), [("mm", " (mm)", "0.5 mm,"), ("1", "", "0.5,")]
)
def test_a_number_without_a_unit_has_none_beside_it(unit, label, rms):
    left, right = drawn(unit, 0.0).axes
    assert (left.get_ylabel(), right.get_ylabel()) == (f"x{label}", f"error{label}")
    assert f"rms error {rms} 25 %" in left.get_title()


@pytest.mark.parametrize("start", [0.0, 0.25])
def test_the_key_has_the_fitted_start_where_one_is_drawn(start):
    (legend,) = drawn("m", start).legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert ("initial state fitted here" in texts) == (start > 0)
