"""Time schemes of a field: exact in its modes, Newmark's method, and leapfrog.

With Φᵀ M Φ = 1 a quadratic density gives independent oscillators p̈ = −ω² p + s Ẇ of
equal noise s, and every linear one-step scheme is

.. math::

    (p, \\dot p)_{n+1} = A (p, \\dot p)_n + s B \\xi_n, \\qquad \\xi_n \\sim N(0, 1_2)

with 2×2 matrices A(ω, h) and B(ω, h). The exact one has A = E and B Bᵀ = q,

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

Leapfrog is Störmer–Verlet, kicked by the noise, on the nodes themselves,

.. math::

    v_{n+1/2} = v_n + \\tfrac{dt}{2} a(u_n) + \\sigma\\,\\Delta W_n, \\quad
    u_{n+1} = u_n + dt\\,v_{n+1/2}, \\quad
    v_{n+1} = v_{n+1/2} + \\tfrac{dt}{2} a(u_{n+1}) .

The displacements are those of the symplectic Euler–Maruyama scheme,
u_{n+1} − 2u_n + u_{n−1} = dt² a(u_n) + dt σ ΔW_n. It is symplectic, of order 2 without
noise (Hairer, Lubich and Wanner 2006, section I.1.4), and stable for ω dt < 2. It needs
forces only, so the density may be nonlinear.

Paper: Tripura et al. name the explicit Euler–Maruyama scheme; see the README.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np

from leastaction.core.compiled import kernel
from leastaction.fields.ensemble import field_ensemble
from leastaction.fields.field_system import FieldSystem

KERNEL = """
@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
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
# ω dt below which leapfrog is stable.
STABLE_TURN = 2.0


class UnstableError(ValueError):
    """A time step too large for an explicit scheme."""


def modal(system: FieldSystem, settings: Mapping, **key):
    """One replicate by the exact transition; see :func:`field_ensemble`."""
    scheme = partial(_modal_paths, transition, noise)
    return field_ensemble(scheme, system, settings, **key)


def newmark(system: FieldSystem, settings: Mapping, **key):
    """One replicate by Newmark's method; see :func:`field_ensemble`."""
    scheme = partial(_modal_paths, newmark_transition, newmark_noise)
    return field_ensemble(scheme, system, settings, **key)


def leapfrog(system: FieldSystem, settings: Mapping, **key):
    """One replicate by leapfrog; see :func:`field_ensemble`."""
    return field_ensemble(_leapfrog_paths, system, settings, **key)


def check(
    method: str, system: FieldSystem, starts: np.ndarray, time_step: float
) -> None:
    """Refuse what a scheme cannot simulate from starts of (trajectory, 2, node).

    Raises
    ------
    ValueError
        If the density has no modes, or its energy is not positive; of leapfrog an
        :class:`UnstableError` if ω dt ≥ 2, ω the highest frequency of small motions
        about a start, with the largest stable step.
    """
    if system.domain.periodic:
        raise ValueError(
            f"method {method} has no periodic line; use method spectral, or other ends"
        )
    if method != "leapfrog":
        _ = system.modes
        return
    root = np.sqrt(system.mass)
    potential = system.discrete_potential
    count = 1 if potential.is_quadratic else len(starts)
    highest = max(
        np.linalg.eigvalsh(potential.hessian(start) / np.outer(root, root))[-1]
        for start in np.unique(starts[:count, 0], axis=0)
    )
    if highest > 0 and time_step >= (largest := STABLE_TURN / np.sqrt(highest)):
        raise UnstableError(
            f"leapfrog needs omega*dt < {STABLE_TURN:g}; the highest frequency is "
            f"{np.sqrt(highest):.5g} rad/s, so time_step {time_step:g} s must be below "
            f"{largest:.4g} s. Reduce simulate.time_step or use method modal"
        )


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
    first = np.sqrt(q_pp)
    cross = q_pv / first
    rest = np.sqrt(np.clip(q_vv - cross**2, 0.0, None))
    return np.array([[first, np.zeros_like(first)], [cross, rest]])


def newmark_transition(omega: np.ndarray, time_step: float) -> np.ndarray:
    """Matrix A of Newmark's method, mode by mode, shape (2, 2, mode)."""
    quarter = (omega * time_step / 2) ** 2
    diagonal = (1 - quarter) / (1 + quarter)
    push = -(omega**2) * time_step / (1 + quarter)
    return np.array([[diagonal, time_step / (1 + quarter)], [push, diagonal]])


def newmark_noise(omega: np.ndarray, time_step: float) -> np.ndarray:
    """Matrix B of Newmark's method, shape (2, 2, mode); only ΔW counts, not ΔZ."""
    root = np.sqrt(time_step) / (1 + (omega * time_step / 2) ** 2)
    none = np.zeros_like(root)
    return np.array([[time_step / 2 * root, none], [root, none]])


def advance(transition, noise, normals, position, velocity) -> None:
    """Fill rows 1, 2, ... of `position` and `velocity` (steps + 1, mode) from row 0.

    By A and s B of each mode, shape (2, 2, mode), and `normals` (steps, mode, 2).
    """
    kernel(KERNEL, {}).advance(transition, noise, normals, position, velocity)


def _modal_paths(
    transition, noise, system, starts, generators, time_step, u, u_t
) -> None:
    """Paths by A and B as functions of (ω, dt), shape (2, 2, mode)."""
    omega, phi = system.modes
    to_modes = system.mass[:, None] * phi
    step = transition(omega, time_step)
    kick = system.modal_sigma * noise(omega, time_step)
    position, velocity = np.empty((2, u.shape[1], omega.size))
    normals = np.empty((u.shape[1] - 1, omega.size, 2))
    for trajectory, rng in enumerate(generators):
        position[0], velocity[0] = starts[trajectory] @ to_modes
        rng.standard_normal(out=normals)
        advance(step, kick, normals, position, velocity)
        np.matmul(position, phi.T, out=u[trajectory])
        np.matmul(velocity, phi.T, out=u_t[trajectory])


def _leapfrog_paths(system, starts, generators, time_step, u, u_t) -> None:
    """Paths of all trajectories side by side."""
    check("leapfrog", system, starts, time_step)
    kick = np.sqrt(time_step) * system.sigma
    # The noise waits in the place of the velocities: no second array of that size.
    for trajectory, rng in enumerate(generators):
        rng.standard_normal(out=u_t[trajectory, 1:])
        u_t[trajectory, 1:] *= kick
    position, velocity = starts[:, 0].copy(), starts[:, 1].copy()
    u[:, 0], u_t[:, 0] = position, velocity
    half, force = time_step / 2 / system.mass, system.discrete_potential.force
    push = half * force(position)
    for n in range(1, u.shape[1]):
        velocity += push
        velocity += u_t[:, n]
        position += time_step * velocity
        push = half * force(position)
        velocity += push
        u[:, n], u_t[:, n] = position, velocity
