"""Philox 4×32-10, a random function of a counter (Salmon et al. 2011).

Ten rounds

.. math::

    (a, b, c, d) \\leftarrow
        (\\mathrm{hi}(M_1 c) ⊕ b ⊕ k,\\; \\mathrm{lo}(M_1 c),\\;
         \\mathrm{hi}(M_0 a) ⊕ d ⊕ l,\\; \\mathrm{lo}(M_0 a)), \\qquad
    (k, l) \\leftarrow (k + W_0, l + W_1)

of 32-bit words, hi and lo the halves of a product, turn a counter (a, b, c, d) and a
key (k, l) into 128 random bits. Nothing is carried from one number to the next: any
number of any trajectory can be had by itself, and the loop over trajectories becomes
vector instructions. NumPy has a Philox of 64-bit words, whose products no vector
instruction computes.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw: Parallel random numbers: as easy as
1, 2, 3. SC11 (2011), section 4; constants and test vectors of its library Random123.
"""

import numpy as np
from numba import njit, uint64

M0, M1 = uint64(0xD2511F53), uint64(0xCD9E8D57)
W0, W1 = uint64(0x9E3779B9), uint64(0xBB67AE85)
LOW, HALF = uint64(0xFFFFFFFF), uint64(32)


def random_words(
    key: np.ndarray, steps: range, processes: int, trajectories: range
) -> np.ndarray:
    """Two random words of each step, process and trajectory, by random access.

    The counter is (low word of n, trajectory, process, high word of n) for the steps
    2 n, which takes the resulting words a and b, and 2 n + 1, which takes c and d.

    Parameters
    ----------
    key
        Two words, below 2³² each.
    steps, trajectories
        Consecutive ones, the latter below 2³².
    processes
        Number of processes.

    Returns
    -------
    np.ndarray
        Shape (2, steps, process, trajectory), signed integers of 32 bits.
    """
    first = steps.start // 2
    pairs = (steps.stop + 1) // 2 - first
    words = np.empty((2, 2 * pairs, processes, len(trajectories)), dtype=np.int32)
    fill(first, trajectories.start, np.asarray(key, dtype=np.uint64), words)
    odd = steps.start % 2
    return words[:, odd : odd + len(steps)]


@njit(inline="always")
def _round(a, b, c, d, k, l):  # noqa: E741
    first, second = M0 * a, M1 * c
    return (second >> HALF) ^ b ^ k, second & LOW, (first >> HALF) ^ d ^ l, first & LOW


@njit(cache=True, nogil=True)
def fill(first, trajectory, key, words):
    """Fill `words` of shape (2, 2 n, process, trajectory) from n = `first` on."""
    k0, l0 = key[0], key[1]
    k1, l1 = (k0 + W0) & LOW, (l0 + W1) & LOW
    k2, l2 = (k1 + W0) & LOW, (l1 + W1) & LOW
    k3, l3 = (k2 + W0) & LOW, (l2 + W1) & LOW
    k4, l4 = (k3 + W0) & LOW, (l3 + W1) & LOW
    k5, l5 = (k4 + W0) & LOW, (l4 + W1) & LOW
    k6, l6 = (k5 + W0) & LOW, (l5 + W1) & LOW
    k7, l7 = (k6 + W0) & LOW, (l6 + W1) & LOW
    k8, l8 = (k7 + W0) & LOW, (l7 + W1) & LOW
    k9, l9 = (k8 + W0) & LOW, (l8 + W1) & LOW
    for i in range(words.shape[1] // 2):
        n = uint64(first) + uint64(i)
        low, high = n & LOW, n >> HALF
        for j in range(words.shape[2]):
            for m in range(words.shape[3]):
                a, b, c, d = low, uint64(trajectory) + uint64(m), uint64(j), high
                # Written out, for no loop inside another becomes vector instructions.
                a, b, c, d = _round(a, b, c, d, k0, l0)
                a, b, c, d = _round(a, b, c, d, k1, l1)
                a, b, c, d = _round(a, b, c, d, k2, l2)
                a, b, c, d = _round(a, b, c, d, k3, l3)
                a, b, c, d = _round(a, b, c, d, k4, l4)
                a, b, c, d = _round(a, b, c, d, k5, l5)
                a, b, c, d = _round(a, b, c, d, k6, l6)
                a, b, c, d = _round(a, b, c, d, k7, l7)
                a, b, c, d = _round(a, b, c, d, k8, l8)
                a, b, c, d = _round(a, b, c, d, k9, l9)
                words[0, 2 * i, j, m] = np.int32(a)
                words[1, 2 * i, j, m] = np.int32(b)
                words[0, 2 * i + 1, j, m] = np.int32(c)
                words[1, 2 * i + 1, j, m] = np.int32(d)
