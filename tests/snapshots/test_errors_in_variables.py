"""Orthogonal distance regression of noisy snapshots: derivatives, noise, positions."""

from types import SimpleNamespace

import numpy as np
import pytest

import leastaction as la
from leastaction.core.recipe import Recipe
from leastaction.snapshots import errors_in_variables as module
from leastaction.snapshots.bases import RadialBasis
from leastaction.snapshots.contracts import CONTRACTS
from leastaction.snapshots.discrete_euler_lagrange import weight_space
from leastaction.snapshots.discrete_lagrangian import (
    discrete_euler_lagrange,
    mass_conditions,
)
from leastaction.snapshots.errors_in_variables import (
    Linearisation,
    learned,
    orthogonal_distance_regression,
    relinearised,
    rescaled,
    row_jacobian,
    square,
)

STEP, SIGMA = 0.2, 1e-2
CENTRAL = "(xdot**2 + ydot**2)/2 - (x**2 + y**2)/2 - (x**2 + y**2)**2/4"


@pytest.fixture(scope="module")
def data():
    box = {name: {"uniform": [-0.9, 0.9]} for name in "abcd"}
    start = dict(zip(("x", "y", "xdot", "ydot"), "abcd", strict=True))
    return la.System(CENTRAL).simulate(
        duration=6.4,
        time_step=STEP,
        trajectories=12,
        initial_state=start | {"random": box},
        noise={"channels": ["q"], "levels": [SIGMA]},
        seed=9,
    )


@pytest.fixture(scope="module")
def true(data):
    return data["q"].values[0]


@pytest.fixture(scope="module")
def noisy(true):
    return true + SIGMA * np.random.default_rng(3).standard_normal(true.shape)


def regression(noisy):
    """L, and the linearised equations, without any knowledge of the truth."""
    basis = weight_space(noisy, STEP, 5, 5.6)
    line = Linearisation(basis, quadratic(basis, noisy), noisy, noisy, STEP, "midpoint")
    for _ in range(3):
        fit, line = relinearised(line, learned(line, basis))
        line = line.moved(basis, fit.coefficients)
    return fit, line


def quadratic(basis, positions):
    """Coefficients of a harmonic oscillator, the first guess."""
    rng = np.random.default_rng(0)
    states = rng.uniform(-1, 1, (400, 4))
    wanted = np.hstack([-states[:, :2], states[:, 2:]])
    gradient = np.concatenate([basis.partial(states, i) for i in range(4)])
    return np.linalg.lstsq(gradient, wanted.T.ravel(), rcond=None)[0]


@pytest.mark.parametrize("rule", ["midpoint", "trapezoidal"])
def test_the_jacobian_of_the_rows_is_their_derivative(true, rule):
    few = true[:2, :5]
    basis = weight_space(true, STEP, 4, 5.6)
    b = np.random.default_rng(1).standard_normal(basis.size)
    jacobian = row_jacobian(basis, b, few, STEP, rule)
    change, size = np.random.default_rng(2).standard_normal(few.shape), 1e-6

    def rows(positions):
        return (discrete_euler_lagrange(basis, positions, STEP, rule) @ b).reshape(
            2, -1
        )

    found = (rows(few + size * change) - rows(few - size * change)) / (2 * size)
    expected = np.einsum("tkm,tm->tk", jacobian, change.reshape(2, -1))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * abs(found).max())


def test_the_noise_is_measured_and_taken_out(noisy, true):
    fit, line = regression(noisy)
    assert fit.noise == pytest.approx(SIGMA, rel=0.05)
    left = np.sqrt(np.mean((line.adjusted - true) ** 2))
    assert left < 0.5 * SIGMA
    rows = discrete_euler_lagrange(fit.basis, line.adjusted, STEP, "midpoint")
    before = discrete_euler_lagrange(fit.basis, noisy, STEP, "midpoint")
    errors = [np.sqrt(np.mean((r @ fit.coefficients) ** 2)) for r in (rows, before)]
    assert errors[0] < 0.02 * errors[1]


def test_the_free_motion_is_learned_better_than_by_its_rows(data):
    """From the same snapshots: errors of motions from starts that were not recorded."""
    base = la.recipes.snapshots.recommended()
    starts = np.random.default_rng(5).uniform(-0.6, 0.6, (6, 4))
    system, errors = la.System(CENTRAL), {}
    for method in ("evidence_maximisation", "orthogonal_distance_regression"):
        steps = {"differentiate": base.differentiate, "assemble": base.assemble}
        model = Recipe(**steps, identify={"method": method}).fit(data)
        errors[method] = [deviation(model, system, start) for start in starts]
    plain, adjusted = map(np.median, errors.values())
    assert adjusted < 0.8 * plain


def deviation(model, system, start) -> float:
    """Largest error of a position in 40 steps."""
    time = STEP * np.arange(41)
    exact = la.core.model.simulate(system, start[:2], start[2:], time)[0]
    return float(np.abs(model.rollout(start, 40).positions - exact).max())


@pytest.fixture(scope="module")
def few():
    """A linearisation about positions near three short motions, and its L."""
    rng = np.random.default_rng(7)
    phase = rng.uniform(0, 6, (3, 1, 2)) + STEP * np.arange(6)[:, None]
    positions = np.cos(phase) * [1.0, 0.3]
    measured = positions + 1e-2 * rng.standard_normal(positions.shape)
    adjusted = positions + 1e-3 * rng.standard_normal(positions.shape)
    basis = weight_space(positions, STEP, 3, 2.0)
    b = quadratic(basis, positions)
    return Linearisation(basis, b, measured, adjusted, STEP, "midpoint"), basis, b


def equations(line, basis, b):
    """J of every trajectory, and A(q̂), straight from their functions."""
    jacobian = row_jacobian(basis, b, line.adjusted, STEP, "midpoint")
    rows = discrete_euler_lagrange(basis, line.adjusted, STEP, "midpoint")
    return jacobian, rows.reshape(len(jacobian), -1, basis.size)


def test_rows_weigh_by_what_errors_of_positions_make_of_them(few):
    """Σ [A N, J (q − q̂)]ᵀ (J Jᵀ)⁻¹ [A N, J (q − q̂)] of all trajectories."""
    line, basis, b = few
    sums = np.random.default_rng(0).standard_normal((basis.size, 4))
    expected = 0.0
    for J, A, moved in zip(
        *equations(line, basis, b), line.measured - line.adjusted, strict=True
    ):
        both = np.column_stack([A @ sums, J @ moved.ravel()])
        expected = expected + both.T @ np.linalg.solve(J @ J.T, both)
    rows = line.rows(basis, sums)
    assert rows.shape == (3 * 4 * 2, 5)
    np.testing.assert_allclose(rows.T @ rows, expected, rtol=1e-6)


def test_positions_move_to_the_nearest_that_obey_the_linear_equations(few):
    line, basis, b = few
    moved = line.moved(basis, b)
    assert moved.measured is line.measured
    for k, (J, A) in enumerate(zip(*equations(line, basis, b), strict=True)):
        change = (moved.adjusted[k] - line.adjusted[k]).ravel()
        np.testing.assert_allclose(A @ b + J @ change, 0, atol=1e-9)
        pulled = (line.measured[k] - moved.adjusted[k]).ravel()
        along = np.linalg.lstsq(J.T, pulled, rcond=None)[0]
        np.testing.assert_allclose(J.T @ along, pulled, atol=1e-9)
    again = Linearisation(basis, b, line.measured, moved.adjusted, STEP, "midpoint")
    np.testing.assert_allclose(
        moved.rows(basis, b[:, None]), again.rows(basis, b[:, None])
    )


@pytest.mark.parametrize(("share", "near"), [(0.99, True), (1.01, False)])
@pytest.mark.parametrize("axis", [0, 1])
def test_positions_are_near_within_the_spread_of_their_coordinate(
    few, axis, share, near
):
    line, basis, b = few
    adjusted = line.measured.copy()
    adjusted[1, 2, axis] -= share * line.measured[..., axis].std()
    one = Linearisation(basis, b, line.measured, adjusted, STEP, "midpoint")
    assert one.is_near() == near


def test_a_fit_obeys_its_conditions_within_its_sums(few):
    line, basis, _ = few
    sums = np.linalg.qr(np.random.default_rng(1).standard_normal((basis.size, 20)))[0]
    conditions, values = mass_conditions(basis, line.adjusted, STEP, "midpoint")
    for fit in (learned(line, basis), learned(line, basis, sums)):
        b = fit.coefficients
        np.testing.assert_allclose(conditions @ b, values, atol=1e-9)
        np.testing.assert_allclose(
            fit.sums @ np.linalg.pinv(fit.sums) @ b, b, atol=1e-9
        )
        system, damping = fit.system, fit.damping
        assert system.coefficients(damping)[-1] == pytest.approx(1.0)
        factor = system.factor(damping)[:, :-1] @ fit.sums.T
        np.testing.assert_allclose(fit.factor, factor)
        assert fit.noise == system.row_error(damping)
        assert fit.log_evidence == system.log_evidence(damping)
        shares = {"damping": damping / system.singular[0], "row_error": fit.noise}
        assert fit.diagnostics == shares


def test_a_mode_without_mass_is_given_one(few, monkeypatch):
    """A condition on b, of the sums, and none on the coefficient of J (q − q̂)."""
    line, basis, _ = few
    row = np.random.default_rng(2).standard_normal(basis.size)
    monkeypatch.setattr(module, "massive", lambda *given: row)
    fit = learned(line, basis)
    assert row @ fit.coefficients == pytest.approx(1.0)


def test_further_functions_are_learned_together_with_all_others(few):
    """min |r(z) + X c|² + μ² |z|², and the part of its covariance about c."""
    line, basis, _ = few
    fit = learned(line, basis)
    more = np.random.default_rng(3).standard_normal((basis.size, 2))
    c, factor = fit.beside(line, basis, more)
    directions = fit.system.directions
    rows, X = line.rows(basis, fit.sums), line.rows(basis, more)[:, :-1]
    b = fit.system.coefficients(fit.damping)
    matrix = np.block(
        [
            [rows @ directions.T, X],
            [fit.damping * np.eye(len(directions)), np.zeros((len(directions), 2))],
        ]
    )
    target = np.r_[rows @ b, fit.damping * directions @ b]
    np.testing.assert_allclose(c, -np.linalg.lstsq(matrix, target)[0][-2:], rtol=1e-6)
    covariance = fit.noise**2 * np.linalg.inv(matrix.T @ matrix)[-2:, -2:]
    np.testing.assert_allclose(factor.T @ factor, covariance, rtol=1e-6)


@pytest.mark.parametrize(("error", "tried"), [(0.9e-7, 0), (1.1e-7, 1)])
def test_a_length_scale_is_searched_where_the_rows_have_an_error(
    few, monkeypatch, error, tried
):
    """Over the least spread of a coordinate; that of the largest evidence."""
    line, basis, _ = few
    noise = error * line.measured.std(axis=(0, 1)).min()
    start, scales = SimpleNamespace(noise=noise, basis=basis), []

    def space(positions, step, degree, scale):
        assert positions is line.measured and (step, degree) == (STEP, 3)
        scales.append(scale)
        return scale

    def fitted(line, scale):
        return SimpleNamespace(scale=scale, log_evidence=-abs(np.log(scale / 5.0)))

    monkeypatch.setattr(module, "weight_space", space)
    monkeypatch.setattr(module, "learned", fitted)
    found = rescaled(line, start)
    assert bool(scales) == bool(tried)
    assert (found.scale == 5.6) if tried else (found is start)


class Line:
    """Stands for a linearisation that is moved so many times."""

    def __init__(self, rounds=0, farthest=9):
        self.rounds, self.farthest = rounds, farthest

    def moved(self, basis, coefficients):
        assert (basis, coefficients) == ("basis", self.rounds)
        return Line(self.rounds + 1, self.farthest)

    def is_near(self):
        return self.rounds <= self.farthest


@pytest.mark.parametrize(
    ("rounds", "farthest", "ends"), [(2, 9, 1), (4, 9, 3), (4, 1, 1)]
)
def test_rounds_end_where_positions_leave_their_neighbourhood(
    monkeypatch, rounds, farthest, ends
):
    def fitted(line, basis="basis", sums=None):
        return SimpleNamespace(coefficients=line.rounds, basis="basis", sums=sums)

    assert module.ROUNDS == 2
    monkeypatch.setattr(module, "ROUNDS", rounds)
    monkeypatch.setattr(module, "learned", fitted)
    line = Line(0, farthest)
    fit, line = relinearised(line, fitted(line, sums="sums"))
    assert fit.coefficients == line.rounds == ends
    assert fit.sums == "sums"


def begin(basis, b, **about):
    """The result of a fit with all noise in the rows."""
    values = basis.to_dataset() | {"coefficient": b}
    attrs = {"time_step": STEP, "rule": "midpoint"} | about
    coords = {"replicate": [0]}
    return CONTRACTS["learned_lagrangian"].dataset(values, coords, attrs)


@pytest.mark.parametrize("near", [True, False])
@pytest.mark.parametrize("given", [None, 0, 1])
def test_a_regression_begins_with_the_law_of_the_rows(few, monkeypatch, near, given):
    line, basis, b = few
    steps = []
    monkeypatch.setattr(Linearisation, "is_near", lambda self: near)
    for name in ("learned", "rescaled", "relinearised"):
        monkeypatch.setattr(
            module,
            name,
            lambda one, other, name=name: steps.append((name, one)) or name,
        )
    about = {} if given is None else {"length_scale_given": given}
    positions = line.measured
    found = orthogonal_distance_regression(begin(basis, b, **about), positions)
    names = ["learned", *(() if given else ("rescaled",)), "relinearised"]
    assert found == "relinearised" and [name for name, _ in steps] == names
    start = Linearisation(basis, b, positions, positions, STEP, "midpoint")
    expected = start.moved(basis, b) if near else start
    for _, one in steps:
        np.testing.assert_allclose(one.adjusted, expected.adjusted)


def test_noise_is_taken_out_with_features_of_all_coordinates(few):
    line, _, _ = few
    cyclic = weight_space(line.measured, STEP, 3, 2.0, (1,))
    radial = RadialBasis(np.zeros((3, 4)), 1.0)
    for basis in (cyclic, radial):
        rows = begin(basis, np.zeros(basis.size))
        with pytest.raises(ValueError, match="Taylor features of all coordinates"):
            orthogonal_distance_regression(rows, line.measured)


def test_a_factor_is_square_with_zeros_below():
    padded = square(np.ones((2, 5)))
    assert padded.shape == (5, 5) and not padded[2:].any() and padded[:2].all()
