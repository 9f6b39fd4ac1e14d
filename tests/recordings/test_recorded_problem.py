"""Scales of a law: given coefficients give each of its parts their own."""

from types import SimpleNamespace

import numpy as np
import pytest

from leastaction.recordings.recorded_problem import Problem


def problem(inputs=None, **references):
    """Five candidates: of x, of x, of y, of y, and of both."""
    about = [None] * 12
    given = {int(k[1:]): v for k, v in references.items()}
    about[5:8] = inputs, given, np.array([1, 1, 2, 2, 3])
    return Problem(*about)


@pytest.mark.parametrize(
    ("c", "references", "factors"),
    [
        ([2.0, -3, 4, 5, 0], {"k0": 0.5}, [0.25, 0.25, 1, 1, 1]),
        ([2.0, -3, 4, 5, 0], {"k0": 0.5, "k3": 1.0}, [0.25, 0.25, 0.2, 0.2, 1]),
        ([2.0, -3, 4, 5, 6], {"k0": 0.5}, [0.25] * 5),
        ([2.0, -3, 4, 5, 6], {"k0": 0.5, "k1": 9.0}, [0.25] * 5),
        ([0.0, -3, 4, 5, 0], {"k0": 0.5}, [1, 1, 1, 1, 1]),
        ([0.0, -3, 4, 5, 0], {"k0": 0.5, "k1": 6.0}, [1, -2, 1, 1, 1]),
    ],
)
def test_each_part_has_the_scale_of_its_reference(c, references, factors):
    found = problem(**references).to_reference(np.array(c))
    np.testing.assert_allclose(found, factors)
    driven = problem(SimpleNamespace(), **references)
    assert driven.driven and not problem(**references).driven
    np.testing.assert_array_equal(driven.to_reference(np.array(c)), 1)
