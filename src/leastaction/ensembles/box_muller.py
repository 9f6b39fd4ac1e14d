"""Box–Muller transform: two uniform numbers into two independent normal ones.

.. math::

    x = \\sqrt{-2 \\ln u}\\, \\cos φ, \\qquad y = \\sqrt{-2 \\ln u}\\, \\sin φ

with u uniform in (0, 1) and φ on the circle (Box and Muller 1958). It takes as many
bits for every pair and never rejects one, so its loops become vector instructions, with
fused multiplications and additions where the processor has them. Logarithm, sine and
cosine are the series below, for a call of a mathematical library would end that; they
are as exact as such a call.
"""

import math

import numpy as np
from numba import njit, uint64

UNIT = 2.0**-32
# Bits of floating-point numbers: below the exponent, of 1, and of √½.
SHIFT, MANTISSA = uint64(52), uint64(2**52 - 1)
ONE, ROOT_HALF = (uint64(np.float64(x).view(np.uint64)) for x in (1.0, math.sqrt(0.5)))

# 2 artanh s = s (A0 + A1 s² + ...) for |s| ≤ (√2 − 1)/(√2 + 1)
A0, A1, A2, A3, A4, A5, A6, A7, A8, A9 = (2 / (2 * k + 1) for k in range(10))
# sin h = h (S0 + S1 h² + ...) and cos h = C0 + C1 h² + ... for |h| ≤ π/4
S0, S1, S2, S3, S4, S5, S6, S7 = (
    (-1) ** k / math.factorial(2 * k + 1) for k in range(8)
)
C0, C1, C2, C3, C4, C5, C6, C7, C8 = (
    (-1) ** k / math.factorial(2 * k) for k in range(9)
)
LN2, HALF_PI = math.log(2.0), math.pi / 2
# Pairs at a time: what is between the loops stays in the first cache.
PIECE = 512


def standard_normals(words: np.ndarray) -> np.ndarray:
    """Pairs x, y of normal numbers from pairs of random words, shape (2, ...).

    The words are signed integers of 32 bits; u = ½ + 2⁻³² (k + ½), so the largest
    number is √(66 ln 2) = 6.8, which a normal one exceeds once in 10¹¹ times.
    """
    normals = np.empty(words.shape)
    transform(np.ascontiguousarray(words).reshape(2, -1), normals.reshape(2, -1))
    return normals


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def transform(words, normals):
    """Fill `normals` from `words`, both of shape (2, pairs)."""
    u, exponent = np.empty(PIECE), np.empty(PIECE)
    for start in range(0, words.shape[1], PIECE):
        stop = min(start + PIECE, words.shape[1])
        first, second = words[0, start:stop], words[1, start:stop]
        _piece(
            first, second, u, exponent, normals[0, start:stop], normals[1, start:stop]
        )


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _piece(first, second, u, exponent, x, y):
    pairs, u_bits = first.size, u.view(np.uint64)
    for m in range(pairs):
        u[m] = 0.5 + UNIT * (np.float64(first[m]) + 0.5)
    # u = 2^exponent times a number in [√½, √2), which takes its place.
    for m in range(pairs):
        shifted = u_bits[m] + (ONE - ROOT_HALF)
        exponent[m] = np.float64(shifted >> SHIFT) - 1023.0
        u_bits[m] = (shifted & MANTISSA) + ROOT_HALF
    for m in range(pairs):
        s = (u[m] - 1.0) / (u[m] + 1.0)
        z = s * s
        zz = z * z
        even = A0 + zz * (A2 + zz * (A4 + zz * (A6 + zz * A8)))
        odd = A1 + zz * (A3 + zz * (A5 + zz * (A7 + zz * A9)))
        logarithm = exponent[m] * LN2 + s * (even + z * odd)
        u[m] = math.sqrt(-2.0 * logarithm)
    # φ = 4 h, doubled twice from h in [−π/4, π/4).
    for m in range(pairs):
        h = HALF_PI * UNIT * np.float64(second[m])
        z = h * h
        zz = z * z
        even = S0 + zz * (S2 + zz * (S4 + zz * S6))
        odd = S1 + zz * (S3 + zz * (S5 + zz * S7))
        sine = h * (even + z * odd)
        even = C0 + zz * (C2 + zz * (C4 + zz * (C6 + zz * C8)))
        odd = C1 + zz * (C3 + zz * (C5 + zz * C7))
        cosine = even + z * odd
        sine, cosine = 2.0 * sine * cosine, cosine * cosine - sine * sine
        x[m] = u[m] * (cosine * cosine - sine * sine)
        y[m] = u[m] * (2.0 * sine * cosine)
