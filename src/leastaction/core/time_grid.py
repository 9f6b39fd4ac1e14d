"""Uniform time grids."""


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
