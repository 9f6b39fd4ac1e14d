"""Methods of fields: what they do where a setting is not named, and their bounds."""

import pytest
from sections import accepts, defaults

from leastaction.fields.recipes import (
    FieldName,
    FieldSection,
    Interval,
    Leapfrog,
    Modal,
    ModalGmm,
    ModalLongRunVariance,
    ModalMoments,
    ModalProjection,
    Newmark,
    Spectral,
    kind_of_data,
)

NOISE = {"modes": ["independent"], "levels": [0.0], "channels": ["q", "qdot", "qddot"]}
OF_VOLATILITY = {"max_terms": 3, "decimate": 20}
DEFAULTS = {
    FieldName: {"label": ""},
    FieldSection: {"volatility": "0"},
    **dict.fromkeys((Modal, Leapfrog, Newmark), {"replicates": 20}),
    Spectral: {
        **{"integration_step": 0.02, "refinement": 2},
        **{"noise": NOISE, "replicates": 20},
    },
    ModalProjection: {"resolved": 0.1, "dispersive": 0.3},
    ModalMoments: {"decimate": 10},
    ModalLongRunVariance: OF_VOLATILITY,
    ModalGmm: {
        **{"max_terms": 3, "dispersion_error": 0.05},
        "volatility": {"method": "modal_long_run_variance"} | OF_VOLATILITY,
    },
}


@pytest.mark.parametrize("kind", DEFAULTS)
def test_settings_that_are_not_named_have_the_documented_values(kind):
    assert defaults(kind) == DEFAULTS[kind]


@pytest.mark.parametrize(
    ("kind", "name", "accepted", "refused"),
    [
        (Interval, "length", [0.1], [0.0]),
        (Interval, "nodes", [4], [3]),
        (Interval, "left", ["periodic"], ["open"]),
        (Spectral, "integration_step", [1e-9], [0.0]),
        (Spectral, "refinement", [1], [0]),
        (ModalProjection, "resolved", [1e-9, 0.5], [0.0, 0.51]),
        (ModalProjection, "dispersive", [1e-9, 1.0], [0.0, 1.01]),
        (ModalMoments, "decimate", [1], [0]),
        (ModalLongRunVariance, "max_terms", [1, 6], [0, 7]),
        (ModalLongRunVariance, "decimate", [1], [0]),
        (ModalGmm, "max_terms", [1, 8], [0, 9]),
        (ModalGmm, "dispersion_error", [1e-9], [0.0]),
    ],
)
def test_a_setting_has_bounds(kind, name, accepted, refused):
    assert all(accepts(kind, name, value) for value in accepted)
    assert not any(accepts(kind, name, value) for value in refused)


def test_a_field_is_what_the_system_names():
    assert kind_of_data({"system": {"field": {}}}) == "field"
    assert kind_of_data({"system": {"coordinates": {}}}) is None
    assert kind_of_data({}) is None
