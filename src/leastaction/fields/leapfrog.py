"""Leapfrog for a field with additive noise: Störmer–Verlet, kicked by the noise.

.. math::

    v_{n+1/2} = v_n + \\tfrac{dt}{2} a(u_n) + \\sigma\\,\\Delta W_n, \\quad
    u_{n+1} = u_n + dt\\,v_{n+1/2}, \\quad
    v_{n+1} = v_{n+1/2} + \\tfrac{dt}{2} a(u_{n+1}) .

The displacements are those of the symplectic Euler–Maruyama scheme,
u_{n+1} − 2u_n + u_{n−1} = dt² a(u_n) + dt σ ΔW_n, whose velocities it centres. It is
symplectic, of order 2 without noise (Hairer, Lubich and Wanner 2006, section I.1.4),
and stable for ω dt < 2. It needs forces only, so the density may be nonlinear.

Paper: Tripura et al. name the Euler–Maruyama scheme of order 0.5. The explicit scheme
multiplies the energy of every mode by 1 + (ω dt)² per step: the beam overflows after
some 300 steps.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from leastaction.fields.ensemble import field_ensemble
from leastaction.fields.field_system import FieldSystem

# ω dt below which the scheme is stable.
STABLE_TURN = 2.0


class UnstableError(ValueError):
    """A time step too large for an explicit scheme."""


def simulate(system: FieldSystem, settings: Mapping, **key):
    """One replicate; see :func:`field_ensemble`."""
    return field_ensemble(paths, system, settings, **key)


def paths(
    system: FieldSystem,
    starts: np.ndarray,
    generators: Sequence[np.random.Generator],
    time_step: float,
    u: np.ndarray,
    u_t: np.ndarray,
) -> None:
    """Fill `u` and `u_t`, all trajectories side by side; see `field_ensemble`.

    Raises
    ------
    UnstableError
        If ω dt ≥ 2 for the highest frequency at an initial state.
    """
    check(system, starts, time_step)
    kick = np.sqrt(time_step) * system.sigma
    steps = u.shape[1] - 1
    # The noise waits in the place of the velocities: no second array of that size.
    for trajectory, rng in enumerate(generators):
        rng.standard_normal(out=u_t[trajectory, 1:])
        u_t[trajectory, 1:] *= kick
    position, velocity = starts[:, 0].copy(), starts[:, 1].copy()
    u[:, 0], u_t[:, 0] = position, velocity
    half = time_step / 2 / system.mass
    push = half * system.force(position)
    for n in range(1, steps + 1):
        velocity += push
        velocity += u_t[:, n]
        position += time_step * velocity
        push = half * system.force(position)
        velocity += push
        u[:, n], u_t[:, n] = position, velocity


def check(system: FieldSystem, starts: np.ndarray, time_step: float) -> None:
    """Refuse ω dt ≥ 2, ω the highest frequency of small motions about a start.

    `starts` are initial (u, u_t) of shape (trajectory, 2, node).

    Raises
    ------
    UnstableError
        With the largest stable step.
    """
    root = np.sqrt(system.mass)
    potential = system.discrete_potential
    count = 1 if system.is_quadratic else len(starts)
    distinct = np.unique(starts[:count, 0], axis=0)
    highest = max(
        np.linalg.eigvalsh(potential.hessian(start) / np.outer(root, root))[-1]
        for start in distinct
    )
    if highest <= 0:
        return
    largest = STABLE_TURN / np.sqrt(highest)
    if time_step >= largest:
        raise UnstableError(
            f"leapfrog needs omega*dt < {STABLE_TURN:g}; the highest frequency is "
            f"{np.sqrt(highest):.5g} rad/s, so time_step {time_step:g} s must be below "
            f"{largest:.4g} s. Reduce simulate.time_step or use method modal"
        )
