"""Port-Hamiltonian systems coupled through their ports: again port-Hamiltonian.

With the coupling inputs û and outputs ŷ = B̂ᵀ z of all subsystems and a skew matrix Ĉ,

.. math::  \\hat u + \\hat C \\hat y = 0 \\quad\\Rightarrow\\quad
    E \\dot x = (J - \\hat B \\hat C \\hat B^T - R)\\, z + \\bar B \\bar u

(Zaspel and Günther 2024, eq. 3): J̃ is skew because Ĉ is, and H is the sum.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.linalg import block_diag

from leastaction.ports.constraint_geometry import ConstraintGeometry
from leastaction.ports.port_dae import PortDae

ROUNDING = 1e-12


def couple(
    systems: Mapping[str, PortDae],
    ports: Sequence[tuple[str, int]],
    interconnection: np.ndarray,
) -> PortDae:
    """One system of several.

    Parameters
    ----------
    systems
        By name; a state x of system `a` becomes ``a.x``.
    ports
        (system, number of its port) of every coupling port; all others stay inputs, in
        the order of the systems.
    interconnection
        Ĉ, shape (coupling port, coupling port), skew-symmetric.

    Raises
    ------
    ValueError
        If Ĉ is not skew-symmetric, does not fit the ports, or a port is not there.
    """
    c = np.asarray(interconnection, dtype=float)
    if c.shape != (len(ports),) * 2 or np.abs(c + c.T).max() > ROUNDING:
        raise ValueError(
            f"the interconnection must be a skew-symmetric matrix of the {len(ports)} "
            f"coupling ports; it is {c.tolist()}. Only then it passes power on and "
            "makes none"
        )
    names, parts = list(systems), list(systems.values())
    for name, number in ports:
        if name not in systems or not 0 <= number < systems[name].port.shape[1]:
            raise ValueError(
                f"port {number} of {name!r} does not exist; ports are "
                f"{ {n: s.port.shape[1] for n, s in systems.items()} }"
            )
    everything = block_diag(*(part.port for part in parts))
    first = np.cumsum([0, *(part.port.shape[1] for part in parts)])
    inner = [int(first[names.index(name)]) + number for name, number in ports]
    outer = [i for i in range(everything.shape[1]) if i not in inner]
    coupling = everything[:, inner]
    structure = block_diag(*(part.structure for part in parts))
    split = np.cumsum([len(part.states) for part in parts])[:-1]

    def each(x: np.ndarray):
        return zip(parts, np.split(np.asarray(x), split, axis=1), strict=True)

    def jacobian(x: np.ndarray) -> np.ndarray:
        found = np.zeros((len(x), *structure.shape))
        start = 0
        for part, own in each(x):
            size = len(part.states)
            place = slice(start, start + size)
            found[:, place, place] = part.jacobian(own)
            start += size
        return found

    def at(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = [
            part.at(own) for part, own in zip(parts, np.split(x, split), strict=True)
        ]
        slopes = np.zeros(structure.shape)
        start = 0
        for _, own in found:
            place = slice(start, start + len(own))
            slopes[place, place] = own
            start += len(own)
        return np.concatenate([z for z, _ in found]), slopes

    known = all(part.hamiltonian is not None for part in parts)
    return PortDae(
        states=tuple(f"{n}.{s}" for n, part in systems.items() for s in part.states),
        flow=block_diag(*(part.flow for part in parts)),
        structure=structure - coupling @ c @ coupling.T,
        dissipation=block_diag(*(part.dissipation for part in parts)),
        port=everything[:, outer],
        efforts=lambda x: np.hstack([part.efforts(own) for part, own in each(x)]),
        jacobian=jacobian,
        hamiltonian=(
            (lambda x: sum(part.hamiltonian(own) for part, own in each(x)))
            if known
            else None
        ),
        constraint=_together(parts),
        at=at,
    )


def _together(parts: Sequence[PortDae]) -> ConstraintGeometry | None:
    """Refuse what is not built: constraints in a coupled system.

    Raises
    ------
    ValueError
    """
    if any(part.constraint is not None for part in parts):
        raise ValueError(
            "only systems of index 0 or 1 can be coupled here: with constraints, the "
            "algebraic states of the others would have to be solved for beside the "
            "multipliers"
        )
    return None
