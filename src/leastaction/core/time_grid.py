"""Uniform time grids, and motions that leave the range of numbers on them."""

import numpy as np


def step_count(duration: float, time_step: float) -> int:
    """Number of steps of a duration, which must be whole.

    Raises
    ------
    ValueError
        If the duration is not a multiple of the time step.
    """
    steps = round(duration / time_step)
    if steps < 2 or abs(steps * time_step - duration) > 1e-6 * duration:
        raise ValueError(
            f"duration {duration:g} s is not a multiple (of at least 2) of time_step "
            f"{time_step:g} s; use for example {max(2, steps) * time_step:g} s"
        )
    return steps


class DivergenceError(ArithmeticError):
    """A simulated trajectory left the range of floating-point numbers."""


def check_finite(
    q: np.ndarray, qdot: np.ndarray, time_step: float, replicate: int
) -> None:
    """Refuse an ensemble that left the range of floating-point numbers.

    What is not finite stays so: a step adds to the state before it.

    Raises
    ------
    DivergenceError
    """
    last = np.isfinite(q[:, -1]).all(axis=1) & np.isfinite(qdot[:, -1]).all(axis=1)
    if last.all():
        return
    trajectory = int(np.argmin(last))
    path = np.hstack([q[trajectory], qdot[trajectory]])
    when = time_step * int(np.argmin(np.isfinite(path).all(axis=1)))
    raise DivergenceError(
        f"trajectory {trajectory} of replicate {replicate} is not finite from "
        f"t = {when:g} s on; reduce simulate.time_step ({time_step:g} s)"
    )
