import numpy as np
import pytest

from leastaction.core.simulation import first_index, halton, halton_starts


def radical_inverse(index, base):
    value, place = 0.0, 1.0
    while index:
        place /= base
        index, digit = divmod(index, base)
        value += digit * place
    return value


@pytest.mark.parametrize("index", [0, 1, 4, 37])
def test_points_are_radical_inverses_in_prime_bases(index):
    expected = [
        [radical_inverse(k, base) for base in (2, 3, 5)]
        for k in range(index, index + 20)
    ]
    np.testing.assert_allclose(halton(index, 3, 20), expected, atol=1e-15)


def test_one_point_at_a_time_is_the_sequence():
    whole = halton_starts(4, [-1, 0], [1, 3], 30)
    single = [halton_starts(4 + k, [-1, 0], [1, 3])[0] for k in range(30)]
    np.testing.assert_array_equal(whole, single)
    assert (whole >= [-1, 0]).all() and (whole < [1, 3]).all()


def test_the_first_index_is_the_largest_base_plus_one():
    assert [first_index(n) for n in (1, 2, 3, 4)] == [3, 4, 6, 8]
