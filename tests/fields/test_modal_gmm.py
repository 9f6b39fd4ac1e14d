"""The recommended estimator of fields, on a string of twelve nodes."""

import numpy as np
import pytest
from field_recipes import LIBRARY, TERM, Recommended, observe, string

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
