"""Likelihood of innovations against least squares, all of it in closed form."""

import numpy as np
import pytest
from regression import ROWS, TYPICAL, Regression

from leastaction.ensembles.innovations_likelihood import (
    LEAST_NOISE,
    NO_NOISE,
    Fit,
    Likelihood,
    _is_between,
    normalised_inverse,
)
from leastaction.ensembles.state_space import Structure

LEAST = (0, 1)


def least_squares(model, columns):
    """Coefficients, their covariance, mean square of residuals."""
    X, y = model.X.reshape(-1, 4)[:, list(columns)], model.y.ravel()
    c = np.linalg.lstsq(X, y)[0]
    square = np.mean((y - X @ c) ** 2)
    return c, square * np.linalg.inv(X.T @ X), square


def fitted(columns=LEAST, start=(0.0, 0.0), sigma=2.0, log_noise=1.0):
    model = Regression()
    likelihood = Likelihood(model)
    theta = np.array([*start, sigma, log_noise])
    return likelihood, likelihood.fit(Structure(columns), theta)


def test_the_value_is_the_normal_density_and_is_computed_once():
    model = Regression()
    likelihood, structure = Likelihood(model), Structure(LEAST)
    theta = np.array([0.7, -1.0, 0.5, np.log(0.8)])
    value, ratio, variance = likelihood.value(structure, theta)
    e = (model.y - model.X[..., :2] @ theta[:2]).ravel() / 0.5
    both = np.concatenate([e, model.z.ravel() / 0.8])
    logarithms = len(e) * np.log(0.25 * 0.64)
    assert value == pytest.approx(-0.5 * (np.sum(both**2) + logarithms))
    assert ratio == pytest.approx(np.mean(both**2))
    assert variance == pytest.approx([(0.25 + 0.64) / 2])
    runs = model.runs
    assert likelihood.value(structure, theta)[0] == value and model.runs == runs
    for other in range(16):
        likelihood.value(structure, theta + 1e-3 * (1 + other))
    likelihood.value(structure, theta)
    assert model.runs == runs + 17
    assert likelihood.value(structure, theta + 100)[0] == -np.inf


@pytest.mark.parametrize("log_noise", [np.nan, 400.0, -400.0])
def test_a_variance_beyond_all_numbers_has_no_likelihood(log_noise):
    theta = np.array([0.7, -1.0, 0.5, log_noise])
    with np.errstate(all="ignore"):
        value, *others = Likelihood(Regression()).value(Structure(LEAST), theta)
    assert value == -np.inf and np.isnan(others).all()


def test_gaps_have_no_part_in_the_mean_square_and_the_mean_variance():
    """There e is 0 and V is 1; the mean over time of V goes over all samples."""
    model, theta = Regression(), np.array([0.7, -1.0, 0.5, np.log(0.8)])
    of_model = model.innovations

    def with_gaps(*how):
        def of_record(number):
            e, V = of_model(*how)(number)
            e[:50], V[:50], e[60] = 0.0, 1.0, 1.0
            return e, V

        return of_record

    model.innovations = with_gaps
    value, ratio, variance = Likelihood(model).value(Structure(LEAST), theta)
    parts = [with_gaps(Structure(LEAST), theta, 2)(number) for number in range(2)]
    e, V = (np.concatenate([part[k][50:, 0] for part in parts]) for k in (0, 1))
    assert value == pytest.approx(-0.5 * np.sum(e**2 / V + np.log(V)))
    assert ratio == pytest.approx(np.mean(e**2 / V))
    assert variance == pytest.approx([V.sum() / model.samples])


def test_innovations_are_those_of_a_filter_of_second_order_unless_another_is_meant():
    model, theta = Regression(), np.array([0.7, -1.0, 0.5, 0.2])
    likelihood, axes = Likelihood(model), 1e-3 * np.eye(4)
    for ask in (
        lambda *order: likelihood.value(Structure(LEAST), theta, *order),
        lambda *order: likelihood.profiled(Structure(LEAST), theta, *order),
        lambda *order: likelihood.fit(Structure(LEAST), theta, *order),
    ):
        for order in ((), (1,)):
            model.requests.clear()
            likelihood._values.clear()
            ask(*order)
            assert {request[2] for request in model.requests} == {*(order or (2,))}
    model.requests.clear()
    likelihood.pieces(Structure(LEAST), theta, axes, absent=[2], memory=True)
    assert {order for _, _, order in model.requests} == {2}


def test_information_beyond_all_numbers_is_that_of_no_law():
    likelihood, theta = Likelihood(Regression()), np.array([0.7, -1.0, 0.5, 0.2])
    axes = np.diag([1.0, 1e200, 1.0, 1.0])[:, 1:2]
    with np.errstate(all="ignore"):
        value, *_ = likelihood.pieces(Structure(LEAST), theta, axes)
    assert value == -np.inf


def test_the_slope_of_an_absent_column_is_taken_over_a_ten_thousandth():
    """Of the coefficient whose force is that of the inertia, from none."""
    model, theta = Regression(), np.array([0.7, -1.0, 0.5, 0.2])
    Likelihood(model).pieces(Structure(LEAST), theta, np.eye(4)[:, :1], absent=[2, 3])
    steps = {
        structure.columns[2]: theta[2]
        for structure, theta, _ in model.requests
        if len(structure.columns) == 3 and theta[2]
    }
    assert steps == pytest.approx({2: 1e-4 * TYPICAL[2], 3: 1e-4 * TYPICAL[3]})


def test_what_matters_of_a_parameter_is_a_force_as_large_as_that_of_the_inertia():
    likelihood = Likelihood(Regression())
    assert likelihood.typical == pytest.approx(TYPICAL)
    likelihood.model.places = lambda structure: (slice(0, 2), slice(2, 4), slice(4, 5))
    driven = Structure((3, 0), driven=True, late=True)
    theta = np.array([1.0, 2.0, -3.0, 2.5, 0.1, 1.0, 0.0])
    scale = likelihood.scale(driven, theta)
    assert scale.tolist() == pytest.approx([4.0, 2.0, 3.0, 3.0, 1.0, 1.0, 0.2])


def test_no_candidate_without_a_force_is_compared():
    model = Regression()
    model.forces_of_motion = lambda: (6.0, np.array([0.0, 12.0]))
    assert Likelihood(model).typical == pytest.approx([1.0, 0.5])


def test_slopes_and_information_along_axes():
    """g and I of coefficients, a deviation, its logarithm and an absent column."""
    model = Regression()
    likelihood, theta = Likelihood(model), np.array([0.7, -1.0, 0.5, np.log(0.8)])
    axes = np.diag([1e-3, 2e-3, 1e-4, 1e-4])
    samples = []
    value, g, information = likelihood.pieces(
        Structure(LEAST), theta, axes, absent=[2], per_sample=samples
    )
    X, V = model.X.reshape(-1, 4), 0.25
    e = model.y.ravel() - X[:, :2] @ theta[:2]
    size = np.array([1e-3, 2e-3, 1.0])
    linear = [0, 1, 4]
    assert g[linear] == pytest.approx(X[:, :3].T @ e / V * size, rel=1e-6)
    assert g[2] == pytest.approx(1e-4 * np.sum(e**2 / V - 1) / 0.5, rel=1e-6)
    assert g[3] == pytest.approx(1e-4 * np.sum(model.z**2 / 0.64 - 1), rel=1e-6)
    expected = X[:, :3].T @ X[:, :3] / V * np.outer(size, size)
    assert information[np.ix_(linear, linear)] == pytest.approx(expected)
    # V' is 2 V by log s, 2 V/σ by σ: 2 for each sample, or 2/σ².
    assert information[3, 3] == pytest.approx(1e-8 * 2 * len(e), rel=1e-6)
    assert information[2, 2] == pytest.approx(1e-8 * 2 * len(e) / V, rel=1e-6)
    assert value == pytest.approx(likelihood.value(Structure(LEAST), theta)[0])
    root, ratio, slopes = samples[1]
    assert root[[0, -1]] == pytest.approx([0.5, 0.8]) and slopes.shape == (
        5,
        2,
        2 * ROWS,
    )
    assert ratio[:ROWS] == pytest.approx(e[ROWS:] / 0.5)
    nowhere = likelihood.pieces(Structure(LEAST), theta + [100, 0, 0, 0], axes)
    assert nowhere[0] == -np.inf


def test_the_maximum_is_that_of_least_squares():
    likelihood, fit = fitted()
    c, covariance, square = least_squares(likelihood.model, LEAST)
    assert fit.converged
    error, count = np.sqrt(np.diag(covariance)), 2 * ROWS
    assert (np.abs(fit.theta[:2] - c) < 0.1 * error).all()
    assert fit.theta[2] == pytest.approx(np.sqrt(square), rel=3e-3)
    noise = np.mean(likelihood.model.z**2)
    assert fit.theta[3] == pytest.approx(np.log(noise) / 2, abs=3e-3)
    assert fit.covariance[:2, :2] == pytest.approx(covariance, rel=1e-2)
    assert fit.covariance[2, 2] == pytest.approx(square / (2 * count), rel=1e-2)
    assert fit.covariance[3, 3] == pytest.approx(1 / (2 * count), rel=1e-2)
    assert fit.wald == pytest.approx(c**2 / np.diag(covariance), rel=1e-2)
    highest = -0.5 * count * (2 + np.log(square * noise))
    assert highest - 5e-3 < fit.value < highest + 1e-9
    assert fit.remaining < 0.06


def test_the_condition_is_that_of_the_correlations():
    covariance = np.array([[4.0, 1.8, 0.0], [1.8, 1.0, 0.0], [0.0, 0.0, 1e6]])
    fit = Fit(
        *(Structure(LEAST), np.array([4.0, 3.0, 1.0]), 0.0),
        *(np.eye(3)[:, :2], np.zeros(2), np.eye(2), True),
        total=covariance,
    )
    assert fit.condition == pytest.approx(1.9 / 0.1)
    assert fit.wald == pytest.approx([4.0, 9.0])
    assert fit.order == 2


def test_remaining_is_the_distance_to_the_maximum_in_standard_errors():
    information = np.array([[4.0, 1.0], [1.0, 2.0]])
    away = np.array([0.3, -0.2])
    at = Structure(LEAST), np.zeros(3), 0.0, np.eye(3)[:, :2]
    fit = Fit(*at, information @ away, information, True)
    assert fit.remaining == pytest.approx(np.sqrt(away @ information @ away))
    assert fit.covariance[2].tolist() == [0.0, 0.0, np.inf]
    inverse = np.linalg.inv(information)
    assert fit.covariance[:2, :2] == pytest.approx(inverse)


def test_directions_without_information_have_no_part_in_the_inverse():
    twice = np.array([[1.0, 10.0], [10.0, 100.0]])
    inverse, size = normalised_inverse(twice)
    assert size.tolist() == [1.0, 10.0]
    assert inverse == pytest.approx(np.full((2, 2), 0.25))


def test_an_absent_column_is_what_it_would_be_in_the_law():
    """To second order, which is all for a normal law: its estimate, its information."""
    likelihood, fit = fitted()
    c, _, square = least_squares(likelihood.model, LEAST)
    X = likelihood.model.X.reshape(-1, 4)
    e = likelihood.model.y.ravel() - X[:, :2] @ c
    projected = X[:, 2:] - X[:, :2] @ np.linalg.lstsq(X[:, :2], X[:, 2:])[0]
    entry, information, moves = likelihood.entries(fit, [2, 3], False)
    norms = (projected**2).sum(axis=0)
    assert entry == pytest.approx(projected.T @ e / norms, rel=2e-2)
    assert information == pytest.approx(norms / square, rel=2e-2)
    by_regression = -np.linalg.lstsq(X[:, :2], X[:, 2:])[0].T * entry[:, None]
    assert moves[:, :2] == pytest.approx(by_regression, rel=5e-2, abs=2e-3)
    z = likelihood.scores(fit, [2, 3])
    assert z == pytest.approx(entry * np.sqrt(information))
    assert likelihood.scores(fit, []).shape == (0,)
    runs = likelihood.model.runs
    likelihood.entries(fit, [2, 3], False)
    assert likelihood.model.runs == runs


def test_a_column_enters_by_one_step_from_anywhere():
    """With known variances ℓ is a parabola: its entry is the joint estimate."""
    likelihood, theta = Likelihood(Regression()), np.array([3.0, 1.0, 0.5, -0.2])
    axes = np.diag([1e-3, 2e-2, 1.0, 1.0])[:, :2]
    of_fit = likelihood.pieces(Structure(LEAST), theta, axes)
    fit = Fit(Structure(LEAST), theta, of_fit[0], axes, *of_fit[1:], False)
    entry, information, _ = likelihood.entries(fit, [2, 3], False)
    X, y = likelihood.model.X.reshape(-1, 4), likelihood.model.y.ravel()
    for k, column in enumerate((2, 3)):
        used = X[:, [0, 1, column]]
        assert entry[k] == pytest.approx(np.linalg.lstsq(used, y)[0][2], rel=1e-6)
        covariance = 0.25 * np.linalg.inv(used.T @ used)
        assert information[k] == pytest.approx(1 / covariance[2, 2], rel=1e-6)


@pytest.mark.parametrize(
    ("apart", "known"), [(0.0, False), (0.9e-4, False), (1.1e-4, True)]
)
def test_a_column_that_repeats_others_is_not_determined(apart, known):
    """Nor one without a force; a hundred millionth of its square may be new."""
    model, theta = Regression(), np.array([0.9, -1.9, 0.5, -0.2])
    X = model.X.reshape(-1, 4)
    basis = np.linalg.qr(X)[0]
    X[:, 3] = basis[:, 0] + apart * basis[:, 3]
    X[:, 2] = 0.0
    likelihood, axes = Likelihood(model), np.eye(4)[:, :2]
    of_fit = likelihood.pieces(Structure(LEAST), theta, axes)
    fit = Fit(Structure(LEAST), theta, of_fit[0], axes, *of_fit[1:], False)
    entry, information, moves = likelihood.entries(fit, [2, 3], False)
    assert entry[0] == information[0] == 0 and not moves[0].any()
    assert (information[1] > 0) == (entry[1] != 0) == moves[1].any() == known


def test_joint_slopes_are_those_of_the_parameters_themselves():
    likelihood, fit = fitted()
    _, information = likelihood.joint(fit, [3])
    X, square = likelihood.model.X.reshape(-1, 4)[:, [0, 1, 3]], fit.theta[2] ** 2
    places = np.ix_([0, 1, 4], [0, 1, 4])
    assert information[places] == pytest.approx(X.T @ X / square, rel=1e-5)
    assert information[3, 3] == pytest.approx(2 * 2 * ROWS, rel=1e-2)


def test_profiled_variances_are_those_of_the_innovations():
    likelihood, theta = Likelihood(Regression()), np.array([1.0, -2.0, 3.0, 0.5])
    moved, value = likelihood.profiled(Structure(LEAST), theta)
    assert likelihood.value(Structure(LEAST), moved)[1] == pytest.approx(1.0)
    assert value > likelihood.value(Structure(LEAST), theta)[0]
    again, same = likelihood.profiled(Structure(LEAST), moved)
    assert same >= value and again == pytest.approx(moved)
    lost = np.array([60.0, 0.0, 1.0, 0.0])
    assert likelihood.profiled(Structure(LEAST), lost)[0] is lost


@pytest.mark.parametrize(
    "levels, low, high, expected",
    [
        ([1.0, 5.0], 2.0, 4.0, True),
        ([1.0, 5.0], 2.0, 6.0, False),
        ([1.0, 5.0], 0.2, 0.7, True),
        ([1.0, 5.0], 0.2, 2.0, False),
        ([1.0, 5.0], 6.0, 7.0, False),
        ([], 0.0, 1.0, False),
        ([1.0], 1.0, 1.5, False),
        ([1.0, 5.0], 0.5, 1.0, False),
        ([1.0, 5.0], 1.0, 2.0, True),
    ],
)
def test_a_maximum_is_between_two_levels_or_below_all(levels, low, high, expected):
    assert _is_between(levels, low, high) == expected


def test_a_sensor_that_is_as_good_as_exact_has_no_free_noise():
    """Beside the variance of an innovation; one just below it is raised."""
    likelihood, structure = Likelihood(Regression()), Structure(LEAST)
    for part, free in ((2 * NO_NOISE, [0, 1, 2, 3]), (0.5 * NO_NOISE, [0, 1, 2])):
        theta = np.array([1.0, -2.0, 1.0, 0.5 * np.log(part)])
        likelihood.value = lambda *_: (0.0, 1.0, np.ones(1))
        assert likelihood._free(structure, theta, 2).tolist() == free
        likelihood.value = lambda structure, theta, order: (theta[3], 1.0, np.ones(1))
        raised = likelihood._raised(structure, theta, 2)
        assert raised[3] == pytest.approx(0.5 * np.log(LEAST_NOISE))
        likelihood.value = lambda structure, theta, order: (-theta[3], 1.0, np.ones(1))
        assert likelihood._raised(structure, theta, 2) is theta
        likelihood.value = lambda *_: (-np.inf, 1.0, np.ones(1))
        assert likelihood._raised(structure, theta, 2) is theta
    theta = np.array([1.0, -2.0, 1.0, 0.0])
    likelihood.value = lambda *_: (0.0, 1.0, np.ones(1))
    assert likelihood._raised(structure, theta, 2) is theta


def test_a_step_is_shortened_to_one_unit_of_a_logarithm():
    likelihood, axes = Likelihood(Regression()), np.diag([1.0, 1.0, 1.0, 0.5])
    short = likelihood._short(Structure(LEAST), axes, np.array([9.0, 8.0, 7.0, 1.0]))
    assert short.tolist() == [9.0, 8.0, 7.0, 1.0]
    short = likelihood._short(Structure(LEAST), axes, np.array([9.0, 8.0, 7.0, -8.0]))
    assert short == pytest.approx([2.25, 2.0, 1.75, -2.0])
    coloured = Structure((0,), coloured=True)
    short = likelihood._short(coloured, np.eye(4), np.array([1.0, 9.0, 0.1, 5.0]))
    assert short == pytest.approx([0.2, 1.8, 0.02, 1.0])
    # A lag follows the gain, and is measured by the moment, .2 s.
    late, step = Structure((), driven=True, late=True), np.array([0.1, 0.1, 7.0, 0.8])
    assert likelihood._short(late, np.eye(4), step) == pytest.approx(step / 4)


def test_principal_axes_are_part_of_a_standard_error_and_no_longer_than_what_matters():
    likelihood = Likelihood(Regression())
    information = np.array([[4e6, 1e6], [1e6, 2e6]])
    axes = np.diag([0.1, 0.2, 1.0, 1.0])[:, :2]
    theta, structure = np.ones(4), Structure(LEAST)
    size = np.sqrt(np.diag(information))
    matrix = information / np.outer(size, size)
    turned = likelihood._principal(structure, theta, axes, matrix, size)
    # Along them the information is diagonal: (1/20)² each.
    units = np.linalg.lstsq(axes, turned)[0]
    assert units.T @ information @ units == pytest.approx(np.eye(2) / 400, abs=1e-12)
    weak = likelihood._principal(structure, theta, axes, matrix, 1e-5 * size)
    part = np.abs(weak) / likelihood.scale(structure, theta)[:, None]
    assert part.max(axis=0) == pytest.approx([0.01, 0.01])


def test_forces_below_a_part_of_their_error_are_not_determined():
    likelihood = Likelihood(Regression())
    likelihood.model.places = lambda structure: (slice(0, 1), slice(1, 3), slice(3, 4))
    theta, error = np.array([1e-9, 0.05, 0.2, 0.0]), np.array([1.0, 1.0, 1.0, 1.0])
    information = np.diag(1 / error**2)
    fit = Fit(Structure((0,)), theta, 0.0, np.eye(4), np.zeros(4), information, True)
    assert likelihood._determined(fit) == {0, 2, 3}


def test_scoring_ends_where_it_is_known_which_levels_are_passed():
    model = Regression()
    best = fitted()[1].value
    start = np.array([0.9, -1.8, 1.0, np.log(0.5)])
    ended = Likelihood(model).fit(Structure(LEAST), start, levels=[best + 1000])
    few = model.runs
    assert not ended.converged
    model.runs = 0
    assert Likelihood(model).fit(Structure(LEAST), start, levels=[best - 90]).converged
    assert few < model.runs


def test_a_law_that_diverges_has_no_fit():
    fit = Likelihood(Regression()).fit(
        Structure(LEAST), np.array([60.0, 0.0, 1.0, 0.0])
    )
    assert fit.value == -np.inf and not fit.converged and fit.order == 2


def test_a_step_of_a_law_whose_innovations_are_linear_is_not_bent():
    """What e has beyond its slopes is nothing: the step stays, and its ℓ is known."""
    likelihood, structure = Likelihood(Regression()), Structure(LEAST)
    theta, samples = np.array([0.9, -1.9, 0.4, np.log(0.7)]), []
    axes = np.diag([0.1, 0.1, 0.1, 0.1])[:, :2]
    pieces = likelihood.pieces(structure, theta, axes, per_sample=samples)
    fit = Fit(structure, theta, pieces[0], axes, *pieces[1:], False)
    step = np.array([-3.0, 2.0])  # away from the maximum
    moved, value = likelihood._bent(fit, step, samples)
    assert moved == pytest.approx(theta + axes @ step)
    assert value == pytest.approx(likelihood.value(structure, moved)[0])
    assert likelihood._bent(fit, np.array([900.0, 0.0]), samples)[1] == -np.inf


class Canyon(Regression):
    """Innovations f(θ) of unit variance, of two parameters."""

    def __init__(self, f):
        super().__init__(records=1)
        self.f = f

    def innovations(self, structure, theta, order=2):
        self.runs += 1
        e = np.array([self.f(*theta[:2])]).reshape(-1, 1)
        return lambda number: (e, np.ones_like(e))

    def bent(self, step):
        """θ, ℓ of a bent step from the origin, and ℓ there."""
        likelihood, structure, samples = Likelihood(self), Structure(LEAST), []
        axes = np.diag([1e-5, 2e-5, 1.0, 1.0])[:, :2]
        pieces = likelihood.pieces(structure, np.zeros(4), axes, per_sample=samples)
        fit = Fit(structure, np.zeros(4), pieces[0], axes, *pieces[1:], False)
        self.runs = 0
        step = np.array(step) / np.diag(axes)
        return *likelihood._bent(fit, step, samples), fit.value


@pytest.mark.parametrize("depth", [3.0, 100.0])
def test_a_step_is_bent_onto_the_floor_of_a_canyon(depth):
    """Of Rosenbrock's, from the origin to (2, 0): its minimum is (2, 4)."""
    model = Canyon(lambda a, b: [depth * (b - a * a), a - 2])
    moved, value, before = model.bent([2.0, 0.0])
    assert before == pytest.approx(-2.0)
    assert moved[:2] == pytest.approx([2.0, 4.0], rel=1e-6)
    assert value == pytest.approx(0.0, abs=1e-6) and model.runs == 2


@pytest.mark.parametrize(
    ("f", "step", "runs"),
    [
        (lambda a, b: [a + 5 * a * a, b], [1.0, 0.0], 2),  # worse: it is given up
        (lambda a, b: [1 + a + 0.05 * a * a, b], [2.0, 0.0], 25),  # no better
    ],
)
def test_a_step_is_bent_until_it_gets_worse_or_twenty_five_times(f, step, runs):
    model = Canyon(f)
    *_, value, before = model.bent(step)
    assert value < before and model.runs == runs


@pytest.mark.parametrize(("part", "rank"), [(0.9, 1), (1.1, 2)])
def test_information_of_a_hundred_millionth_is_none(part, rank):
    """Eigenvalues of a unit diagonal: 2 − 10⁻⁸ and 10⁻⁸, about."""
    r = 1 - part * 1e-8
    inverse, size = normalised_inverse(np.array([[4.0, 2 * r], [2 * r, 1.0]]))
    assert size.tolist() == [2.0, 1.0]
    assert np.linalg.matrix_rank(inverse, tol=1e-3) == rank
    assert np.linalg.eigvalsh(inverse)[1] > (1e7 if rank == 2 else 0)


class Coloured(Regression):
    """A force with a correlation time τ changes innovations by τ x₃."""

    seen = None

    def innovations(self, structure, theta, order=2):
        if not structure.coloured:
            return super().innovations(structure, theta, order)
        time, of_white = np.exp(theta[-1]), super().innovations(structure, theta)
        self.seen = time

        def of_record(number):
            e, V = of_white(number)
            e = e.copy()
            e[:ROWS, 0] -= time * self.X[number][:, 3]
            return e, V

        return of_record


def test_a_correlation_time_is_tested_at_half_a_sample():
    """Its slope is that of a column, from none to it; others stay."""
    likelihood, theta = Likelihood(Coloured()), np.array([0.7, -1.0, 0.5, -0.2])
    axes = np.diag([1e-3, 2e-3, 1e-4, 1e-4])
    how = Structure(LEAST), theta, axes
    _, g, information = likelihood.pieces(*how, absent=[3], memory=True)
    assert likelihood.model.seen == pytest.approx(0.5 * 0.1)
    assert g[5] == pytest.approx(g[4]) and len(g) == 6
    assert information[5, :4] == pytest.approx(information[4, :4])
    assert information[5, 5] == pytest.approx(information[4, 4])
    fit = Fit(*how[:2], 0.0, axes, np.zeros(4), np.eye(4), True)
    z = likelihood.scores(fit, [3], memory=True)
    assert z.shape == (2,) and z[0] == pytest.approx(z[1])
    assert likelihood.scores(fit, [], memory=True) == pytest.approx(z[1:])


class Nonlinear(Regression):
    """With column 3, the filter is another, which is off by a constant."""

    linear = np.array([True, True, True, False])

    def innovations(self, structure, theta, order=2):
        of_linear = super().innovations(structure, theta, order)
        if 3 not in structure.columns:
            return of_linear
        return lambda number: (of_linear(number)[0] + 5.0, of_linear(number)[1])


@pytest.mark.parametrize(
    ("columns", "absent", "runs"),
    [((0, 1), [2], 10), ((0, 1), [3], 11), ((0, 1), [2, 3], 12), ((0, 3), [1, 2], 11)],
)
def test_a_slope_is_taken_within_one_filter(columns, absent, runs):
    """That of a candidate from the same filter without it, which is run once."""
    model, theta = Nonlinear(), np.array([0.7, -1.0, 0.5, -0.2])
    axes = np.diag([1e-3, 2e-3, 1e-4, 1e-4])
    likelihood = Likelihood(model)
    model.runs = 0
    _, _, information = likelihood.pieces(
        Structure(columns), theta, axes, absent=absent
    )
    assert model.runs == runs
    X = model.X.reshape(-1, 4)[:, absent]
    assert information[4:, 4:] == pytest.approx(X.T @ X / 0.25, rel=1e-6)


class Scoring:
    """The loop of a fit alone: g and I are prescribed, ℓ is 0, 1, 2 ..."""

    def __init__(self, monkeypatch, slope, correlation=0.0, gains=True, free=None):
        self.axes, self.dampings, self.requests = [], [], 0
        unit = np.array([20.0, 0.3])  # no result depends on that of a parameter
        self.slope, self.gains, self.determined = slope * unit, gains, {0, 1}
        self.information = np.array([[1.0, correlation], [correlation, 1.0]])
        self.information *= np.outer(unit, unit)
        self.likelihood, self.theta = Likelihood(Regression()), np.array([1.0, 2.0])
        for name in ("pieces", "_step", "_determined", "_principal"):
            monkeypatch.setattr(self.likelihood, name, getattr(self, name))
        self.likelihood.profiled = lambda structure, theta, order: (theta, 0.0)
        self.likelihood._raised = lambda structure, theta, order: theta
        counts = free or [2]
        self.likelihood._free = lambda *_: np.arange(
            counts.pop(0) if len(counts) > 1 else counts[0]
        )
        self.likelihood.scale = lambda structure, theta: np.array([3.0, 5.0])

    def pieces(self, structure, theta, axes, order, per_sample):
        self.axes.append(axes)
        n = axes.shape[1]
        return float(len(self.axes) - 1), self.slope[:n], self.information[:n, :n]

    def _step(self, fit, damping, per_sample):
        self.dampings.append(damping)
        return self.theta, fit.value + (1.0 if self.gains else 0.0), 8 * damping

    def _determined(self, fit):
        self.requests += 1
        return self.determined

    def _principal(self, structure, theta, axes, matrix, size):
        return 2 * axes

    def fit(self, **more):
        return self.likelihood.fit(Structure(LEAST), self.theta, **more)


@pytest.mark.parametrize(
    ("decrement", "calls", "requests"),
    [(2.9e-3, 1, 0), (3.1e-3, 40, 40), (9.9, 40, 40), (10.1, 40, 0)],
)
def test_scoring_ends_at_a_twentieth_of_a_standard_error_or_after_forty_steps(
    monkeypatch, decrement, calls, requests
):
    """Forces that are as good as none are looked for where a step gains little."""
    one = Scoring(monkeypatch, [np.sqrt(decrement), 0.0])
    fit = one.fit()
    assert fit.converged == (calls == 1) and len(one.axes) == calls
    assert one.requests == requests and fit.value == calls - 1
    assert pytest.approx(np.diag([3e-4, 5e-4])) == one.axes[0]
    if calls > 1:
        assert pytest.approx(2 * one.axes[0]) == one.axes[1]
        expected = np.maximum(1e-3 / 10.0 ** np.arange(40), 1e-9)
        assert one.dampings == pytest.approx(expected)
    one = Scoring(monkeypatch, [np.sqrt(0.5), 0.0], gains=False)
    assert not one.fit().converged and len(one.axes) == 1


@pytest.mark.parametrize(("condition", "converged"), [(0.9e6, True), (1.1e6, False)])
def test_a_fit_along_axes_of_a_large_condition_turns_them(
    monkeypatch, condition, converged
):
    r = (condition - 1) / (condition + 1)
    one = Scoring(monkeypatch, [0.0, 0.0], correlation=r)
    assert one.fit().converged == converged
    assert len(one.axes) == (1 if converged else 40) and not one.dampings


@pytest.mark.parametrize(
    ("level", "calls"), [(3.9, 1), (2.1, 1), (1.9, 40), (-1.0, 40)]
)
def test_a_maximum_is_reckoned_with_up_to_twice_the_decrement(
    monkeypatch, level, calls
):
    """At ℓ = 0, 1, ..., each with a decrement of one."""
    one = Scoring(monkeypatch, [1.0, 0.0])
    one.fit(levels=[level])
    assert len(one.axes) == calls


def test_a_force_that_is_none_leaves_the_axes_before_the_next_step(monkeypatch):
    one = Scoring(monkeypatch, [1.0, 1.0])
    one.determined = {1}
    one.fit()
    assert [a.shape for a in one.axes[:3]] == [(2, 2), (2, 1), (2, 1)]
    assert one.axes[1].ravel() == pytest.approx([0.0, 5e-4])
    assert len(one.dampings) == len(one.axes) - 1


def test_a_parameter_that_no_longer_moves_leaves_the_axes(monkeypatch):
    one = Scoring(monkeypatch, [1.0, 0.0], free=[2, 2, 1])
    one.fit()
    assert [a.shape for a in one.axes[:3]] == [(2, 2), (2, 1), (2, 1)]
    assert one.axes[1].ravel() == pytest.approx([3e-4, 0.0])


@pytest.mark.parametrize(("needed", "dampings"), [(0, 1), (1, 2), (3, 4), (99, 4)])
def test_a_step_is_damped_eight_times_more_until_it_gains(
    monkeypatch, needed, dampings
):
    """Or until no more than a decrement that is none is foreseen."""
    likelihood, tried = Likelihood(Regression()), []

    def profiled(structure, theta, order):
        tried.append(theta[0])
        return theta, (1.0 if len(tried) > needed else -1e-9)

    def bent(fit, step, per_sample):
        raise AssertionError("it fell by less than was foreseen")

    monkeypatch.setattr(likelihood, "profiled", profiled)
    monkeypatch.setattr(likelihood, "_bent", bent)
    theta, axes = np.zeros(4), np.eye(4)[:, :2]
    g = np.array([1.0, 0.0])
    fit = Fit(Structure(LEAST), theta, 0.0, axes, g, np.diag([4.0, 1.0]), False)
    moved, better, damping = likelihood._step(fit, 0.5, [])
    expected = 0.25 / (1 + 0.5 * 8.0 ** np.arange(len(tried)))
    assert tried == pytest.approx(expected) and len(tried) == dampings
    assert damping == pytest.approx(0.5 * 8.0**dampings)
    assert (better > 0) == (needed < 4) and moved[0] == tried[-1]


def test_a_step_that_loses_more_than_was_foreseen_is_bent(monkeypatch):
    likelihood, bends = Likelihood(Regression()), []
    monkeypatch.setattr(likelihood, "profiled", lambda s, theta, o: (theta, -0.3))

    def bent(fit, step, per_sample):
        bends.append(step)
        return fit.theta + 1, 2.0

    monkeypatch.setattr(likelihood, "_bent", bent)
    fit = Fit(
        *(Structure(LEAST), np.zeros(4), 0.0, np.eye(4)[:, :1]),
        *(np.array([0.5]), np.eye(1), False),
    )
    # Foreseen is a gain of slope²/(1 + damping) = ¼.
    moved, better, damping = likelihood._step(fit, 1e-9, [])
    assert better == 2.0 and moved[0] == 1.0 and damping == pytest.approx(8e-9)
    assert len(bends) == 1 and bends[0] == pytest.approx([0.5])
    fit.gradient[:] = 1.0  # and of one, of which it loses less
    bends.clear()
    likelihood._step(fit, 1e-9, [])
    foreseen = 1 / (1 + 1e-9 * 8.0 ** np.arange(20))
    assert bends[0] == pytest.approx([foreseen[foreseen < 0.3][0]])
