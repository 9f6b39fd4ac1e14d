"""Moments of the weak form, from displacements alone.

A smooth window is integrated against the Euler–Lagrange equation, and both derivatives
of the inertia fall on the window (weak form: Messenger and Bortz 2021; Bortz, Messenger
and Dukic 2023): no velocity is needed, and sensor noise is averaged. The instruments
are a cubic fit to samples before the window. Forces of coordinates alone are taken at
the raw samples, freed of the bias by Appell's operator; what depends on velocities, at
a cubic fit around nodes of the window.

The test function is f(ξ) = (1 − ξ²)³ with ξ the distance from the middle over the half
width H. Its weights are exact for samples: with φ the piecewise linear function of f,

.. math::  ∫φ\\, \\ddot q\\, dt = \\frac{1}{dt} Σ f_k (q_{k+1} − 2 q_k + q_{k-1}) ,
           \\qquad
           ∫φ\\, F\\, dt ≈ dt Σ f_k \\frac{F_{k+1} + 10 F_k + F_{k-1}}{12} .

The first holds for every path, the second to O(dt⁴) (Numerov). Sampled derivatives of f
do not sum to zero and would let the position itself into the balance of forces. φ has
the norm ∫φ dt = dt √stride: like increments over one step, the integrals of white noise
of intensity σ then have the long-run variance σ² dt.

The equation of a true Lagrangian is unbiased if its momenta are linear in q̇ with
constant coefficients. Other kinetic terms are candidates with the small bias of a fit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp
import xarray as xr
from scipy import sparse
from scipy.signal import savgol_coeffs

from leastaction.core.compiled import evaluator
from leastaction.core.contracts import check, time_step
from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.core.expressions import symbol
from leastaction.core.library import Library
from leastaction.ensembles.martingale_moments import monomial_instruments
from leastaction.ensembles.moving_average_moments import (
    Columns,
    Moments,
    lagged_gram,
    moments_dataset,
    unbiased,
)

SHORTEST_HALF_WIDTH = 4
# Half widths of the windows, in smoothing scales.
HALF_WIDTHS = (1, 2, 4)
DEGREE_OF_FITS = 3
# Half width: a cubic needs five samples to be a fit.
NARROWEST_FIT = 2
NODES_PER_HALF_WIDTH = 8


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Weak moments of one replicate at three half widths of the window.

    They are s, 2s and 4s with s the smoothing scale of the contract ``sensor_noise``.
    q̇ is not looked at. Instruments are those of
    :func:`~leastaction.ensembles.martingale_moments.monomial_instruments`, of the
    fitted state.

    Raises
    ------
    ValueError
        If the paths are too short for two windows.
    """
    check(derivatives, "sensor_noise")
    coordinates = [str(name) for name in observations["dof"].values]
    terms = Library.from_config(library, coordinates)
    instruments = monomial_instruments(coordinates, settings)
    scales = _accumulate(observations, derivatives, terms, instruments)
    return moments_dataset(scales, observations, derivatives, terms, instruments)


@dataclass(frozen=True)
class Windows:
    """All windows of one half width on a path.

    Smooth quantities are looked at on *nodes*, eight to a half width.

    Attributes
    ----------
    nodes_per_half
        Nodes from the middle of a window to its end, at most `NODES_PER_HALF_WIDTH`.
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
        spacing = max(1, round(half_width / NODES_PER_HALF_WIDTH))
        nodes = min(NODES_PER_HALF_WIDTH, half_width)
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
        return max(NARROWEST_FIT, self.half_width // 2)

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
            2 * self.reach + 1,
            DEGREE_OF_FITS,
            derivative,
            delta=self.time_step,
            use="dot",
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


class Balance(Columns):
    """Euler–Lagrange expressions of all candidates, integrated against windows."""

    def __init__(self, terms: Library, position_noise: Sequence[float]):
        super().__init__(terms)
        q = symbols(terms.coordinates)
        qdot = symbols(velocity_names(terms.coordinates))
        momenta, forces = self.momenta, self.forces
        mass = [constant_mass(p, qdot) for p in momenta]
        self._mass = np.array([row or [0.0] * len(q) for row in mass], dtype=float).T
        noise = [f"{name}_variance" for name in terms.coordinates]
        variance = {x: symbol(s) for x, s in zip(q, noise, strict=True)}
        self._variance = np.square(np.asarray(position_noise, dtype=float))
        moving = [f.has(*qdot) for f in forces]
        self._raw = [i for i, f in enumerate(forces) if f and not moving[i]]
        self._fitted = [i for i, f in enumerate(forces) if f and moving[i]]
        self._curved = [i for i, p in enumerate(momenta) if p and mass[i] is None]
        self._at_samples = evaluator(
            [unbiased(forces[i], variance) for i in self._raw], terms.coordinates, noise
        )
        self._at_fit = evaluator(
            [momenta[i] for i in self._curved] + [forces[i] for i in self._fitted],
            terms.coordinates,
        )

    def force_at_samples(self, q: np.ndarray) -> np.ndarray:
        """Forces that depend on coordinates only, at the samples of one path."""
        return self._at_samples(q, np.zeros_like(q), self._variance)

    def __call__(
        self,
        q: np.ndarray,
        force: np.ndarray,
        fit: tuple[np.ndarray, np.ndarray],
        windows: Windows,
    ) -> np.ndarray:
        """Integrals over the windows of one path, shape (window, width).

        Parameters
        ----------
        q
            Shape (samples, dof).
        force
            :meth:`force_at_samples` of `q`.
        fit
            q and q̇ at the nodes of `windows`.
        """
        rows = (windows.inertia @ q) @ self._mass
        rows[:, self._raw] -= windows.force @ force
        if self._curved or self._fitted:
            values = self._at_fit(*fit)
            split = len(self._curved)
            rows[:, self._curved] += windows.smooth_momentum @ values[:, :split]
            rows[:, self._fitted] -= windows.smooth_force @ values[:, split:]
        return rows


def constant_mass(momentum: sp.Expr, qdot: Sequence[sp.Symbol]) -> list[float] | None:
    """M with p = M q̇ if M is a row of numbers, else None."""
    mass = [sp.diff(momentum, v) for v in qdot]
    rest = momentum - sum(m * v for m, v in zip(mass, qdot, strict=True))
    if all(m.is_number for m in mass) and sp.expand(rest) == 0:
        return [float(m) for m in mass]
    return None


def _accumulate(observations, derivatives, terms, instruments) -> list[Moments]:
    q = observations["q"].values[0]
    p = len(instruments)
    lag = int(derivatives["lag"].values[0])
    balance = Balance(terms, derivatives["position_noise"].values[0])
    evaluate = evaluator(list(instruments), terms.coordinates)
    scales = _windows(q.shape[1], derivatives, time_step(observations), lag)
    width = balance.width
    moment = [np.zeros((p, width)) for _ in scales]
    z_gram = [np.zeros((one.lags + 1, p, p)) for one in scales]
    x_gram = [np.zeros((one.lags + 1, width, width)) for one in scales]
    for path in q:
        force = balance.force_at_samples(path)
        for i, one in enumerate(scales):
            fit = one.position @ path, one.velocity @ path
            rows = balance(path, force, fit, one)
            z = evaluate(*(state[one.before] for state in fit))
            moment[i] += z.T @ rows
            z_gram[i] += lagged_gram(z, one.lags)
            x_gram[i] += lagged_gram(rows, one.lags)
    return [
        Moments.of_columns(
            moment[i],
            z_gram[i],
            x_gram[i] / (len(q) * len(one.before)),
            balance,
            one.half_width,
        )
        for i, one in enumerate(scales)
    ]


def _windows(samples: int, derivatives, dt: float, lag: int) -> list[Windows]:
    """Windows of the half widths s, 2s, 4s that fit into a path at least twice over."""
    scale = max(SHORTEST_HALF_WIDTH, int(derivatives["smoothing_scale"].values[0]))
    found = [
        Windows.of_half_width(factor * scale, samples, lag, dt)
        for factor in HALF_WIDTHS
    ]
    found = [one for one in found if len(one.before) > 2 * one.lags]
    if not found:
        raise ValueError(
            f"the sensor noise hides the motion over {scale} of {samples} samples; "
            "record longer paths or better sensors"
        )
    return found
