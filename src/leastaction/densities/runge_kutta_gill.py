"""Runge–Kutta–Gill scheme with white noise held over each step.

.. math::

    \\dot y = f(y) + \\sum_j g_j(y)\\, w_j, \\qquad
    w_j = N_j / \\sqrt{Δt}, \\quad N_j \\sim \\mathcal N(0, 1)

with w constant during the step; fourth order without noise, and the Stratonovich
solution with it (Yoshida and Yamanaka 2020, section 4.1; Gill 1951). An Itô drift is
therefore corrected by −½ Σ (g_j·∂_q̇) g_j, which vanishes for noise that depends on the
coordinates alone.
"""

from collections.abc import Callable

import sympy as sp

from leastaction.core.compiled import assigned, assignments, kernel, local, unpack
from leastaction.core.expressions import symbol
from leastaction.core.system import System

# Every step depends on the one before, but not on other trajectories. Side by side,
# their steps overlap, and the loop over them alone becomes vector
# instructions: the arithmetic of each stays the same, bit by bit.
KERNEL = """
@njit(cache=True, nogil=True, error_model="numpy")
def integrate(states, normals, dt, parameters, paths):
    {parameters}
    half = dt / 2.0
    sixth = dt / 6.0
    scale = 1.0 / math.sqrt(dt)
    root = math.sqrt(2.0)
    drawn = np.empty((normals.shape[2], normals.shape[0]))
    for n in range(normals.shape[1]):
        for m in range(normals.shape[0]):
            for j in range(normals.shape[2]):
                drawn[j, m] = normals[m, n, j]
        for m in range(normals.shape[0]):
            {load}
            {noise}
            {first}
            {second}
            {third}
            {fourth}
            {advance}
            {store}
        for m in range(normals.shape[0]):
            for i in range(states.shape[0]):
                paths[m, n, i] = states[i, m]
"""
# Weights of the earlier slopes in the stages 2, 3 and 4, as texts (Gill 1951).
STAGES = (
    {0: "half"},
    {0: "half * (root - 1.0)", 1: "half * (2.0 - root)"},
    {1: "-half * root", 2: "half * (2.0 + root)"},
)
WEIGHTS = ("1.0", "(2.0 - root)", "(2.0 + root)", "1.0")


def integrator(system: System) -> Callable:
    """Compiled integrator of `system`.

    Returns
    -------
    callable
        ``integrate(states, normals, time_step, paths)``: advances `states` of shape
        (state, trajectory) in place over `normals` of shape (trajectory, steps,
        wiener), and puts the states after every step into `paths` of shape
        (trajectory, steps, state).
    """
    functions = kernel(KERNEL, _blocks(system))
    parameters = system.parameter_values

    def integrate(states, normals, time_step, paths):
        functions.integrate(states, normals, float(time_step), parameters, paths)

    return integrate


def stratonovich_acceleration(system: System) -> sp.Matrix:
    """Drift of the velocities in the Stratonovich sense."""
    drift = system.acceleration
    for j in range(system.wiener_processes):
        g = system.diffusion.col(j)
        drift = drift - g.jacobian(system.qdot) * g / 2
    return drift


def _blocks(system: System) -> dict[str, str]:
    state = [s.name for s in system.state]
    wiener = range(system.wiener_processes)
    noise = sp.Matrix([symbol(f"w_{j}") for j in wiener])
    slope = stratonovich_acceleration(system)
    if system.wiener_processes:
        slope = slope + system.diffusion * noise
    slopes = [*system.qdot, *slope]
    blocks = {
        "parameters": unpack(list(system.parameters), "parameters"),
        "load": assigned(state, [f"states[{i}, m]" for i in range(len(state))]),
        "noise": assigned(
            [f"w_{j}" for j in wiener], [f"scale * drawn[{j}, m]" for j in wiener]
        ),
        "first": assignments([f"k0_{s}" for s in state], slopes, "shared0_"),
        "advance": "\n".join(
            f"{local(s)} += sixth * ("
            + " + ".join(f"{w} * k{i}_{s}" for i, w in enumerate(WEIGHTS))
            + ")"
            for s in state
        ),
        "store": "\n".join(f"states[{i}, m] = {local(s)}" for i, s in enumerate(state)),
    }
    names = ("second", "third", "fourth")
    for stage, (name, weights) in enumerate(zip(names, STAGES, strict=True), start=1):
        inner = {s: symbol(f"at{stage}_{s}") for s in state}
        shifted = [
            f"{local(f'at{stage}_{s}')} = {local(s)} + "
            + " + ".join(f"{w} * k{i}_{s}" for i, w in weights.items())
            for s in state
        ]
        swap = {symbol(s): inner[s] for s in state}
        moved = [sp.sympify(e).xreplace(swap) for e in slopes]
        blocks[name] = "\n".join(
            [
                *shifted,
                assignments([f"k{stage}_{s}" for s in state], moved, f"shared{stage}_"),
            ]
        )
    return blocks
