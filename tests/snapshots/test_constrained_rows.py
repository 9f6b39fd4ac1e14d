"""Rows under exact conditions: posterior, evidence and errors against dense algebra."""

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.stats import multivariate_normal
from snapshot_support import observed

from leastaction.snapshots.bases import WeightSpace
from leastaction.snapshots.constrained_rows import (
    ConstrainedRows,
    compressed,
    constrained,
    damped_coefficients,
    evidence_maximisation,
    minimum_norm,
    probable,
)
from leastaction.snapshots.contracts import equations_dataset
from leastaction.snapshots.discrete_lagrangian import (
    discrete_euler_lagrange,
    mass_conditions,
    one_step_errors,
    positions_of,
)

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
    """With the best scale, up to a constant that damping and conditions leave alone."""
    differences = []
    for damping, factor in ((0.2, 1.0), (1.0, 1.0), (3.0, 1.0), (1.0, 3.0)):
        system = constrained(rows, factor * CONDITIONS, VALUES)
        joint = np.vstack([factor * CONDITIONS, rows])
        noise = np.r_[np.zeros(2), np.full(len(rows), damping**2)]
        covariance = joint @ joint.T + np.diag(noise)
        seen = np.r_[VALUES, np.zeros(len(rows))]
        square = seen @ np.linalg.solve(covariance, seen) / len(seen)
        density = multivariate_normal(np.zeros(len(seen)), square * covariance)
        differences.append(density.logpdf(seen) - system.log_evidence(damping))
    np.testing.assert_allclose(differences, differences[0], atol=1e-8)


@pytest.mark.parametrize("damping", [1e-6, 0.3, 20.0])
def test_the_error_of_a_row_is_that_of_the_hat_matrix(rows, damping):
    """|(1 − H) A b₀|² over m − tr H, of which there is one at least."""
    system = constrained(rows, CONDITIONS, VALUES)
    image = rows @ null_space(CONDITIONS)
    normal = image.T @ image + damping**2 * np.eye(image.shape[1])
    hat = image @ np.linalg.solve(normal, image.T)
    left = rows @ np.linalg.pinv(CONDITIONS) @ VALUES
    left = left - hat @ left
    freedom = max(len(rows) - np.trace(hat), 1.0)
    expected = np.sqrt(left @ left / freedom)
    assert system.row_error(damping) == pytest.approx(expected, rel=1e-9)


def test_rows_that_were_compressed_are_counted_as_they_were(rows):
    small = compressed(rows)
    assert len(small) == min(rows.shape)
    np.testing.assert_allclose(small.T @ small, rows.T @ rows, atol=1e-12)
    one = constrained(rows, CONDITIONS, VALUES)
    other = constrained(small, CONDITIONS, VALUES, len(rows))
    for function in ("log_evidence", "row_error"):
        values = (getattr(system, function)(0.3) for system in (one, other))
        assert next(values) == pytest.approx(next(values))


def test_dampings_go_from_a_tenth_to_round_off_in_quarters_of_a_decade():
    system = constrained(ROWS, CONDITIONS, VALUES)
    shares = system.dampings() / system.singular[0]
    np.testing.assert_allclose(np.log10(shares), -1 - np.arange(41) / 4)


def test_the_first_maximum_of_the_evidence_is_taken(monkeypatch):
    """That at a smaller damping is higher, and means nothing."""
    system = constrained(ROWS, CONDITIONS, VALUES)

    def evidence(self, damping):
        place = np.log10(damping / self.singular[0])
        return np.cos(2 * (place + 2)) - 0.1 * place

    monkeypatch.setattr(ConstrainedRows, "log_evidence", evidence)
    damping, highest = system.most_probable()
    assert damping == pytest.approx(1e-2 * system.singular[0])
    assert highest == pytest.approx(1.2)


def test_a_direction_without_mass_becomes_a_condition(rows):
    row = RNG.normal(size=7)
    seen = []

    def mass(b):
        seen.append(b)
        return row

    system, damping, (conditions, values) = probable(rows, (CONDITIONS, VALUES), mass)
    alone = constrained(rows, CONDITIONS, VALUES)
    first = alone.coefficients(alone.most_probable()[0])
    np.testing.assert_allclose(seen, [first])
    np.testing.assert_array_equal(conditions, np.vstack([CONDITIONS, row]))
    np.testing.assert_array_equal(values, [1.0, 0.0, 1.0])
    assert row @ system.coefficients(damping) == pytest.approx(1.0)
    again = constrained(rows, conditions, values)
    assert damping == again.most_probable()[0]
    system, damping, kept = probable(rows, (CONDITIONS, VALUES), lambda b: None, 99)
    assert kept[0] is CONDITIONS and system.rows == 99 and system.conditions == 2


BASIS = WeightSpace(2, 1.3, np.eye(2), np.zeros(2))  # six functions of one coordinate


def equations_of(rows, conditions, positions):
    observations = observed(positions, 0.5, ["th"])
    return (
        equations_dataset(BASIS, rows, conditions, observations, "midpoint", 1),
        observations,
    )


@pytest.mark.parametrize(("cut", "rank"), [(None, 6), (0.02, 4)])
def test_the_published_fit_has_the_conditions_among_its_rows(cut, rank):
    """Least squares of minimum norm; what is below the cut counts as zero."""
    values = np.array([10.0, 5.0, 2.0, 1.0, 0.1, 0.01])
    turned = np.linalg.qr(RNG.normal(size=(9, 9)))[0][:, :6]
    matrix = turned * values @ np.linalg.qr(RNG.normal(size=(6, 6)))[0]
    condition = matrix[7:], np.array([2.0, -1.0])
    equations, _ = equations_of(matrix[:7], condition, np.zeros((3, 4, 1)))
    found = minimum_norm(equations, {"cut": cut} if cut else {})
    target = np.r_[np.zeros(7), condition[1]]
    b = np.linalg.pinv(matrix, rcond=cut or 1e-15) @ target
    np.testing.assert_allclose(found["coefficient"].values[0], b)
    assert found["rank"].values == [rank]
    square = ((matrix @ b - target) ** 2).sum()
    assert found["residual_square"].values == pytest.approx([square])


@pytest.mark.parametrize("damping", ["evidence", 0.03])
def test_every_fifth_trajectory_is_held_out_of_its_error(damping):
    """The law itself is that of all rows."""
    positions = RNG.uniform(-1, 1, (11, 4, 1))
    positions = positions_of(observed(positions, 0.5, ["th"]))
    rows = discrete_euler_lagrange(BASIS, positions, 0.5, "midpoint")
    conditions = mass_conditions(BASIS, positions, 0.5, "midpoint")
    equations, observations = equations_of(rows, conditions, positions)
    found = evidence_maximisation(equations, {"damping": damping}, observations, {})
    theta = rows.reshape(-1, BASIS.size)
    system = constrained(theta, *conditions)
    mu = system.most_probable()[0]
    if damping != "evidence":
        mu = damping * system.singular[0]
    others = rows[np.arange(11) % 5 != 0].reshape(-1, BASIS.size)
    fit = damped_coefficients(others, *conditions, mu)
    missed = one_step_errors(BASIS, fit, positions[::5], 0.5, "midpoint")
    expected = {
        "damping": mu / system.singular[0],
        "log_evidence": system.log_evidence(mu),
        "row_error": system.row_error(mu),
        "one_step_error": np.sqrt((missed**2).mean()),
        "coefficient": system.coefficients(mu),
    }
    for name, value in expected.items():
        np.testing.assert_allclose(found[name].values[0], value, err_msg=name)
    factor = found["factor"].values[0]
    assert factor.shape == (4, 6)
    exact = system.factor(mu)
    np.testing.assert_allclose(factor.T @ factor, exact.T @ exact, atol=1e-12)


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
