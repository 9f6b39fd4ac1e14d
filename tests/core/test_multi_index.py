"""Monomials up to a degree: their number, their order, their two representations."""

import itertools
from math import comb

import numpy as np
import pytest

from leastaction.core.multi_index import factors, multi_indices


@pytest.mark.parametrize(("variables", "degree"), [(1, 4), (2, 3), (3, 0), (4, 2)])
def test_every_exponent_stands_once_in_its_order(variables, degree):
    indices = multi_indices(variables, degree)
    assert indices.shape == (comb(variables + degree, degree), variables)
    every = itertools.product(range(degree + 1), repeat=variables)
    expected = {one for one in every if sum(one) <= degree}
    assert {tuple(row) for row in indices.tolist()} == expected
    assert (np.diff(indices.sum(axis=1)) >= 0).all()
    for row, chosen in zip(indices, factors(variables, degree), strict=True):
        assert row.tolist() == [chosen.count(i) for i in range(variables)]
    rows = multi_indices(variables, degree, lexicographic=True).tolist()
    assert rows == sorted(indices.tolist())


def test_graded_is_the_order_that_is_not_named_and_none_is_changed():
    assert multi_indices(2, 1).tolist() == [[0, 0], [1, 0], [0, 1]]
    assert multi_indices(2, 1, True).tolist() == [[0, 0], [0, 1], [1, 0]]
    with pytest.raises(ValueError, match="read-only"):
        multi_indices(2, 1)[0, 0] = 1
