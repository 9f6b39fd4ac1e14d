"""Difference operators: consistent, exact on polynomials, whole in their weights."""

import numpy as np
import pytest

from leastaction.fields.domain import Domain

ENDS = [
    ("fixed", "fixed"),
    ("clamped", "free"),
    ("free", "clamped"),
    ("free", "free"),
    ("fixed", "free"),
    ("clamped", "clamped"),
]


@pytest.mark.parametrize("ends", ENDS)
def test_nodes_cells_and_springs_fill_the_length(ends):
    domain = Domain(1.5, 7, *ends)
    held = 2 - ends.count("free")
    assert domain.operator(1).weights.sum() == pytest.approx(1.5)
    assert domain.cell.sum() + held * domain.dx / 2 == pytest.approx(1.5)
    assert domain.x[0] == pytest.approx(0.0 if ends[0] == "free" else domain.dx)
    assert domain.x[-1] == pytest.approx(1.5 - (ends[1] != "free") * domain.dx)


def test_the_paper_s_grids():
    assert Domain(0.51, 50, "fixed", "fixed").dx == pytest.approx(0.01)
    assert Domain(1.0, 100, "clamped", "free").dx == pytest.approx(0.01)


def test_differences_are_exact_on_low_polynomials():
    domain = Domain(2.0, 12, "clamped", "free")
    u = domain.x**2  # u = u_x = 0 at the clamp
    for order, derivative in enumerate([lambda x: x**2, lambda x: 2 * x, 2.0]):
        operator = domain.operator(order)
        exact = derivative(operator.positions) if callable(derivative) else derivative
        np.testing.assert_allclose(operator.matrix @ u, exact, atol=1e-12)


def test_mixed_densities_are_evaluated_where_the_highest_derivative_is():
    domain = Domain(1.0, 9, "clamped", "clamped")
    for order in range(3):
        operator = domain.operator(order, points_of=2)
        np.testing.assert_array_equal(operator.positions, domain.operator(2).positions)
        assert operator.matrix.shape == (11, 9)
    u = domain.x**2 * (1 - domain.x) ** 2
    at_clamp = domain.operator(1, points_of=2).matrix @ u
    assert at_clamp[0] == at_clamp[-1] == 0


@pytest.mark.parametrize("order", [0, 1, 2])
def test_sums_of_squares_converge_at_second_order(order):
    def squared(nodes):
        domain = Domain(1.0, nodes, "clamped", "free")
        operator = domain.operator(order)
        u = 1 - np.cos(2 * domain.x) - domain.x**4 * (2 - domain.x)
        return operator.weights @ (operator.matrix @ u) ** 2

    fine = squared(1600)
    errors = [abs(squared(n) - fine) for n in (25, 50, 100)]
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    assert rates[-1] > (0.9 if order == 2 else 1.9)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((1.0, 3, "fixed", "fixed"), "3 nodes; at least 4"),
        ((1.0, 9, "fixed", "fred"), "unknown end 'fred'; did you mean 'free'"),
        ((-1.0, 9, "fixed", "free"), "length -1.0 m must be positive"),
    ],
)
def test_a_wrong_domain_is_explained(given, message):
    with pytest.raises(ValueError, match=message):
        Domain(*given)
