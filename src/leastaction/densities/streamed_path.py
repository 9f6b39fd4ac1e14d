"""Long stationary paths, handed on in pieces and never stored."""

import math
from collections.abc import Callable, Mapping

import numpy as np

from leastaction.core.generators import generator
from leastaction.core.initial_state import initial_states
from leastaction.core.progress import tracked
from leastaction.core.system import System
from leastaction.core.time_grid import DivergenceError, step_count
from leastaction.densities.runge_kutta_gill import integrator

# Steps that are handed on at once, and trajectories that are integrated side by side.
PIECE = 4096
ABREAST = 8


def stream(
    system: System,
    settings: Mapping,
    sink: Callable[[int, np.ndarray], None],
    *,
    example: str,
    seed: int,
    replicate: int,
    purpose: str = "simulate",
    piece: int = PIECE,
    abreast: int = ABREAST,
) -> None:
    """Integrate every trajectory of one replicate and hand its samples to `sink`.

    Parameters
    ----------
    system
        Its drift and diffusion.
    settings
        `time_step`, `duration` of each trajectory and `burn_in` before it (s),
        `trajectories`, `initial_state`.
    sink
        ``sink(trajectory, path)`` gets pieces of shape (steps, state), those of one
        trajectory in their order; it must not keep them.
    example, seed, replicate, purpose
        Key of the random numbers: the same whatever the length of a `piece`.
    piece
        Steps per piece.
    abreast
        Trajectories that are integrated side by side, which changes no sample.

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
    groups = [range(t, min(t + abreast, total)) for t in range(0, total, abreast)]
    wiener = system.wiener_processes
    normals_room = np.empty(abreast * piece * wiener)
    paths_room = np.empty(abreast * piece * 2 * system.dof)
    what = f"replicate {replicate}, {abreast} trajectories at once"
    for group in tracked(groups, what, summary=False):
        rngs = [generator(seed, example, purpose, replicate, t) for t in group]
        states = np.array([draw(rng) for rng in rngs], dtype=float).T.copy()
        for kept, duration in ((False, skipped), (True, steps)):
            for start in range(0, duration, piece):
                count = min(piece, duration - start)
                normals = _front(normals_room, len(group), count, wiener)
                paths = _front(paths_room, len(group), count, 2 * system.dof)
                for rng, drawn in zip(rngs, normals, strict=True):
                    rng.standard_normal(out=drawn)
                integrate(states, normals, dt, paths)
                if kept:
                    for trajectory, path in zip(group, paths, strict=True):
                        sink(trajectory, path)
        for trajectory, state in zip(group, states.T, strict=True):
            if not np.isfinite(state).all():
                raise DivergenceError(
                    f"trajectory {trajectory} of replicate {replicate} does not stay "
                    f"finite; reduce simulate.time_step ({dt:g} s), or see whether the "
                    "system is stable"
                )


def _front(room: np.ndarray, *shape: int) -> np.ndarray:
    """Array of that shape in the front part of a buffer, without gaps."""
    return room[: math.prod(shape)].reshape(shape)
