"""Waves along a periodic line: derivatives of spectral accuracy, projection."""

import numpy as np


def spectral_derivatives(u: np.ndarray, length: float, highest: int) -> np.ndarray:
    """Derivatives of the trigonometric polynomial through equally spaced points.

    .. math::  \\partial_x^m u = \\sum_k (ik)^m \\hat u_k e^{ikx}

    (Fornberg 1996, chapter 2) of order 1 to `highest`, shape (order, ..., node). An odd
    derivative of the highest wave of an even number of points is zero.

    >>> x = np.linspace(0, 2 * np.pi, 8, endpoint=False)
    >>> np.allclose(spectral_derivatives(np.sin(x), 2 * np.pi, 2)[1], -np.sin(x))
    True
    """
    nodes, waves = u.shape[-1], np.fft.rfft(u)
    numbers = 2 * np.pi / length * np.arange(nodes // 2 + 1)
    result = np.empty((highest, *u.shape))
    for order in range(1, highest + 1):
        factor = (1j * numbers) ** order
        if order % 2 and nodes % 2 == 0:
            factor[-1] = 0.0
        result[order - 1] = np.fft.irfft(factor * waves, nodes)
    return result


def projection_on_waves(nodes: int, highest: int) -> np.ndarray:
    """Orthogonal projection P on the waves k = 0, 1, ..., `highest`, (node, node).

    P u is the truncated Fourier series of u, so that P = Pᵀ = P².

    >>> p = projection_on_waves(8, 2)
    >>> x = np.arange(8) * np.pi / 4
    >>> np.allclose(p @ (np.sin(2 * x) + np.cos(3 * x)), np.sin(2 * x))
    True
    """
    waves = np.fft.rfft(np.eye(nodes), axis=0)
    return np.fft.irfft(waves[: highest + 1], nodes, axis=0)
