"""Philox: the published vectors, and numbers that depend on their counter alone."""

import numpy as np
import pytest

from leastaction.ensembles import philox

ONES = 0xFFFFFFFF
# kat_vectors of Random123 1.14: counter, key and result of philox4x32-10.
KNOWN = {
    "zeros": ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    "ones": (
        (ONES, ONES, ONES, ONES),
        (ONES, ONES),
        (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
    ),
    "pi": (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
}


def words_of(counter, key):
    """The four words of one counter, whose third one, a process, must be small."""
    low, trajectory, process, high = counter
    key = np.array(key, dtype=np.uint64)
    words = np.empty((2, 2, process + 1, 1), dtype=np.int32)
    philox.fill(low | high << 32, trajectory, key, words)
    return [int(w) % 2**32 for w in words[:, :, -1, 0].T.ravel()]


@pytest.mark.parametrize("name", KNOWN)
def test_known_answers(name):
    counter, key, expected = KNOWN[name]
    assert words_by_definition(counter, key) == list(expected)


def words_by_definition(counter, key):
    """Philox with Python's integers, as it is written in the paper."""
    a, b, c, d = counter
    k, l = key  # noqa: E741
    for _ in range(10):
        left, right = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = right >> 32 ^ b ^ k, right & ONES, left >> 32 ^ d ^ l, left & ONES
        k, l = (k + 0x9E3779B9) & ONES, (l + 0xBB67AE85) & ONES  # noqa: E741
    return [a, b, c, d]


@pytest.mark.parametrize("trajectory", [0, 5, 2**32 - 1])
@pytest.mark.parametrize("step", [0, 7, 2**32 - 1, 2**32, 2**62 - 1])
def test_words_are_those_of_the_definition(step, trajectory):
    key = 0xA4093822, 0x299F31D0
    for process in (0, 3):
        counter = step % 2**32, trajectory, process, step >> 32
        assert words_of(counter, key) == words_by_definition(counter, key)


def test_a_word_depends_on_its_own_counter_alone():
    """Vector instructions take trajectories together, and the last ones one by one."""
    key = np.array([1, 2])
    many = philox.random_words(key, range(5, 12), 3, range(100, 303))
    for step in (5, 6, 11):
        for t in (100, 101, 201, 301, 302):
            alone = philox.random_words(key, range(step, step + 1), 3, range(t, t + 1))
            np.testing.assert_array_equal(
                alone[:, 0, :, 0], many[:, step - 5, :, t - 100]
            )


def test_each_bit_is_one_half_of_the_time():
    words = philox.random_words((5, 6), range(100), 1, range(1000))
    for shift in range(32):
        share = ((words >> shift) & 1).mean()
        assert abs(share - 0.5) < 5 * 0.5 / np.sqrt(words.size)
