"""The recommended estimator of fields, on a string of twelve nodes."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from field_recipes import LIBRARY, TERM, Recommended, observe, string

from leastaction.fields.modal_gmm import DispersiveMoments, _solve
from leastaction.fields.time_scheme import scheme_name

SCHEMES = {
    "modal": ("exact", 0.0, 0.25),
    "leapfrog": ("leapfrog", -1 / 12, 0.0),
    "newmark": ("Newmark average acceleration", 1 / 6, 0.5),
}


@pytest.fixture(scope="module", params=SCHEMES)
def found(request):
    return request.param, Recommended(observe(string(), method=request.param))


def test_terms_and_coefficient_whatever_the_scheme(found):
    _, result = found
    assert result.support == [TERM]
    value, error = result.coefficient()
    assert error < 1e-3
    assert abs(value + 2.0) < 4 * error
    assert result.diagnostic("j_p_value") > 1e-3


def test_dispersion_and_autocorrelation_name_the_scheme(found):
    method, result = found
    name, rho, ratio = SCHEMES[method]
    error = result.diagnostic("dispersion_std")
    assert abs(result.diagnostic("dispersion") - rho) < 4 * error + 2e-3
    assert result.diagnostic("residual_autocorrelation") == pytest.approx(
        ratio, abs=0.02
    )
    assert result.diagnostic("scheme") == name


def test_volatility_whatever_the_scheme(found):
    _, result = found
    volatility = result.volatility()
    assert abs(volatility.volatility[0] - 8.0) < 4 * volatility.std[0]
    assert volatility.std[0] < 0.02
    assert volatility.constant.all()


@pytest.mark.parametrize("factor", [1e-3, 50.0])
def test_scaling_the_field_and_the_noise_changes_nothing(factor):
    quadratic = LIBRARY | {
        "lagrangian": [{"terms": ["u_t**2", "u_x**2"]}, {"pooled": ["u**2"]}]
    }
    paths = observe(string())
    scaled = paths.assign({name: factor * paths[name] for name in ("u", "u_t")})
    a, b = (Recommended(data, quadratic) for data in (paths, scaled))
    assert b.support == a.support
    np.testing.assert_allclose(b.coefficient(), a.coefficient(), rtol=1e-8)
    for name in ("j_statistic", "dispersion", "dispersion_std"):
        assert b.diagnostic(name) == pytest.approx(a.diagnostic(name), rel=1e-5)
    assert b.volatility().volatility == pytest.approx(
        factor * a.volatility().volatility, rel=1e-8
    )


@pytest.mark.parametrize("stiffness", [4000.0, -300.0])
def test_restoring_and_repelling_forces_keep_their_sign(stiffness):
    density = f"u_t**2/2 - c**2*u_x**2/2 - {stiffness}*u**2/2"
    result = Recommended(observe(string(density=density)))
    assert result.support == [TERM, "u**2"]
    for term, truth in ((TERM, -2.0), ("u**2", -stiffness / 2)):
        value, error = result.coefficient(term)
        assert abs(value - truth) < 4 * error
        assert error < 0.1 * abs(truth)


def test_a_nonlinear_density_is_found():
    density = "u_t**2/2 - c**2*u_x**2/2 - 0.05*u_x**4"
    paths = observe(
        string(density=density, sigma=3.0),
        method="leapfrog",
        initial_state={"u": "0.05*sin(pi*x/length)", "u_t": 0},
    )
    result = Recommended(paths)
    assert result.support == [TERM, "u_x**4"]
    value, error = result.coefficient("u_x**4")
    assert abs(value + 0.05) < 4 * error
    assert error < 0.005


def test_a_library_without_the_true_term_is_refuted():
    wrong = LIBRARY | {"lagrangian": [{"terms": ["u_t**2", "u**2", "u_xx**2"]}]}
    assert Recommended(observe(string()), wrong).diagnostic("j_p_value") < 1e-10


def test_standard_errors_are_calibrated():
    """Mean square of the standardised errors over independent ensembles."""
    scores, sigma = [], []
    for replicate in range(30):
        result = Recommended(
            observe(string(), trajectories=5, steps=1500, replicate=replicate),
            LIBRARY | {"lagrangian": [{"terms": ["u_t**2", "u_x**2"]}]},
        )
        value, error = result.coefficient()
        rho = result.diagnostic("dispersion"), result.diagnostic("dispersion_std")
        volatility = result.volatility()
        scores.append([(value + 2.0) / error, rho[0] / rho[1]])
        sigma.append((volatility.volatility[0] - 8.0) / volatility.std[0])
    for z in (*np.array(scores).T, np.array(sigma)):
        assert 0.55 < np.square(z).mean() < 1.7
        assert abs(z.mean()) < 0.65


def test_slow_modes_leave_the_dispersion_open_and_do_not_pay_for_it():
    paths = observe(string(), time_step=1e-4, steps=4000)
    result = Recommended(paths)
    assert not result.diagnostic("dispersion_used")
    assert result.diagnostic("scheme") == "exact"
    assert result.support == [TERM]


def test_a_field_without_noise_is_said_to_be_deterministic(caplog):
    result = Recommended(observe(string(sigma=0.0)))
    assert "look deterministic" in caplog.text
    value, error = result.coefficient()
    assert value == pytest.approx(-2.0, rel=1e-6)
    assert np.isnan(error) and np.isnan(result.diagnostic("j_statistic"))
    assert result.volatility().volatility[0] < 1e-6


def test_a_field_without_forces_has_none():
    result = Recommended(observe(string(c=1e-4, sigma=50.0)))
    assert result.support == []
    assert result.diagnostic("j_p_value") > 1e-3


def test_values_between_the_schemes_are_unknown():
    assert scheme_name((0.08, 0.001), 0.25) == "unknown"
    assert scheme_name(None, -0.4) == "unknown"
    assert scheme_name(None, 0.02) == "leapfrog"
    assert scheme_name((0.16, 0.001), 0.0) == "Newmark average acceleration"


RNG = np.random.default_rng(12)


def random_moments(terms=2, instruments=4, scale=0.5) -> DispersiveMoments:
    """Moments whose residual nearly vanishes at the coefficients 2 and −1."""
    force, curvature = RNG.normal(size=(2, instruments, terms))
    curvature *= 0.3
    c = np.array([2.0, -1.0])
    reference = -(force + curvature / 12) @ c / scale
    reference += 1e-3 * RNG.normal(size=instruments)
    size = 1 + 2 * terms
    rows = RNG.normal(size=(900, size))
    rows[:, 0] = 0.05 * rows[:, 0] - (rows[:, 1:3] + rows[:, 3:] / 12) @ c / scale
    zero = rows.T @ rows
    one = rows[1:].T @ rows[:-1]
    z = RNG.normal(size=(900, instruments))
    lag = z[1:].T @ z[:-1]
    return DispersiveMoments(
        reference,
        force,
        curvature,
        np.array([z.T @ z, lag + lag.T]),
        np.array([zero, one + one.T]),
        900.0,
        scale,
    )


def test_moments_are_summed_over_groups_and_split_into_columns():
    names = {
        "moment": (3, 5),
        "instrument_gram": (2, 3, 3),
        "increment_gram": (2, 5, 5),
    }
    values = {n: RNG.normal(size=(1, 2, *shape)) for n, shape in names.items()}
    values["samples"] = np.array([[10.0, 30.0]])
    data = xr.Dataset(
        {n: ([f"{n}{k}" for k in range(v.ndim)], v) for n, v in values.items()},
        attrs={"reference_coefficient": 0.5},
    )
    for groups in (1, 2):
        made = DispersiveMoments.of(data, groups)
        moment = values["moment"][0, :groups].sum(axis=0)
        np.testing.assert_allclose(made.reference, moment[:, 0])
        np.testing.assert_allclose(made.force, moment[:, 1:3])
        np.testing.assert_allclose(made.curvature, moment[:, 3:])
        total = values["increment_gram"][0, :groups].sum(axis=0)
        np.testing.assert_allclose(made.increments, total)
        assert made.samples == (10, 40)[groups - 1] and made.scale == 0.5
    np.testing.assert_allclose(
        made.columns(0.25), made.force + (1 / 12 + 0.25) * made.curvature
    )


def test_autocovariances_are_those_of_the_residual():
    moments, c, rho = random_moments(), np.array([1.5, -0.4]), 0.1
    weights = np.concatenate([[0.5], c, (1 / 12 + rho) * c])
    zero, both = (weights @ gram @ weights for gram in moments.increments)
    made = moments.noise(c, rho)
    assert made == pytest.approx((zero / 900, both / 1800))
    # Least squares on all candidates is the smallest of them.
    first = moments.first_noise()

    def level(c):
        return moments.noise(c, 0.0)[0]

    mix = np.vstack([np.zeros((1, 2)), np.eye(2), np.eye(2) / 12])
    gram = moments.increments[0]
    best = -0.5 * np.linalg.solve(mix.T @ gram @ mix, mix.T @ gram[:, 0])
    assert first == pytest.approx(moments.noise(best, 0.0), rel=1e-8)
    assert level(best + 0.01) > first[0] < level(best - [0.01, -0.01])


def test_whitened_moments_have_a_unit_covariance():
    moments = random_moments()
    w = moments.whitener((2.0, -0.3))
    covariance = 2.0 * moments.instruments[0] - 0.3 * moments.instruments[1]
    np.testing.assert_allclose(w @ covariance @ w.T, np.eye(4), atol=1e-9)


@pytest.mark.parametrize("dispersion", [False, True])
def test_coefficients_minimise_j(dispersion):
    moments = random_moments()
    selection = SimpleNamespace(support=(0, 1), criterion=3.0, ties=())
    made = _solve(moments, selection, dispersion)
    w = moments.whitener(made.noise)

    def j(c, rho):
        residual = moments.scale * moments.reference + moments.columns(rho) @ c
        return ((w @ residual) ** 2).sum()

    c, rho = made.coefficients, made.rho
    least = j(c, rho)
    assert made.j == pytest.approx(least, rel=1e-6)
    assert made.noise == pytest.approx(moments.noise(c, rho))
    for k in range(2):
        for step in (1e-3, -1e-3):
            assert j(c + step * np.eye(2)[k], rho) > least
    assert made.rank == 4 - dispersion and made.criterion == 3.0
    slopes = w @ moments.columns(rho)
    if dispersion:
        assert j(c, rho + 1e-3) > least < j(c, rho - 1e-3)
        slopes = np.hstack([slopes, (w @ moments.curvature @ c)[:, None]])
    else:
        assert rho == 0 and np.isnan(made.rho_std)
    covariance = np.linalg.inv(slopes.T @ slopes)
    np.testing.assert_allclose(made.covariance, covariance[:2, :2], rtol=1e-5)
    if dispersion:
        assert made.rho_std == pytest.approx(np.sqrt(covariance[2, 2]), rel=1e-5)
    one = _solve(
        moments, SimpleNamespace(support=(1,), criterion=0, ties=()), dispersion
    )
    assert one.coefficients[0] == 0 and not one.covariance[0].any()
    assert one.covariance[1, 1] > 0
