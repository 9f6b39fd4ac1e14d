"""Test functions: unit mass, and a measured angle per sample."""

import numpy as np
import pytest
from field_recipes import LIBRARY, observe, string

from leastaction.core.contracts import problems
from leastaction.fields import modal_moments

CUTS = {"resolved": 0.1, "dispersive": 0.4}


def test_without_noise_the_measured_angle_is_that_of_the_mode():
    truth = string(sigma=0.0)
    paths = observe(
        truth,
        trajectories=1,
        steps=4000,
        initial_state={"u": "x*(length - x)*(2*length - x)*exp(9*x)", "u_t": 0},
    )
    basis = modal_moments.differentiate(paths, CUTS, LIBRARY)
    assert problems(basis, "modal_basis") == []
    angle = 2 * np.sin(truth.modes[0] * 1e-3 / 2)
    np.testing.assert_allclose(basis["turn"].values[0], angle, rtol=1e-2)


def test_groups_are_cut_by_the_angle_never_below_the_noise_floor():
    paths = observe(string(), trajectories=4, steps=2000)
    basis = modal_moments.differentiate(paths, CUTS, LIBRARY)
    turn, group = basis["turn"].values[0], basis["group"].values[0]
    floor = 5 * np.sqrt(2 / 2001)
    assert floor > CUTS["resolved"]
    np.testing.assert_array_equal(group == 0, turn <= floor)
    np.testing.assert_array_equal(group == 2, turn > CUTS["dispersive"])


def test_a_field_that_is_not_resolved_is_refused():
    paths = observe(string(c=60.0), steps=2000)
    with pytest.raises(ValueError, match="no mode is resolved; sample faster"):
        modal_moments.differentiate(paths, CUTS, LIBRARY)


def test_a_library_without_quadratic_candidate_is_refused():
    library = LIBRARY | {"lagrangian": [{"terms": ["u_t**2", "u_x**4"]}]}
    paths = observe(string(), trajectories=1, steps=200)
    with pytest.raises(ValueError, match="no quadratic candidate"):
        modal_moments.differentiate(paths, CUTS, library)
