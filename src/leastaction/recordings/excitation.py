"""Whether a force that no column records acts on a motion that is said to be free.

The kinetic energy of a free motion only falls (or, of a self-excited one, only grows),
over many periods; that of a driven one goes up and down. That is seen through coarse
sampling, noise and tones. Of a motion under a stated random force nothing is asked
here: its likelihood gives the force, or a bound of it.
"""

from collections.abc import Sequence

import numpy as np

from leastaction.recordings.bandwidth_spline import spectrum

UNRECORDED = "a force acts that no column records"
# Main periods of the longest coordinate that kinetic energy is averaged over.
PERIODS_PER_WINDOW = 3.0
# Windows with a smaller share of the mean energy hold noise.
LEAST_ENERGY = 0.05
# Doublings and halvings in turn: a free motion has one at most.
LEAST_TURNS_OF_DRIVEN_MOTION = 3


def unrecorded_force(
    series: Sequence[np.ndarray], dt: float, angles: Sequence[bool]
) -> str:
    """That a force acts which no column records, and why; empty if none is seen.

    `series` are trajectories of shape (time, dof), `dt` is in s, `angles` tells which
    coordinates are such.

    Examples
    --------
    >>> t = np.arange(0, 60, 0.05)
    >>> free = np.exp(-0.05 * t) * np.cos(6 * t)
    >>> unrecorded_force([free[:, None]], 0.05, [True])
    ''
    >>> driven = (1 + 0.8 * np.sin(0.8 * t)) * np.cos(6 * t)
    >>> unrecorded_force([driven[:, None]], 0.05, [True])[:48]
    'a force acts that no column records: the kinetic'
    """
    frequencies = [
        spectrum([q[:, a] for q in series], dt, is_angle).main
        for a, is_angle in enumerate(angles)
    ]
    turns = max(energy_turns(q, dt, frequencies) for q in series)
    if turns < LEAST_TURNS_OF_DRIVEN_MOTION:
        return ""
    return (
        f"{UNRECORDED}: the kinetic energy, over three main periods, doubles or halves "
        f"{turns} times in turn, that of a free motion only falls. Write `excitation: "
        "random`, or name the recorded force under `inputs`"
    )


def energy_turns(q: np.ndarray, dt: float, frequencies: Sequence[float]) -> int:
    """How often the kinetic energy of (time, dof) doubles and halves in turn.

    Squared velocities are differences over an eighth of the shortest main period,
    averaged over three of the longest ones. Masses are not known: of all sums with
    weights w ≥ 0 that one is taken which is closest to constant (least squares), so
    that coordinates which exchange their energy count as one motion.
    """
    from scipy.optimize import nnls

    lag = max(round(1 / (8 * max(frequencies) * dt)), 1)
    width = max(round(PERIODS_PER_WINDOW / (min(frequencies) * dt)), 1)
    count = (len(q) - lag) // width
    if count < 2:
        return 0
    rate = q[lag:] - q[:-lag]
    square = (rate - rate.mean(axis=0))[: count * width] ** 2
    energy = square.reshape(count, width, -1).mean(axis=1)
    energy = energy / energy.mean(axis=0)
    total = energy @ nnls(energy, np.ones(count))[0]
    turns, direction, low, high = 0, 0, np.inf, 0.0
    for value in np.maximum(total, LEAST_ENERGY * total.mean()):
        low, high = min(low, value), max(high, value)
        if direction <= 0 and value > 2 * low:
            turns, direction, high = turns + 1, 1, value
        elif direction >= 0 and value < high / 2:
            turns, direction, low = turns + 1, -1, value
    return turns
