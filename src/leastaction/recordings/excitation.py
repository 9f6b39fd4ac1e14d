"""Whether a force that no column records acts on a motion: refusals, both ways.

Two signs of it, each where the other is blind. Over short lags a white force makes
third differences grow with the cube of the lag; sensors must be quiet and fast for
that. Over many periods the kinetic energy of a free motion only falls (or, of a
self-excited one, only grows), while that of a driven one goes up and down; that is seen
through coarse sampling, noise and tones, but not in a short record.
"""

from collections.abc import Sequence

import numpy as np

from leastaction.recordings.bandwidth_spline import Spectrum, spectrum
from leastaction.recordings.error import RecordingError

# Fourth moment over the squared second one: 3 for Gaussian increments, 4 to 10 in the
# quick turns of free chaotic arms.
KURTOSIS_OF_IMPACTS = 4.5
# Share of a random force in third differences: more is random, less is not.
SHARE_OF_RANDOM_FORCE, SHARE_OF_SMOOTH_MOTION = 0.6, 0.1
# Power of the frequency that the spectrum of a motion with white forces falls with.
SPECTRAL_POWERS_OF_WHITE_FORCE = (-5.2, -3.0)
# Main periods of the longest coordinate that kinetic energy is averaged over, and the
# fewest such windows that tell whether it goes up and down.
PERIODS_PER_WINDOW, LEAST_WINDOWS = 3.0, 20
# With fewer windows, these and a free motion whose energy goes back by less than this
# share of its whole fall.
FEWEST_WINDOWS, LARGEST_WAY_BACK = 6, 0.15
# Windows with a smaller share of the mean energy hold noise.
LEAST_ENERGY = 0.05
# Doublings and halvings in turn: a free motion has one, a driven one many.
MOST_TURNS_OF_FREE_MOTION, LEAST_TURNS_OF_DRIVEN_MOTION = 1, 3


def random_share(series: Sequence[np.ndarray], dt: float, frequency: float) -> float:
    """Largest share of a random force in third differences over short lags h.

    .. math::

        E\\,[q_{t+3h} − 3 q_{t+2h} + 3 q_{t+h} − q_t]^2
        = a + b\\,h^3 + d\\,(2 \\sin πfh)^6

    with parts of white noise of the sensor, of a random force, and of a smooth motion;
    a, b, d ≥ 0 by least squares of relative errors, over lags up to a twelfth of the
    main period. NaN if there are less than four lags, if noise hides all of them, or if
    a few large jumps make them: impacts, quick turns, or a sensor that clips.
    """
    from scipy.optimize import nnls

    largest = int(1 / (12 * frequency * dt))
    lags = np.unique(np.geomspace(1, max(largest, 1), 14).round().astype(int))
    values, tails = [], []
    for lag in lags:
        parts = [
            y[3 * lag :] - 3 * y[2 * lag : -lag] + 3 * y[lag : -2 * lag] - y[: -3 * lag]
            for y in series
            if len(y) > 4 * lag
        ]
        if parts:
            third = np.concatenate(parts)
            values.append(float(np.mean(third**2)))
            tails.append(float(np.mean(third**4)) / max(values[-1], 1e-300) ** 2)
    if len(values) < 4 or min(values) <= 0 or np.median(tails) > KURTOSIS_OF_IMPACTS:
        return np.nan
    h = lags[: len(values)] * dt
    shapes = np.stack(
        [np.ones_like(h), (h / h[-1]) ** 3, np.sin(np.pi * frequency * h) ** 6], axis=1
    )
    parts = shapes / np.array(values)[:, None]
    scale = parts.max(axis=0)
    found, _ = nnls(parts / scale, np.ones(len(h)))
    shares = parts / scale * found
    if shares[-1, 0] > 0.5:
        return np.nan
    return float(shares[:, 1].max())


def energy_turns(
    series: Sequence[np.ndarray], dt: float, frequencies: Sequence[float]
) -> tuple[int, int, float]:
    """How often the kinetic energy doubles and halves in turn, windows, way back.

    Squared velocities are differences over an eighth of the shortest main period,
    averaged over three of the longest ones. Masses are not known: of all sums with
    weights w ≥ 0 that one is taken which is closest to constant (least squares), so
    that coordinates which exchange their energy count as one motion.

    Trajectories have the shape (time, dof); each coordinate has its main frequency
    (Hz). Of the trajectory with the most turns come back: these; windows; the way back,
    the smaller of all rises and all falls of the logarithm over the larger.

    Examples
    --------
    >>> t = np.arange(0, 60, 0.05)
    >>> free = np.exp(-0.05 * t) * np.cos(6 * t)
    >>> energy_turns([free[:, None]], 0.05, [6 / 2 / np.pi])
    (1, 19, 0.0)
    """
    from scipy.optimize import nnls

    lag = max(round(1 / (8 * max(frequencies) * dt)), 1)
    width = max(round(PERIODS_PER_WINDOW / (min(frequencies) * dt)), 1)
    found = (0, 0, 1.0)
    for q in series:
        count = (len(q) - lag) // width
        if count < 2:
            continue
        rate = q[lag:] - q[:-lag]
        square = (rate - rate.mean(axis=0))[: count * width] ** 2
        energy = square.reshape(count, width, -1).mean(axis=1)
        energy = energy / energy.mean(axis=0)
        total = energy @ nnls(energy, np.ones(count))[0]
        total = np.maximum(total, LEAST_ENERGY * total.mean())
        steps = np.diff(np.log(total))
        ways = sorted((steps[steps > 0].sum(), -steps[steps < 0].sum()))
        back = float(ways[0] / ways[1]) if ways[1] else 1.0
        found = max(found, (_turns(total), count, back))
    return found


def _turns(energy: np.ndarray) -> int:
    """Doublings and halvings in turn."""
    count, direction = 0, 0
    low = high = energy[0]
    for value in energy:
        low, high = min(low, value), max(high, value)
        if direction <= 0 and value > 2 * low:
            count, direction, high = count + 1, 1, value
        elif direction >= 0 and value < high / 2:
            count, direction, low = count + 1, -1, value
    return count


def refuse_excitation(
    where: str,
    series: Sequence[np.ndarray],
    dt: float,
    random: bool,
    angles: Sequence[bool],
) -> None:
    """Refuse a force that acts and was not stated, or a stated one that does not.

    `where` is the file, `series` are trajectories of shape (time, dof), `angles` tells
    which coordinates are such.
    """
    columns = [[q[:, a] for q in series] for a in range(series[0].shape[1])]
    spectra = [spectrum(y, dt, a) for y, a in zip(columns, angles, strict=True)]
    frequencies = [found.main for found in spectra]
    turns, windows, back = energy_turns(series, dt, frequencies)
    shares = np.array(
        [
            random_share(each, dt, f)
            for each, f in zip(columns, frequencies, strict=True)
        ]
    )
    rough = any(map(_is_white, shares, spectra))
    smooth = bool((shares < SHARE_OF_SMOOTH_MOTION).all())
    driven = turns >= LEAST_TURNS_OF_DRIVEN_MOTION
    free = turns <= MOST_TURNS_OF_FREE_MOTION and (
        windows >= LEAST_WINDOWS
        or (windows >= FEWEST_WINDOWS and back < LARGEST_WAY_BACK)
    )
    told = (
        f"over {windows} windows of three main periods the kinetic energy doubles or "
        f"halves {turns} times in turn"
    )
    if np.isfinite(shares).any():
        share = 100 * min(np.nanmax(shares), 1)
        told += f", and a white force has {share:.0f} % of the third differences"
    if not random and (driven or rough and not free):
        raise RecordingError(
            where,
            told + ": a random force acts, or one that no column records",
            "a free motion, whose energy only falls",
            "Write `excitation: random`, name the recorded force under `inputs`, or "
            "`accept: [excitation]` if you know better",
        )
    if random and not rough and (free or smooth and windows < FEWEST_WINDOWS):
        seen, remedy = (
            "no random force is seen",
            "Leave `excitation` out, record longer",
        )
        if driven:
            seen, remedy = "the force that acts is not random", "Name it under `inputs`"
        raise RecordingError(
            where,
            f"{told}: {seen}",
            "energy that goes up and down, and velocities as rough as white forces "
            "make them",
            f"{remedy}, or write `accept: [excitation]` if you know better",
        )


def _is_white(share: float, found: Spectrum) -> bool:
    """Whether third differences and the spectrum are those of a white force."""
    low, high = SPECTRAL_POWERS_OF_WHITE_FORCE
    return share > SHARE_OF_RANDOM_FORCE and low < found.slope < high
