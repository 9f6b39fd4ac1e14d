"""Long stationary paths, handed on in pieces and never stored."""

from collections.abc import Callable, Mapping

import numpy as np

from leastaction.mechanics.system import System
from leastaction.progress import tracked
from leastaction.simulate.ensemble import DivergenceError
from leastaction.simulate.initial_state import initial_states
from leastaction.simulate.runge_kutta_gill import integrator
from leastaction.simulate.time_grid import step_count
from leastaction.simulate.wiener import generator

PIECE = 4096


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
        ``sink(trajectory, path)`` gets pieces of shape (steps, state); it must not
        keep them.
    example, seed, replicate, purpose
        Key of the random numbers: the same whatever the length of a `piece`.
    piece
        Steps per piece.

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
    normals = np.empty((piece, system.wiener_processes))
    path = np.empty((piece, 2 * system.dof))
    what = f"replicate {replicate}"
    for trajectory in tracked(range(settings["trajectories"]), what, summary=False):
        rng = generator(seed, example, purpose, replicate, trajectory)
        state = np.ascontiguousarray(draw(rng), dtype=float)
        for kept, total in ((False, skipped), (True, steps)):
            for start in range(0, total, piece):
                count = min(piece, total - start)
                rng.standard_normal(out=normals[:count])
                integrate(state, normals[:count], dt, path[:count])
                if kept:
                    sink(trajectory, path[:count])
        if not np.isfinite(state).all():
            raise DivergenceError(
                f"trajectory {trajectory} of replicate {replicate} does not stay "
                f"finite; reduce simulate.time_step ({dt:g} s), or see whether the "
                "system is stable"
            )
