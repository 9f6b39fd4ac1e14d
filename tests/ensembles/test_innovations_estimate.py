"""Errors of derived parameters follow from those of θ; what data leave undetermined."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import chi2

from leastaction.ensembles.innovations_estimate import (
    GAIN,
    LAG,
    chain_of,
    force_covariance,
    forces_of,
    in_units_of_input,
    null_vectors,
    undecided,
    undetermined,
)
from leastaction.ensembles.state_space import Structure

RNG = np.random.default_rng(0)


def covariance(size: int) -> np.ndarray:
    root = RNG.standard_normal((size, size)) / 10
    return root @ root.T


def slopes(of, theta) -> np.ndarray:
    """Jacobian by central differences."""
    step = 1e-6 * np.eye(len(theta))
    return np.array([(of(theta + d) - of(theta - d)) / 2e-6 for d in step]).T


@dataclass
class Fitted:
    theta: np.ndarray
    covariance: np.ndarray
    structure: Structure = None


def test_a_law_in_units_of_its_input_is_divided_by_the_gain():
    """θ/g, inertias as known over g, noises as they are; covariance J C Jᵀ."""
    labels = ["L: x**2", "D: xdot**2", "S: x x", "S: ground", "log noise: x", GAIN, LAG]
    names = ["L: xdot**2", "L: x**2", "D: xdot**2"]
    model = SimpleNamespace(library=SimpleNamespace(references=[(0, 0.5)]))
    theta, spread = RNG.uniform(1, 2, 7), covariance(7)

    def of(theta):
        return in_units_of_input(model, labels, theta, spread, names)[1]

    found, result, errors = in_units_of_input(model, labels, theta, spread, names)
    g = theta[5]
    assert found == [*labels[:5], LAG, "L: xdot**2"]
    np.testing.assert_allclose(result[:3], theta[:3] / g)
    np.testing.assert_allclose(result[3:], [theta[3], theta[4], theta[6], 0.5 / g])
    jacobian = slopes(of, theta)
    np.testing.assert_allclose(errors, jacobian @ spread @ jacobian.T, rtol=1e-6)
    spread[1] = spread[:, 1] = np.inf
    errors = np.diag(in_units_of_input(model, labels, theta, spread, names)[2])
    assert np.isinf(errors).tolist() == [False, True] + 5 * [False]


@pytest.mark.parametrize("force", ["diagonal", "ground"])
@pytest.mark.parametrize("scaled", [False, True])
def test_errors_of_the_force_are_those_of_its_parameters(force, scaled):
    """S Sᵀ/g² of two coordinates; of a ground, M S Sᵀ M with its inertia M."""
    inverse = np.array([[2.0, 0.5], [0.5, 1.0]])

    def parameters(structure, theta):
        root = np.diag(theta[:2]) if force == "diagonal" else theta[:2, None]
        return SimpleNamespace(root=root, gain=theta[2], coefficients=None)

    model = SimpleNamespace(parameters=parameters, at=lambda c: (inverse,))
    theta, spread = np.array([1.0, -2.0, 1.5]), covariance(3)

    def of(theta):
        root = np.diag(theta[:2])
        if force == "ground":
            root = np.linalg.inv(inverse) @ theta[:2, None]
        return root @ root.T / (theta[2] ** 2 if scaled else 1)

    fit = Fitted(theta, spread, Structure((), force))
    square, error = force_covariance(model, fit, scaled)
    np.testing.assert_allclose(square, of(theta))
    jacobian = slopes(of, theta)
    variance = np.einsum("abi,ij,abj->ab", jacobian, spread, jacobian)
    np.testing.assert_allclose(error**2, variance.T, rtol=1e-4, atol=1e-12)
    spread[2] = spread[:, 2] = 0
    spread[2, 2] = 1e-12
    certain = force_covariance(model, fit, scaled)[1]
    for none in (np.inf, 0.0):  # neither an unknown gain nor an exact one adds any
        spread[2] = spread[:, 2] = none
        error = force_covariance(model, fit, scaled)[1]
        np.testing.assert_allclose(error, certain, rtol=1e-5)


@pytest.mark.parametrize(
    ("driven", "late", "lag", "error", "wanted"),
    [
        (False, False, 9.0, 0.1, ((0, 0), (0, 0))),
        (True, False, 9.0, 0.1, ((1.5, 0.2), (0, 0))),
        (True, True, 0.06, 0.001, ((1.5, 0.2), (0.06, 0.001))),
        (True, True, -0.06, 0.001, ((1.5, 0.2), (-0.06, 0.001))),
        (True, True, 0.049, 0.0001, ((1.5, 0.2), (0, 0))),  # half a sample
        (True, True, 0.06, 0.006, ((1.5, 0.2), (0, 0))),  # not resolved
    ],
)
def test_a_lag_counts_beyond_half_a_sample(driven, late, lag, error, wanted):
    model = SimpleNamespace(places=lambda s: (0, 0, slice(1, 2)), dt=0.1)
    theta = np.array([7.0, -3.0, 1.5, lag])
    fit = Fitted(theta, np.diag([1, 1, 0.2, error]) ** 2)
    fit.structure = Structure((), "diagonal", driven=driven, late=late)
    np.testing.assert_allclose(chain_of(model, fit), wanted)


@pytest.mark.parametrize(
    ("absolute", "dof", "force", "wanted"),
    [
        (True, 2, "free", ["ground"]),
        (False, 1, "auto", ["diagonal"]),
        (False, 2, "auto", ["ground", "free"]),
        (False, 2, "diagonal", ["diagonal"]),
    ],
)
def test_forms_of_the_force_are_those_of_sensors_and_coordinates(
    absolute, dof, force, wanted
):
    channels = SimpleNamespace(absolute=np.array([False, absolute]))
    forms = forces_of(SimpleNamespace(channels=channels, dof=dof), force)
    assert set(wanted) <= set(forms) and (force == "auto" or len(forms) == 1)


def test_the_least_certain_absence_is_of_its_kind():
    """By Bonferroni: of two candidates of the library, or of all four."""
    p = chi2.sf([3.0, 4.0, 5.0, 7.0], 1)
    search = SimpleNamespace(inside=2, scores=np.array([3.0, 4.0, 5.0, 7.0]))
    assert undecided(search) == (pytest.approx(4 * p[3]), 3)
    search.scores = np.array([3.0, 4.0, 5.0, 4.5])
    assert undecided(search) == (pytest.approx(2 * p[1]), 1)
    search.scores, search.inside = np.array([]), 0
    assert undecided(search) == (1.0, 0)


def test_undetermined_changes_are_null_vectors_in_echelon_form():
    """Of a and b only a sum is known; c is uncertain by 60 %, d by 10 %."""
    names = np.array(["a", "b", "c", "d"], dtype=object)
    both = np.array([1.0, -0.5, 0, 0])
    relative = np.outer(both, both) + np.diag([1e-6, 1e-6, 0.6**2, 0.1**2])
    assert null_vectors(relative, names) == "a +100 %, b -50 %; c +100 %"
    assert null_vectors(relative[2:, 2:] / 1.5, names[2:]) == ""  # below 1/4
    mixed = np.array([1.0, 0.11, 0.09, 0])  # a part below a tenth is not named
    relative = np.outer(mixed, mixed) + 1e-9 * np.eye(4)
    assert null_vectors(relative, names) == "a +100 %, b +11 %"


def test_losses_inherit_what_the_law_leaves_open():
    """The error of a damper that follows an unknown scale of L is one of the law."""
    labels = ["L: x**2", "D: xdot**2", "S: x x", "log noise: x", LAG]
    theta = np.array([4.0, 2.0, 1.0, -3.0, 0.1])
    change = np.array([1.0, 1.0, 0, 0, 0]) * theta
    scale = np.outer(change, change) + np.diag([1e-6, 1e-6, 1e-6, 9.0, 9.0])
    assert undetermined(Fitted(theta, scale), labels) == (
        "L: x**2 +100 %, D: xdot**2 +100 %",
        "",
    )
    change = np.array([0, 0.48, -0.36, 0, 0]) * theta
    losses = np.outer(change, change) + 1e-6 * np.eye(5)
    text = "D: xdot**2 +100 %, S: x x -75 %"
    assert undetermined(Fitted(theta, losses), labels) == ("", text)
