"""Weak form of the Euler–Lagrange equations on windows of a sampled path.

The test function is f(ξ) = (1 − ξ²)³ with ξ the distance from the middle over the half
width H. Its weights are exact for samples: with φ the piecewise linear function of f,

.. math::  ∫φ\\, \\ddot q\\, dt = \\frac{1}{dt} Σ f_k (q_{k+1} − 2 q_k + q_{k-1}) ,
           \\qquad
           ∫φ\\, F\\, dt ≈ dt Σ f_k \\frac{F_{k+1} + 10 F_k + F_{k-1}}{12} .

The first holds for every path, the second to O(dt⁴) (Numerov). Sampled derivatives of f
do not sum to zero and would let the position itself into the balance of forces. φ has
the norm ∫φ dt = dt √stride: like increments over one step, the integrals of white noise
of intensity σ then have the long-run variance σ² dt.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.signal import savgol_coeffs

CUBIC = 3
# A cubic needs five samples to be a fit.
NARROWEST = 2
NODES = 8


@dataclass(frozen=True)
class Windows:
    """All windows of one half width on a path.

    Smooth quantities are looked at on *nodes*, eight to a half width.

    Attributes
    ----------
    nodes_per_half
        Nodes from the middle of a window to its end, at most `NODES`.
    spacing
        Samples between nodes; H is `spacing` times `nodes_per_half`.
    samples
        Samples of the path.
    memory
        Samples until the sensor noise has forgotten itself, 1 if white: the gap between
        the instruments and the window.
    time_step
        dt, s.
    """

    nodes_per_half: int
    spacing: int
    samples: int
    memory: int
    time_step: float

    @classmethod
    def of_half_width(
        cls, half_width: int, samples: int, memory: int, time_step: float
    ) -> "Windows":
        """Windows of about this half width, in samples."""
        spacing = max(1, round(half_width / NODES))
        nodes = min(NODES, half_width)
        return cls(nodes, spacing, samples, memory, time_step)

    @property
    def half_width(self) -> int:
        """H, samples."""
        return self.nodes_per_half * self.spacing

    @property
    def stride(self) -> int:
        """Samples between neighbouring windows."""
        return self.spacing * max(1, self.nodes_per_half // 2)

    @property
    def reach(self) -> int:
        """Half width of the cubic fits to the path."""
        return max(NARROWEST, self.half_width // 2)

    @property
    def lags(self) -> int:
        """Windows that many strides apart still share samples, or their noise."""
        return (2 * self.half_width + self.memory - 1) // self.stride

    @cached_property
    def nodes(self) -> np.ndarray:
        """Samples at which the state is fitted."""
        return np.arange(self.reach, self.samples - self.reach, self.spacing)

    @cached_property
    def before(self) -> np.ndarray:
        """For each window, the last node whose fit uses earlier samples only."""
        ends = self.nodes[self._middles] - self.half_width - self.memory
        return np.searchsorted(self.nodes, ends - self.reach, side="right") - 1

    @cached_property
    def inertia(self) -> sparse.csr_array:
        """Weights of q at the samples in ∫φ q̈ dt."""
        weights = np.convolve(self._test(self.half_width), [1, -2, 1])
        return self._at_samples(weights / self.time_step)

    @cached_property
    def force(self) -> sparse.csr_array:
        """Weights of F at the samples in ∫φ F dt."""
        weights = np.convolve(self._test(self.half_width), [1, 10, 1])
        return self._at_samples(weights * self.time_step / 12)

    @cached_property
    def smooth_force(self) -> sparse.csr_array:
        """Weights of F at the nodes in ∫φ F dt."""
        weights = self._test(self.nodes_per_half)
        return self._at_nodes(weights * self.time_step * self.spacing)

    @cached_property
    def smooth_momentum(self) -> sparse.csr_array:
        """Weights of p at the nodes in ∫φ ṗ dt, by differences of fourth order."""
        difference = np.array([1, -8, 0, 8, -1]) / 12
        return self._at_nodes(np.convolve(self._test(self.nodes_per_half), difference))

    @cached_property
    def position(self) -> sparse.csr_array:
        """Weights of q at the samples in a cubic fit around each node."""
        return self._fit(0)

    @cached_property
    def velocity(self) -> sparse.csr_array:
        """Weights of q in the slope of that fit (Savitzky and Golay 1964)."""
        return self._fit(1)

    @cached_property
    def _middles(self) -> np.ndarray:
        """Nodes in the middle of each window."""
        needed = self.half_width + self.memory + self.reach
        first = -(-needed // self.spacing)
        last = len(self.nodes) - self.nodes_per_half - 1
        while last > 0 and self.nodes[last] + self.half_width >= self.samples:
            last -= 1
        return np.arange(first, last, self.stride // self.spacing)

    def _test(self, half: int) -> np.ndarray:
        inner = (1 - (np.arange(1 - half, half) / half) ** 2) ** 3
        spacing = self.half_width // half
        return inner / (inner.sum() * spacing) * np.sqrt(self.stride)

    def _at_samples(self, weights) -> sparse.csr_array:
        return _rows(weights, self.nodes[self._middles], self.samples)

    def _at_nodes(self, weights) -> sparse.csr_array:
        return _rows(weights, self._middles, len(self.nodes))

    def _fit(self, derivative: int) -> sparse.csr_array:
        weights = savgol_coeffs(
            2 * self.reach + 1, CUBIC, derivative, delta=self.time_step, use="dot"
        )
        return _rows(weights, self.nodes, self.samples)


def _rows(weights: np.ndarray, centres: np.ndarray, size: int) -> sparse.csr_array:
    """One row of the same weights around each centre."""
    half = len(weights) // 2
    columns = centres[:, None] + np.arange(-half, half + 1)
    count = len(centres)
    starts = np.arange(count + 1) * len(weights)
    return sparse.csr_array(
        (np.tile(weights, count), columns.ravel(), starts), shape=(count, size)
    )
