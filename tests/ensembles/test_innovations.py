"""Innovations likelihood: filters, scoring, search."""

import numpy as np
import pytest
import sympy as sp
import xarray as xr

import leastaction as la
from leastaction.core.euler_lagrange import symbols
from leastaction.core.expressions import symbol
from leastaction.core.library import Library
from leastaction.core.recipe import Recipe, recommended
from leastaction.ensembles import kalman_filter
from leastaction.ensembles.innovations_likelihood import Likelihood
from leastaction.ensembles.sensor_records import records_of
from leastaction.ensembles.state_space import StateSpace, Structure
from leastaction.ensembles.term_search import CORRELATION_SAMPLES, Search

TERMS = {
    "reference": "xdot**2/2",
    "lagrangian": [{"terms": ["xdot**2", "x", "x**2", "x**3", "x**4"]}],
    "dissipation": [{"terms": ["xdot**2", "xdot**4", "abs(xdot)"]}],
}
NOISE = 0.02


def shaken(
    lagrangian="xdot**2/2 - x**2/2",
    loss="0.1*xdot**2",
    samples=6000,
    seed=0,
    every=10,
    dt=0.1,
):
    """Displacements with noise of one long record."""
    truth = la.System(lagrangian, dissipation=loss, volatility={"x": "0.8"})
    data = truth.simulate(
        duration=samples * dt,
        time_step=dt / every,
        initial_state={"x": 0.5, "xdot": 0.0},
        seed=seed,
    )
    data = data[["q"]].isel(time=slice(None, None, every))
    rng = np.random.default_rng(seed)
    noisy = data.q + NOISE * rng.standard_normal(data.q.shape)
    data = data.assign(q=noisy.assign_attrs(data.q.attrs))
    return data.assign_attrs(contract="displacements")


def model_of(data, terms=TERMS, frequency=1.0):
    channels, records, dt = records_of(data)
    library = Library.from_config(terms, data["dof"].values)
    n = len(library.coordinates)
    noise = np.full(len(channels.names), NOISE)
    return StateSpace(library, channels, records, dt, np.ones(2 * n), frequency, noise)


@pytest.fixture(scope="module")
def duffing():
    return shaken("xdot**2/2 - x**2/2 - x**4/8", "0.1*xdot**2 + 0.03*xdot**4", 15000)


def test_two_half_steps_are_one_step():
    rng = np.random.default_rng(0)
    rates, root = rng.standard_normal((2, 3, 3))
    whole = kalman_filter.discretised(rates, root @ root.T, 0.3)
    half, part = kalman_filter.discretised(rates, root @ root.T, 0.15)
    assert np.allclose(whole[0], half @ half)
    assert np.allclose(whole[1], half @ part @ half.T + part)


def test_innovations_give_the_density_of_all_samples_together():
    """log N(y; 0, H P Hᵀ + R) of the stacked samples, with a gap."""
    rng = np.random.default_rng(1)
    rates = np.array([[0.0, 1.0], [-2.0, -0.3]])
    step = kalman_filter.discretised(rates, np.diag([0.0, 0.5]), 0.4)
    A, Q = map(np.ascontiguousarray, step)  # as the estimate has them
    P = kalman_filter.stationary(A, Q)
    H, noise, n = np.array([[1.0, 0.0], [0.5, 1.0]]), np.array([0.1, 0.2]), 30
    powers = [np.linalg.matrix_power(A, k) for k in range(n)]
    blocks = [
        [
            H @ (powers[j - i] @ P).T @ H.T if j >= i else H @ powers[i - j] @ P @ H.T
            for j in range(n)
        ]
        for i in range(n)
    ]
    covariance = np.block(blocks) + np.diag(np.tile(noise, n))
    y = rng.multivariate_normal(np.zeros(2 * n), covariance)
    kept = np.delete(np.arange(2 * n), 17)
    chosen = covariance[np.ix_(kept, kept)]
    direct = -0.5 * y[kept] @ np.linalg.solve(chosen, y[kept])
    direct -= 0.5 * np.linalg.slogdet(chosen)[1]
    y[17] = np.nan
    e, V = np.empty((n, 2)), np.empty((n, 2))
    still = np.zeros((1, 2))
    assert kalman_filter.run(
        y.reshape(n, 2), A, Q, still, H, still, noise, np.zeros(2), P.copy(), e, V
    )
    assert -0.5 * np.sum(e**2 / V + np.log(V)) == pytest.approx(direct, rel=1e-10)


@pytest.mark.parametrize("coloured", [False, True])
def test_the_nonlinear_filter_of_a_linear_law_is_of_order_four(coloured):
    model = model_of(shaken(samples=400))
    structure = Structure((2, 5), coloured=coloured)
    theta = np.array([-0.5, 0.1, 0.8, np.log(NOISE), *([np.log(0.7)] * coloured)])
    exact = model.innovations(structure, theta)(0)[0]
    model.linear[:] = False
    gaps = []
    for model.steps in (1, 2):
        gaps.append(np.abs(model.innovations(structure, theta)(0)[0] - exact).max())
    assert gaps[0] < 1e-4 and 8 < gaps[0] / gaps[1] < 40


def test_slopes_of_an_inertia_that_depends_on_the_position():
    """J of a double pendulum against differences of the acceleration."""
    terms = {
        "reference": "adot**2/2",
        "lagrangian": [
            {"terms": ["adot**2", "bdot**2", "adot*bdot*cos(a-b)", "cos(a)", "cos(b)"]}
        ],
        "dissipation": [{"terms": ["adot**2", "bdot**4"]}],
    }
    q = xr.DataArray(
        np.zeros((1, 1, 20, 2)), dims=("replicate", "trajectory", "time", "dof")
    )
    data = xr.Dataset({"q": q}, {"time": np.arange(20.0), "dof": ["a", "b"]})
    model = model_of(data, terms)
    c = np.array([0.5, 0.3, 0.2, 1.0, 2.0, 0.1, 0.2])
    state = np.array([0.4, -0.7, 0.9, 1.3])
    slopes = model.at(c, state)[2]
    for s, step in enumerate(1e-5 * np.eye(4)):
        up, down = (model.at(c, state + sign * step)[1] for sign in (1, -1))
        assert np.allclose(slopes[:, s], (up - down) / 2e-5, atol=1e-8)


def test_the_gradient_is_that_of_the_likelihood(duffing):
    likelihood = Likelihood(model_of(duffing.isel(time=slice(0, 800))))
    structure = Structure((2, 4, 5))
    theta = np.array([-0.55, -0.1, 0.12, 0.75, np.log(0.03)])
    axes = 1e-4 * np.random.default_rng(2).standard_normal((5, 5))
    _, gradient, information = likelihood.pieces(structure, theta, axes)
    for slope, axis in zip(gradient, axes.T, strict=True):
        up, down = (likelihood.value(structure, theta + s * axis)[0] for s in (1, -1))
        assert slope == pytest.approx((up - down) / 2, rel=1e-3, abs=1e-5)
    assert np.linalg.eigvalsh(information)[0] > 0


def test_the_score_of_an_absent_term_is_what_it_gains(duffing):
    likelihood = Likelihood(model_of(duffing))
    start = np.array([-0.8, 0.2, 0.8, np.log(NOISE)])
    small = likelihood.fit(Structure((2, 5)), start)
    for column, rel in ((4, 0.35), (3, 0.35)):
        z = likelihood.scores(small, [column])[0]
        wide = np.insert(small.theta, 2, 0.0)
        gain = likelihood.fit(Structure((2, 5, column)), wide).value - small.value
        assert z**2 == pytest.approx(2 * gain, rel=rel, abs=0.3)


def test_a_law_from_noisy_displacements(duffing):
    model = recommended("shaken measurements").fit(duffing, TERMS, progress=False)
    found = model.dataset
    assert model.support == ["xdot**2", "x**2", "x**4"]
    losses = found["dissipation_support"].values.astype(bool)
    assert list(found["dissipation_term"].values[losses]) == ["xdot**2", "xdot**4"]
    truth = {"x**2": -0.5, "x**4": -0.125}
    for term, value in truth.items():
        assert abs(model.coefficient(term) - value) < 4 * model.standard_error(term)
    for name, value in (("volatility", 0.8), ("sensor_noise", NOISE)):
        estimate, std = (float(found[f"{name}_{k}"][0]) for k in ("estimate", "std"))
        assert abs(estimate - value) < 4 * std < value / 5
    assert float(found["whiteness_p_value"]) > 1e-3
    assert float(found["best_absent_score"]) < float(found["term_penalty"])
    assert float(found["correlation_time_estimate"]) == 0
    assert str(found["search_stop"].values).startswith("the best absent candidate")


def test_a_force_with_a_memory_is_distinguished_from_white_noise():
    """Of one degree of freedom; τ comes out, and S stays the level at low frequency."""
    memory, dt = 0.5, 0.1
    rng = np.random.default_rng(3)
    x = v = u = 0.0
    fine, path = 20, []
    h = dt / fine
    for kick in rng.standard_normal((12000, fine)) * np.sqrt(h):
        path.append(x)
        for one in kick:
            u += -u / memory * h + one / memory
            v += h * (-x - 0.2 * v + 0.8 * u)
            x += h * v
    y = np.array(path) + NOISE * rng.standard_normal(len(path))
    data = {"x": y[None]}
    model = recommended("shaken measurements").fit(data, TERMS, time=dt, progress=False)
    found = model.dataset
    tau, std = (float(found[f"correlation_time_{k}"]) for k in ("estimate", "std"))
    assert abs(tau - memory) < 4 * std < 0.2
    assert abs(float(found["volatility_estimate"][0]) - 0.8) < 0.1
    assert model.support == ["xdot**2", "x**2"]


@pytest.mark.parametrize("samples", CORRELATION_SAMPLES)
def test_first_guesses_of_a_memory_have_slopes(samples, duffing):
    """The filter of a nonlinear law takes more steps below one sample: a jump."""
    likelihood = Likelihood(model_of(duffing.isel(time=slice(0, 800))))
    structure = Structure((2, 4, 5, 6), coloured=True)
    memory = np.log(samples * 0.1)
    theta = np.array([-0.5, -0.125, 0.1, 0.03, 0.8, np.log(NOISE), memory])
    found = []
    for step in (1e-4, 1e-2):
        axis = step * np.eye(7)[:, 6:]
        found.append(likelihood.pieces(structure, theta, axis)[2] / step**2)
    assert found[0] == pytest.approx(found[1], rel=0.01)


def test_scoring_ends_once_the_maximum_is_between_levels(duffing):
    """Unless it is above all: a law that enters is one at its maximum."""
    likelihood = Likelihood(model_of(duffing.isel(time=slice(0, 2000))))
    structure = Structure((2, 4, 5, 6))
    start = np.array([-0.45, -0.12, 0.12, 0.03, 0.7, np.log(NOISE)])
    best = likelihood.fit(structure, start)
    early = likelihood.fit(structure, start, levels=[best.value - 500, best.value + 50])
    assert not early.converged and best.value - 50 < early.value < best.value
    late = likelihood.fit(structure, start, levels=[best.value - 1])
    assert late.converged and late.value == best.value


def test_terms_that_imitate_each_other_are_exchanged(duffing):
    """Beside q², cos q is nearly q⁴; the one that is listed first stays."""
    terms = TERMS | {"lagrangian": [{"terms": ["xdot**2", "x**2", "x**4", "cos(x)"]}]}
    likelihood = Likelihood(model_of(duffing, terms))
    search = Search(likelihood, [1, 2, 3, 4, 5], [], list("vqwcde"), ["diagonal"])
    theta = np.array([-2.1, -3.3, 0.1, 0.03, 0.8, np.log(NOISE)])
    fit = likelihood.fit(Structure((1, 3, 4, 5)), theta)
    found = search.swapped(fit, [2])
    assert sorted(found.structure.columns) == [1, 2, 4, 5]


def test_one_term_takes_the_place_of_two():
    """A pendulum is no spring that softens: cos q for q² and q⁴, and not back."""
    data = shaken("xdot**2/2 + cos(x)", "0.5*xdot**2", 8000, seed=1)
    terms = TERMS | {"lagrangian": [{"terms": ["xdot**2", "x**2", "x**4", "cos(x)"]}]}
    likelihood = Likelihood(model_of(data, terms))
    search = Search(likelihood, [1, 2, 3, 4, 5], [], list("vqwcde"), ["diagonal"])
    theta = np.array([-0.49, 0.035, 0.5, 0.8, np.log(NOISE)])
    found = search.swapped(likelihood.fit(Structure((1, 2, 4)), theta), [3, 5])
    assert sorted(found.structure.columns) == [3, 4]
    assert search.swapped(found, [1, 2, 5]) is None


def test_a_term_that_is_certain_leaves_for_a_higher_maximum():
    """Beside cos θ, θ⁴ keeps a filter of accelerations from turning over."""
    truth = la.System(
        "xdot**2/2 + cos(x)", dissipation="0.1*xdot**2", volatility={"x": "0.5"}
    )
    start = {"x": 0.0, "xdot": 0.0}
    path = truth.simulate(duration=200, time_step=0.01, initial_state=start, seed=1)
    means = np.diff(path.qdot.values.ravel()[::10]) / 0.1
    assert path.q.max() > 2 * np.pi
    y = means + NOISE * np.random.default_rng(1).standard_normal(means.shape)
    about = {"units": "m/s^2", "long_name": "reading"}
    data = xr.Dataset(
        {
            "reading": (("replicate", "sample", "channel"), y[None, :, None], about),
            "first_sample": ("trajectory", [0], about),
            "sample_count": ("trajectory", [len(y)], about),
        },
        {"replicate": [0], "dof": ["x"], "channel": ["xddot"]},
        {"time_step": 0.1, "contract": "sensor_readings"},
    )
    terms = TERMS | {"lagrangian": [{"terms": ["xdot**2", "x**4", "cos(x)"]}]}
    likelihood = Likelihood(model_of(data, terms))
    search = Search(likelihood, [1, 2, 3], [], list("vqcdef"), ["diagonal"])
    theta = np.array([-0.004, 0.96, 0.1, 0.5, np.log(NOISE)])
    fit = likelihood.fit(Structure((1, 2, 3)), theta)
    assert fit.converged and fit.wald.min() > 2 * search.penalty
    found = search.elsewhere(fit)
    assert found.structure.columns == (2, 3) and found.value > fit.value + 20
    assert search.elsewhere(found) is None


def test_the_second_order_is_half_the_curvature_of_the_acceleration():
    """Σ P_st ∂²a/∂s∂t / 2 of a = F/M, with a mass that depends on the position."""
    terms = ["xdot**2", "x**2*xdot**2", "x**4"]
    library = {"reference": "xdot**2/2", "lagrangian": [{"terms": terms}]}
    library["dissipation"] = [{"terms": ["xdot**4"]}]
    (mass, force), _, (curvature,) = kalman_filter.derivatives(
        Library.from_config(library, ["x"])
    )
    state, a = symbols(["x", "xdot"]), force / mass
    P = sp.Matrix(2, 2, lambda s, t: symbol(f"covariance_{max(s, t)}_{min(s, t)}"))
    expected = mass * (P * sp.hessian(a, state)).trace() / 2
    found = {symbol(kalman_filter.ACCELERATION.format(0)): a} | {
        symbol(kalman_filter.SLOPE.format(0, i)): a.diff(s) for i, s in enumerate(state)
    }
    names = sorted(expected.free_symbols, key=str)
    numbers = {name: 0.3 + 0.17 * i for i, name in enumerate(names)}
    values = [float(e.subs(found).subs(numbers)) for e in (curvature, expected)]
    assert values[0] == pytest.approx(values[1], rel=1e-12)


def test_a_band_beside_a_tone_gives_the_law():
    """Whittle's likelihood agrees with the filter's, where that sees no tone."""
    data = shaken(samples=20000, seed=5)
    terms = TERMS | {"lagrangian": [{"terms": ["xdot**2", "x**2"]}]}
    recipe = recommended("shaken measurements")
    whole = recipe.fit(data, terms, progress=False)
    tone = 0.5 * np.cos(3.0 * data["time"])
    data = data.assign(q=(data.q + tone).assign_attrs(data.q.attrs))
    beside = recipe.fit(data, terms, progress=False).dataset
    assert float(beside["line_p_value"]) < 1e-3 < float(whole.dataset["line_p_value"])
    assert float(beside["line_frequency"]) == pytest.approx(3 / 2 / np.pi, rel=1e-3)
    bands = [[0.02, 0.45], [0.5, 1.0]]
    settings = recipe.identify.plain() | {"band": bands}
    banded = Recipe(**recipe.plain() | {"identify": settings})
    found = banded.fit(data, terms, progress=False)
    error = found.standard_error("x**2")
    shift = found.coefficient("x**2") - whole.coefficient("x**2")
    assert abs(shift) < 3 * error < 6 * whole.standard_error("x**2")
    both = [m.dataset["volatility_estimate"].item() for m in (found, whole)]
    assert both[0] == pytest.approx(both[1], rel=0.1)
    assert float(found.dataset["whiteness_p_value"]) > 1e-3
    with pytest.raises(ValueError, match="Widen them"):
        settings = settings | {"band": [[0.15, 0.1501]]}
        Recipe(**recipe.plain() | {"identify": settings}).fit(data, terms)
