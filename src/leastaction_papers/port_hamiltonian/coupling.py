"""Port-Hamiltonian systems coupled through their ports: again port-Hamiltonian.

With the coupling inputs û and outputs ŷ = B̂ᵀ z of all subsystems and a skew matrix Ĉ,

.. math::  \\hat u + \\hat C \\hat y = 0 \\quad\\Rightarrow\\quad
    E \\dot x = (J - \\hat B \\hat C \\hat B^T - R)\\, z + \\bar B \\bar u

(Zaspel and Günther 2024, eq. 3): J̃ is skew because Ĉ is, and H is the sum.
"""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.linalg import block_diag

from leastaction.ports.dae import PortDae
from leastaction.ports.system import PortHamiltonianSystem

# Of the interconnection, which a user writes as decimal numbers.
LARGEST_ASYMMETRY = 1e-12

IDENTIFIED, KNOWN = "identified", "known"


def couple(
    systems: Mapping[str, PortDae],
    ports: Sequence[tuple[str, int]],
    interconnection: np.ndarray,
) -> PortDae:
    """One system of several.

    A state x of system `a` becomes ``a.x``. The coupling `ports` are (system, number of
    its port); all others stay inputs, in the order of the systems. The
    `interconnection` is Ĉ, shape (coupling port, coupling port).

    Raises
    ------
    ValueError
        If Ĉ is not skew-symmetric, does not fit the ports, a port is not there, or a
        system has constraints.
    """
    c = np.asarray(interconnection, dtype=float)
    _check(systems, ports, c)
    names, parts = list(systems), list(systems.values())

    def diagonal(name: str) -> np.ndarray:
        return block_diag(*(getattr(part, name) for part in parts))

    first = np.cumsum([0, *(part.port.shape[1] for part in parts)])
    inner = [int(first[names.index(name)]) + number for name, number in ports]
    port = diagonal("port")
    coupling, free = port[:, inner], np.delete(port, inner, axis=1)
    ends = np.cumsum([0, *(len(part.states) for part in parts)])
    places = [slice(*pair) for pair in itertools.pairwise(ends)]

    def linearised(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        efforts, slopes = np.empty(x.shape), np.zeros((*x.shape, x.shape[1]))
        for part, place in zip(parts, places, strict=True):
            efforts[:, place], slopes[:, place, place] = part.linearised(x[:, place])
        return efforts, slopes

    def hamiltonian(x: np.ndarray) -> np.ndarray:
        pairs = zip(parts, places, strict=True)
        return sum(part.hamiltonian(x[:, place]) for part, place in pairs)

    known = all(part.hamiltonian is not None for part in parts)
    return PortDae(
        states=tuple(f"{n}.{s}" for n, part in systems.items() for s in part.states),
        flow=diagonal("flow"),
        structure=diagonal("structure") - coupling @ c @ coupling.T,
        dissipation=diagonal("dissipation"),
        port=free,
        linearised=linearised,
        hamiltonian=hamiltonian if known else None,
    )


def _check(systems: Mapping[str, PortDae], ports: Sequence, c: np.ndarray) -> None:
    if c.shape != (len(ports),) * 2 or np.abs(c + c.T).max() > LARGEST_ASYMMETRY:
        raise ValueError(
            f"the interconnection must be a skew-symmetric matrix of the {len(ports)} "
            f"coupling ports; it is {c.tolist()}. Only then it passes power on and "
            "makes none"
        )
    for name, number in ports:
        if name not in systems or not 0 <= number < systems[name].port.shape[1]:
            raise ValueError(
                f"port {number} of {name!r} does not exist; ports are "
                f"{ {n: s.port.shape[1] for n, s in systems.items()} }"
            )
    if any(part.constraint is not None for part in systems.values()):
        raise ValueError(
            "only systems of index 0 or 1 can be coupled here: with constraints, the "
            "algebraic states of the others would have to be solved for beside the "
            "multipliers"
        )


def coupling_of(
    system: PortHamiltonianSystem, settings: Mapping
) -> tuple[PortHamiltonianSystem, list[tuple[str, int]]]:
    """The known subsystem, and the coupling ports as (system, number)."""
    known = PortHamiltonianSystem.from_config(settings["system"])
    inputs = {IDENTIFIED: system.inputs, KNOWN: known.inputs}
    ports = []
    for text in settings["ports"]:
        name, _, port = text.partition(".")
        if port not in inputs.get(name, ()):
            existing = [f"{n}.{p}" for n, names in inputs.items() for p in names]
            raise ValueError(f"coupling: no port {text!r}; there are {existing}")
        ports.append((name, inputs[name].index(port)))
    return known, ports
