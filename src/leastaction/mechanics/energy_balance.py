"""Energy along a path of a port-Hamiltonian system: balance and dissipation inequality.

.. math::  H(t) - H(0) = \\int y^T u\\,dt - \\int z^T R z\\,dt \\le \\int y^T u\\,dt
"""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import cumulative_trapezoid

from leastaction.mechanics.port_dae import PortDae

# In units of the largest energy: what round-off makes of an equality.
ROUNDING = 1e-12


@dataclass(frozen=True)
class EnergyBalance:
    """Energies along a path, J, each of shape (time,).

    Attributes
    ----------
    stored
        H(t) − H(0).
    supplied, dissipated
        Integrals of yᵀu and zᵀRz by the trapezoidal rule.
    """

    stored: np.ndarray
    supplied: np.ndarray
    dissipated: np.ndarray

    @property
    def residual(self) -> np.ndarray:
        """What is missing in the balance, J; of second order in the time step."""
        return self.stored - self.supplied + self.dissipated

    @property
    def violations(self) -> int:
        """Steps over which more energy is stored than supplied."""
        scale = max(np.abs(self.stored).max(), np.abs(self.supplied).max(), 1e-300)
        excess = np.diff(self.stored - self.supplied)
        return int((excess > ROUNDING * scale).sum())


def energy_balance(
    system: PortDae, time: np.ndarray, x: np.ndarray, u: np.ndarray
) -> EnergyBalance:
    """Energies along states `x` (time, state) under inputs `u` (time, port)."""
    z = system.efforts(x)
    power = ((z @ system.port) * u).sum(axis=1)
    loss = np.einsum("ti,ij,tj->t", z, system.dissipation, z)
    stored = system.hamiltonian(x)
    return EnergyBalance(
        stored=stored - stored[0],
        supplied=cumulative_trapezoid(power, time, initial=0),
        dissipated=cumulative_trapezoid(loss, time, initial=0),
    )
