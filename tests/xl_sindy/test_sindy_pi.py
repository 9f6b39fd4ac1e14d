"""SINDy-PI, its library and its models."""

import numpy as np
import pytest
from stages import simulate
from support import motion_settings, system

from leastaction.core.expressions import symbol
from leastaction.core.noise_sweep import recorded
from leastaction.trajectories.joint_spline import measured
from leastaction_papers.scorecard.implicit_library import ImplicitLibrary, true_relation
from leastaction_papers.xl_sindy import sindy_pi
from leastaction_papers.xl_sindy.sindy_pi import ImplicitModel

CART = system(
    "thdot**2/4 + 3*xdot**2/4 + xdot*thdot*cos(th)/2 + 4.905*cos(th)", ("th", "x")
)
TRIGONOMETRIC = {"terms": ["1", "sin(th)", "cos(th)", "sin(th)*cos(th)", "cos(th)**2"]}
LIBRARY = {
    "implicit": {
        name: [
            {"product": [{"terms": [f"{name}ddot"]}, TRIGONOMETRIC]},
            {"product": [{"terms": ["1", "thdot", "thdot**2"]}, TRIGONOMETRIC]},
        ]
        for name in ("th", "x")
    }
}
SETTINGS = {
    "thresholds": {"smallest": 1e-3, "largest": 0.9, "count": 24},
    "term_cost": 0.3,
    "unit_columns": True,
    "bounded": True,
}


def test_an_acceleration_that_does_not_vary_has_every_error_or_none():
    values, slope = np.array([[0.0, 1.0], [0.0, 2.0]]), np.array([[1.0, 0.0]] * 2)
    for coefficients, error in (([1.0, 0.0], 0.0), ([1.0, 1e-9], 1.0)):
        found = sindy_pi.held_out_error(
            values, slope, np.zeros(2), np.array(coefficients)
        )
        assert found == error


@pytest.fixture(scope="module")
def recordings():
    start = {
        "random": {"angle": {"uniform": [-3.0, 3.0]}},
        "th": "angle",
        **dict.fromkeys(("x", "thdot", "xdot"), 0.0),
    }
    settings = motion_settings(trajectories=15, duration=2.0, initial_state=start)
    return simulate(
        CART,
        settings,
        example="test/cart",
        seed=1,
        replicate=0,
        units={"th": "rad", "x": "m"},
    )


@pytest.fixture(scope="module")
def motion(recordings):
    return recorded(recordings, "independent", 0.0)


@pytest.fixture(scope="module")
def library():
    return ImplicitLibrary.from_config(LIBRARY, ["th", "x"])


def found(motion):
    rates = measured(motion, {}, {})
    equations = sindy_pi.assemble(
        motion, rates, {"samples": 500, "held_out": "fifth"}, LIBRARY
    )
    return sindy_pi.identify(equations, SETTINGS, motion, LIBRARY)


def test_without_noise_the_implicit_law_is_exact(motion, library):
    model = found(motion)
    for a, members in enumerate(library.members):
        (truth,) = library.truth(CART, a)
        row = model["coefficient_estimate"].values[0, a, list(members)]
        largest = np.argmax(np.abs(truth))
        expected = truth * (row[largest] / truth[largest])
        np.testing.assert_allclose(row, expected, atol=1e-7)


def test_order_of_the_trajectories_changes_nothing(recordings):
    """Not even where noise makes every sample count."""
    motion = recorded(recordings, "independent", 0.1)
    order = np.random.default_rng(0).permutation(motion.sizes["trajectory"])
    first, second = found(motion), found(motion.isel(trajectory=order))
    for name in ("coefficient_estimate", "held_out_error"):
        np.testing.assert_allclose(first[name], second[name], atol=1e-9)


def test_the_model_has_the_accelerations_of_the_system(motion):
    model = ImplicitModel(found(motion))
    state = {CART.q[0]: 0.7, CART.qdot[0]: -1.3, CART.q[1]: 0.2, CART.qdot[1]: 0.4}
    known = state | {symbol(name): value for name, value in model.parameters.items()}
    for expression, truth in zip(model.accelerations, CART.acceleration, strict=True):
        value = float(truth.subs(state))
        assert float(expression.subs(known)) == pytest.approx(value, rel=1e-6)
    assert "thddot = " in str(model)


def test_any_multiple_and_any_equivalent_form_is_true():
    """φ̈ sin + 2 θ̇φ̇ cos = 0 and the same times sin θ are one law."""
    spherical = system(
        "thdot**2/2 + phidot**2*sin(th)**2/2 + 9.81*cos(th)", ("th", "phi")
    )
    terms = ["sin(th)", "sin(th)**2", "cos(th)", "sin(th)*cos(th)"]
    config = {
        "th": [{"terms": ["thddot", "sin(th)", "phidot**2*sin(th)*cos(th)"]}],
        "phi": [
            {"product": [{"terms": ["phiddot"]}, {"terms": terms}]},
            {"product": [{"terms": ["thdot*phidot"]}, {"terms": terms}]},
        ],
    }
    library = ImplicitLibrary.from_config({"implicit": config}, ["th", "phi"])
    basis = library.truth(spherical, 1)
    members = [library.names[k] for k in library.members[1]]
    left = [0, 1, 2, 3]

    def true(*names):
        support = [members.index(n) for n in names]
        return true_relation(support, basis, left) is not None

    assert true("phiddot*sin(th)", "phidot*thdot*cos(th)")
    assert true("phiddot*sin(th)**2", "phidot*thdot*sin(th)*cos(th)")
    assert not true("phiddot*sin(th)", "phidot*thdot*sin(th)*cos(th)")
    assert not true("phiddot*sin(th)", "phidot*thdot*cos(th)", "phidot*thdot*sin(th)")
    assert not true("phiddot*sin(th)")
    assert len(library.truth(spherical, 0)) == 1


def test_a_relation_without_acceleration_is_no_equation_of_motion():
    basis = np.array([[0.0, 1.0, 1.0, -1.0]])
    assert true_relation([1, 2, 3], basis, left=[0]) is None


def test_the_relation_of_the_units_does_not_matter(rng):
    """Thresholds are those of unit columns."""
    theta = rng.normal(size=(60, 5))
    theta[:, 0] = 2 * theta[:, 1] - theta[:, 3]
    scale = np.array([1.0, 100.0, 1e-3, 7.0, 1.0])
    first = sindy_pi.sparse_relation(theta, 0, 0.1, {})
    second = sindy_pi.sparse_relation(theta * scale, 0, 0.1, {})
    np.testing.assert_allclose(first, [1, -2, 0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(second * scale, first, atol=1e-12)


@pytest.mark.parametrize(
    ("implicit", "message"),
    [
        ({"th": [{"terms": ["thddot"]}]}, "equations for"),
        (dict.fromkeys(("th", "x"), [{"terms": ["thddot"]}]), "no candidate has xddot"),
        (
            {"th": [{"terms": ["thddot**2"]}], "x": [{"terms": ["xddot"]}]},
            "not linear in the accelerations",
        ),
    ],
)
def test_refusals(implicit, message):
    with pytest.raises(ValueError, match=message):
        ImplicitLibrary.from_config({"implicit": implicit}, ["th", "x"])


def test_pysindy_finds_the_same_law(motion, library):
    """Cross-check with another implementation, on the columns of one equation."""
    pysindy = pytest.importorskip("pysindy", reason="pysindy is not installed")
    pytest.importorskip("cvxpy", reason="cvxpy, which pysindy's SINDyPI needs, is not")
    channels = [motion[n].values[0].reshape(-1, 2)[::5] for n in ("q", "qdot", "qddot")]
    members = list(library.members[0])
    theta = library.evaluate(*channels)[:, members]
    theta = theta / np.linalg.norm(theta, axis=0)
    left = [library.names[k] for k in members].index("thddot")
    optimizer = pysindy.SINDyPI(
        reg_weight_lam=1e-3, regularizer="l1", tol=1e-9, model_subset=[left]
    )
    optimizer.fit(theta, theta)
    row = optimizer.coef_[left]
    ours = found(motion)["support"].values[0, 0, members].astype(bool)
    others = np.abs(row) > 1e-3 * np.abs(row).max()
    others[left] = True
    np.testing.assert_array_equal(others, ours)


def test_truth_is_empty_if_the_library_lacks_it():
    config = {name: [{"terms": [f"{name}ddot", "1"]}] for name in ("th", "x")}
    library = ImplicitLibrary.from_config({"implicit": config}, ["th", "x"])
    assert library.truth(CART, 0).shape == (0, 2)
    assert true_relation([0, 1], library.truth(CART, 0), [0]) is None


def test_too_few_trajectories_are_refused(motion):
    few = motion.isel(trajectory=slice(3))
    rates = measured(few, {}, {})
    with pytest.raises(ValueError, match="number of trajectories: 3"):
        sindy_pi.assemble(few, rates, {"samples": 500, "held_out": "fifth"}, LIBRARY)


DRIVEN = {
    "implicit": {
        "th": [
            {"terms": ["thddot", "thddot*cos(th)**2", "sin(th)"]},
            {"terms": ["thdot**2*sin(th)*cos(th)", "x_input", "x_input*cos(th)"]},
        ],
        "x": [
            {"terms": ["xddot", "xddot*cos(th)**2", "thdot**2*sin(th)"]},
            {"terms": ["sin(th)*cos(th)", "x_input", "x_input*cos(th)"]},
        ],
    }
}


@pytest.fixture(scope="module")
def driven():
    """Two motions of the driven cart; the second chooses the model."""
    start = {"random": {"other": {"halton": [1.2, -0.4]}}, "th": "1 - other/2"}
    settings = motion_settings(
        trajectories=2,
        duration=2.0,
        initial_state=start | dict.fromkeys(("x", "thdot", "xdot"), 0.0),
    )
    settings |= {"input": {"x": "2*cos((3 + other)*time)"}}
    units = {"th": "rad", "x": "m"}
    found = simulate(CART, settings, example="t/cart", seed=1, replicate=0, units=units)
    return recorded(found, "independent", 0.0)


@pytest.mark.parametrize("unit", [True, False])
def test_an_input_is_a_candidate(driven, unit):
    assert driven["q"].values[0, :, 0, 0].tolist() == [1.0, 0.5]
    chosen = {"samples": 500, "held_out": "last"}
    equations = sindy_pi.assemble(driven, measured(driven, {}, {}), chosen, DRIVEN)
    settings = SETTINGS | {
        "unit_columns": unit,
        "bounded": False,
        "left_hand_sides": ["thddot", "xddot", "x_input*cos(th)"],
        "left_only": ["x_input*cos(th)"],
    }
    model = sindy_pi.identify(equations, settings, driven, DRIVEN)
    assert model["left_hand_side"].values[0].tolist() == ["x_input*cos(th)", "xddot"]
    library = ImplicitLibrary.from_config(DRIVEN, ["th", "x"])
    for a, members in enumerate(map(list, library.members)):
        support = np.flatnonzero(model["coefficient_estimate"].values[0, a, members])
        left = [members.index(k) for k in library.left_hand_sides(a)]
        assert true_relation(support, library.truth(CART, a), left) is not None
    with pytest.raises(ValueError, match="with an input are not made"):
        _ = ImplicitModel(model).accelerations


def test_a_left_hand_side_that_is_no_candidate_is_refused(driven):
    with pytest.raises(ValueError, match="'x' is no candidate of library.implicit"):
        ImplicitLibrary.from_config(DRIVEN, ["th", "x"]).position("x")


def test_coefficients_below_the_threshold_are_left_out():
    left = np.array([[1.0], [0.05], [0.0]])
    factor = np.hstack([left, np.eye(3)[:, :2]])
    kept = [sindy_pi.sparse_relation(factor, 0, x, {}, unit=False) for x in (0.1, 0.01)]
    np.testing.assert_allclose(kept, [[1, -1, 0], [1, -1, -0.05]], atol=1e-12)


def test_one_vanishing_denominator_spoils_an_unbounded_error():
    values, qddot = np.array([[0.0], [0.0], [1.0]]), np.array([0.0, 1.0, 2.0])
    slope = np.array([[1.0], [1.0], [1e-3]])
    found = [
        sindy_pi.held_out_error(values, slope, qddot, np.ones(1), bounded)
        for bounded in (True, False)
    ]
    np.testing.assert_allclose(found, [1 / 3, 1e6 / 3 / qddot.var()])
