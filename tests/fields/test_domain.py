"""Difference operators: consistent, exact on polynomials, whole in their weights."""

import itertools

import numpy as np
import pytest
import sympy as sp

from leastaction.core.expressions import parse, symbol
from leastaction.fields.domain import (
    Domain,
    ModalForces,
    NodeEvaluator,
    Potential,
    count_functions,
    is_linear,
)

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


EVERY_END = [*itertools.product(("fixed", "clamped", "free"), repeat=2)]
EVERY_END += [("periodic", "periodic")]


def on_the_line(domain):
    """Value of every node at whole multiples of dx, mirrored beyond a clamped end."""
    last = round(domain.length / domain.dx)
    place = {round(x / domain.dx): k for k, x in enumerate(domain.x)}

    def row(j):
        if domain.periodic:
            return np.eye(domain.nodes)[j % domain.nodes]
        j = abs(j) if j < last else last - abs(last - j)
        return np.eye(domain.nodes)[place[j]] if j in place else np.zeros(domain.nodes)

    return row, last


@pytest.mark.parametrize("ends", EVERY_END)
@pytest.mark.parametrize("nodes", [4, 9])
def test_differences_are_those_of_neighbours_on_the_line(ends, nodes):
    """Springs at all gaps; curvatures inside, and half of one at a clamped end."""
    domain = Domain(1.5, nodes, *ends)
    row, last = on_the_line(domain)
    dx = domain.dx
    assert domain.periodic == ("periodic" in ends)
    held = 2 - ends.count("free") if not domain.periodic else 1
    assert last == nodes + held - 1
    assert domain.x[0] == pytest.approx(dx * (ends[0] in ("fixed", "clamped")))
    np.testing.assert_allclose(np.diff(domain.x), dx)
    cell = dx * np.ones(nodes)
    cell[[0, -1]] *= [0.5 if end == "free" else 1.0 for end in ends]
    np.testing.assert_allclose(domain.cell, cell)
    nodal = domain.operator(0)
    np.testing.assert_array_equal(nodal.matrix, np.eye(nodes))
    np.testing.assert_allclose(nodal.weights, cell)
    np.testing.assert_allclose(nodal.positions, domain.x)
    gaps = range(last)
    for order, expected in (
        (0, [(row(j) + row(j + 1)) / 2 for j in gaps]),
        (1, [(row(j + 1) - row(j)) / dx for j in gaps]),
    ):
        operator = domain.operator(order, 1)
        np.testing.assert_allclose(operator.matrix, expected, atol=1e-12)
        np.testing.assert_allclose(operator.weights, dx)
        np.testing.assert_allclose(operator.positions, dx * (np.arange(last) + 0.5))
    first = 0 if ends[0] in ("clamped", "periodic") else 1
    final = last if ends[1] == "clamped" else last - 1
    points = range(first, final + 1)
    weights = dx * np.ones(len(points))
    weights[[0, -1]] *= [0.5 if end == "clamped" else 1.0 for end in ends]
    for order, expected in (
        (0, [row(j) for j in points]),
        (1, [(row(j + 1) - row(j - 1)) / (2 * dx) for j in points]),
        (2, [(row(j + 1) - 2 * row(j) + row(j - 1)) / dx**2 for j in points]),
    ):
        operator = domain.operator(order, 2)
        np.testing.assert_allclose(operator.matrix, expected, atol=1e-9)
        np.testing.assert_allclose(operator.weights, weights)
        np.testing.assert_allclose(operator.positions, dx * np.array(points))


@pytest.mark.parametrize("orders", [(2, 1), (-1, 2), (0, 3), (3, None), (1, 0)])
def test_a_derivative_has_points_of_its_order_at_least(orders):
    with pytest.raises(ValueError, match="expected 0 <= order <= points_of <= 2"):
        Domain(1.0, 9, "fixed", "free").operator(*orders)


@pytest.mark.parametrize("ends", [("periodic", "free"), ("fixed", "periodic")])
def test_one_end_alone_is_not_periodic(ends):
    with pytest.raises(ValueError, match="left: periodic and right: periodic"):
        Domain(1.0, 9, *ends)


def test_a_domain_is_read_with_its_types():
    numbers = {"length": "2", "nodes": 4.0, "left": "free", "right": "fixed"}
    expected = Domain(2.0, 4, "free", "fixed")
    assert Domain.from_config(numbers) == expected
    prefixed = {f"domain_{name}": value for name, value in numbers.items()}
    assert Domain.from_config(prefixed, "domain_") == expected
    with pytest.raises(ValueError, match="must be positive"):
        Domain(0.0, 9, "fixed", "free")


NAMES = ("u", "u_t", "u_x", "u_xx")
DENSITIES = {
    "u**2/2 + 3": True,
    "u*u_x + u_xx**2": True,
    "u_x**2 + u": False,
    "u**2*u_x": False,
    "u_x**4 + u**2": False,
    "cos(u)": False,
    "7": True,
}


@pytest.mark.parametrize("text", DENSITIES)
def test_an_energy_is_the_sum_at_the_points_of_the_highest_derivative(text, rng):
    domain = Domain(1.3, 6, "clamped", "free")
    potential = Potential(parse(text, NAMES), "u", domain)
    assert potential.is_quadratic == DENSITIES[text]
    u, expected = rng.standard_normal((2, 3, 6)), 0.0
    for term in sp.Add.make_args(sp.expand(parse(text, NAMES))):
        points = max(k for k, n in enumerate(("u", "u_x", "u_xx")) if k == 0 or n in (
            str(s) for s in term.free_symbols))  # fmt: skip
        jet = [u @ domain.operator(k, points).matrix.T for k in range(points + 1)]
        value = sp.lambdify(
            [symbol(n) for n in ("u", "u_x", "u_xx")[: points + 1]], term
        )
        weights = domain.operator(points).weights
        expected = expected + (weights * (value(*jet) + 0 * jet[0])).sum(axis=-1)
    np.testing.assert_allclose(potential.energy(u), expected)
    if DENSITIES[text]:
        rest = potential.energy(np.zeros(6))
        square = np.einsum("...i,ij,...j->...", u, potential.stiffness, u) / 2
        np.testing.assert_allclose(potential.energy(u) - rest, square, atol=1e-9)
    else:
        with pytest.raises(ValueError, match="use method leapfrog"):
            _ = potential.stiffness


COUNTED = [
    ("u**2", 1, 9),
    ("u**2", 4, 3),
    ("u**2", 0, 0),
    ("u", 1, 9),
    ("3", 1, 1),
    ("u_x", 1, 9),  # ten springs between fixed ends
    ("u_x**2", 1, 10),
    ("2*u_x + 1", 3, 4),
    ("u_t", 2, 5),
    ("u_t + u", 1, 9),
    ("u_xx", 1, 9),
    ("u_xx*u", 2, 5),
]


@pytest.mark.parametrize(("text", "stride", "count"), COUNTED)
def test_functions_of_nodal_values_are_counted(text, stride, count):
    domain, term = Domain(1.0, 9, "fixed", "fixed"), parse(text, NAMES)
    assert count_functions([term], [stride], "u", domain) == count
    both = count_functions([term, term], [stride, 1], "u", domain)
    assert both == count + count_functions([term], [1], "u", domain)
    assert is_linear(term) == (text in ("u", "3", "u_x", "2*u_x + 1", "u_t", "u_t + u",
                                        "u_xx"))  # fmt: skip


def test_a_function_between_its_points_is_interpolated(rng):
    """That of springs is the mean of both beside a node, of an end its own spring."""
    domain = Domain(1.0, 6, "free", "fixed")
    evaluate = NodeEvaluator(
        [parse(t, NAMES) for t in ("u_x**2", "u*u_t")], "u", domain
    )
    u, u_t = rng.standard_normal((2, 4, 6))
    slopes = (u @ domain.operator(1).matrix.T) ** 2
    expected = np.hstack([slopes[:, :1], (slopes[:, 1:] + slopes[:, :-1]) / 2])
    values = evaluate(u, u_t)
    np.testing.assert_allclose(values[0], expected)
    np.testing.assert_allclose(values[1], u * u_t)
    sums = evaluate.zeros(4)
    for _ in range(3):
        evaluate.add(sums, u, u_t)
    np.testing.assert_allclose(evaluate.interpolated(sums), 3 * values)


@pytest.mark.parametrize("modes", ["sines", "any"])
def test_modal_forces_are_slopes_of_the_energy_along_the_modes(modes, rng):
    """Of sines, eigenvectors of two terms, of which one matrix product is enough."""
    domain = Domain(1.3, 6, "fixed", "fixed")
    texts = ["u_x**2/2", "u**2", "u**4", "u*u_x**3"]
    phi = rng.standard_normal((6, 3))
    if modes == "sines":
        phi = np.sin(np.pi * np.outer(domain.x, [1, 2, 4]) / 1.3)
        phi /= np.sqrt(domain.cell @ phi**2)
    terms = [parse(text, NAMES) for text in texts]
    forces = ModalForces(terms, "u", domain, phi)
    u = rng.standard_normal((5, 6))
    q, found = forces(u, 1)
    np.testing.assert_allclose(q, (u * domain.cell) @ phi)
    assert found.shape == (5, 5, 3)  # one to spare
    for term, force in zip(terms, found[:4], strict=True):
        expected = -Potential(term, "u", domain).force(u) @ phi
        np.testing.assert_allclose(force, expected, atol=1e-9)
    assert set(forces._diagonal) == ({0, 1} if modes == "sines" else set())
    again = forces.forces(u, q, slopes=forces.slopes(u))
    np.testing.assert_array_equal(again, found[:4])
