"""Errors of derived parameters follow from those of θ; what data leave undetermined."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from scipy.stats import chi2

from leastaction.ensembles import innovations_estimate as estimate
from leastaction.ensembles.innovations_estimate import (
    GAIN,
    LAG,
    among_all,
    chain_of,
    force_bound,
    force_covariance,
    forces_of,
    in_units_of_input,
    null_vectors,
    parameter_names,
    starts_of,
    undecided,
    undetermined,
    with_nearest,
)
from leastaction.ensembles.sensor_records import channels_of
from leastaction.ensembles.state_space import Structure

RNG = np.random.default_rng(0)


def covariance(size: int) -> np.ndarray:
    root = RNG.standard_normal((size, size)) / 10
    return root @ root.T


def slopes(of, theta) -> np.ndarray:
    """Jacobian by central differences."""
    step = 1e-6 * np.eye(len(theta))
    return np.array([(of(theta + d) - of(theta - d)) / 2e-6 for d in step]).T


@dataclass
class Fitted:
    theta: np.ndarray
    covariance: np.ndarray
    structure: Structure = None


def test_a_law_in_units_of_its_input_is_divided_by_the_gain():
    """θ/g, inertias as known over g, noises as they are; covariance J C Jᵀ."""
    labels = ["L: x**2", "D: xdot**2", "S: x x", "S: ground", "log noise: x", GAIN, LAG]
    names = ["L: xdot**2", "L: x**2", "D: xdot**2"]
    model = SimpleNamespace(library=SimpleNamespace(references=[(0, 0.5)]))
    theta, spread = RNG.uniform(1, 2, 7), covariance(7)

    def of(theta):
        return in_units_of_input(model, labels, theta, spread, names)[1]

    found, result, errors = in_units_of_input(model, labels, theta, spread, names)
    g = theta[5]
    assert found == [*labels[:5], LAG, "L: xdot**2"]
    np.testing.assert_allclose(result[:3], theta[:3] / g)
    np.testing.assert_allclose(result[3:], [theta[3], theta[4], theta[6], 0.5 / g])
    jacobian = slopes(of, theta)
    np.testing.assert_allclose(errors, jacobian @ spread @ jacobian.T, rtol=1e-6)
    spread[1] = spread[:, 1] = np.inf
    errors = np.diag(in_units_of_input(model, labels, theta, spread, names)[2])
    assert np.isinf(errors).tolist() == [False, True] + 5 * [False]


@pytest.mark.parametrize("force", ["diagonal", "ground"])
@pytest.mark.parametrize("scaled", [False, True])
def test_errors_of_the_force_are_those_of_its_parameters(force, scaled):
    """S Sᵀ/g² of two coordinates; of a ground, M S Sᵀ M with its inertia M."""
    inverse = np.array([[2.0, 0.5], [0.5, 1.0]])

    def parameters(structure, theta):
        root = np.diag(theta[:2]) if force == "diagonal" else theta[:2, None]
        return SimpleNamespace(root=root, gain=theta[2], coefficients=None)

    model = SimpleNamespace(parameters=parameters, at=lambda c: (inverse,))
    theta, spread = np.array([1.0, -2.0, 1.5]), covariance(3)

    def of(theta):
        root = np.diag(theta[:2])
        if force == "ground":
            root = np.linalg.inv(inverse) @ theta[:2, None]
        return root @ root.T / (theta[2] ** 2 if scaled else 1)

    fit = Fitted(theta, spread, Structure((), force))
    square, error = force_covariance(model, fit, scaled)
    np.testing.assert_allclose(square, of(theta))
    jacobian = slopes(of, theta)
    variance = np.einsum("abi,ij,abj->ab", jacobian, spread, jacobian)
    np.testing.assert_allclose(error**2, variance.T, rtol=1e-4, atol=1e-12)
    spread[2] = spread[:, 2] = 0
    spread[2, 2] = 1e-12
    certain = force_covariance(model, fit, scaled)[1]
    for none in (np.inf, 0.0):  # neither an unknown gain nor an exact one adds any
        spread[2] = spread[:, 2] = none
        error = force_covariance(model, fit, scaled)[1]
        np.testing.assert_allclose(error, certain, rtol=1e-5)


@pytest.mark.parametrize(
    ("driven", "late", "lag", "error", "wanted"),
    [
        (False, False, 9.0, 0.1, ((0, 0), (0, 0))),
        (True, False, 9.0, 0.1, ((1.5, 0.2), (0, 0))),
        (True, True, 0.06, 0.001, ((1.5, 0.2), (0.06, 0.001))),
        (True, True, -0.06, 0.001, ((1.5, 0.2), (-0.06, 0.001))),
        (True, True, 0.049, 0.0001, ((1.5, 0.2), (0, 0))),  # half a sample
        (True, True, 0.06, 0.006, ((1.5, 0.2), (0, 0))),  # not resolved
    ],
)
def test_a_lag_counts_beyond_half_a_sample(driven, late, lag, error, wanted):
    model = SimpleNamespace(places=lambda s: (0, 0, slice(1, 2)), dt=0.1)
    theta = np.array([7.0, -3.0, 1.5, lag])
    fit = Fitted(theta, np.diag([1, 1, 0.2, error]) ** 2)
    fit.structure = Structure((), "diagonal", driven=driven, late=late)
    np.testing.assert_allclose(chain_of(model, fit), wanted)


@pytest.mark.parametrize(
    ("absolute", "dof", "force", "wanted"),
    [
        (True, 2, "free", ["ground"]),
        (False, 1, "auto", ["diagonal"]),
        (False, 2, "auto", ["ground", "free"]),
        (False, 2, "diagonal", ["diagonal"]),
    ],
)
def test_forms_of_the_force_are_those_of_sensors_and_coordinates(
    absolute, dof, force, wanted
):
    channels = SimpleNamespace(absolute=np.array([False, absolute]))
    forms = forces_of(SimpleNamespace(channels=channels, dof=dof), force)
    assert set(wanted) <= set(forms) and (force == "auto" or len(forms) == 1)


def test_the_least_certain_absence_is_of_its_kind():
    """By Bonferroni: of two candidates of the library, or of all four."""
    p = chi2.sf([3.0, 4.0, 5.0, 7.0], 1)
    search = SimpleNamespace(inside=2, scores=np.array([3.0, 4.0, 5.0, 7.0]))
    assert undecided(search) == (pytest.approx(4 * p[3]), 3)
    search.scores = np.array([3.0, 4.0, 5.0, 4.5])
    assert undecided(search) == (pytest.approx(2 * p[1]), 1)
    search.scores, search.inside = np.array([]), 0
    assert undecided(search) == (1.0, 0)


def test_undetermined_changes_are_null_vectors_in_echelon_form():
    """Of a and b only a sum is known; c is uncertain by 60 %, d by 10 %."""
    names = np.array(["a", "b", "c", "d"], dtype=object)
    both = np.array([1.0, -0.5, 0, 0])
    relative = np.outer(both, both) + np.diag([1e-6, 1e-6, 0.6**2, 0.1**2])
    assert null_vectors(relative, names) == "a +100 %, b -50 %; c +100 %"
    assert null_vectors(relative[2:, 2:] / 1.5, names[2:]) == ""  # below 1/4
    mixed = np.array([1.0, 0.11, 0.09, 0])  # a part below a tenth is not named
    relative = np.outer(mixed, mixed) + 1e-9 * np.eye(4)
    assert null_vectors(relative, names) == "a +100 %, b +11 %"


def test_losses_inherit_what_the_law_leaves_open():
    """The error of a damper that follows an unknown scale of L is one of the law."""
    labels = ["L: x**2", "D: xdot**2", "S: x x", "log noise: x", LAG]
    theta = np.array([4.0, 2.0, 1.0, -3.0, 0.1])
    change = np.array([1.0, 1.0, 0, 0, 0]) * theta
    scale = np.outer(change, change) + np.diag([1e-6, 1e-6, 1e-6, 9.0, 9.0])
    assert undetermined(Fitted(theta, scale), labels) == (
        "L: x**2 +100 %, D: xdot**2 +100 %",
        "",
    )
    change = np.array([0, 0.48, -0.36, 0, 0]) * theta
    losses = np.outer(change, change) + 1e-6 * np.eye(5)
    text = "D: xdot**2 +100 %, S: x x -75 %"
    assert undetermined(Fitted(theta, losses), labels) == ("", text)


COORDINATES = ("a", "b")
NAMES = ["L: adot**2", "L: a**2", "L: a*b", "D: adot**2", "D: bdot**2"]


def model_of(dof=2, **more):
    """A state space of two sensors, by its structure alone."""
    library = SimpleNamespace(coordinates=COORDINATES[:dof], references=[(0, 0.5)])
    channels = SimpleNamespace(names=("x", "v"), absolute=np.zeros(2, dtype=bool))

    def places(structure):
        return structure.places(dof, 2)

    about = {"library": library, "channels": channels, "places": places, "dof": dof}
    return SimpleNamespace(**about | {"driven": False, "late": False} | more)


@pytest.mark.parametrize(
    ("structure", "force"),
    [
        (Structure((1, 3)), ["S: a a", "S: b b"]),
        (Structure((1, 3), "free"), ["S: a a", "S: b a", "S: b b"]),
        (Structure((1, 3), "ground"), ["S: ground"]),
    ],
)
def test_parameters_are_named_in_their_order(structure, force):
    names = ["L: a**2", "D: adot**2", *force, "log noise: x", "log noise: v"]
    assert parameter_names(model_of(), structure, NAMES) == names
    full = replace(structure, driven=True, late=True, coloured=True)
    assert parameter_names(model_of(), full, NAMES) == [
        *names,
        GAIN,
        LAG,
        "log correlation time",
    ]


def test_replicates_have_one_shape_among_all_parameters():
    labels = ["D: adot**2", "S: ground", LAG]
    known, spread = np.array([1.0, 2.0, 3.0]), covariance(3)
    names, values, errors = among_all(model_of(), NAMES, labels, known, spread)
    assert names == [
        *NAMES,
        *("S: a a", "S: b a", "S: b b", "log noise: x", "log noise: v"),
        *(GAIN, LAG, "log correlation time", "S: ground"),
    ]
    place = [names.index(label) for label in labels]
    np.testing.assert_array_equal(values[place], known)
    np.testing.assert_array_equal(errors[np.ix_(place, place)], spread)
    assert np.count_nonzero(values) == 3 and np.count_nonzero(errors) == 9


def test_the_nearest_absent_candidate_is_zero_with_its_deviation():
    fit = Fitted(np.array([1.0, 2, 3, 4, 5]), covariance(5), Structure((1,)))
    tests = SimpleNamespace(search=SimpleNamespace(fit=fit), nearly=None)
    labels, theta, errors = with_nearest(model_of(), tests, NAMES)
    assert len(labels) == 5 and theta is fit.theta and errors is fit.covariance
    move = np.arange(5.0)
    tests.nearly = SimpleNamespace(column=2, entry=0.3, theta=move)
    labels, theta, errors = with_nearest(model_of(), tests, NAMES)
    assert labels[-1] == "L: a*b" and theta.tolist() == [1, 2, 3, 4, 5, 0]
    np.testing.assert_array_equal(errors[:5, :5], fit.covariance)
    np.testing.assert_allclose(errors[5, :5], 0.3 * move)
    np.testing.assert_allclose(errors[:5, 5], 0.3 * move)
    assert errors[5, 5] == pytest.approx(0.09)


def start_equations(noise=(0.01, 0.02), main=3.0):
    return xr.Dataset(
        {
            "sensor_noise": (("replicate", "channel"), [list(noise)]),
            "main_frequency": ("replicate", [main]),
        }
    )


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("shocks", [False, True])
def test_a_law_has_the_coefficients_of_its_labels(scaled, shocks, monkeypatch):
    """Those of the library, given inertias too; in the unit of a force if it is."""
    names = ["L: a", "L: b", "L: c", "L: x**3", "D: d", "D: e"]
    labels = ["L: b", "D: d", "S: x x", GAIN, "L: c"]
    theta, spread = np.array([3.0, 0.2, 0.7, 2.0, 0.0]), covariance(5)
    monkeypatch.setattr(estimate, "with_nearest", lambda *_: (labels, theta, spread))
    monkeypatch.setattr(estimate, "among_all", lambda model, names, *all_of: all_of)
    for name in ("diagnostics", "sensors", "words", "innovations"):
        monkeypatch.setattr(estimate, name, lambda *_: {})
    monkeypatch.setattr(estimate, "parameter_names", lambda *_: labels)
    monkeypatch.setattr(estimate, "force_bound", lambda *_: np.zeros(1))
    made = []

    def of_columns(count, columns, **more):
        made.extend([count, columns, more])

    monkeypatch.setattr(estimate.LagrangianEstimate, "of_columns", of_columns)
    library = SimpleNamespace(
        terms=(0, 1, 2, 3), fixed=np.array([0.5, 0, 0, 0]), references=[(0, 0.5)]
    )
    about = SimpleNamespace(status=["independent"], equivalent=["d"])
    terms = SimpleNamespace(
        terms=(0, 1, 2),
        names=["a", "b", "c"],
        dissipation_names=["d"],
        status=["reference", "independent", "independent"],
        freedom=SimpleNamespace(equivalent=["a", "b", "c"]),
        dissipation_freedom=about,
    )
    times, records = np.arange(5.0), np.arange(5)
    impulses = SimpleNamespace(times=times, records=records) if shocks else None
    tests = SimpleNamespace(
        search=SimpleNamespace(fit=SimpleNamespace(structure=None), rivals=("p", "q")),
        innovations=SimpleNamespace(impulses=impulses),
    )
    likelihood = SimpleNamespace(model=SimpleNamespace(library=library))
    estimate.lagrangian(terms, [0, 1, 2, 4], likelihood, tests, names, scaled)
    count, columns, more = made
    g = 2.0 if scaled else 1.0
    assert count == 3 and columns["terms"] == ["a", "b", "c", "d"]
    np.testing.assert_allclose(columns["coefficients"], np.array([0.5, 3, 0, 0.2]) / g)
    std = np.sqrt(np.diag(spread))
    if scaled:
        # θ/g, and an inertia that is known over g.
        slopes = np.zeros((3, 5))
        slopes[[0, 1], [0, 1]] = 0.5
        slopes[:, 3] = -np.array([3.0, 0.2, 0.5]) / 4
        b, d, a = np.sqrt(np.diag(slopes @ spread @ slopes.T))
        np.testing.assert_allclose(columns["std"], [a, b, 0, d])
    else:
        np.testing.assert_allclose(columns["std"], [0, std[0], 0, std[1]])
    assert columns["status"][3] == "independent" and columns["equivalent"][3] == "d"
    assert more["alternatives"] == "p; q"
    seen = more["by_node"]["impulse_time"][1], more["by_node"]["impulse_trajectory"][1]
    expected = (times, records) if shocks else (np.full(5, np.nan),) * 2
    np.testing.assert_array_equal(seen, expected)
    assert (GAIN in more["by_node"]["parameter"][1]) == (not scaled)


@pytest.mark.parametrize("driven", [False, True])
def test_starts_have_forces_that_keep_up_the_velocity(driven):
    """σ² = 2 d v² of the acceleration; of the mass, or as much of a ground."""
    inverse = np.diag([2.0, 0.5])
    damping = np.array([[-0.4, 0.1], [0.1, 5.0]])  # the second one gains energy

    def at(c):
        return inverse, None, np.hstack([np.zeros((2, 2)), damping])

    scale = np.array([1.0, 1.0, 0.3, 0.7])
    model = model_of(at=at, scale=scale, driven=driven, late=driven)
    first = np.array([[9.0, -2.0, 0.0, 0.5, 0.0], [9.0, 0.0, 0.0, 0.0, 0.0]])
    starts = starts_of(model, first, start_equations(), [1, 2, 3], ("ground", "free"))
    ((structure, theta),) = starts  # the second one has no usable column
    level = np.sqrt(2 * np.array([0.4, 0.03])) * [0.3, 0.7]
    chain = [1.0, 0.0] if driven else []
    assert structure == Structure((1, 3), "ground", driven=driven, late=driven)
    root = np.sqrt((level**2).mean())
    expected = [-2.0, 0.5, root, *np.log([0.01, 0.02]), *chain]
    np.testing.assert_allclose(theta, expected, rtol=1e-12)
    variances = level / [2.0, 0.5]
    (free,) = starts_of(model, first, start_equations(), [1, 3], ("free",))
    np.testing.assert_allclose(free[1][2:5], [variances[0], 0, variances[1]])
    (one,) = starts_of(model, first, start_equations(), [1, 3], ("diagonal",))
    np.testing.assert_allclose(one[1][2:4], variances)
    both = starts_of(model, first, start_equations(), [1, 3], ("diagonal", "ground"))
    assert [s.force for s, _ in both] == ["diagonal", "ground"]


@pytest.mark.parametrize("bands", [None, [(0.1, 0.2)]])
def test_a_state_space_is_in_the_scales_of_its_motion(bands, monkeypatch):
    """An rms of displacements, of velocities over ω, of accelerations over ω²."""
    records = [SimpleNamespace(y=np.zeros((50, 3)))]
    channels = channels_of(["2*a", "adot", "addot"], ["a", "b"])
    made, thinnings = [], []
    monkeypatch.setattr(estimate, "records_of", lambda _: (channels, records, 0.1))
    monkeypatch.setattr(estimate, "StateSpace", lambda *a: made.append((a, None)))
    monkeypatch.setattr(
        estimate, "BandedStateSpace", lambda *a, bands: made.append((a, bands))
    )

    def thin(channels, records, turn):
        thinnings.append(turn)
        return "thin", 4, 2

    monkeypatch.setattr(estimate, "thinned", thin)
    equations = start_equations((0.1, 0.2, 0.3), 2.0)
    equations["output_std"] = (("replicate", "channel"), [[0.5, 6.0, 8.0]])
    for highest, used in ((5.0, 5.0), (1.0, 2.0)):
        equations["highest_frequency"] = ("replicate", [highest])
        estimate.state_space("terms", equations, None, bands)
        arguments, asked = made.pop()
        terms, _, used_records, dt, scale, frequency, noise, *rest = arguments
        assert terms == "terms" and frequency == used and asked == bands
        size = max(2 * 0.5, 6.0 / 2, 8.0 / 4)
        np.testing.assert_allclose(scale, [size, size, 2 * size, 2 * size])
        assert noise.tolist() == [0.1, 0.2, 0.3]
        if bands:
            assert used_records is records and dt == 0.1 and not rest
        else:
            assert used_records == "thin" and dt == pytest.approx(0.4)
            assert rest == [2, 0.2] and thinnings.pop() == pytest.approx(used * 0.1)


@pytest.mark.parametrize("text", ["x - xdot", "x + xdot", "xdot - x"])
def test_a_sensor_of_a_difference_of_kinds_sees_both(text, monkeypatch):
    """Of one of position and velocity, whatever their signs: twice of either."""
    channels, made = channels_of([text], ["x"]), []
    monkeypatch.setattr(estimate, "records_of", lambda _: (channels, [], 0.1))
    monkeypatch.setattr(estimate, "thinned", lambda *_: ([], 1, 1))
    monkeypatch.setattr(estimate, "StateSpace", lambda *a: made.append(a))
    equations = start_equations((0.1,), 2.0)
    equations["output_std"] = (("replicate", "channel"), [[6.0]])
    equations["highest_frequency"] = ("replicate", [2.0])
    estimate.state_space("terms", equations, None, None)
    np.testing.assert_allclose(made[0][4], [2 * 6.0 / 2, 2 * 6.0])


def test_a_bound_is_of_coordinates_whose_forces_may_be_none():
    inverse = np.eye(2)

    def parameters(structure, theta):
        root = np.zeros((2, 2))
        entries = structure.entries(2)
        root[tuple(np.transpose(entries))] = theta[1 : 1 + len(entries)]
        if structure.force == "ground":
            root = np.full((2, 1), theta[1])
        return SimpleNamespace(root=root, gain=2.0, coefficients=None)

    model = model_of(parameters=parameters, at=lambda c: (inverse,))
    nan = np.nan

    def bound(force, theta, bounds, scaled=False):
        theta = np.array([9.0, *theta, 0.0, 0.0])
        fit = FittedLaw(theta, np.eye(len(theta)) * 1e-6, Structure((1,), force))
        tests = SimpleNamespace(
            search=SimpleNamespace(fit=fit), bounds=np.array(bounds)
        )
        return force_bound(model, tests, scaled)

    made = bound("diagonal", [3.0, 0.1], [nan, 0.5])
    np.testing.assert_allclose(made, [nan, 0.5])
    made = bound("diagonal", [3.0, 0.1], [nan, 0.5], True)
    np.testing.assert_allclose(made, [nan, 0.25])
    made = bound("free", [0.1, 0.2, 0.3], [0.6, 0.8, 0.4])
    np.testing.assert_allclose(made, [0.6, np.hypot(0.8, 0.4)])
    made = bound("free", [0.1, 0.2, 0.3], [0.6, nan, 0.4])
    np.testing.assert_allclose(made, [0.6, nan])
    np.testing.assert_allclose(bound("ground", [0.1], [0.7]), [0.7, 0.7])
    assert np.isnan(bound("ground", [0.1], [nan])).all()


def test_the_interval_of_no_force_ends_at_its_bound(monkeypatch):
    square, error = np.diag([4.0, 0.0, 9.0]), np.diag([0.8, 0.3, 1.2])
    monkeypatch.setattr(estimate, "force_covariance", lambda *_: (square, error))
    bounds = np.array([np.nan, np.nan, 3.5])
    monkeypatch.setattr(estimate, "force_bound", lambda *_: bounds)
    likelihood = SimpleNamespace(model=None)
    tests = SimpleNamespace(search=SimpleNamespace(fit=None))
    made = estimate.volatility(likelihood, tests, True)
    np.testing.assert_allclose(made.volatility, [2, 0, 3])
    np.testing.assert_allclose(made.std, [0.8 / 4, 0, 0.5 / 1.959964], rtol=1e-6)
    assert made.coefficients[:, 0].tolist() == [4, 0, 9] and made.terms == ["1"]
    assert made.coefficient_std[:, 0].tolist() == [0.8, 0.3, 1.2]
    assert made.constant.all() and made.covariance is square


def test_sensors_have_their_noise_and_its_error(monkeypatch):
    channels = channels_of(["2*a", "adot - bdot"], ["a", "b"])
    model = model_of(channels=channels)
    theta = np.array([1.0, 2.0, 3.0, np.log(0.1), np.log(0.3)])
    fit = Fitted(theta, np.diag([1, 1, 1, 0.04, 0.09]), Structure((1,)))
    monkeypatch.setattr(estimate, "force_covariance", lambda *_: (None, np.eye(2)))
    made = estimate.sensors(model, fit, True)
    np.testing.assert_allclose(made["sensor_noise_estimate"][1], [0.1, 0.3])
    np.testing.assert_allclose(made["sensor_noise_std"][1], [0.02, 0.09])
    assert made["channel"][1].tolist() == ["2*a", "adot - bdot"]
    assert made["sensor_position"][1].tolist() == [[2, 0], [0, 0]]
    assert made["sensor_velocity"][1].tolist() == [[0, 0], [1, -1]]
    assert not made["sensor_acceleration"][1].any()
    assert made["force_covariance_std"][1].tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("shocks", [False, True])
@pytest.mark.parametrize(("most", "sizes"), [(100, [4, 6]), (7, [4, 3]), (4, [4])])
def test_innovations_are_kept_up_to_a_number(most, sizes, shocks, monkeypatch):
    monkeypatch.setattr(estimate, "MOST_KEPT", most)
    y = [RNG.normal(size=(n, 2)) for n in (4, 6)]
    e = [RNG.normal(size=(n, 2)) for n in (4, 6)]

    def innovations(structure, theta, order):
        assert order == 1
        return lambda number: (e[number], e[number] ** 2)

    model = SimpleNamespace(
        innovations=innovations,
        records=y,
        read=lambda k: (0.5 * np.arange(len(y[k])), y[k]),
        read_over="s",
        dt=0.5,
    )
    fit = SimpleNamespace(structure=None, theta=None, order=1)
    events = SimpleNamespace(sizes=[np.arange(4.0), np.arange(6.0)])
    made = estimate.innovations(model, fit, events if shocks else None)
    kept = sum(sizes)
    np.testing.assert_array_equal(made["innovation"][1], np.concatenate(e)[:kept])
    np.testing.assert_array_equal(
        made["innovation_variance"][1], np.concatenate(e)[:kept] ** 2
    )
    np.testing.assert_array_equal(made["measured"][1], np.concatenate(y)[:kept])
    trajectory = np.repeat([0, 1], [4, 6])[:kept]
    np.testing.assert_array_equal(made["innovation_trajectory"][1], trajectory)
    time = np.concatenate([0.5 * np.arange(4), 0.5 * np.arange(6)])[:kept]
    np.testing.assert_array_equal(made["innovation_time"][1], time)
    size = made["impulse_size"][1]
    assert np.isnan(size).all() != shocks
    if shocks:
        np.testing.assert_array_equal(size, np.r_[0:4, 0:6][:kept])
    assert made["sample_step"][1] == 0.5 and made["innovation_time"][2] == "s"


@pytest.mark.parametrize("coloured", [False, True])
def test_diagnostics_are_those_of_the_search_and_its_tests(coloured, monkeypatch):
    monkeypatch.setattr(estimate, "order_disagreement", lambda *_: 0.25)
    rest = [np.log(0.4)] * coloured
    theta = np.array([1.0, 2.0, -4.0, *rest])
    fit = SimpleNamespace(
        structure=Structure((1,), coloured=coloured),
        theta=theta,
        covariance=np.diag([1, 1, 1, 0.01][: 3 + coloured]),
        value=-12.5,
        condition=7.0,
        converged=True,
        remaining=0.02,
    )
    search = SimpleNamespace(
        fit=fit,
        scores=np.array([3.0, 5.0]),
        inside=1,
        penalty=8.0,
        colour_ratio=2.5,
        memory=-1.5,
    )
    shocks = SimpleNamespace(score=4.0)
    numbers = (1.5, 0.2, 0.3, 2.0, 0.1, None)
    tests = SimpleNamespace(search=search, innovations=numbers, size=1.25)
    model = model_of(dof=1, averaged=4, dt=0.1)
    likelihood = SimpleNamespace(model=model, samples=1000)
    made = {k: v for k, (v, *_) in estimate.diagnostics(likelihood, tests).items()}
    known = {"log_likelihood": -12.5, "samples": 1000, "samples_averaged": 4}
    known |= {"whiteness_p_value": 0.2, "line_p_value": 0.3, "line_frequency": 2.0}
    known |= {"predicted_share": 0.1, "simulated_size": 1.25, "kurtosis": 1.5}
    known |= {"condition": 7.0, "best_absent_score": 5.0, "term_penalty": 8.0}
    known |= {"order_disagreement": 0.25, "converged": 1, "remaining": 0.02}
    known |= {"colour_ratio": 2.5, "memory_score": -1.5, "input_gain_std": 0.0}
    assert known.items() <= made.items() and shocks.score == 4.0
    assert made["undecided_p_value"] == pytest.approx(2 * chi2.sf(5.0, 1))
    time = 0.4 if coloured else 0.0
    assert made["correlation_time_estimate"] == pytest.approx(time)
    assert made["correlation_time_std"] == pytest.approx(0.1 * time)
    assert np.isnan(made["impulse_score"])
    search.scores = np.array([])
    search.inside = 0
    made = estimate.diagnostics(likelihood, tests)
    assert made["best_absent_score"][0] == 0.0
    seen = estimate.shaken_by((1.0, 2.0, 3.0, 0.5, None, None, None))
    assert [value for value, *_ in seen.values()] == [2.0, 3.0, 0.5]


@pytest.mark.parametrize(
    ("white", "jumps", "exact"),
    [
        (0.01, False, True),
        (0.01, True, False),
        (1e-5, False, False),
        (0.01, None, True),
    ],
)
def test_errors_are_robust_where_innovations_are_not_white_or_jump(
    white, jumps, exact, monkeypatch
):
    seen = []
    shocks = None if jumps is None else SimpleNamespace(significant=jumps)
    said = SimpleNamespace(whiteness=white, impulses=shocks)
    fit = FittedLaw(np.ones(2), np.eye(2), None)
    for name, value in {
        "tested": said,
        "force_bounds": "bounds",
        "robust_covariance": 9 * np.eye(2),
        "nearest_absent": "near",
        "simulated_size": 1.5,
    }.items():
        monkeypatch.setattr(estimate, name, lambda *_, value=value: value)
    monkeypatch.setattr(
        estimate, "with_selection", lambda fit, c, near: seen.append((c, near)) or fit
    )
    search = FoundLaw(fit, 0.5)
    made = estimate.tests_of(SimpleNamespace(model=None), search)
    ((errors, near),) = seen
    np.testing.assert_allclose(errors, (1 if exact else 9) * np.eye(2) + 0.5)
    assert near == made.nearly == "near" and made.size == 1.5
    assert made.innovations is said and made.bounds == "bounds"


@dataclass(frozen=True)
class FittedLaw:
    theta: np.ndarray
    covariance: np.ndarray
    structure: Structure = None


@dataclass(frozen=True)
class FoundLaw:
    fit: FittedLaw
    of_width: float
    absent: tuple = ()
    inside: int = 0
    penalty: float = 0.0
