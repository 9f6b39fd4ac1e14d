"""Estimates from martingale moments: right, with honest errors, and gauge invariant."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from support import OSCILLATOR_LIBRARY, observe, oscillator, recommended, system

from leastaction.core.contracts import ContractError
from leastaction.ensembles import moment_gmm

K = 25.0
SUPPORT = {"x**2", "xdot**2"}


@pytest.mark.parametrize("mixed", [True, False])
def test_moments_are_whitened_by_the_noise_and_the_instruments(mixed):
    """W (Ω ⊗ ΣZZᵀ) Wᵀ = 1; where weights differ, equation by equation."""
    rng = np.random.default_rng(0)
    grams = np.array([x @ x.T for x in rng.normal(size=(2, 3, 5))])
    noise = np.array([[2.0, 0.6], [0.6, 0.5]])
    if mixed:
        grams[1] = grams[0]
    else:
        noise = np.diag(np.diag(noise))
    # Every moment alone: columns are those of W.
    total = np.eye(6).reshape(2, 3, 6)
    columns, rank, directions = moment_gmm._whitened(noise, grams, total)
    W = columns.reshape(-1, 6)
    covariance = np.zeros((6, 6))
    for a in range(2):
        for b in range(2):
            rows = slice(3 * a, 3 * a + 3), slice(3 * b, 3 * b + 3)
            covariance[rows] = noise[a, b] * grams[a]
    np.testing.assert_allclose(W @ covariance @ W.T, np.eye(6), atol=1e-9)
    np.testing.assert_allclose(directions @ noise @ directions.T, np.eye(2), atol=1e-12)
    assert rank == 6


def test_instruments_that_repeat_others_are_not_counted():
    grams = np.array([np.diag([1.0, 2.0, 4.0])] * 2)
    grams[1] = [[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 3.0]]
    total = np.eye(6).reshape(2, 3, 6)
    columns, rank, _ = moment_gmm._whitened(np.diag([4.0, 9.0]), grams, total)
    assert rank == 5 and columns.shape == (2, 3, 6)
    assert not columns[1, 2].any() and not columns[0, :, 3:].any()
    W = columns.reshape(-1, 6)
    covariance = np.kron(np.diag([4.0, 0.0]), grams[0])
    covariance += np.kron(np.diag([0.0, 9.0]), grams[1])
    expected = np.diag([1, 1, 1, 1, 1, 0.0])
    np.testing.assert_allclose(W @ covariance @ W.T, expected, atol=1e-12)


def test_a_scheme_leaves_the_square_of_what_it_distorts():
    """(θ²/3)² of Σ Δp² / dt; nothing of a coordinate at rest."""
    momentum, theta = np.array([[4.0, 1.0], [1.0, 9.0]]), np.array([0.3, 0.2])
    made = moment_gmm._discretisation_floor(momentum, theta, 0.5)
    expected = np.diag([0.03**2 * 4 / 0.5, (0.04 / 3) ** 2 * 9 / 0.5])
    np.testing.assert_allclose(made, expected)
    for still in (np.nan, np.inf):
        made = moment_gmm._discretisation_floor(momentum, np.array([still, 0.2]), 0.5)
        np.testing.assert_allclose(made, np.diag([0.0, expected[1, 1]]))


def test_the_noise_of_a_residual_has_the_error_of_a_sample_covariance(monkeypatch):
    """Σ (Xc)(Xc)ᵀ / T of Gaussian increments, Σ_ab² + Σ_aa Σ_bb over N."""
    rng, count, dt = np.random.default_rng(1), 50, 0.2
    X, c = rng.normal(size=(count, 2, 3)), np.array([1.0, -2.0, 0.5])
    gram = np.einsum("kai,kbj->abij", X, X)
    one = {"weighted": 3.0 * gram, "increment": gram}
    covered = {}

    def iterate(first, fit, update, ends):
        covered["start"], end = first, SimpleNamespace(coefficients=c)
        covered["update"] = update(end, None)
        return SimpleNamespace(fit=end)

    monkeypatch.setattr(moment_gmm, "check", lambda *_: None)
    monkeypatch.setattr(moment_gmm, "iterate", iterate)
    monkeypatch.setattr(
        moment_gmm, "lagrangian_estimate", lambda library, end, noise: noise
    )
    values = {
        "moment": (("replicate", "dof", "z", "term"), np.zeros((1, 2, 4, 3))),
        "instrument_gram": (("replicate", "dof", "z", "z2"), np.zeros((1, 2, 4, 4))),
        "realised_covariation": (("replicate", "dof", "dof2"), np.eye(2)[None]),
        "frequency": (("replicate", "dof"), np.ones((1, 2))),
        "sampling_step": ("replicate", [0.1]),
        "time_step": ("replicate", [dt]),
        "samples": ("replicate", [count]),
        "library_given": ("candidate", [0.0, 0.5, 0.0]),
        "status": ("term", ["independent", "reference", "independent"]),
    }
    for name, x in one.items():
        values[f"{name}_gram"] = (
            ("replicate", "dof", "dof2", "term", "term2"),
            x[None],
        )
    library = xr.Dataset(values, attrs={"state_dependent_noise": 0})
    noise, std = moment_gmm.identify(library, {"max_terms": 3})
    residual = X @ c
    expected = residual.T @ residual / (count * dt)
    np.testing.assert_allclose(noise, expected)
    np.testing.assert_allclose(covered["update"], 3 * expected)
    np.testing.assert_array_equal(covered["start"], np.eye(2))
    for a in range(2):
        for b in range(2):
            square = expected[a, b] ** 2 + expected[a, a] * expected[b, b]
            assert std[a, b] == pytest.approx(np.sqrt(square / count))
    assert moment_gmm._reference(library) == (1, 0.5)


def test_the_support_is_exact_in_small_ensembles(replicated):
    right = sum(one.support == SUPPORT for one in replicated)
    assert right >= 0.95 * len(replicated)


def test_confidence_intervals_cover_the_truth(replicated):
    """Nominal 95 %: fewer than 33 of 40 has probability 1e-3; z has unit spread."""
    z = np.array(
        [
            (estimate + K / 2) / error
            for estimate, error in (
                one.coefficient("x**2") for one in replicated if one.support == SUPPORT
            )
        ]
    )
    assert (np.abs(z) < 1.96).sum() >= 33 * z.size / 40
    assert 0.65 < np.sqrt(np.mean(z**2)) < 1.35
    assert abs(z.mean()) < 3.5 / np.sqrt(z.size)


def test_the_noise_is_found_within_its_standard_error(replicated):
    z = np.array(
        [
            (one.lagrangian.noise_covariance[0, 0] - 1.0)
            / one.lagrangian.noise_std[0, 0]
            for one in replicated
        ]
    )
    assert 0.65 < np.sqrt(np.mean(z**2)) < 1.35


def test_the_j_statistic_has_the_mean_and_spread_of_chi_square(replicated):
    good = [one.lagrangian.diagnostics for one in replicated if one.support == SUPPORT]
    j = np.array([d["j_statistic"][0] for d in good])
    degrees = np.array([d["j_degrees"][0] for d in good])
    assert (degrees > 5).all()
    z = (j - degrees) / np.sqrt(2 * degrees)
    assert abs(z.mean()) < 4 / np.sqrt(z.size)
    assert 0.6 < z.std() < 1.5
    p = np.array([d["j_p_value"][0] for d in good])
    assert 0.25 < p.mean() < 0.75


def test_a_law_outside_the_library_is_rejected_by_the_j_test():
    """The absolute test of fit: a strong quartic spring, and only x² to offer."""
    truth = system("xdot**2/2 - 12*x**2 - 20*x**4", volatility={"x": "1"})
    library = {
        "reference": "xdot**2/2",
        "lagrangian": [{"polynomial": {"of": ["x", "xdot"], "degree": 2}}],
    }
    paths = observe(truth, trajectories=10, steps=1000)
    wrong = recommended(paths, library, degree=4, max_terms=2)
    assert wrong.lagrangian.diagnostics["j_p_value"][0] < 1e-6
    library["lagrangian"].append({"terms": ["x**4"]})
    found = recommended(paths, library, degree=4, max_terms=2)
    assert found.support == {"x**2", "xdot**2", "x**4"}
    assert found.lagrangian.diagnostics["j_p_value"][0] > 1e-4
    degrees = [m.lagrangian.diagnostics["j_degrees"][0] for m in (wrong, found)]
    assert degrees[0] - degrees[1] == len(found.support) - len(wrong.support) > 0


@pytest.mark.parametrize("sigma", [1e-3, 0.1, 1.0, 2.0])
def test_the_volatility_is_followed_over_orders_of_magnitude(sigma):
    paths = observe(oscillator(sigma=sigma), trajectories=10, steps=2000)
    found = recommended(paths, OSCILLATOR_LIBRARY)
    assert found.support == SUPPORT
    (volatility,), (error,) = found.volatility.volatility, found.volatility.std
    assert abs(volatility - sigma) < 4.5 * error
    assert error == pytest.approx(sigma / np.sqrt(2 * 20_000), rel=0.05)
    stiffness, std = found.coefficient("x**2")
    assert abs(stiffness + K / 2) < 4.5 * std + 1e-6


def test_an_ensemble_that_starts_at_rest_determines_the_stiffness():
    """Its mean is zero for ever: the mean of the ensemble would tell nothing."""
    paths = observe(oscillator(), trajectories=30, steps=3000, start={"x": 0.0})
    found = recommended(paths, OSCILLATOR_LIBRARY)
    assert found.support == SUPPORT
    estimate, error = found.coefficient("x**2")
    assert error < 0.1 * K / 2
    assert abs(estimate + K / 2) < 4.5 * error


NULLS = ["1", "xdot", "x*xdot", "x**2*xdot", "x**3*xdot", "xdot*cos(x)", "7*x**2"]


@pytest.mark.parametrize("where", ["before", "after"])
def test_uninformative_candidates_change_nothing(observations, where):
    """Null candidates and duplicates leave estimate, errors, J and criterion alone."""
    useful = ["xdot**2", "x**2", "x**4", "x*xdot**2", "xdot**4", "cos(x)"]
    extra = {"before": [*NULLS[:-1], *useful], "after": [*useful, *NULLS]}[where]
    results = [
        recommended(
            observations,
            {"reference": "xdot**2/2", "lagrangian": [{"terms": terms}]},
        )
        for terms in (useful, extra)
    ]
    plain, more = (r.lagrangian for r in results)
    assert results[0].support == results[1].support == SUPPORT
    for term in useful:
        np.testing.assert_allclose(
            results[1].coefficient(term), results[0].coefficient(term), rtol=1e-12
        )
    assert not [
        c
        for t, c in zip(more.terms, more.coefficients, strict=True)
        if t not in useful and c != 0
    ]
    np.testing.assert_allclose(more.criterion, plain.criterion, rtol=1e-12)
    np.testing.assert_allclose(
        more.noise_covariance, plain.noise_covariance, rtol=1e-12
    )
    for name, value in plain.diagnostics.items():
        assert more.diagnostics[name][0] == pytest.approx(value[0], rel=1e-12)


def test_scaling_a_candidate_only_scales_its_coefficient(observations):
    estimates = []
    for term, factor in (("x**2", 1.0), ("1000*x**2", 1000.0)):
        library = {
            "reference": "xdot**2/2",
            "lagrangian": [{"terms": ["xdot**2", term, "x**4"]}],
        }
        found = recommended(observations, library)
        assert found.support == {"xdot**2", term}
        estimates.append(factor * np.array(found.coefficient(term)))
    np.testing.assert_allclose(*estimates, rtol=1e-9)


def test_the_reference_fixes_the_scale(observations):
    """3 ẋ² instead of ½ ẋ² makes L, and S, six times as large."""
    found = []
    for reference in ("xdot**2/2", "3*xdot**2"):
        library = {
            "reference": reference,
            "lagrangian": [{"terms": ["xdot**2", "x**2"]}],
        }
        found.append(recommended(observations, library))
    small, large = (np.array(one.coefficient("x**2")) for one in found)
    np.testing.assert_allclose(large, 6 * small, rtol=1e-9)
    np.testing.assert_allclose(
        found[1].lagrangian.noise_covariance,
        36 * found[0].lagrangian.noise_covariance,
        rtol=1e-9,
    )


def test_errors_shrink_with_the_root_of_the_ensemble(observations):
    few = recommended(observations.isel(trajectory=slice(0, 5)), OSCILLATOR_LIBRARY)
    many = recommended(observations, OSCILLATOR_LIBRARY)
    ratio = few.coefficient("x**2")[1] / many.coefficient("x**2")[1]
    assert ratio == pytest.approx(2.0, rel=0.15)


def test_terms_that_the_data_cannot_distinguish_are_named():
    """On small motions x² and cos x have the same force: neither is preferred aloud."""
    paths = observe(oscillator(), trajectories=5, steps=1000, start={"x": 0.1})
    library = {
        "reference": "xdot**2/2",
        "lagrangian": [{"terms": ["xdot**2", "x**2", "cos(x)"]}],
    }
    found = recommended(paths, library, degree=2, max_terms=1)
    assert found.support == SUPPORT
    assert "cos(x)" in found.lagrangian.alternatives


def test_a_candidate_that_cancels_the_kinetic_term_is_no_good_fit():
    """Slow motion: cos q̇ is 1 − ½ q̇², and −L fits the data as well as nothing does."""
    truth = oscillator(sigma=0.01)
    paths = observe(truth, trajectories=10, steps=2000, start={"x": 0.01})
    library = {
        "reference": "xdot**2/2",
        "lagrangian": [{"terms": ["xdot**2", "x**2", "cos(xdot)", "xdot**4"]}],
    }
    assert recommended(paths, library).support == SUPPORT


def test_strong_noise_does_not_invite_terms_that_inflate_it():
    """A weak term with a huge coefficient raises the noise and so lowers its own J."""
    truth = oscillator(k=1000.0, sigma=20.0)
    library = {
        "reference": "xdot**2/2",
        "lagrangian": [
            {"polynomial": {"of": ["x", "xdot"], "degree": 5}},
            {"functions": {"apply": ["sin", "cos"], "to": ["x", "xdot"]}},
        ],
    }
    right = 0
    for replicate in range(4):
        paths = observe(
            truth,
            trajectories=60,
            steps=5000,
            time_step=2e-4,
            replicate=replicate,
            start={"x": 0.5},
        )
        right += recommended(paths, library).support == SUPPORT
    assert right == 4


def nearly_deterministic(replicate):
    library = {
        "reference": "xdot**2/2",
        "lagrangian": [{"terms": ["xdot**2", "x**2"]}],
    }
    truth = oscillator(sigma=1e-9)
    data = observe(truth, trajectories=2, steps=400, replicate=replicate)
    return recommended(data, library)


def test_deterministic_data_get_no_standard_error(caplog):
    found = nearly_deterministic(0)
    value, error = found.coefficient("x**2")
    assert value == pytest.approx(-K / 2, rel=1e-4)
    if "deterministic" in caplog.text:
        assert np.isnan(error)
    else:
        assert found.lagrangian.diagnostics["j_p_value"][0] < 1e-6


@pytest.mark.parametrize("replicate", range(6))
def test_nearly_deterministic_data_get_no_false_error(caplog, replicate):
    """None, or one that covers, or a J test that says no."""
    found = nearly_deterministic(replicate)
    value, error = found.coefficient("x**2")
    if "deterministic" in caplog.text:
        assert np.isnan(error)
        assert value == pytest.approx(-K / 2, rel=1e-4)
    elif found.lagrangian.diagnostics["j_p_value"][0] > 1e-6:
        assert abs(value + K / 2) < 3 * error


def test_another_contract_is_refused(moments):
    with pytest.raises(ContractError, match="choose methods that fit together"):
        moment_gmm.identify(
            moments.assign_attrs(contract="regression"), {"max_terms": 2}
        )


CHAIN = {
    "reference": "x1dot**2/2 + x2dot**2/2",
    "inertia": "given",
    "lagrangian": [
        {"terms": ["x1dot**2", "x2dot**2", "x1**2", "x2**2", "(x2 - x1)**2"]},
        {"terms": ["x1**3", "x2**3", "cos(x2 - x1)", "(x2dot - x1dot)**2"]},
    ],
}


def chain(volatility):
    return system(
        "(x1dot**2 + x2dot**2)/2 - 20*x1**2 - 30*(x2 - x1)**2",
        ("x1", "x2"),
        {"sigma": 0.5},
        volatility=volatility,
    )


@pytest.mark.parametrize(
    ("volatility", "correlation"),
    [({"x1": "sigma", "x2": "sigma"}, 0.0), ([["sigma"], ["sigma"]], 1.0)],
)
def test_one_scalar_lagrangian_explains_all_equations(volatility, correlation):
    """Also where one shared Wiener process leaves the difference free of noise."""
    truth = chain(volatility)
    start = {"x1": 1.0, "x2": -0.5}
    paths = observe(truth, trajectories=20, steps=2000, start=start)
    found = recommended(paths, CHAIN, degree=2)
    assert found.support == {"x1dot**2", "x2dot**2", "x1**2", "(-x1 + x2)**2"}
    covariance = found.lagrangian.noise_covariance
    size = np.sqrt(np.diag(covariance))
    assert covariance[0, 1] / size.prod() == pytest.approx(correlation, abs=0.02)
    names = found.lagrangian.terms
    for term, value in (("x1**2", -20.0), ("(-x1 + x2)**2", -30.0)):
        i = names.index(term)
        error = abs(found.lagrangian.coefficients[i] - value)
        assert error < 4 * found.lagrangian.std[i]


def test_no_stiffness_is_known_better_than_the_data_were_made():
    """Without noise in a direction, θ²/3 of the stiffness is what a scheme distorts."""
    truth = chain([["sigma"], ["sigma"]])
    start = {"x1": 1.0, "x2": -0.5}
    paths = observe(truth, trajectories=20, steps=2000, start=start)
    found = recommended(paths, CHAIN, degree=2)
    theta = np.sqrt(80.0) * 1e-3
    i = found.lagrangian.terms.index("(-x1 + x2)**2")
    relative = found.lagrangian.std[i] / 30.0
    assert 0.1 * theta**2 / 3 < relative < 20 * theta**2 / 3
