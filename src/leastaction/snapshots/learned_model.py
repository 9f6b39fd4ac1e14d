"""Models that were learned from snapshots without candidates: print, roll out."""

from functools import cached_property

import numpy as np
import xarray as xr

from leastaction.core.euler_lagrange import velocity_names
from leastaction.snapshots.flow_gaussian_process import FlowProcess, flow_of
from leastaction.snapshots.learned_lagrangian import (
    LearnedLagrangian,
    lagrangian_of,
)
from leastaction.snapshots.radial_basis import RadialBasis
from leastaction.snapshots.variational_integrator import Rollout
from leastaction.snapshots.weight_space import WeightSpace


class LearnedModel:
    """A Lagrangian learned from snapshots.

    It has no terms to read. :meth:`hamiltonian` tells its energy, :meth:`rollout` its
    motion, and :attr:`lagrangian` everything else: derivatives, momenta, draws from the
    posterior.

    Parameters
    ----------
    dataset
        One replicate and case, contract ``learned_lagrangian``.
    """

    def __init__(self, dataset: xr.Dataset):
        self.dataset = dataset

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the generalised coordinates."""
        return _coordinates(self.dataset)

    @cached_property
    def lagrangian(self) -> LearnedLagrangian:
        """Basis and coefficients with all that follows from them."""
        return lagrangian_of(self.dataset)

    def hamiltonian(self, states, order: int = 2) -> np.ndarray:
        """H^[k] of states (sample, 2 dof), k = `order`, in the units of the learned L.

        Of a shadow Lagrangian it is the energy of the motion up to h^k; of another the
        energy that its integrator conserves, and H^[0] that of the motion.
        """
        return self.lagrangian.hamiltonian(np.atleast_2d(states), order)[0]

    def rollout(self, state, steps: int, order: int | None = None) -> Rollout:
        """Motion from a state (q, q̇), `steps` of the step that it was learned for.

        The first momentum is that of L^[k]; k is 2, or 0 if L is no shadow.
        """
        if order is None:
            order = 2 if self.lagrangian.shadow else 0
        return self.lagrangian.rollout(state, steps, order)

    def __str__(self) -> str:
        learned = self.lagrangian
        basis, names = learned.basis, self.coordinates
        kind = "Inverse modified Lagrangian" if learned.shadow else "Lagrangian"
        arguments = ", ".join((*names, *velocity_names(names)))
        lines = [
            f"{kind} L({arguments})",
            f"  {basis.size} functions: {_described(basis)}",
            f"  {learned.rule} rule, h = {learned.time_step:g} s",
            "Diagnostics",
        ]
        for name, array in self.dataset.data_vars.items():
            if array.dims == ("replicate",) and name not in ("degree", "length_scale"):
                meaning = array.attrs["long_name"]
                lines.append(f"  {array.values[0]:.4g}  {name}: {meaning}")
        if learned.shadow:
            lines.append(
                "L is made for its integrator: rollout(state, steps) is the motion, "
                "hamiltonian(states, k) its energy up to h^k"
            )
        lines.append("L is known up to a factor and to what has no equations of motion")
        return "\n".join(lines)


class LearnedFlow:
    """A flow map learned from snapshots; it has no Lagrangian and no energy.

    Parameters
    ----------
    dataset
        One replicate and case, contract ``learned_flow``.
    """

    def __init__(self, dataset: xr.Dataset):
        self.dataset = dataset

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the generalised coordinates."""
        return _coordinates(self.dataset)

    @cached_property
    def flow(self) -> FlowProcess:
        """The map of a state to the state one step on."""
        return flow_of(self.dataset)

    def rollout(self, state, steps: int) -> np.ndarray:
        """States (sample, 2 dof) from a state (q, q̇)."""
        return self.flow.rollout(np.asarray(state, dtype=float), steps)

    def __str__(self) -> str:
        names, flow = self.coordinates, self.flow
        return (
            f"Flow map of ({', '.join((*names, *velocity_names(names)))}), h = "
            f"{float(self.dataset.attrs['time_step']):g} s\n"
            f"  Gaussian process of {len(flow.samples)} states, variance "
            f"{flow.variance:g}, length scale {flow.length_scale:g}\n"
            "It has no Lagrangian and conserves no energy"
        )


def _coordinates(dataset: xr.Dataset) -> tuple[str, ...]:
    """Coordinates of a model; NetCDF gives a single name back as text."""
    names = dataset.attrs["dof"]
    return (names,) if isinstance(names, str) else tuple(map(str, names))


def _described(basis) -> str:
    if isinstance(basis, WeightSpace):
        return (
            f"Taylor features of a squared exponential kernel, degree {basis.degree}, "
            f"length scale {basis.length_scale:g} half widths of the data"
        )
    if isinstance(basis, RadialBasis):
        return f"radial, length scale {basis.length_scale:g}"
    return "one layer of tanh units"
