"""Motion that does not oscillate: it goes one way, as in a law of first order."""

from collections.abc import Sequence

import numpy as np

from leastaction.recordings.error import RecordingError

# Means over so many parts of a trajectory; path over range (1 if it never turns) up to
# which noise may have made the turns.
PARTS, LARGEST_PATH = 16, 1.1


def goes_one_way(trajectories: Sequence[np.ndarray]) -> bool:
    """Whether no trajectory turns around: its path is no longer than its range.

    Both are those of means over sixteenths, which noise hardly moves.

    >>> t = np.linspace(0, 1, 500)
    >>> goes_one_way([np.exp(-2 * t)]), goes_one_way([np.cos(9 * t)])
    (True, False)
    """
    for values in trajectories:
        means = np.array([part.mean() for part in np.array_split(values, PARTS)])
        if np.abs(np.diff(means)).sum() > LARGEST_PATH * np.ptp(means):
            return False
    return True


def refuse_one_way(where: str, trajectories: Sequence[np.ndarray]) -> None:
    """RecordingError if no trajectory turns around."""
    if goes_one_way([y for y in trajectories if len(y) >= PARTS]):
        raise RecordingError(
            where,
            "it goes one way and never turns around, as in a law of first order, "
            "x' = f(x), which has no inertia and no Lagrangian here",
            "motion that oscillates, or turns around under a recorded input",
            "If the record is a piece of an oscillation, record some periods of it",
        )
