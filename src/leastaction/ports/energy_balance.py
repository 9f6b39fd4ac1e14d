"""Energy along a path of a port-Hamiltonian system: balance and dissipation inequality.

.. math::  H(t) - H(0) = \\int y^T u\\,dt - \\int z^T R z\\,dt \\le \\int y^T u\\,dt
"""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import cumulative_trapezoid

from leastaction.ports.port_dae import PortDae

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
    excess
        ΔH − ∫yᵀu over windows of two steps, J, shape (window,), by Simpson's rule:
        where the loss passes through zero, an error of third order would hide its
        sign.
    """

    stored: np.ndarray
    supplied: np.ndarray
    dissipated: np.ndarray
    excess: np.ndarray

    @property
    def residual(self) -> np.ndarray:
        """What is missing in the balance, J; of second order in the time step."""
        return self.stored - self.supplied + self.dissipated

    @property
    def violations(self) -> int:
        """Windows over which more energy is stored than supplied."""
        scale = max(np.abs(self.stored).max(), np.abs(self.supplied).max(), 1e-300)
        return int((self.excess > ROUNDING * scale).sum())


def energy_balance(
    system: PortDae, time: np.ndarray, x: np.ndarray, u: np.ndarray
) -> EnergyBalance:
    """Energies along states `x` (time, state) under inputs `u` (time, port)."""
    z = system.efforts(x)
    power = ((z @ system.port) * u).sum(axis=1)
    loss = np.einsum("ti,ij,tj->t", z, system.dissipation, z)
    stored = system.hamiltonian(x)
    windows = 2 * ((time.size - 1) // 2)
    step = time[1] - time[0]
    simpson = power[:windows:2] + 4 * power[1:windows:2] + power[2 : windows + 1 : 2]
    return EnergyBalance(
        stored=stored - stored[0],
        supplied=cumulative_trapezoid(power, time, initial=0),
        dissipated=cumulative_trapezoid(loss, time, initial=0),
        excess=np.diff(stored[: windows + 1 : 2]) - step / 3 * simpson,
    )
