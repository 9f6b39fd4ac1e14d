"""What was learned from snapshots, as something that moves and has an energy."""

import logging
from collections.abc import Mapping, Sequence
from itertools import combinations_with_replacement

import numpy as np
import xarray as xr

from leastaction.snapshots.flow_gaussian_process import flow_of
from leastaction.snapshots.learned_lagrangian import lagrangian_of
from leastaction.snapshots.variational_integrator import Rollout

log = logging.getLogger(__name__)

# States whose partial derivatives are held in memory at once.
CHUNK = 1000
# Steps of a flow between two looks at whether it has left its domain.
LOOK = 10_000


class LagrangianModel:
    """A learned Lagrangian, moved by its variational integrator.

    Parameters
    ----------
    dataset
        One case, contract ``learned_lagrangian``.
    orders
        Orders of backward error analysis.
    domain
        `low` and `high`: positions outside of which a motion has escaped.
    """

    def __init__(
        self, dataset: xr.Dataset, orders: Sequence[int], domain: Mapping | None
    ):
        self.lagrangian = lagrangian_of(dataset)
        self._domain = dict(domain or {})
        # Paper: the momentum of a Lagrangian that is not a shadow is ∂L/∂q̇ itself.
        self.main = orders[-1] if self.lagrangian.shadow else orders[0]

    def run(self, state: np.ndarray, steps: int, order: int, every: int = 1) -> Rollout:
        """Motion from a state, its momentum from L^[k]; samples `every` steps."""
        try:
            return self.lagrangian.rollout(
                state, steps, order, every=every, **self._domain
            )
        except np.linalg.LinAlgError as error:
            n = self.lagrangian.basis.dof
            path = np.full((steps // every + 1, n), np.nan)
            momenta, path[0] = np.full_like(path, np.nan), np.asarray(state)[:n]
            return Rollout(path, momenta, 0, f"step 1: {error}", 0.0)

    def further(self, run: Rollout, sample: int, steps: int) -> Rollout:
        """Every step of a run from one of its samples on."""
        position, momentum = run.positions[sample], run.momenta[sample]
        still = np.zeros((1, position.size))
        velocity = self.lagrangian.velocity(
            position[None], momentum[None], still, self.main
        )[0]
        return self.lagrangian.integrator.rollout(
            position, momentum, steps, velocity, **self._domain
        )

    def states(
        self, run: Rollout, at: np.ndarray, order: int, every: int = 1
    ) -> np.ndarray:
        """States (sample, 2 dof) of samples `at` of a run, velocities from L^[k].

        NaN where the run had failed.
        """
        there = np.isfinite(run.positions[:, 0]) & np.isfinite(run.momenta[:, 0])
        if there.sum() < 2:
            return np.full((len(at), 2 * run.positions.shape[1]), np.nan)
        rough = np.gradient(
            run.positions[there], self.lagrangian.time_step, axis=0, edge_order=1
        )
        at_done = at[at < there.sum()]
        positions, momenta = run.positions[at_done], run.momenta[at_done]
        rough = rough[at_done]
        states = np.full((len(at), 2 * positions.shape[1]), np.nan)
        try:
            if every > 1:
                # Over many steps a difference quotient is no velocity.
                still = np.zeros_like(positions)
                rough = self.lagrangian.velocity(positions, momenta, still, 0)
            velocity = self.lagrangian.velocity(positions, momenta, rough, order)
        except (np.linalg.LinAlgError, RuntimeError) as error:
            log.warning("no velocities of order %d along a rollout: %s", order, error)
            return states
        states[: len(at_done)] = np.concatenate([positions, velocity], axis=1)
        return states

    def mass(self, state: np.ndarray, order: int) -> np.ndarray:
        """∂²L^[k]/∂q̇∂q̇ at a state, shape (dof, dof)."""
        n = self.lagrangian.basis.dof
        found = self.lagrangian.modified(np.asarray(state)[None], order, 2)[:, 0]
        second = found[1 + 2 * n :]
        mass = np.empty((n, n))
        for value, (i, j) in zip(
            second, combinations_with_replacement(range(2 * n), 2), strict=True
        ):
            if i >= n:
                mass[i - n, j - n] = mass[j - n, i - n] = value
        return mass

    def hamiltonian(
        self, states: np.ndarray, order: int, derivatives: int = 0
    ) -> np.ndarray:
        """H^[k] of states and its partial derivatives, shape (index, sample)."""
        pieces = [
            self.lagrangian.hamiltonian(states[i : i + CHUNK], order, derivatives)
            for i in range(0, len(states), CHUNK)
        ]
        return np.concatenate(pieces, axis=1)


class FlowModel:
    """A learned flow map; it has no energy, and its order means nothing.

    Parameters are those of :class:`LagrangianModel`, contract ``learned_flow``.
    """

    def __init__(
        self, dataset: xr.Dataset, orders: Sequence[int], domain: Mapping | None
    ):
        self._flow, self.main = flow_of(dataset), orders[0]
        self._dof = self._flow.samples.shape[1] // 2
        everywhere = {"low": -np.inf, "high": np.inf}
        box = everywhere | dict(domain or {})
        self._low, self._high = np.asarray(box["low"]), np.asarray(box["high"])

    def run(self, state: np.ndarray, steps: int, order: int, every: int = 1) -> Rollout:
        """Motion from a state, velocities in place of momenta; stops where it left."""
        n = self._dof
        path = np.full((steps // every + 1, 2 * n), np.nan)
        path[0] = state
        # Looks at whole samples, so that one of them ends each piece.
        look = max(LOOK // every, 1) * every
        done = 0
        while done < steps:
            count = min(look, steps - done)
            piece = self._flow.rollout(path[done // every], count)
            inside = self._inside(piece)
            kept = piece[every : inside + 1 : every]
            path[done // every + 1 : done // every + 1 + len(kept)] = kept
            done += inside
            if inside < count:
                break
        reason = (
            "" if done == steps else f"step {done + 1}: the position left the domain"
        )
        return Rollout(path[:, :n], path[:, n:], done, reason, 0.0)

    def further(self, run: Rollout, sample: int, steps: int) -> Rollout:
        """Every step of a run from one of its samples on."""
        state = np.concatenate([run.positions[sample], run.momenta[sample]])
        return self.run(state, steps, self.main)

    def states(
        self, run: Rollout, at: np.ndarray, order: int, every: int = 1
    ) -> np.ndarray:
        """States (sample, 2 dof) of samples `at` of a run."""
        return np.concatenate([run.positions[at], run.momenta[at]], axis=1)

    def mass(self, state: np.ndarray, order: int) -> np.ndarray:
        """NaN: a flow map has no mass. Shape (dof, dof)."""
        return np.full((self._dof, self._dof), np.nan)

    def hamiltonian(
        self, states: np.ndarray, order: int, derivatives: int = 0
    ) -> np.ndarray:
        """NaN: a flow map has no Hamiltonian. Shape (index, sample)."""
        return np.full((1 + derivatives * states.shape[1], len(states)), np.nan)

    def _inside(self, path: np.ndarray) -> int:
        """Steps before the path leaves the domain, shape (sample, 2 dof)."""
        q = path[:, : self._dof]
        with np.errstate(invalid="ignore"):
            good = ((q >= self._low) & (q <= self._high)).all(axis=1)
        good &= np.isfinite(q).all(axis=1)
        return len(q) - 1 if good.all() else max(int(np.argmin(good)) - 1, 0)


KINDS = {"learned_flow": FlowModel, "learned_lagrangian": LagrangianModel}
