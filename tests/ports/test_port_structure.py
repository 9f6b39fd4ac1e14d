"""Gauge freedom of J, R, B and H, and what may be said of them."""

import numpy as np
import pytest
from port_structures import truth
from scipy.linalg import block_diag

from leastaction.ports.coefficient_fit import Quadratic
from leastaction.ports.port_structure import (
    COUPLED_LOSS,
    CROSS,
    Candidates,
    PortStructure,
    equations_between_coefficients,
    gauge_basis,
    gauge_dim,
)
from leastaction.ports.structure_search import condensed, fitted, penalty

WITHOUT, WITH = {"outputs": False}, {"outputs": True}


@pytest.mark.parametrize(
    ("name", "unknown", "separable", "known", "diagonal"),
    [
        ("motor", (3, 1), (2, 1), (2, 0), (2, 0)),
        ("tanks", (2, 1), (2, 1), (1, 0), (1, 0)),
        ("network", (4, 3), (3, 2), (1, 0), (1, 0)),
        ("chain", (9, 6), (4, 3), (1, 0), (0, 0)),
    ],
)
def test_gauge_dimensions(name, unknown, separable, known, diagonal):
    """Without and with outputs; the true support has the scale of H, or nothing."""
    for i, options in enumerate((WITHOUT, WITH)):
        free, theta = truth(name, **options)
        given, of_given = truth(name, known=True, **options)
        assert gauge_dim(free, theta) == unknown[i]
        assert gauge_dim(free, theta, free.kinds != CROSS) == separable[i]
        assert gauge_dim(given, of_given) == known[i]
        assert gauge_dim(free, theta, free.kinds != COUPLED_LOSS) == diagonal[i]
        assert gauge_dim(free, theta, theta != 0) == 1 - i


@pytest.mark.parametrize(
    ("name", "found"),
    [("motor", (6, 0)), ("tanks", (6, 0)), ("network", (8, 0)), ("chain", (34, 11))],
)
def test_structure_lowers_errors_by_its_equations(name, found):
    """Of unit noise per coefficient a fit keeps the mean square m' = m − equations."""
    law, theta = truth(name, known=name == "chain")
    free, q = theta != 0, law.coefficients(theta)
    assert equations_between_coefficients(law, theta, free) == found
    there = np.flatnonzero(q)
    matrix = np.eye(q.size)[there] * 1e4
    errors = []
    for noise in np.random.default_rng(0).standard_normal((60, there.size)):
        data = Quadratic(matrix, matrix @ q + noise, 0.0, 1, 1)
        fit = fitted(law, data, theta, free)
        errors.append(((matrix @ (law.coefficients(fit.theta) - q)) ** 2).sum())
    left = found[0] - found[1]
    assert np.mean(errors) == pytest.approx(left, abs=4 * np.sqrt(2 * left / 60))


def test_errors_of_coefficients_do_not_close_the_gauge():
    """A chain whose springs are not exactly squares of elongations any more."""
    law, theta = truth("chain")
    random = np.random.default_rng(0)
    found = theta * (1 + 3e-3 * random.normal(size=theta.size))
    nearby = found * (1 + 3e-3 * random.normal(size=(4, theta.size)))
    assert gauge_dim(law, found) < 6
    assert gauge_dim(law, found, nearby=nearby) == 6


@pytest.mark.parametrize("name", ["motor", "tanks", "network", "chain"])
def test_jacobian_is_that_of_the_coefficients(name):
    law, theta = truth(name)
    step = 1e-6 * np.random.default_rng(0).normal(size=theta.size)
    change = law.coefficients(theta + step) - law.coefficients(theta - step)
    assert np.allclose(change / 2, law.jacobian(theta) @ step, atol=1e-13)


def test_gauge_moves_of_a_linear_system_keep_its_equations():
    """With H'' = K' instead of K, (J - R) K K'^-1 has the same equations."""
    law, theta = truth("motor", outputs=False)
    j, r, _, _ = law.matrices(theta)
    hessian = law.hessians(theta, np.ones((1, 2)))[0]
    other = np.array([[3.0, 0.4], [0.4, 2.0]])
    m = (j - r) @ hessian @ np.linalg.inv(other)
    moved = dict(zip(law.names, theta, strict=True))
    moved |= {"J_12": (m[0, 1] - m[1, 0]) / 2, "R_12": -(m[0, 1] + m[1, 0]) / 2}
    moved |= {"R_11": -m[0, 0], "R_22": -m[1, 1], "x1*x2": other[0, 1]}
    moved |= {"x1**2": other[0, 0] / 2, "x2**2": other[1, 1] / 2}
    there = np.array([moved[name] for name in law.names])
    assert not np.allclose(there, theta)
    assert np.allclose(law.coefficients(there), law.coefficients(theta))


def test_without_outputs_the_scale_of_the_energy_is_open():
    """The gauge moves every number of H alike, and J and R against it."""
    law, theta = truth("network", outputs=False)
    (direction,) = gauge_basis(law, theta, theta != 0)
    relative = direction[theta != 0] / theta[theta != 0]
    names = np.array(law.names)[theta != 0]
    energy = relative[names == "x2**2"]
    inner = np.array([name[0] in "JR" for name in names])
    assert np.allclose(relative[inner], -energy)
    assert np.allclose(relative[np.char.startswith(names, "x")], energy)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"structure": [[0, 1], [1, 0]]}, "structure is .* not skew-symmetric"),
        ({"dissipation": [[1, "?"], [0, 1]]}, "dissipation is .* not symmetric"),
        ({"port": [[1, 0], [0, 1]]}, r"port has rows of .* expected \(2, 1\)"),
    ],
)
def test_matrices_that_cannot_be(given, message):
    with pytest.raises(ValueError, match=message):
        PortStructure.of(Candidates.of(["a", "b"], ["a**2", "b**2"]), 1, **given)


def test_one_term_takes_the_place_of_several_that_are_nearly_collinear(rng):
    """Three powers of a volume that hardly moves become its square, with the rest."""
    law, theta = truth("tanks")
    points = rng.uniform([1.5, 1.4], [2.5, 1.6], (200, 2))
    g = law.candidates.values(points)[0]
    seen = 100 * np.linalg.qr(g)[1]
    matrix = block_diag(seen, seen, 100 * np.eye(2), seen)
    data = Quadratic(matrix, matrix @ law.coefficients(theta), 1e3, 1000, 1200)
    right, start, names = theta != 0, theta.copy(), list(law.names)
    free = right.copy()
    free[names.index("x2**2")] = start[names.index("x2**2")] = 0
    for term, value in (("x2**(4/3)", -1.7), ("x2**(3/2)", 2.1), ("x2**3", 0.03)):
        free[names.index(term)], start[names.index(term)] = True, value
    several = fitted(law, data, start, free)
    found = condensed(law, data, several, points)
    assert several.chi_square < penalty(law, data)
    assert np.array_equal(found.free, right)
    assert np.allclose(found.theta, theta, rtol=1e-6)
