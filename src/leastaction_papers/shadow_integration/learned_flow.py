"""A learned flow map, without a Lagrangian: a rival of learned Lagrangians."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numba import njit

from leastaction.core.euler_lagrange import velocity_names
from leastaction.snapshots.learned_model import coordinates_of
from leastaction.snapshots.variational_integrator import Rollout


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
    path[0] = state
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
        state[:] = following
        if step % every == 0:
            path[step // every] = state
    return steps
