"""Laws of comparing Lagrangians: scale, gauge and identities change nothing."""

import numpy as np
import pytest

from leastaction.core.library import Library, canonical, compare

SPHERICAL = {
    "reference": "thdot**2/2",
    "lagrangian": [
        {"polynomial": {"of": ["thdot", "phidot"], "degree": 2, "lowest": 1}},
        {"polynomial": {"of": ["sin(th)", "cos(th)"], "degree": 2, "lowest": 1}},
        {
            "product": [
                {"polynomial": {"of": ["thdot", "phidot"], "degree": 2, "lowest": 1}},
                {
                    "polynomial": {
                        "of": ["sin(th)", "cos(th)"],
                        "degree": 2,
                        "lowest": 1,
                    }
                },
            ]
        },
    ],
}


@pytest.fixture
def library():
    return Library.from_config(SPHERICAL, ["th", "phi"])


def coefficients(library, **terms):
    names = library.names
    vector = np.zeros(len(names))
    for text, value in terms.items():
        vector[names.index(text)] = value
    return vector


TRUTH = {"thdot**2": 0.5, "phidot**2*sin(th)**2": 0.5, "cos(th)": 9.81}


def test_itself(library):
    truth = coefficients(library, **TRUTH)
    result = compare(truth, truth, library)
    assert result.exact
    assert result.worst < 1e-14
    assert result.scale == pytest.approx(1.0)


def test_scale_gauge_and_identities_change_nothing(library):
    truth = coefficients(library, **TRUTH)
    other = coefficients(
        library,
        **{
            "thdot**2": 0.5,
            "phidot**2": 0.5,  # sin² = 1 − cos²
            "phidot**2*cos(th)**2": -0.5,
            "cos(th)": 9.81,
            "thdot*sin(th)": 3.0,  # d/dt of −3 cos θ
            "phidot": -2.0,
        },
    )
    result = compare(-1.7 * other, truth, library)
    assert result.exact
    assert result.worst < 1e-12
    assert result.scale == pytest.approx(-1 / 1.7)


def test_missing_and_extra_terms_are_named(library):
    truth = coefficients(library, **TRUTH)
    found = coefficients(library, **{**TRUTH, "sin(th)": 0.1, "cos(th)": 0.0})
    result = compare(found, truth, library)
    assert not result.exact
    assert result.missing == ("cos(th)",)
    assert result.extra == ("sin(th)",)


def test_the_worst_error_is_relative_to_each_term(library):
    truth = coefficients(library, **TRUTH)
    found = coefficients(library, **{**TRUTH, "phidot**2*sin(th)**2": 0.55})
    fixed = compare(found, truth, library, fit_scale=False)
    assert fixed.worst == pytest.approx(0.1)
    assert compare(found, truth, library).worst < 0.1


def test_reduction_is_a_projection(library):
    matrix = library.joint_freedom.reduction
    assert np.allclose(matrix @ matrix, matrix)
    once = canonical(np.ones(len(library.terms)), library)
    assert np.allclose(canonical(once, library), once)
