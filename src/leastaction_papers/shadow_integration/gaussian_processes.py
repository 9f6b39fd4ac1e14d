"""Gaussian processes that Lagrangian Shadow Integration is compared with.

Ober-Blöbaum and Offen, sections 2.5.3 and 3.1. The Lagrangian Gaussian process (LGP),
and with exact accelerations (LGPExact), takes the Euler–Lagrange equations of samples
(q, q̇, q̈): its Lagrangian is that of the motion, as far as the derivatives are, not the
one that an integrator needs. GPFlow learns the map (q, q̇) ↦ (q, q̇) one step on.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numba import njit

from leastaction.core.contracts import time_step
from leastaction.core.euler_lagrange import velocity_names
from leastaction.core.gaussian_process import Posterior, square_distances
from leastaction.core.simulation import halton_starts
from leastaction.snapshots.bases import Basis, RadialBasis
from leastaction.snapshots.contracts import equations_dataset
from leastaction.snapshots.discrete_lagrangian import (
    pairs,
    positions_of,
    published_conditions,
)
from leastaction.snapshots.learned_model import coordinates_of
from leastaction.snapshots.variational_integrator import Rollout
from leastaction_papers.shadow_integration.contracts import CONTRACTS


def repeated_central_difference(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Samples (q, q̇, q̈) of one case from its positions alone, five of them at least.

    .. math::

        \\dot q_k = (q_{k+1} - q_{k-1})/2h, \\qquad
        \\ddot q_k = (\\dot q_{k+1} - \\dot q_{k-1})/2h
    """
    motion = repeated_differences(observations["q"].values[0], time_step(observations))
    return _sampled_motion(motion, observations)


def repeated_differences(
    positions: np.ndarray, time_step: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, q̇ and q̈ where both differences exist, each (trajectory, time − 4, dof)."""
    # Paper: the acceleration has a stencil of four steps, not the usual two; two
    # snapshots are lost at each end.
    if positions.shape[1] < 5:
        raise ValueError(
            f"two central differences need five snapshots, got {positions.shape[1]}"
        )
    velocity = (positions[:, 2:] - positions[:, :-2]) / (2 * time_step)
    acceleration = (velocity[:, 2:] - velocity[:, :-2]) / (2 * time_step)
    return positions[:, 2:-2], velocity[:, 1:-1], acceleration


def halton_velocity(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Samples (q, q̇, q̈) with recorded q and q̈ and velocities spread over a box.

    Paper, section 3.1: the acceleration of the pendulum does not depend on its
    velocity, so any velocity goes with a recorded position and acceleration. For other
    systems that is wrong. Raises a ValueError if no accelerations are recorded.
    """
    if "qddot" not in observations:
        raise ValueError(
            "halton_velocity needs recorded accelerations; add qddot to "
            "simulate.noise.channels"
        )
    q, qddot = (observations[name].values[0] for name in ("q", "qddot"))
    first, *box = (settings[name] for name in ("first_index", "low", "high"))
    qdot = halton_starts(first, *box, q.shape[0] * q.shape[1])
    return _sampled_motion((q, np.reshape(qdot, q.shape), qddot), observations)


def _sampled_motion(motion: tuple, observations: xr.Dataset) -> xr.Dataset:
    """Contract ``sampled_motion`` of arrays (..., dof)."""
    n = observations.sizes["dof"]
    samples = (np.reshape(values, (-1, n)) for values in motion)
    return CONTRACTS["sampled_motion"].dataset(
        dict(zip(("q", "qdot", "qddot"), samples, strict=True)),
        coords={name: observations[name].values for name in ("replicate", "dof")},
    )


def continuous_euler_lagrange(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Rows L_q − L_q̇q q̇ − L_q̇q̇ q̈ of samples; the centres are the samples (q, q̇)."""
    q, qdot, qddot = (derivatives[name].values[0] for name in ("q", "qdot", "qddot"))
    basis = RadialBasis(np.concatenate([q, qdot], axis=1), settings["length_scale"])
    rows = euler_lagrange_rows(basis, q, qdot, qddot)
    conditions = published_conditions(basis, settings["volume"])
    about = observations, settings["rule"]
    return equations_dataset(basis, rows, conditions, *about, shadow=0)


def euler_lagrange_rows(
    basis: Basis, q: np.ndarray, qdot: np.ndarray, qddot: np.ndarray
) -> np.ndarray:
    """Rows L_q − L_q̇q q̇ − L_q̇q̇ q̈, shape (sample, dof, function)."""
    # Paper: eq. (19) prints a momentum for the force L_q, and a wrong sign.
    n = basis.dof
    states = np.concatenate([q, qdot], axis=1)
    rows = np.empty((len(q), n, basis.size))
    for i in range(n):
        rows[:, i] = basis.partial(states, i)
        for j in range(n):
            rows[:, i] -= basis.partial(states, n + i, j) * qdot[:, j : j + 1]
            rows[:, i] -= basis.partial(states, n + i, n + j) * qddot[:, j : j + 1]
    return rows


def flow_pairs(
    positions: np.ndarray, time_step: float
) -> tuple[np.ndarray, np.ndarray]:
    """States (pair, 2 dof) a step apart, velocities by central differences."""
    if positions.shape[1] < 4:
        raise ValueError(
            f"pairs of states need four snapshots, got {positions.shape[1]}"
        )
    velocity = (positions[:, 2:] - positions[:, :-2]) / (2 * time_step)
    return pairs(np.concatenate([positions[:, 1:-1], velocity], axis=2))


def flow_gaussian_process(
    equations: xr.Dataset | None,
    settings: Mapping,
    observations: xr.Dataset,
    library: Mapping,
) -> xr.Dataset:
    """Flow map of one case, contract ``learned_flow``.

    Paper: scikit-learn is asked to fit c and ℓ, but leaves the values that the authors
    start from. Raises a ValueError for fewer than four snapshots, or for a kernel
    matrix that is singular in floating point.
    """
    h = time_step(observations)
    first, second = flow_pairs(positions_of(observations), h)
    variance, length_scale = settings["variance"], settings["length_scale"]
    square = square_distances(first, first)
    matrix = variance * np.exp(-0.5 * square / length_scale**2)
    matrix[np.diag_indices_from(matrix)] += settings["jitter"]
    try:
        weights = Posterior(matrix, second).weights
    except np.linalg.LinAlgError as error:
        raise ValueError(
            f"the kernel matrix of {len(first)} states is singular at length scale "
            f"{length_scale:g}; raise jitter, now {settings['jitter']:g}, or shorten "
            "length_scale"
        ) from error
    return CONTRACTS["learned_flow"].dataset(
        {"state_sample": first, "weight": weights},
        coords={"replicate": observations["replicate"].values},
        attrs={
            "variance": variance,
            "length_scale": length_scale,
            "time_step": h,
            "dof": [str(name) for name in observations["dof"].values],
        },
    )


@dataclass(frozen=True, eq=False, repr=False)
class LearnedFlow:
    """Flow map of a Gaussian process with a squared exponential kernel (GPFlow).

    .. math::  z_{k+1} = \\sum_j c\\, e^{-|z_k - z_j|^2/2ℓ^2} α_j

    It has no Lagrangian and no energy, and an order means nothing to it: what asks for
    these gets NaN. Methods are those of a ``LearnedLagrangian``.
    """

    samples: np.ndarray  # z_j = (q, q̇), shape (sample, 2 dof)
    weights: np.ndarray  # α, shape (sample, 2 dof)
    variance: float  # c
    length_scale: float  # ℓ
    time_step: float  # h, s
    coordinates: tuple[str, ...] = ()

    @classmethod
    def from_dataset(cls, dataset: xr.Dataset) -> "LearnedFlow":
        """Model of one replicate and case, contract ``learned_flow``."""
        numbers = ("variance", "length_scale", "time_step")
        return cls(
            dataset["state_sample"].values[0],
            dataset["weight"].values[0],
            *(float(dataset.attrs[name]) for name in numbers),
            coordinates_of(dataset),
        )

    @property
    def dof(self) -> int:
        """Number of degrees of freedom."""
        return self.samples.shape[1] // 2

    def main_order(self, orders) -> int:
        """First of the orders, which mean nothing here."""
        return orders[0]

    def rollout(
        self,
        state,
        steps: int,
        order: int = 0,
        every: int = 1,
        low: np.ndarray | float = -np.inf,
        high: np.ndarray | float = np.inf,
    ) -> Rollout:
        """Motion from a state (q, q̇), with velocities in place of momenta."""
        n, start = self.dof, np.array(state, dtype=float)
        path = np.full((steps // every + 1, 2 * n), np.nan)
        box = [np.full(n, side, dtype=float) for side in (low, high)]
        weights, a = self.variance * self.weights, 0.5 / self.length_scale**2
        done = _iterate(start, self.samples, weights, a, *box, every, path)
        left = done < (len(path) - 1) * every
        reason = f"step {done + 1}: the position left the domain" if left else ""
        return Rollout(path[:, :n], path[:, n:], done, reason, 0.0)

    def further(
        self, run: Rollout, sample: int, steps: int, order: int, **options
    ) -> Rollout:
        """Every step of a rollout from one of its samples on."""
        state = np.concatenate([run.positions[sample], run.momenta[sample]])
        return self.rollout(state, steps, order, **options)

    def states(
        self, run: Rollout, at: np.ndarray, order: int, every: int = 1
    ) -> np.ndarray:
        """States (sample, 2 dof) of samples `at` of a rollout."""
        return np.concatenate([run.positions[at], run.momenta[at]], axis=1)

    def mass(self, state: np.ndarray, order: int) -> np.ndarray:
        """NaN, shape (dof, dof)."""
        return np.full((self.dof, self.dof), np.nan)

    def hamiltonian_derivatives(
        self, states: np.ndarray, order: int, derivatives: int = 0
    ) -> np.ndarray:
        """NaN, shape (index, sample)."""
        return np.full((1 + derivatives * states.shape[1], len(states)), np.nan)

    def hamiltonian(self, states, order: int = 0) -> np.ndarray:
        """NaN, shape (sample,)."""
        return self.hamiltonian_derivatives(np.atleast_2d(states), order)[0]

    def __str__(self) -> str:
        names = (*self.coordinates, *velocity_names(self.coordinates))
        return (
            f"Flow map of ({', '.join(names)}), h = {self.time_step:g} s\n"
            f"  Gaussian process of {len(self.samples)} states, variance "
            f"{self.variance:g}, length scale {self.length_scale:g}\n"
            "It has no Lagrangian and conserves no energy"
        )

    __repr__ = __str__


@njit(cache=True, nogil=True)
def _iterate(state, samples, weights, a, low, high, every, path):
    """Steps done in the box; sample k of the path is step k · every."""
    size, dof = state.size, low.size
    following = np.empty(size)
    for i in range(size):  # an array assigned to another takes seconds to compile
        path[0, i] = state[i]
    steps = (path.shape[0] - 1) * every
    for step in range(1, steps + 1):
        following[:] = 0.0
        for j in range(samples.shape[0]):
            square = 0.0
            for i in range(size):
                square += (state[i] - samples[j, i]) ** 2
            kernel = np.exp(-a * square)
            for i in range(size):
                following[i] += kernel * weights[j, i]
        for i in range(dof):
            inside = low[i] <= following[i] <= high[i]
            if not (inside and np.isfinite(following[i])):
                return step - 1
        for i in range(size):
            state[i] = following[i]
            if step % every == 0:
                path[step // every, i] = state[i]
    return steps
