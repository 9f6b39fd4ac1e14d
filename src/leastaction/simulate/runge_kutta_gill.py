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

from leastaction.mechanics.compiled import assigned, assignments, kernel, local, unpack
from leastaction.mechanics.expressions import symbol
from leastaction.mechanics.system import System

KERNEL = """
@njit(cache=True, nogil=True)
def integrate(state, normals, dt, parameters, path):
    {parameters}
    {load}
    half = dt / 2.0
    sixth = dt / 6.0
    scale = 1.0 / math.sqrt(dt)
    root = math.sqrt(2.0)
    for n in range(normals.shape[0]):
        {noise}
        {first}
        {second}
        {third}
        {fourth}
        {advance}
        {record}
    {store}
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
        ``integrate(state, normals, time_step, path)``: advances `state` of shape
        (state,) in place over `normals` of shape (steps, wiener), and puts the state
        after every step into `path` of shape (steps, state).
    """
    functions = kernel(KERNEL, _blocks(system))
    parameters = system.parameter_values

    def integrate(state, normals, time_step, path):
        functions.integrate(state, normals, float(time_step), parameters, path)

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
        "load": unpack(state, "state"),
        "noise": assigned(
            [f"w_{j}" for j in wiener], [f"scale * normals[n, {j}]" for j in wiener]
        ),
        "first": assignments([f"k0_{s}" for s in state], slopes, "shared0_"),
        "advance": "\n".join(
            f"{local(s)} += sixth * ("
            + " + ".join(f"{w} * k{i}_{s}" for i, w in enumerate(WEIGHTS))
            + ")"
            for s in state
        ),
        "record": "\n".join(f"path[n, {i}] = {local(s)}" for i, s in enumerate(state)),
        "store": "\n".join(f"state[{i}] = {local(s)}" for i, s in enumerate(state)),
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
