"""Motions of a field on a periodic line, with spectral accuracy in space.

Derivatives by x are spectral (:mod:`leastaction.core.periodic_line`); products are
formed at the points. In time Yoshida's symmetric composition of order 6 of the
Störmer–Verlet method (Yoshida 1990, table 1, solution A) is symplectic, since u_tt is a
function of u alone. Points are `refinement` times as many as the nodes that are
recorded, so that what is recorded has the errors of round-off, not of the nodes.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.periodic_line import spectral_derivatives
from leastaction.core.runge_kutta import substeps_of
from leastaction.core.settings import CHANNELS
from leastaction.core.simulation import (
    DivergenceError,
    generator,
    recordings,
    step_count,
)
from leastaction.fields.ensemble import domain_attributes, field_initial_states
from leastaction.fields.field_system import FieldSystem
from leastaction.fields.library import jet_symbol

_OUTER = (0.784513610477560, 0.235573213359357, -1.17767998417887)
# Parts of a step that Störmer–Verlet takes one after the other.
YOSHIDA = (*_OUTER, 1 - 2 * sum(_OUTER), *reversed(_OUTER))
HIGHEST_DERIVATIVE = 4


def simulate(
    system: FieldSystem,
    settings: Mapping,
    *,
    example: str,
    seed: int,
    replicate: int,
    units: Mapping[str, str],
) -> xr.Dataset:
    """Simulate one replicate: motions of the nodes from random starts, with sensors.

    Contract ``recordings``: a node is a degree of freedom, named after the field and
    its number, and `noise_q` is the unit noise of its sensor.

    Raises
    ------
    DivergenceError
        If a motion does not stay finite.
    """
    time = np.arange(step_count(settings["duration"], settings["time_step"]) + 1)
    time = time * settings["time_step"]
    fine = refined(system, settings["refinement"])
    draw = field_initial_states(settings["initial_state"], fine)
    key = seed, example, "simulate", replicate
    starts = [draw(generator(*key, i)) for i in range(settings["trajectories"])]
    motion = Motion(fine, settings["time_step"], substeps_of(settings))
    with np.errstate(over="ignore", invalid="ignore"):
        states = motion.path(np.array(starts), len(time))
    if not np.isfinite(states).all():
        raise DivergenceError(
            f"a motion of replicate {replicate} is not finite; reduce "
            f"simulate.integration_step ({settings['integration_step']:g} s)"
        )
    nodes = states[..., :: settings["refinement"]]
    channels = dict(zip(CHANNELS, nodes, strict=True))
    names = [f"{system.field}_{i}" for i in range(system.dof)]
    node_units = dict.fromkeys(names, units[system.field])
    about = names, node_units, domain_attributes(system.field, system.domain)
    return recordings(channels, settings["noise"], time, key, *about)


def check(system: FieldSystem) -> None:
    """Refuse, with a :class:`ValueError`, a line that is not periodic."""
    if not system.domain.periodic:
        raise ValueError(
            f"method spectral needs a periodic line, but its ends are "
            f"{system.domain.left} and {system.domain.right}; write left: periodic and "
            "right: periodic, or use method modal or leapfrog"
        )


def refined(system: FieldSystem, refinement: int) -> FieldSystem:
    """The same field on so many times as many nodes."""
    nodes = refinement * system.domain.nodes
    return replace(system, domain=replace(system.domain, nodes=nodes))


class Motion:
    """Motion u_tt = a(u, u_x, u_xx, ...) of a field on a periodic line without noise.

    With `substeps` steps of the method between two samples, `time_step` (s) apart.
    """

    def __init__(self, system: FieldSystem, time_step: float, substeps: int):
        check(system)
        law = system.evaluated(system.acceleration)
        jet = [jet_symbol(system.field, k) for k in range(HIGHEST_DERIVATIVE + 1)]
        self._highest = max((k for k, s in enumerate(jet) if law.has(s)), default=0)
        self._acceleration = sp.lambdify(jet[: self._highest + 1], law, "numpy")
        self._length = system.domain.length
        self._step, self._substeps = time_step / substeps, substeps

    def acceleration(self, u: np.ndarray) -> np.ndarray:
        """u_tt of fields (..., node)."""
        slopes = spectral_derivatives(u, self._length, self._highest)
        return np.broadcast_to(self._acceleration(u, *slopes), u.shape)

    def path(self, starts: np.ndarray, samples: int) -> np.ndarray:
        """(u, u_t, u_tt) from `starts` (trajectory, 2, node), side by side.

        Shape (3, trajectory, time, node).
        """
        u, u_t = np.moveaxis(starts, 1, 0).astype(float)
        force = self.acceleration(u)
        result = np.empty((3, len(starts), samples, u.shape[-1]))
        for n in range(samples):
            if n:
                for part in YOSHIDA * self._substeps:
                    h = part * self._step
                    u_t = u_t + h / 2 * force
                    u = u + h * u_t
                    force = self.acceleration(u)
                    u_t = u_t + h / 2 * force
            result[:, :, n] = u, u_t, force
        return result
