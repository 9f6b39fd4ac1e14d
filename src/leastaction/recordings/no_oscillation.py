"""Motion that does not oscillate: it goes one way, or relaxes as a bead in a fluid."""

from collections.abc import Sequence

import numpy as np

from leastaction.recordings.error import RecordingError

# Means over so many parts of a trajectory; path over range (1 if it never turns) up to
# which noise may have made the turns.
PARTS, LARGEST_PATH = 16, 1.1
# The autocorrelation of x'' + 2ζω x' + ω² x = white noise falls to −exp(−πζ/√(1 − ζ²))
# half a period later, which is this for ζ = 1/2: a spectrum almost without a peak.
LEAST_OF_RELAXATION = -np.exp(-np.pi / np.sqrt(3))
# Mean squares of steps over τ grow as τ by diffusion, as τ² by inertia; by a power less
# than 3/2 there is no inertia.
LEAST_INERTIAL = 2**1.5


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


def autocorrelation(trajectories: Sequence[np.ndarray]) -> np.ndarray:
    """Autocorrelation by lag, in samples, of all trajectories together."""
    from scipy.signal import correlate

    mean = np.concatenate(trajectories).mean()
    count = min(map(len, trajectories))
    total = sum(
        correlate(y - mean, y - mean, method="fft")[len(y) - 1 :][:count]
        for y in trajectories
    )
    return total / total[0]


def relaxes(trajectories: Sequence[np.ndarray]) -> bool:
    """Whether the motion is correlated, diffuses at short times, and never oscillates.

    An overdamped particle moves so (Ornstein and Uhlenbeck 1930): its autocorrelation
    decays as exp(−2πf_c t). Differences of mean square steps over m, 2m and 4m samples
    are free of white sensor noise, and smooth where a transient begins.

    >>> from scipy.signal import lfilter
    >>> noise = np.random.default_rng(1).standard_normal(9000)
    >>> relaxes([lfilter([1], [1, -0.9], noise)]), relaxes([noise])
    (True, False)
    """
    lags = autocorrelation(trajectories)
    decay = int(np.argmax(lags < 1 / np.e))
    # An oscillation has its first minimum at 2.6 times that lag at most.
    if decay < 2 or lags[: 3 * decay + 1].min() < LEAST_OF_RELAXATION:
        return False
    steps = 1 << np.arange(max(int(np.log2(decay / 4)), 0) + 3)
    squares = [
        np.concatenate([(y[m:] - y[:-m]) ** 2 for y in trajectories]).mean()
        for m in steps
    ]
    growth = np.diff(squares)
    return bool((growth[1:] < LEAST_INERTIAL * growth[:-1]).all())


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


def refuse_relaxation(where: str, trajectories: Sequence[np.ndarray]) -> None:
    """RecordingError if the motion fluctuates without an oscillation."""
    if relaxes(trajectories):
        refuse_one_way(where, trajectories)
        raise RecordingError(
            where,
            "it fluctuates without oscillating, as an overdamped particle does, whose "
            "inertia is not seen",
            "an oscillation",
            "`leastaction calibrate` gives corner frequency, stiffness and drag of "
            "such a motion. Sample faster if it oscillates between the samples, or "
            "write `accept: [sampling]`",
        )
