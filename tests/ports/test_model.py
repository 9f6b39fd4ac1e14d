"""Models of efforts and of structures: fit, values, print."""

import numpy as np
import pytest
import xarray as xr
from port_structures import PORT, RESISTANCE, STRUCTURE, identified

from leastaction.ports.hamiltonian_process import process_of
from leastaction.ports.model import PortModel, StructureModel

SKEW, LOSS = np.array([[0.0, 1.0], [-1.0, 0.0]]), np.diag([0.0, 0.5])
SIZES, POOLS = [3, 6, 7, 5], ["all", "all", "early", "all"]
X = np.random.default_rng(1).uniform(-1, 1, (7, 2))
Y = np.stack([2 * X[:, 1], -X[:, 0] - X[:, 0] ** 3 - X[:, 1]], axis=1)
HYPER = {"length_scale": 1.0, "warp": 0.5, "variance": 1.0, "offset": 0.1}
HYPER |= {"slope": 2.0, "noise": 1e-3}


@pytest.fixture(scope="module")
def efforts() -> xr.Dataset:
    """Efforts of two states, each a block: q + q³ and 2 p."""
    index = np.full((1, 4, 7), -1)
    for fit, size in enumerate(SIZES):
        index[0, fit, :size] = np.arange(size)
    inside = index[..., None] >= 0
    of_fit = ("replicate", "fit")
    values = {
        f"parameter_{k}_{name}": (of_fit, np.full((1, 4), (1 + k) * value))
        for name, value in HYPER.items()
        for k in range(2)
    }
    of_entries = ("row", "effort")
    return xr.Dataset(
        values
        | {
            "flow_matrix": (("row", "state"), np.eye(2)),
            "structure_matrix": (of_entries, SKEW),
            "dissipation_matrix": (of_entries, LOSS),
            "port_matrix": (("row", "port"), np.array([[0.0], [2.0]])),
            "constraint": ("constraint_row", np.array([], dtype=str)),
            "multiplier": ("multiplier_row", np.array([], dtype=int)),
            "block": ("state", [0, 1]),
            "training_index": (("replicate", "fit", "order"), index),
            "x": (("replicate", "fit", "order", "state"), np.where(inside, X, np.nan)),
            "y": (("replicate", "fit", "order", "row"), np.where(inside, Y, np.nan)),
            "training_size": ("fit", SIZES),
            "pool": ("fit", POOLS),
        },
        coords={"state": ["q", "p"]},
        attrs={"contract": "effort_gradient"},
    )


def test_the_fit_is_the_largest_of_all_times(efforts):
    model = PortModel(efforts)
    assert model.fit == 1 and model.training_size == 6
    for size, pool, fit in ((3, "all", 0), (7, "early", 2), (5, "all", 3)):
        other = model.trained_on(size, pool)
        assert other.fit == fit and other.training_size == size
    assert model.trained_on(6).fit == 1 and PortModel(efforts, 0).fit == 0
    with pytest.raises(KeyError, match=r"no fit to 7 samples of all times.*'early'"):
        model.trained_on(7)


def test_efforts_are_those_of_the_processes_of_its_samples(efforts):
    model, points = PortModel(efforts), np.array([[0.3, -0.5], [0.1, 0.8]])
    x, y = model.training_data
    np.testing.assert_array_equal(x, X[:6])
    np.testing.assert_array_equal(y, Y[:6])
    z = y @ np.linalg.inv(SKEW - LOSS).T
    processes = [
        process_of([k])(
            x[:, [k]], z[:, [k]], **{n: (1 + k) * v for n, v in HYPER.items()}
        )
        for k in range(2)
    ]
    one, two = (p.linearised(points[:, [k]]) for k, p in enumerate(processes))
    expected = np.hstack([one[0], two[0]])
    np.testing.assert_allclose(model.efforts(points), expected, rtol=1e-11)
    np.testing.assert_allclose(model.efforts(points[0]), expected[:1], rtol=1e-11)
    turned = expected @ (SKEW - LOSS).T
    np.testing.assert_allclose(model.transformed(points), turned, rtol=1e-11)
    slopes = model.jacobian(points)
    np.testing.assert_allclose(slopes[:, 0, 0], one[1].ravel(), rtol=1e-11)
    np.testing.assert_allclose(slopes[:, 1, 1], two[1].ravel(), rtol=1e-11)
    assert not slopes[:, 0, 1].any()
    spread = [p.std(points[:, [k]])[:, 0] ** 2 for k, p in enumerate(processes)]
    covariance = model.covariance(points)
    np.testing.assert_allclose(covariance[:, [0, 1], [0, 1]].T, spread, rtol=1e-9)
    energy = sum(p.hamiltonian(points[:, [k]]) for k, p in enumerate(processes))
    np.testing.assert_allclose(model.hamiltonian(points), energy, rtol=1e-11)
    dae = model.dae
    assert dae.states == ("q", "p") and dae.constraint is None
    np.testing.assert_array_equal(dae.port, [[0], [2]])
    np.testing.assert_array_equal(dae.dissipation, LOSS)
    np.testing.assert_allclose(dae.efforts(points), expected, rtol=1e-11)


def test_a_model_of_efforts_prints_its_residual_by_row(efforts):
    model = PortModel(efforts)
    rms = np.sqrt(((model.transformed(X[:6]) - Y[:6]) ** 2).mean(axis=0))
    assert rms.min() > 1e-4 and rms[1] > 1.1 * rms[0]
    assert str(model).splitlines() == [
        "Port-Hamiltonian model with states q, p",
        "  E dx/dt = (J - R) z(x) + B u; z from 6 samples",
        "  z_1(q) = grad H(q)",
        "  z_2(p) = grad H(p)",
        f"  residual of (J - R) z, rms by row: {rms[0]:.2g}, {rms[1]:.2g}",
    ]
    assert repr(model) == str(model)


def test_a_structure_evaluates_its_equation():
    model = StructureModel(identified())
    order = [str(g) for g in model.candidates.functions]
    assert order == ["a", "b", "a**3"]
    x, u = X[:5], np.linspace(-1, 1, 5)[:, None]
    a, b = x.T
    gradient = np.stack([4 * a + a**3, b], axis=1)
    expected = gradient @ (STRUCTURE - RESISTANCE).T + u @ PORT.T
    np.testing.assert_allclose(model.rates(x, u), expected, rtol=1e-12, atol=1e-14)
    dae = model.dae
    np.testing.assert_allclose(dae.efforts(x), gradient, rtol=1e-13)
    slopes = dae.linearised(x)[1]
    np.testing.assert_allclose(slopes[:, 0, 0], 4 + 3 * a**2, rtol=1e-13)
    np.testing.assert_array_equal(slopes[:, 1], np.tile([0.0, 1.0], (5, 1)))
    energy = 2 * a**2 + b**2 / 2 + a**4 / 4
    np.testing.assert_allclose(dae.hamiltonian(x), energy, rtol=1e-13)
    np.testing.assert_array_equal(dae.flow, np.eye(2))
    np.testing.assert_array_equal(dae.transformation, STRUCTURE - RESISTANCE)
    assert model.gain == 2.0 and model.refusal == ""
    assert model.gauge_dimension["found"] == 2 and len(model.gauge_dimension) == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"refusal": "no form fits"}, "no form fits"),
        ({"structure_estimate": np.full((2, 2), np.nan)}, "has no J, R and H"),
        ({"structure_estimate": [[0, np.nan], [np.nan, 0]]}, "has no J, R and H"),
    ],
)
def test_what_is_not_identified_has_no_equation(changes, message):
    with pytest.raises(ValueError, match=message):
        _ = StructureModel(identified(**changes)).dae


ENTRIES = [
    "  J_12 = -1.50 ± 0.20",
    "  R_12 = 0.250 ± 0.020",
    "  R_22 = 1.000 ± 0.020",
    "  B_11 = 1.000 ± 0.098",
    "  a**2 in H = 2.000 ± 0.039",
    "  b**2 in H = 0.500 ± 0.039",
    "  a**4 in H = 0.250 ± 0.039",
]
NAME = "Port-Hamiltonian model with states a, b"
FIT = "  chi-square over degrees of freedom 1.23, goodness of fit p = 0.25"
OPEN = "  free parameters of J, R, B and H: 2 (found)"
GAIN = (
    "  structure imposes 12 equations on 16 coefficients: errors of free runs are 2 "
    "times smaller than without"
)
REFUSED = "No law found: no form fits"


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({}, [NAME, FIT, *ENTRIES, OPEN, GAIN]),
        ({"equations": 11.9}, [NAME, FIT, *ENTRIES, OPEN]),
        ({"form_p_value": np.nan}, [NAME, *ENTRIES, OPEN, GAIN]),
        ({"gauge_dimension": [np.nan] * 2}, [NAME, FIT, *ENTRIES, GAIN]),
        (
            {"refusal": "no form fits", "equations": np.nan},
            [REFUSED, NAME, ENTRIES[3], OPEN],
        ),
        ({"refusal": "no form fits", "gauge_dimension": [np.nan] * 2}, [REFUSED, NAME]),
    ],
)
def test_a_structure_prints_what_is_known_of_it(changes, lines):
    model = StructureModel(identified(**changes))
    assert str(model).splitlines() == lines
    assert repr(model) == str(model)
