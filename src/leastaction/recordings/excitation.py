"""Whether a motion oscillates, and whether a force that no column records drives it.

The kinetic energy of a free motion only falls (or, of a self-excited one, only grows),
over many periods; that of a driven one goes up and down. That is seen through coarse
sampling, noise and tones. A motion under a stated random force is not checked
here: its likelihood gives the force, or a bound of it.
"""

from collections.abc import Sequence

import numpy as np

from leastaction.recordings.bandwidth_spline import spectrum

UNRECORDED = "a force acts that no column records"
# Main periods of a window: its kinetic energy is averaged, it has one amplitude, and a
# sensor that rests for as long is stuck.
PERIODS_PER_WINDOW = 3.0
# Windows with a smaller share of the mean energy hold noise.
LEAST_ENERGY = 0.05
# Doublings and halvings in turn: a free motion has one at most.
LEAST_TURNS_OF_DRIVEN_MOTION = 3
# Means over so many parts of a trajectory; path over range (1 if it never turns) up to
# which noise may have made the turns.
PARTS, LARGEST_PATH = 16, 1.1
# The autocorrelation of x'' + 2ζω x' + ω² x = white noise falls to −exp(−πζ/√(1 − ζ²))
# half a period later, which is this for ζ = 1/2: a spectrum almost without a peak.
LEAST_OF_RELAXATION = -np.exp(-np.pi / np.sqrt(3))
# Mean squares of steps over τ grow as τ by diffusion, as τ² by inertia; by a power less
# than 3/2 there is no inertia.
LEAST_INERTIAL = 2**1.5


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


def goes_one_way(trajectories: Sequence[np.ndarray]) -> bool:
    """Whether no trajectory turns around: its path is no longer than its range.

    Both are those of means over sixteenths, which noise hardly moves.

    >>> t = np.linspace(0, 1, 500)
    >>> goes_one_way([np.exp(-2 * t)]), goes_one_way([np.cos(9 * t)])
    (True, False)
    """
    for values in trajectories:
        parts = np.array_split(values, min(PARTS, len(values)))
        means = np.array([part.mean() for part in parts])
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
