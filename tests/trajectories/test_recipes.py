"""Methods of motions: what they do where a setting is not named, and their bounds."""

import pytest
from motions import SPLINE
from sections import accepts, defaults

from leastaction.trajectories.recipes import (
    Gram,
    JointSpline,
    Measured,
    NullVector,
    RungeKutta,
    kind_of_data,
)

NOISE = {"modes": ["independent"], "levels": [0.0], "channels": ["q", "qdot", "qddot"]}
DEFAULTS = {
    RungeKutta: {
        **{"integration_step": 0.001, "input": {}, "motions": None},
        **{"noise": NOISE, "replicates": 20},
    },
    JointSpline: SPLINE | {"cases": None},
    Measured: {"cases": None},
    Gram: {"samples": 1000},
    NullVector: {"largest": 9, "ranked": 40, "halving": 2.0},
}


@pytest.mark.parametrize("kind", DEFAULTS)
def test_settings_that_are_not_named_have_the_documented_values(kind):
    assert defaults(kind) == DEFAULTS[kind]


@pytest.mark.parametrize(
    ("kind", "name", "accepted", "refused"),
    [
        (RungeKutta, "integration_step", [1e-9], [0.0, -1.0]),
        (JointSpline, "knot_spacing", [1], [0, 1.5]),
        (JointSpline, "knot_spacing_positions", [2], [1]),
        (JointSpline, "inflation", [1, 1.0], [0.99]),
        (JointSpline, "trim", [0], [-1]),
        (JointSpline, "trim_positions", [0], [-1]),
        (Gram, "samples", [1, "all"], [0, "some"]),
        (NullVector, "largest", [1, 20], [0, 21]),
        (NullVector, "ranked", [1], [0]),
        (NullVector, "halving", [1.01], [1.0, 0.5]),
    ],
)
def test_a_setting_has_bounds(kind, name, accepted, refused):
    assert all(accepts(kind, name, value) for value in accepted)
    assert not any(accepts(kind, name, value) for value in refused)


@pytest.mark.parametrize(
    ("example", "kind"),
    [
        ({"simulate": {"method": "runge_kutta"}, "library": {}}, "motions"),
        ({"simulate": {"method": "runge_kutta"}}, None),
        ({"simulate": {"method": "spectral"}, "library": {}}, None),
        ({"simulate": None, "library": {}}, None),
    ],
)
def test_motions_have_candidates_and_no_random_force(example, kind):
    assert kind_of_data(example) == kind


def test_what_motions_are_integrated_and_searched_with():
    assert RungeKutta.fills_boxes
    assert NullVector.returns_to_samples and NullVector.knows_input
