"""Linear one-step schemes of a field, mode by mode.

With Φᵀ M Φ = 1 a quadratic density gives independent oscillators
p̈ = −ω² p + s Ẇ of equal noise s, and every one-step scheme is

.. math::

    (p, \\dot p)_{n+1} = A (p, \\dot p)_n + s B \\xi_n, \\qquad \\xi_n \\sim N(0, 1_2)

with 2×2 matrices A(ω, dt) and B(ω, dt) that are all that tells schemes apart.
"""

from collections.abc import Callable, Sequence

import numpy as np

from leastaction.core.compiled import kernel
from leastaction.fields.field_system import FieldSystem

KERNEL = """
@njit(cache=True, nogil=True)
def advance(transition, noise, normals, position, velocity):
    for n in range(normals.shape[0]):
        for k in range(normals.shape[1]):
            p = position[n, k]
            v = velocity[n, k]
            first = normals[n, k, 0]
            second = normals[n, k, 1]
            position[n + 1, k] = (
                transition[0, 0, k] * p + transition[0, 1, k] * v
                + noise[0, 0, k] * first + noise[0, 1, k] * second
            )
            velocity[n + 1, k] = (
                transition[1, 0, k] * p + transition[1, 1, k] * v
                + noise[1, 0, k] * first + noise[1, 1, k] * second
            )
"""


def check(system: FieldSystem, starts: np.ndarray, time_step: float) -> None:
    """Refuse a density that has no modes, or whose energy is not positive.

    Raises
    ------
    ValueError
    """
    _ = system.modes


def advance(
    transition: np.ndarray,
    noise: np.ndarray,
    normals: np.ndarray,
    position: np.ndarray,
    velocity: np.ndarray,
) -> None:
    """Fill rows 1, 2, ... of the modal `position` and `velocity` from row 0.

    Parameters
    ----------
    transition, noise
        A and s B of each mode, shape (2, 2, mode).
    normals
        Shape (steps, mode, 2).
    position, velocity
        Shape (steps + 1, mode).
    """
    functions = kernel(KERNEL, {})
    functions.advance(transition, noise, normals, position, velocity)


def modal_paths(
    transition: Callable,
    noise: Callable,
    system: FieldSystem,
    starts: np.ndarray,
    generators: Sequence[np.random.Generator],
    time_step: float,
    u: np.ndarray,
    u_t: np.ndarray,
) -> None:
    """Fill `u` and `u_t` with one path per generator.

    Parameters
    ----------
    transition, noise
        A and B as functions of (ω, dt), shape (2, 2, mode).
    system
        With a quadratic density.
    starts
        Initial (u, u_t), shape (trajectory, 2, node).
    generators
        One per trajectory.
    time_step
        dt, s.
    u, u_t
        Results, shape (trajectory, steps + 1, node).

    Raises
    ------
    ValueError
        If the density is not quadratic or its energy is not positive.
    """
    omega, phi = system.modes
    to_modes = system.mass[:, None] * phi
    transition = transition(omega, time_step)
    noise = system.modal_sigma * noise(omega, time_step)
    steps = u.shape[1] - 1
    position = np.empty((steps + 1, omega.size))
    velocity = np.empty_like(position)
    normals = np.empty((steps, omega.size, 2))
    for trajectory, rng in enumerate(generators):
        position[0], velocity[0] = starts[trajectory] @ to_modes
        rng.standard_normal(out=normals)
        advance(transition, noise, normals, position, velocity)
        np.matmul(position, phi.T, out=u[trajectory])
        np.matmul(velocity, phi.T, out=u_t[trajectory])
