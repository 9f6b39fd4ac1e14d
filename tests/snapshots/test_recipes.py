"""Methods of snapshots: what they do where a setting is not named, and bounds."""

import pytest
from sections import accepts, defaults
from snapshot_support import RECOMMENDED

from leastaction.snapshots.recipes import (
    DiscreteDensity,
    DiscreteEulerLagrange,
    EvidenceMaximisation,
    MinimumNorm,
    NoDerivatives,
    NoEquations,
    NoetherSymmetries,
    OrthogonalDistanceRegression,
    Radial,
    Taylor,
    kind_of_data,
)

TAYLOR = {"kind": "taylor", "degree": None, "length_scale": None, "cyclic": []}
OPEN = ("stencil", "width", "degree", "length_scale", "even")
DEFAULTS = {
    NoDerivatives: {"cases": None},
    NoEquations: {},
    Taylor: TAYLOR,
    Radial: {"kind": "radial"},
    DiscreteEulerLagrange: RECOMMENDED | {"basis": TAYLOR, "volume": 1.0},
    MinimumNorm: {"cut": None},
    EvidenceMaximisation: {"damping": "evidence"},
    OrthogonalDistanceRegression: {},
    NoetherSymmetries: {"impose": False, "resolution": 0.005},
    DiscreteDensity: dict.fromkeys(OPEN),
}


@pytest.mark.parametrize("kind", DEFAULTS)
def test_settings_that_are_not_named_have_the_documented_values(kind):
    assert defaults(kind) == DEFAULTS[kind]


@pytest.mark.parametrize(
    ("kind", "name", "accepted", "refused"),
    [
        (Taylor, "degree", [2, 24, None], [1, 25]),
        (Taylor, "length_scale", [0.1, None], [0.0]),
        (Taylor, "cyclic", [["x", "y"]], [["x", "x"]]),
        (Radial, "length_scale", [0.1], [0.0, None]),
        (MinimumNorm, "cut", [0.0, None], [-1e-9]),
        (EvidenceMaximisation, "damping", [0.0, "evidence"], [-1.0, "none"]),
        (NoetherSymmetries, "resolution", [0.0], [-1e-9]),
        (DiscreteDensity, "width", [1, 8, None], [0, 9]),
        (DiscreteDensity, "degree", [2, 4, 6, None], [1, 3, 5, 8]),
        (DiscreteDensity, "length_scale", [0.1, None], [0.0]),
    ],
)
def test_a_setting_has_bounds(kind, name, accepted, refused):
    assert all(accepts(kind, name, value) for value in accepted)
    assert not any(accepts(kind, name, value) for value in refused)


@pytest.mark.parametrize(
    ("example", "kind"),
    [
        ({"simulate": {"method": "runge_kutta"}}, "snapshots"),
        ({"simulate": {"method": "runge_kutta"}, "library": {}}, None),
        ({"simulate": {"method": "spectral"}, "library": {}}, "field_snapshots"),
        ({"simulate": {"method": "modal"}}, None),
        ({}, None),
    ],
)
def test_snapshots_have_no_candidates(example, kind):
    assert kind_of_data(example) == kind


def test_methods_by_evidence_return_to_the_positions():
    for kind in (EvidenceMaximisation, NoetherSymmetries, DiscreteDensity):
        assert kind.returns_to_samples


def test_a_basis_that_is_not_named_is_taylor():
    of = DiscreteEulerLagrange
    assert of(basis={"degree": 4}).basis == Taylor(degree=4)
    radial = {"kind": "radial", "length_scale": 2.0}
    assert of(basis=radial).basis == Radial(length_scale=2.0)
    for wrong in (3, {"kind": "x"}, {"kind": "radial"}):
        with pytest.raises(ValueError, match="basis"):
            of(basis=wrong)
