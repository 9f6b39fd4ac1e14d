"""What was learned from snapshots, as something that moves and has an energy."""

import logging
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from leastaction.identify.flow_gaussian_process import flow_of
from leastaction.mechanics.learned_lagrangian import lagrangian_of
from leastaction.mechanics.variational_integrator import Rollout

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

    def run(self, state: np.ndarray, steps: int, order: int) -> Rollout:
        """Every step of the motion from a state, its momentum from L^[k]."""
        try:
            return self.lagrangian.rollout(state, steps, order, **self._domain)
        except np.linalg.LinAlgError as error:
            n = self.lagrangian.basis.dof
            path = np.full((steps + 1, n), np.nan)
            momenta, path[0] = np.full_like(path, np.nan), np.asarray(state)[:n]
            return Rollout(path, momenta, 0, f"step 1: {error}", 0.0)

    def survived(self, state: np.ndarray, steps: int) -> int:
        """Steps that a motion did before it failed or escaped."""
        run = self.lagrangian.rollout(
            state, steps, self.main, every=steps, **self._domain
        )
        return run.steps

    def states(self, run: Rollout, at: np.ndarray, order: int) -> np.ndarray:
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
        positions = run.positions[at_done]
        states = np.full((len(at), 2 * positions.shape[1]), np.nan)
        try:
            velocity = self.lagrangian.velocity(
                positions, run.momenta[at_done], rough[at_done], order
            )
        except (np.linalg.LinAlgError, RuntimeError) as error:
            log.warning("no velocities of order %d along a rollout: %s", order, error)
            return states
        states[: len(at_done)] = np.concatenate([positions, velocity], axis=1)
        return states

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

    def run(self, state: np.ndarray, steps: int, order: int) -> Rollout:
        """Every step of the motion from a state; velocities stand for momenta."""
        path = self._flow.rollout(np.asarray(state, dtype=float), steps)
        n, done = self._dof, self._inside(path)
        path[done + 1 :] = np.nan
        reason = (
            "" if done == steps else f"step {done + 1}: the position left the domain"
        )
        return Rollout(path[:, :n], path[:, n:], done, reason, 0.0)

    def survived(self, state: np.ndarray, steps: int) -> int:
        """Steps that a motion did before it escaped."""
        done, state = 0, np.asarray(state, dtype=float)
        while done < steps:
            count = min(LOOK, steps - done)
            path = self._flow.rollout(state, count)
            inside = self._inside(path)
            done, state = done + inside, path[-1]
            if inside < count:
                break
        return done

    def states(self, run: Rollout, at: np.ndarray, order: int) -> np.ndarray:
        """States (sample, 2 dof) of samples `at` of a run."""
        return np.concatenate([run.positions[at], run.momenta[at]], axis=1)

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
