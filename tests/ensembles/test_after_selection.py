"""Errors after selection, bounds of forces, width of dry friction, motion of a law."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from frames import frame, storeys
from regression import ROWS, Regression
from scipy.integrate import solve_ivp
from scipy.stats import t
from test_innovations import NOISE, TERMS, model_of, shaken

from leastaction.core.recipe import recommended
from leastaction.ensembles.after_selection import (
    force_bounds,
    nearest_absent,
    robust_covariance,
    with_selection,
)
from leastaction.ensembles.innovation_tests import simulated_size
from leastaction.ensembles.innovations_likelihood import Fit, Likelihood
from leastaction.ensembles.modes import modes
from leastaction.ensembles.state_space import Structure
from leastaction.ensembles.term_search import profiled_width

LINEAR = Structure((2, 5))


@pytest.fixture(scope="module")
def fitted():
    """An oscillator under white noise, with its law."""
    likelihood = Likelihood(model_of(shaken(samples=6000)))
    start = np.array([-0.5, 0.1, 0.8, np.log(NOISE)])
    return likelihood, likelihood.fit(LINEAR, start)


def test_small_dampers_stay_and_their_modes_hold_the_truth():
    """Two storeys of 0.2 and 0.5 %: no score could keep the dampers in."""
    stiffness, damping = [400.0, 300.0], [0.1, 0.1]
    sensors = ("addot + ground", "bddot + ground")
    data = frame(stiffness, damping, sensors, 0.5, 6000, 0.01, seed=3)
    law = recommended("shaken measurements").fit(data, storeys(2), progress=False)
    losses = list(law.terms.query("of == 'D'")["term"])
    assert losses == ["adot**2", "(-adot + bdot)**2"]
    found = modes(law.dataset)
    drift = np.eye(2) - np.eye(2, k=-1)
    K, C = (drift.T @ np.diag(x) @ drift for x in (stiffness, damping))
    values = np.linalg.eigvals(np.block([[np.zeros((2, 2)), np.eye(2)], [-K, -C]]))
    values = values[values.imag > 0]
    truth = np.sort(-values.real / np.abs(values))
    error = found["damping_ratio_std"].values
    assert np.all(np.abs(found["damping_ratio"].values - truth) < 3 * error)


def test_the_sandwich_of_a_right_law_is_its_inverse_information(fitted):
    likelihood, fit = fitted
    ratio = np.diag(robust_covariance(likelihood, fit)) / np.diag(fit.covariance)
    assert np.all((ratio > 0.3) & (ratio < 3))


@pytest.mark.parametrize("records", [1, 2])
def test_the_sandwich_is_that_of_the_scores_of_twenty_four_stretches(records):
    """Of least squares: F² B/(B − 1) I⁻¹ Σ (g_b − ḡ)(g_b − ḡ)ᵀ I⁻¹."""
    model, theta = Regression(records), np.array([0.9, -1.9, 0.4, np.log(0.7)])
    likelihood = Likelihood(model)
    axes = np.diag([1e-3, 2e-3, 1.0, 1e-4])[:, [0, 1, 3]]
    of_fit = likelihood.pieces(Structure((0, 1)), theta, axes)
    fit = Fit(Structure((0, 1)), theta, of_fit[0], axes, *of_fit[1:], True)
    X, scores = model.X[..., :2], []
    for x, y, z in zip(X, model.y, model.z, strict=True):
        each = np.zeros((2 * ROWS, 3))
        each[:ROWS, :2] = x * (y - x @ theta[:2])[:, None] / 0.16
        each[ROWS:, 2] = z**2 / 0.49 - 1
        scores += [p.sum(axis=0) for p in np.array_split(each, 24 // records)]
    about = scores - np.mean(scores, axis=0)
    inverse = np.zeros((3, 3))
    inverse[:2, :2] = 0.16 * np.linalg.inv(np.einsum("kri,krj->ij", X, X))
    inverse[2, 2] = 1 / (2 * records * ROWS)
    factor = t.ppf(0.975, 23) / 1.959964
    expected = factor**2 * 24 / 23 * inverse @ about.T @ about @ inverse
    made, known = robust_covariance(likelihood, fit), np.ix_([0, 1, 3], [0, 1, 3])
    np.testing.assert_allclose(made[known], expected, rtol=1e-5)
    assert np.isinf(made[2, 2]) and not made[0, 2]


@pytest.mark.parametrize("coloured", [False, True])
def test_the_nearest_is_the_absent_column_with_the_largest_gain(coloured):
    """Among the first ones, by √(w (1 − w)) of what it is and moves."""
    entry, information = np.array([2.0, -3.0, 9.0]), np.array([3.0, 1.0, 9.0])
    moves = np.arange(6.0).reshape(3, 2)

    def entries(fit, absent, memory):
        assert absent == [5, 4, 7] and memory == (not coloured)
        return entry, information, moves

    fit = SimpleNamespace(structure=SimpleNamespace(coloured=coloured))
    nearly = nearest_absent(SimpleNamespace(entries=entries), fit, [5, 4, 7], 2, 13.0)
    w = 1 / (1 + np.exp(-(4 * 3.0 - 13.0) / 2))
    size = np.sqrt(w * (1 - w))
    assert nearly.column == 5 and nearly.entry == pytest.approx(2 * size)
    np.testing.assert_allclose(nearly.theta, size * moves[0])
    widened = with_selection(wide_fit(), np.eye(2), nearly)
    expected = np.eye(2) + np.outer(nearly.theta, nearly.theta)
    np.testing.assert_allclose(widened.covariance, expected)
    assert with_selection(wide_fit(), np.eye(2), None).covariance is not None


def wide_fit():
    return Fit(LINEAR, np.zeros(2), 0.0, np.eye(2), np.zeros(2), np.eye(2), True)


class Shaken(Regression):
    """Samples of variance e^(s²) where there is no force: ℓ is even in s."""

    def __init__(self, size=1.0):
        super().__init__()
        self.size = size

    def forces_of_motion(self):
        return 6.0 * self.size, np.full(4, 3.0)

    def innovations(self, structure, theta, order=2):
        e = np.ones((2 * ROWS, 1))  # of mean square one
        return lambda number: (e, np.full_like(e, np.exp(theta[2] ** 2)))


@pytest.mark.parametrize("size", [1.0, 1e-3])
def test_a_force_of_none_is_below_where_the_likelihood_falls(size):
    """N/2 (s² + e^(−s²) − 1) is 1.35 there, whatever is typical of the motion."""
    likelihood, structure = Likelihood(Shaken(size)), Structure((0, 1))
    theta, axes = np.array([1.0, -2.0, 0.0, 0.0]), np.zeros((4, 2))
    axes[0, 0], axes[[0, 2], 1] = 1.0, 0.5
    value, *_ = likelihood.value(structure, theta)
    fit = Fit(structure, theta, value, axes, np.zeros(2), np.eye(2), True)
    (bound,) = force_bounds(likelihood, fit)
    N, s = 4 * ROWS, np.linspace(1e-3, 1, 100_000)
    end = s[np.argmax(N / 2 * (s**2 + np.exp(-(s**2)) - 1) > 1.3528)]
    # That of V by s is 2 s V.
    square = 1.645 * 2 * end / np.sqrt(N * 2 * end**2)
    assert bound == pytest.approx(max(end, np.sqrt(square)), rel=0.02)


@pytest.mark.parametrize(("value", "has_bound"), [(3.28, True), (3.30, False)])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_force_of_twice_a_one_sided_interval_is_certain(value, has_bound, sign):
    likelihood, structure = Likelihood(Shaken()), Structure((0, 1))
    theta = np.array([1.0, -2.0, sign * 0.1 * value, 0.0])
    axes, one = np.eye(4)[:, 2:3], np.array([[100.0]])
    fit = Fit(structure, theta, 0.0, axes, np.zeros(1), one, True)
    assert np.isfinite(force_bounds(likelihood, fit)).all() == has_bound


def test_what_most_nearly_belongs_widens_by_half_of_what_it_changes_at_most(fitted):
    """With w = ½ where the criterion is undecided, and none where it is certain."""
    likelihood, fit = fitted
    entry, _, moves = likelihood.entries(fit, [4], True)
    for penalty, share in ((-1e3, 0.5), (1e3, 0.0)):
        nearly = nearest_absent(likelihood, fit, [4], 1, penalty)
        assert nearly.entry == pytest.approx(share * entry[0])
        np.testing.assert_allclose(nearly.theta, share * moves[0], atol=1e-50)
    wide = with_selection(fit, fit.covariance, replace(nearly, theta=moves[0]))
    moved = np.diag(wide.covariance - fit.covariance)
    np.testing.assert_allclose(moved, moves[0] ** 2)
    assert nearest_absent(likelihood, fit, [4], 0, 10.0) is None


def test_what_an_absent_term_would_move_is_what_its_fit_moves(fitted):
    likelihood, fit = fitted
    entry, _, moves = likelihood.entries(fit, [4], False)
    start = np.insert(fit.theta, 2, 0.0)
    wide = likelihood.fit(replace(LINEAR, columns=(2, 5, 4)), start)
    error = np.sqrt(np.diag(fit.covariance))
    assert entry[0] == pytest.approx(wide.theta[2], rel=0.3)
    assert np.all(np.abs(np.delete(wide.theta, 2) - fit.theta - moves[0]) < 0.3 * error)


def swing(loss, samples=1200, dt=0.05, noise=2e-3):
    """Free motion q̈ = −q − loss(q̇), measured."""
    how = {"method": "DOP853", "rtol": 1e-9, "atol": 1e-9}
    times = dt * np.arange(samples)

    def rates(_, z):
        return [z[1], -z[0] - loss(z[1])]

    path = solve_ivp(rates, (0, times[-1]), [1.0, 0.0], t_eval=times, **how).y[0]
    path += noise * np.random.default_rng(2).standard_normal(samples)
    return {"x": path}, dt


def test_no_random_force_has_a_bound():
    """The bound is small beside the force of the motion, and the law is found."""
    data, dt = swing(lambda v: 0.03 * v)
    terms = TERMS | {"dissipation": [{"terms": ["xdot**2"]}]}
    recipe = recommended("shaken measurements")
    found = recipe.fit(data, terms, time=dt, progress=False)
    bound = float(found.dataset["force_bound"][0])
    assert 0 < bound < 1e-3 and not found.not_identifiable
    assert abs(found.coefficient("x**2") + 0.5) < 4 * found.standard_error("x**2")


def test_a_force_that_acts_has_no_bound(fitted):
    assert np.isnan(force_bounds(*fitted)).all()


def test_dry_friction_is_as_sharp_as_the_likelihood_allows():
    """A width of 5 % of the rms velocity is rejected, and its friction is wrong."""
    data, dt = swing(lambda v: 0.01 * v + 0.01 * np.tanh(v / 1e-3), 600, 0.1)
    q = xr.DataArray(
        data["x"][None, None, :, None], dims=("replicate", "trajectory", "time", "dof")
    )
    about = xr.Dataset(
        {"q": q}, {"time": dt * np.arange(q.sizes["time"]), "dof": ["x"]}
    )
    model = model_of(about)
    model.width = 0.2
    likelihood = Likelihood(model)
    structure = Structure((2, 5, 7))
    start = np.array([-0.5, 0.005, 0.01, 1e-4, np.log(2e-3)])
    wide = likelihood.fit(structure, start)
    fit, spread = profiled_width(likelihood, wide)
    assert model.width < 0.03 and fit.value > wide.value + 3
    error = np.sqrt(np.diag(fit.covariance + spread))
    assert np.all(np.abs(fit.theta[1:3] - [0.005, 0.01]) < 3 * error[1:3])


def test_a_law_moves_as_far_as_its_record_unless_it_grows(fitted):
    likelihood, fit = fitted
    assert 0.5 < simulated_size(likelihood.model, fit) < 2
    grows = fit.theta * [1, -30, 1, 1]
    assert np.isinf(simulated_size(likelihood.model, replace(fit, theta=grows)))


@pytest.mark.parametrize(("entry", "spread"), [(0.0, 1.0), (0.5, 1.0), (3.0, 1 / 3)])
def test_the_bound_of_an_entry_is_that_of_its_square(entry, spread):
    """S² + 1.645 σ, with the information where ℓ, normal in S², falls by 1.35."""
    std = 2.0

    def value(structure, theta, order):
        return (-0.5 * ((theta[1] ** 2 - entry**2) / std) ** 2,)

    def pieces(structure, theta, axes, order):
        assert theta[1] ** 2 == pytest.approx(entry**2 + 1.645 * std, rel=0.05)
        information = np.diag([1.0, (2 * theta[1] / (1.5 * std)) ** 2])
        return None, None, axes.T @ information @ axes

    model = SimpleNamespace(places=lambda structure: (0, slice(1, 2), 0), dt=0.01)
    likelihood = SimpleNamespace(
        model=model, value=value, pieces=pieces, force_of_motion=1.0
    )
    fit = SimpleNamespace(theta=np.array([7.0, entry]), value=0.0, axes=np.eye(2))
    fit.structure, fit.order, fit.covariance = None, 1, np.diag([1.0, spread**2])
    (bound,) = force_bounds(likelihood, fit)
    if entry < 2 * 1.645 * spread:
        assert bound**2 == pytest.approx(entry**2 + 1.645 * 1.5 * std)
    else:
        assert np.isnan(bound)
