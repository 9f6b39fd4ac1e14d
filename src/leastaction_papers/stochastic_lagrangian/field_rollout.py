"""Rollout of a field, truth and model on common random numbers.

Modal transitions are exact at any step, so only the stored times are computed. Both
systems take the same normal numbers, those of the model turned into its modes.
"""

import logging

import numpy as np
import xarray as xr

from leastaction.core.expressions import parse
from leastaction.core.simulation import generator
from leastaction.fields import schemes
from leastaction.fields.ensemble import field_initial_states, node_coordinate
from leastaction.fields.field_system import FieldSystem
from leastaction_papers.rollout import Rollout, compares
from leastaction_papers.stochastic_lagrangian.rollout import comparison

log = logging.getLogger(__name__)


@compares
def validate(run: Rollout) -> xr.Dataset:
    """Roll out one replicate over `lengths` training durations, by exact modes.

    The model has a motion for all trajectories, or for none: they count as `diverged`.
    The truth has a quadratic density.
    """
    system, simulation, settings = run.system, run.simulation, run.settings
    training = simulation["duration"]
    time = np.linspace(0.0, settings["lengths"] * training, settings["samples"])
    estimate = run.estimate
    draw = field_initial_states(simulation["initial_state"], system)
    n = settings["trajectories"]
    sums = [_Sums(system, system, time)]
    try:
        estimate.check()
        sums.append(_Sums(estimate, system, time))
    except ValueError as error:
        log.warning("the model counts as diverged: %s", error)
    for trajectory in range(n):
        rng = generator(*run.key, trajectory)
        start = draw(rng)
        normals = rng.standard_normal((len(time) - 1, system.dof, 2))
        for one in sums:
            one.add(start, normals)
    # ρ of a Lagrangian in which the reference has its given coefficient, over ours.
    reference = parse(run.library["reference"], system.names).diff(system.state[1], 2)
    scale = float(reference) / system.mass_density
    truth = sums[0].statistics(scale)
    nothing = {name: np.full_like(values, np.nan) for name, values in truth.items()}
    return comparison(
        truth,
        sums[1].statistics(1.0) if sums[1:] else nothing,
        time,
        training,
        growth=scale * system.energy_growth * time,
        diverged=0 if sums[1:] else n,
        replicate=run.model["replicate"],
        axis={"node": node_coordinate(system.domain)},
        contract="field_rollout",
    )


class _Sums:
    """Running sums over trajectories of one system, about its noise-free motion."""

    def __init__(self, system: FieldSystem, truth: FieldSystem, time: np.ndarray):
        self.omega, self.phi = system.modes
        self.to_modes = system.mass[:, None] * self.phi
        # ψ = M^½ Φ is orthogonal: the same nodal noise in the modes of this system.
        ours = np.sqrt(system.mass)[:, None] * self.phi
        theirs = np.sqrt(truth.mass)[:, None] * truth.modes[1]
        self.turn = ours.T @ theirs
        step = time[1] - time[0]
        self.transition = schemes.transition(self.omega, step)
        self.noise = system.modal_sigma * schemes.noise(self.omega, step)
        shape = (len(time), system.dof)
        self.sums = [np.zeros(shape) for _ in range(3)]
        self.hamiltonian = np.zeros(len(time))
        self.state = np.empty(shape), np.empty(shape)
        self.count = 0

    def add(self, start: np.ndarray, normals: np.ndarray) -> None:
        """One more trajectory from (u, u_t) of shape (2, node)."""
        p, v = self.state
        p[0], v[0] = start @ self.to_modes
        turned = np.einsum("ij,njk->nik", self.turn, normals, optimize=True)
        schemes.advance(self.transition, self.noise, np.ascontiguousarray(turned), p, v)
        u = p @ self.phi.T
        if self.count == 0:
            self.about = u.copy()
        u -= self.about
        for total, value in zip(self.sums, (u, u**2, v), strict=True):
            total += value
        self.hamiltonian += self._energy(p, v)
        self.count += 1

    def _energy(self, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        return (v**2 + (self.omega * p) ** 2).sum(axis=1) / 2

    def statistics(self, scale: float) -> dict[str, np.ndarray]:
        """Ensemble statistics, energies times `scale`."""
        deviation, square, velocity = (total / self.count for total in self.sums)
        mean = self.about + deviation
        variance = np.clip(square - deviation**2, 0.0, None)
        energy = self._energy(mean @ self.to_modes, velocity)
        return {
            "mean": mean,
            "std": np.sqrt(variance),
            "hamiltonian": scale * self.hamiltonian / self.count,
            "hamiltonian_of_mean": scale * energy,
        }
