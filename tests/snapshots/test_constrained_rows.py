import numpy as np
import pytest
from scipy.stats import multivariate_normal

from leastaction.snapshots.constrained_rows import constrained, damped_coefficients

RNG = np.random.default_rng(4)
CONDITIONS, VALUES = RNG.normal(size=(2, 7)), np.array([1.0, 0.0])
ROWS = RNG.normal(size=(30, 7))


@pytest.fixture(params=[30, 4], ids=["tall", "wide"])
def rows(request):
    return ROWS[: request.param]


@pytest.mark.parametrize("damping", [1e-3, 0.3, 20.0])
def test_it_is_the_constrained_minimum(rows, damping):
    b = constrained(rows, CONDITIONS, VALUES).coefficients(damping)
    np.testing.assert_allclose(CONDITIONS @ b, VALUES, atol=1e-12)
    gradient = rows.T @ (rows @ b) + damping**2 * b
    multipliers = np.linalg.lstsq(CONDITIONS.T, gradient, rcond=None)[0]
    np.testing.assert_allclose(CONDITIONS.T @ multipliers, gradient, atol=1e-9)


@pytest.mark.parametrize("damping", [1e-6, 0.3])
def test_both_decompositions_give_the_same(rows, damping):
    one = damped_coefficients(rows, CONDITIONS, VALUES, damping)
    other = constrained(rows, CONDITIONS, VALUES).coefficients(damping)
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_scale_of_the_value_is_the_scale_of_the_result(rows):
    one, ten = (constrained(rows, CONDITIONS, k * VALUES) for k in (1, 10))
    np.testing.assert_allclose(10 * one.coefficients(0.1), ten.coefficients(0.1))


def test_evidence_is_the_density_of_rows_and_conditions(rows):
    """With the best scale, and up to a constant that does not depend on the damping."""
    system = constrained(rows, CONDITIONS, VALUES)
    joint = np.vstack([CONDITIONS, rows])
    differences = []
    for damping in (0.2, 1.0, 3.0):
        noise = np.r_[np.zeros(2), np.full(len(rows), damping**2)]
        covariance = joint @ joint.T + np.diag(noise)
        seen = np.r_[VALUES, np.zeros(len(rows))]
        square = seen @ np.linalg.solve(covariance, seen) / len(seen)
        density = multivariate_normal(np.zeros(len(seen)), square * covariance)
        differences.append(density.logpdf(seen) - system.log_evidence(damping))
    np.testing.assert_allclose(differences, differences[0], atol=1e-8)


def test_posterior_covariance_is_that_of_bayes_in_the_null_space():
    system = constrained(ROWS, CONDITIONS, VALUES)
    factor = system.factor(0.5)
    null = np.linalg.svd(CONDITIONS)[2][2:].T
    precision = null.T @ ROWS.T @ ROWS @ null + 0.25 * np.eye(5)
    covariance = null @ np.linalg.solve(precision, null.T)
    expected = system.row_error(0.5) ** 2 * covariance
    np.testing.assert_allclose(factor.T @ factor, expected, atol=1e-12)
    assert abs(CONDITIONS @ factor.T).max() < 1e-12


def test_functions_that_conditions_use_up_are_refused():
    with pytest.raises(np.linalg.LinAlgError, match="2 functions under 2 conditions"):
        constrained(ROWS[:, :2], np.eye(2), np.ones(2))


def test_chosen_damping_follows_the_noise_of_the_rows():
    truth = RNG.normal(size=40)
    truth /= np.linalg.norm(truth)
    exact = RNG.normal(size=(400, 40)) * np.geomspace(1, 1e-6, 40)
    exact -= np.outer(exact @ truth, truth)
    found = [
        constrained(
            np.column_stack([exact, noise * RNG.normal(size=400)]),
            np.eye(41)[[40]],
            np.array([1.0]),
        )
        for noise in (1e-3, 1e-2, 1e-1)
    ]
    errors = [system.row_error(system.most_probable()[0]) for system in found]
    np.testing.assert_allclose(errors, [1e-3, 1e-2, 1e-1], rtol=0.15)
