"""Runge–Kutta–Gill scheme with white noise held over each step.

.. math::

    \\dot y = f(y) + \\sum_j g_j(y)\\, w_j, \\qquad
    w_j = N_j / \\sqrt{Δt}, \\quad N_j \\sim \\mathcal N(0, 1)

with w constant during the step; fourth order without noise, and the Stratonovich
solution with it (Yoshida and Yamanaka 2020, section 4.1; Gill 1951). An Itô drift is
therefore corrected by −½ Σ (g_j·∂_q̇) g_j, which vanishes for noise that depends on the
coordinates alone.

Long stationary paths are handed on in pieces and never stored.
"""

from collections.abc import Callable, Mapping

import numpy as np
import sympy as sp

from leastaction.core.compiled import assigned, assignments, kernel, local, unpack
from leastaction.core.expressions import symbol
from leastaction.core.initial_state import initial_states
from leastaction.core.progress import tracked
from leastaction.core.simulation import DivergenceError, generator, step_count
from leastaction.core.system import System

# Every step depends on the one before, but not on other trajectories. Side by side,
# their steps overlap, and the loop over them alone becomes vector
# instructions: the arithmetic of each stays the same, bit by bit.
KERNEL = """
@njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)
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
            {stages}
            {advance}
            {store}
        for m in range(normals.shape[0]):
            for i in range(states.shape[0]):
                paths[m, n, i] = states[i, m]
"""
# Weights of the earlier slopes in the four stages, as texts (Gill 1951).
STAGES = (
    {},
    {0: "half"},
    {0: "half * (root - 1.0)", 1: "half * (2.0 - root)"},
    {1: "-half * root", 2: "half * (2.0 + root)"},
)
WEIGHTS = {0: "1.0", 1: "(2.0 - root)", 2: "(2.0 + root)", 3: "1.0"}

# Steps that are handed on at once, and trajectories that are integrated side by side.
STEPS_PER_PIECE = 4096
TRAJECTORIES_PER_BATCH = 8


def integrator(system: System) -> Callable:
    """Compiled ``integrate(states, normals, time_step, paths)``.

    It advances `states` (state, trajectory) over `normals` (trajectory, steps, wiener),
    and puts them after every step into `paths` (trajectory, steps, state).
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

    def mean(weights, s):
        return " + ".join(f"{w} * k{i}_{s}" for i, w in weights.items())

    stages = []
    for stage, weights in enumerate(STAGES):
        here = {s: f"at{stage}_{s}" if weights else s for s in state}
        if weights:
            stages += [
                f"{local(here[s])} = {local(s)} + {mean(weights, s)}" for s in state
            ]
        swap = {symbol(s): symbol(name) for s, name in here.items()}
        moved = [sp.sympify(e).xreplace(swap) for e in slopes]
        targets = [f"k{stage}_{s}" for s in state]
        stages.append(assignments(targets, moved, f"shared{stage}_"))
    return {
        "parameters": unpack(list(system.parameters), "parameters"),
        "load": assigned(state, [f"states[{i}, m]" for i in range(len(state))]),
        "noise": assigned(
            [f"w_{j}" for j in wiener], [f"scale * drawn[{j}, m]" for j in wiener]
        ),
        "stages": "\n".join(stages),
        "advance": "\n".join(
            f"{local(s)} += sixth * ({mean(WEIGHTS, s)})" for s in state
        ),
        "store": "\n".join(f"states[{i}, m] = {local(s)}" for i, s in enumerate(state)),
    }


def stream(
    system: System,
    settings: Mapping,
    sink: Callable[[int, np.ndarray], None],
    *,
    example: str,
    seed: int,
    replicate: int,
    purpose: str = "simulate",
    piece: int = STEPS_PER_PIECE,
    side_by_side: int = TRAJECTORIES_PER_BATCH,
) -> None:
    """Integrate every trajectory of one replicate and hand its samples to `sink`.

    ``sink(trajectory, path)`` gets pieces of shape (steps, state), those of one
    trajectory in order. Neither their length, `piece` steps, nor the number of
    trajectories `side_by_side` changes a sample.

    Raises
    ------
    DivergenceError
        If a trajectory does not stay finite.
    """
    integrate = integrator(system)
    dt = settings["time_step"]
    steps = step_count(settings["duration"], dt)
    skipped = round(settings["burn_in"] / dt)
    draw = initial_states(settings["initial_state"], system)
    total = settings["trajectories"]
    groups = [
        range(t, min(t + side_by_side, total)) for t in range(0, total, side_by_side)
    ]
    what = f"replicate {replicate}, {side_by_side} trajectories at once"
    for group in tracked(groups, what, summary=False):
        rngs = [generator(seed, example, purpose, replicate, t) for t in group]
        states = np.array([draw(rng) for rng in rngs], dtype=float).T.copy()
        for counted, duration in ((False, skipped), (True, steps)):
            for start in range(0, duration, piece):
                count = min(piece, duration - start)
                normals = np.empty((len(group), count, system.wiener_processes))
                paths = np.empty((len(group), count, 2 * system.dof))
                for rng, drawn in zip(rngs, normals, strict=True):
                    rng.standard_normal(out=drawn)
                integrate(states, normals, dt, paths)
                if counted:
                    for trajectory, path in zip(group, paths, strict=True):
                        sink(trajectory, path)
        for trajectory, state in zip(group, states.T, strict=True):
            if not np.isfinite(state).all():
                raise DivergenceError(
                    f"trajectory {trajectory} of replicate {replicate} does not stay "
                    f"finite; reduce simulate.time_step ({dt:g} s), or see whether the "
                    "system is stable"
                )
