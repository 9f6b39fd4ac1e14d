"""Order 1.5 strong Taylor scheme for a second-order stochastic system.

Kloeden and Platen (1992), eq. (10.4.6) for additive and for diagonal noise:

.. math::

    Y^k_{n+1} = Y^k + a^k Δ + b^{kj} ΔW^j + ½ L^0 a^k Δ² + L^j a^k ΔZ^j
        + L^0 b^{kj} (ΔW^j Δ − ΔZ^j) + ½ L^j b^{kj} ((ΔW^j)² − Δ)
        + ½ L^j L^j b^{kj} (⅓ (ΔW^j)² − Δ) ΔW^j .

The operators are applied symbolically, so the step is exact to its order for every
:class:`~leastaction.core.system.System`, and the loop is compiled.
"""

from functools import lru_cache

import numpy as np
import sympy as sp

from leastaction.core.compiled import assigned, assignments, kernel, local, unpack
from leastaction.core.expressions import symbol
from leastaction.core.system import System

# Every step depends on the one before, but not on other trajectories. Side by side, the
# loop over them becomes vector instructions, where no sine or the like is in it: the
# arithmetic of each stays the same, bit by bit.
KERNEL = """
@njit(cache=True, nogil=True, error_model="numpy")
def integrate(normals, dt, parameters, path):
    root = math.sqrt(dt)
    {time_step}
    {parameters}
    states = path[0].copy()
    for n in range(normals.shape[1]):
        for m in range(path.shape[2]):
            {load}
            {increments}
            {step}
            {advance}
        for i in range(states.shape[0]):
            for m in range(states.shape[1]):
                path[n + 1, i, m] = states[i, m]
"""


class NoiseError(ValueError):
    """A volatility outside what the scheme covers."""


def integrator(system: System):
    """Compiled integrator of `system`.

    Returns
    -------
    callable
        ``integrate(states, normals, time_step)`` with the states (q, q̇) of shape
        (state, trajectory) and `normals` of shape (2, steps, wiener, trajectory), as of
        :func:`leastaction.ensembles.ensemble.white_noise`; it returns the path of shape
        (steps + 1, state, trajectory), the given states first. For one trajectory, the
        last axis may be left out of all of them. Parameter values are those of
        `system`.

    Raises
    ------
    NoiseError
        If the noise is neither additive nor diagonal (g_i may depend on q and on its
        own q̇_i only), because the scheme would then need Lévy areas.
    ValueError
        By ``integrate``, if shapes do not fit together.
    """
    functions = _functions(
        system.coordinates,
        tuple(system.parameters),
        system.lagrangian,
        system.dissipation,
        system.volatility.as_immutable(),
        system.calculus,
    )
    parameters = system.parameter_values

    def integrate(states, normals, time_step):
        states = np.asarray(states, dtype=float)
        _check(system, states, normals)
        path = np.empty((normals.shape[1] + 1, *states.shape))
        path[0] = states
        trajectories = states.shape[1:] or (1,)
        functions.integrate(
            np.ascontiguousarray(normals).reshape(*normals.shape[:3], *trajectories),
            float(time_step),
            parameters,
            path.reshape(*path.shape[:2], *trajectories),
        )
        return path

    return integrate


def _check(system: System, states: np.ndarray, normals: np.ndarray) -> None:
    least = system.wiener_processes
    trajectories = states.shape[1:]
    fits = normals.ndim == 3 + len(trajectories) and len(normals) == 2
    fits = fits and normals.shape[2] >= least and normals.shape[3:] == trajectories
    if len(states) != 2 * system.dof or len(trajectories) > 1 or not fits:
        raise ValueError(
            f"states of shape {states.shape} and normals of shape {normals.shape}; "
            f"expected ({2 * system.dof}, trajectory) and (2, steps, {least} or more, "
            "trajectory), the last axis of both or of neither"
        )


@lru_cache(maxsize=64)
def _functions(coordinates, parameters, lagrangian, dissipation, volatility, calculus):
    """Compiled code of all systems that differ in the values of parameters only."""
    anything = dict.fromkeys(parameters, 1.0)
    system = System(
        coordinates,
        anything,
        lagrangian,
        dissipation,
        volatility.as_mutable(),
        calculus,
    )
    return kernel(KERNEL, _blocks(system))


def _blocks(system: System) -> dict[str, str]:
    state = [s.name for s in system.state]
    wiener = range(system.wiener_processes)
    dw = [f"dw_{j}" for j in wiener]
    dz = [f"dz_{j}" for j in wiener]
    new = [f"new_{name}" for name in state]
    increments = "\n".join(
        f"{local(dw[j])} = root * normals[0, n, {j}, m]\n"
        f"{local(dz[j])} = 0.5 * dt * root * "
        f"(normals[0, n, {j}, m] + normals[1, n, {j}, m] / math.sqrt(3.0))"
        for j in wiener
    )
    return {
        "time_step": assigned(["dt"], ["dt"]),
        "parameters": unpack(list(system.parameters), "parameters"),
        "load": assigned(state, [f"states[{i}, m]" for i in range(len(state))]),
        "increments": increments,
        "step": assignments(new, step(system), "shared_"),
        "advance": "\n".join(f"states[{i}, m] = {s}" for i, s in enumerate(new)),
    }


def step(system: System) -> list[sp.Expr]:
    """One step as expressions in the state, ``dt``, ``dw_j`` and ``dz_j``."""
    dt = symbol("dt")
    drift = list(system.drift)
    noise = sp.zeros(system.dof, system.wiener_processes).col_join(system.diffusion)
    check_noise(system)
    result = []
    for k, (x, a) in enumerate(zip(system.state, drift, strict=True)):
        y = x + a * dt + _l0(a, system, drift, noise) * dt**2 / 2
        for j in range(system.wiener_processes):
            dw, dz = symbol(f"dw_{j}"), symbol(f"dz_{j}")
            b = noise[k, j]
            y += b * dw + _lj(a, system, noise, j) * dz
            y += _l0(b, system, drift, noise) * (dw * dt - dz)
            first = _lj(b, system, noise, j)
            y += first * (dw**2 - dt) / 2
            second = _lj(first, system, noise, j)
            y += second * (dw**2 / 3 - dt) * dw / 2
        result.append(y)
    return result


def _l0(f: sp.Expr, system: System, drift, noise: sp.Matrix) -> sp.Expr:
    """Itô generator L⁰ f = a·∇f + ½ Σ_j b_jᵀ (∇∇f) b_j."""
    gradient = [sp.diff(f, x) for x in system.state]
    result = sum(a * g for a, g in zip(drift, gradient, strict=True))
    for j in range(noise.cols):
        for k in range(noise.rows):
            if noise[k, j] == 0:
                continue
            inner = _lj(gradient[k], system, noise, j)
            result += noise[k, j] * inner / 2
    return sp.sympify(result)


def _lj(f: sp.Expr, system: System, noise: sp.Matrix, j: int) -> sp.Expr:
    """Directional derivative along the j-th noise, L^j f = b_j·∇f."""
    return sum(
        (noise[k, j] * sp.diff(f, x) for k, x in enumerate(system.state)),
        sp.Integer(0),
    )


def check_noise(system: System) -> None:
    """Refuse noise for which the scheme would need Lévy areas.

    Raises
    ------
    NoiseError
        If a process excites a velocity on which the noise of another one depends.
    """
    noise = sp.zeros(system.dof, system.wiener_processes).col_join(system.diffusion)
    for j in range(noise.cols):
        for other in range(noise.cols):
            if j == other:
                continue
            for entry in noise.col(other):
                if sp.simplify(_lj(entry, system, noise, j)) != 0:
                    raise NoiseError(
                        f"volatility: the noise of process {other + 1} depends on a "
                        f"velocity that process {j + 1} excites. The order 1.5 scheme "
                        "covers additive noise and diagonal noise, where g_i depends "
                        "on the coordinates and on its own velocity only"
                    )
