"""Linear one-step schemes of a field, mode by mode: exact, and Newmark's method.

With Φᵀ M Φ = 1 a quadratic density gives independent oscillators p̈ = −ω² p + s Ẇ of
equal noise s, and every one-step scheme is

.. math::

    (p, \\dot p)_{n+1} = A (p, \\dot p)_n + s B \\xi_n, \\qquad \\xi_n \\sim N(0, 1_2)

with 2×2 matrices A(ω, h) and B(ω, h) that are all that tells schemes apart. The exact
one has A = E and B Bᵀ = q,

.. math::

    E = \\begin{pmatrix} \\cos\\omega h & \\sin(\\omega h)/\\omega \\\\
        -\\omega\\sin\\omega h & \\cos\\omega h \\end{pmatrix},

    q_{pp} = \\frac{1}{\\omega^2}
        \\Big(\\frac h2 - \\frac{\\sin 2\\omega h}{4\\omega}\\Big), \\quad
    q_{pv} = \\frac{\\sin^2\\omega h}{2\\omega^2}, \\quad
    q_{vv} = \\frac h2 + \\frac{\\sin 2\\omega h}{4\\omega}

(Kloeden and Platen 1992, section 4.8, linear equations): no error in time, however
large ω h. Newmark's method with constant average acceleration (β = ¼, γ = ½),

.. math::

    u_{n+1} = u_n + \\tfrac h2(v_n + v_{n+1}), \\qquad
    v_{n+1} = v_n + \\tfrac h2(a_n + a_{n+1}) + \\sigma\\,\\Delta W_n ,

is unconditionally stable and without numerical damping, but it lengthens periods:
ω_num h = 2 arctan(ω h/2) (Newmark 1959; Hughes 1987, section 9.1).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from leastaction.core.compiled import kernel
from leastaction.fields.ensemble import field_ensemble
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
# ω h below which the closed form of q_pp cancels too much.
SERIES_BELOW = 1e-2


def simulate(system: FieldSystem, settings: Mapping, **key):
    """One replicate by the exact transition; see :func:`field_ensemble`."""
    scheme = partial(modal_paths, transition, noise)
    return field_ensemble(scheme, system, settings, **key)


def simulate_newmark(system: FieldSystem, settings: Mapping, **key):
    """One replicate by Newmark's method; see :func:`field_ensemble`."""
    scheme = partial(modal_paths, newmark_transition, newmark_noise)
    return field_ensemble(scheme, system, settings, **key)


def check(system: FieldSystem, starts: np.ndarray, time_step: float) -> None:
    """Refuse a density that has no modes, or whose energy is not positive.

    Raises
    ------
    ValueError
    """
    _ = system.modes


def transition(omega: np.ndarray, time_step: float) -> np.ndarray:
    """Matrix A = E of the exact transition, mode by mode, shape (2, 2, mode)."""
    angle = omega * time_step
    sine = np.sin(angle)
    over = time_step * np.sinc(angle / np.pi)
    return np.array([[np.cos(angle), over], [-omega * sine, np.cos(angle)]])


def covariance(omega: np.ndarray, time_step: float) -> np.ndarray:
    """Covariance q of one step of each mode for s = 1, shape (2, 2, mode).

    Its closed form cancels for small ω h; there its series is used.
    """
    h, angle = time_step, np.asarray(omega, dtype=float) * time_step
    small = angle < SERIES_BELOW
    large = np.where(small, 1.0, angle)
    closed = (1 - np.sinc(2 * large / np.pi)) / (2 * large**2)
    series = 1 / 3 - angle**2 / 15 + 2 * angle**4 / 315
    q_pp = h**3 * np.where(small, series, closed)
    q_pv = h**2 * np.sinc(angle / np.pi) ** 2 / 2
    q_vv = h * (1 + np.sinc(2 * angle / np.pi)) / 2
    return np.array([[q_pp, q_pv], [q_pv, q_vv]])


def noise(omega: np.ndarray, time_step: float) -> np.ndarray:
    """Matrix B, the lower triangular root of :func:`covariance`: (2, 2, mode)."""
    (q_pp, q_pv), (_, q_vv) = covariance(omega, time_step)
    root = np.zeros((2, 2, q_pp.size))
    root[0, 0] = np.sqrt(q_pp)
    root[1, 0] = q_pv / root[0, 0]
    root[1, 1] = np.sqrt(np.clip(q_vv - root[1, 0] ** 2, 0.0, None))
    return root


def newmark_transition(omega: np.ndarray, time_step: float) -> np.ndarray:
    """Matrix A of Newmark's method, mode by mode, shape (2, 2, mode)."""
    quarter = (omega * time_step / 2) ** 2
    diagonal = (1 - quarter) / (1 + quarter)
    return np.array(
        [
            [diagonal, time_step / (1 + quarter)],
            [-(omega**2) * time_step / (1 + quarter), diagonal],
        ]
    )


def newmark_noise(omega: np.ndarray, time_step: float) -> np.ndarray:
    """Matrix B of Newmark's method, shape (2, 2, mode); only ΔW counts, not ΔZ."""
    root = np.sqrt(time_step) / (1 + (omega * time_step / 2) ** 2)
    result = np.zeros((2, 2, root.size))
    result[0, 0], result[1, 0] = time_step / 2 * root, root
    return result


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
    kernel(KERNEL, {}).advance(transition, noise, normals, position, velocity)


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
    starts, generators, time_step, u, u_t
        See :func:`leastaction.fields.ensemble.field_ensemble`.

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
