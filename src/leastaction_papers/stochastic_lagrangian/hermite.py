"""Newmark's method on cubic Hermite elements, as in the code released with paper 1.

A beam with V = ½ B u_xx² on elements of length h has the displacements and the slopes
of its nodes as unknowns, with the consistent mass and the stiffness

.. math::

    m = \\frac{ρh}{420} \\begin{pmatrix} 156 & 22h & 54 & −13h \\\\
        22h & 4h^2 & 13h & −3h^2 \\\\ 54 & 13h & 156 & −22h \\\\
        −13h & −3h^2 & −22h & 4h^2 \\end{pmatrix}, \\qquad
    k = \\frac{B}{h^3} \\begin{pmatrix} 12 & 6h & −12 & 6h \\\\
        6h & 4h^2 & −6h & 2h^2 \\\\ −12 & −6h & 12 & −6h \\\\
        6h & 2h^2 & −6h & 4h^2 \\end{pmatrix}

(Hughes 1987, sections 1.16 and 7.3). In time it is Newmark's method with constant
average acceleration and the forces F_n = S h ΔW_n/dt at the samples, so that half of
each counts for the step before it and half for the one after it.

Paper: the released code adds the same random numbers to forces and to moments, and does
not divide by dt: to a volatility of 20 m/s^1.5 there belongs one of 20 dt/h = 0.2 here.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np

from leastaction.fields.ensemble import field_ensemble
from leastaction.fields.field_system import FieldSystem
from leastaction.fields.library import displacements
from leastaction.fields.schemes import advance, newmark_noise, newmark_transition


def newmark(system: FieldSystem, settings: Mapping, **key):
    """One replicate on Hermite elements; see :func:`field_ensemble`."""
    return field_ensemble(partial(_paths, *elements(system)), system, settings, **key)


def elements(system: FieldSystem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mass, stiffness (unknown, unknown), and which unknowns are displacements.

    ValueError if the potential density is not ½ B u_xx² with constant B > 0, or the
    line is periodic.
    """
    domain, h = system.domain, system.domain.dx
    u_xx = displacements(system.field)[2]
    density = system.discrete_potential.density
    bending = 2 * density.coeff(u_xx, 2)
    if domain.periodic or density != bending * u_xx**2 / 2 or not bending > 0:
        raise ValueError(
            f"method newmark_hermite: the potential density {density} between the ends "
            f"{domain.left} and {domain.right} is no bending of a beam, a positive "
            f"number times {u_xx}**2 between ends that are not periodic; use method "
            "newmark"
        )
    mass = np.array(
        [[156, 22, 54, -13], [0, 4, 13, -3], [0, 0, 156, -22], [0, 0, 0, 4]]
    )
    stiff = np.array([[12, 6, -12, 6], [0, 4, -6, 2], [0, 0, 12, -6], [0, 0, 0, 4]])
    length = np.array([1, h, 1, h])
    scales = system.mass_density * h / 420, float(bending) / h**3
    count = round(domain.length / h)
    matrices = np.zeros((2, 2 * count + 2, 2 * count + 2))
    for matrix, part, scale in zip(matrices, (mass, stiff), scales, strict=True):
        part = scale * np.outer(length, length) * (np.triu(part) + np.triu(part, 1).T)
        for i in range(0, 2 * count, 2):
            matrix[i : i + 4, i : i + 4] += part
    moves = np.ones(2 * count + 2, dtype=bool)
    for end, at in ((domain.left, 0), (domain.right, 2 * count)):
        moves[at] = end == "free"
        moves[at + 1] = end != "clamped"
    is_displacement = (np.arange(2 * count + 2) % 2 == 0)[moves]
    return *matrices[:, moves][:, :, moves], is_displacement


def with_slopes(
    stiffness: np.ndarray, is_displacement: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Unknowns of least bending energy with the displacements `values` (node,)."""
    d = is_displacement
    unknowns = np.zeros(d.size)
    unknowns[d] = values
    forces = stiffness[np.ix_(~d, d)] @ values
    unknowns[~d] = -np.linalg.solve(stiffness[np.ix_(~d, ~d)], forces)
    return unknowns


def _paths(
    mass, stiffness, is_displacement, system, starts, generators, time_step, u, u_t
) -> None:
    """Paths of the displacements, mode by mode."""
    from scipy.linalg import eigh  # slow to import

    squares, phi = eigh(stiffness, mass)
    omega = np.sqrt(np.clip(squares, 0.0, None))
    step, kick = newmark_transition(omega, time_step), newmark_noise(omega, time_step)
    force = system.volatility_of_acceleration * system.mass_density * system.domain.dx
    position, velocity = np.empty((2, u.shape[1], omega.size))
    normals = np.zeros((u.shape[1] - 1, omega.size, 2))
    shown = phi[is_displacement].T
    for trajectory, rng in enumerate(generators):
        for values, path in zip(starts[trajectory], (position, velocity), strict=True):
            unknowns = with_slopes(stiffness, is_displacement, values)
            path[0] = phi.T @ (mass @ unknowns)
        at_samples = force / 2 * rng.standard_normal(normals.shape[:2]) @ phi
        normals[:, :, 0] = at_samples
        normals[1:, :, 0] += at_samples[:-1]
        advance(step, kick, normals, position, velocity)
        np.matmul(position, shown, out=u[trajectory])
        np.matmul(velocity, shown, out=u_t[trajectory])
