"""What a force that a law misses is: a tone, or a function of the states before.

A law that misses a small force has innovations that its candidates do not explain.
Two kinds of them have a name. A *tone* is a line of their periodogram that holds more
than half of what they have beyond white noise. A force with a *memory*, such as of
hysteresis, of a delay or of a coordinate that nobody recorded, depends on lagged
velocities,

.. math::  T_j \\dot z_j = \\dot q - z_j , \\qquad T_j = T/8π, \\; T/2π ,

of the main period T: first-order filters, whose sums are the responses of linear
viscoelasticity, and to second order a delay. They are forces of unknown size in the
linear model of the filter, so that one pass gives what they gain and what coefficients
would be beside them (score test; Engle 1984).
"""

from typing import NamedTuple

import numpy as np
from scipy.signal import lfilter
from scipy.special import expit

from leastaction.core.estimate import CONFIDENCE
from leastaction.ensembles.innovation_tests import largest_line
from leastaction.ensembles.innovations_estimate import LEAST_P_VALUE
from leastaction.likelihood.augmented_kalman_filter import (
    Innovations,
    augmented_filter,
)
from leastaction.likelihood.covariance import (
    LEAST_WHITENESS,
    of_stretches,
    whiteness,
)
from leastaction.likelihood.iterated_smoother import Fit
from leastaction.likelihood.noise_levels import SINGULAR

# Lags of a memory, in T/2π: a delay of two to forty degrees, and of half a radian on.
LAGS_OF_MEMORY = (0.25, 1.0)
# Part of what innovations have beyond white noise that a tone holds: of the responses
# to six tones of an input, which a law misses, none does.
SHARE_OF_TONE = 0.5
# Ordinates to each side that a tone leaks into, which lies between two of them: 2 hold
# 90 % of it at least.
LEAKAGE = 2


class Memory(NamedTuple):
    """Whether lagged velocities explain innovations."""

    gain: float  # 2Δℓ of all of them together
    threshold: float  # by the extended BIC
    dispersion: float  # of 2Δℓ, over that of white innovations
    change: np.ndarray  # of the active coefficients beside them
    widening: np.ndarray  # root of what their covariance grows by, (lagged, active)
    coefficients: np.ndarray  # of the lagged velocities
    root: np.ndarray  # R, RᵀR the information of these

    def explained_by(self, far: "Memory") -> bool:
        """Whether the memory of whole runs makes these innovations smaller at all.

        A filter before a converter looks like a memory within a sample, and moves no
        run by it. Of what lagged velocities explain here those of whole runs leave the
        part .02 to .04 (root) with a late feedback and .15 to .48 with hysteresis, 3
        and 4 draws; of the Silverbox 2.2.
        """
        left = self.root @ (self.coefficients - far.coefficients)
        return bool(left @ left < self.gain)

    @property
    def deviations(self) -> np.ndarray:
        """Rows D, DᵀD the covariance for a memory of a probability above 5 %.

        Of the mean of the laws with and without, each by its probability, the variance
        is that of each and the square of its distance (Buckland, Burnham and Augustin,
        Biometrics 53 (1997) 603).
        """
        probability = expit((self.gain - self.threshold) / 2 / self.dispersion)
        rows = np.vstack([self.change, self.widening])
        return rows * np.sqrt(probability) * (probability > 1 - CONFIDENCE)


def memory(fit: Fit, period: float) -> Memory:
    """Gain of lagged velocities, and what coefficients would be beside them.

    Of what a tone is not: near a resonance velocities are all but a tone, too.
    """
    push = of_forces(fit)
    columns = push @ lagged_velocities(fit, period)
    sines, count = push @ waves(fit, tone(fit)), columns.shape[2]
    every = np.concatenate([fit.model.B, sines, columns], axis=2)
    model = fit.model._replace(B=every)
    innovations = augmented_filter(model, fit.levels.process, fit.levels.sensor)
    G, g = innovations.information, innovations.gradient
    size = np.sqrt(np.maximum(np.diag(G), 1e-300))
    G, g, base = G / np.outer(size, size), g / size, every.shape[2] - count
    beside = np.linalg.pinv(G[:base, :base], SINGULAR, hermitian=True) @ G[:base, base:]
    values, axes = np.linalg.eigh(G[base:, base:] - G[base:, :base] @ beside)
    determined = values > SINGULAR * len(g)
    root = (axes[:, determined] / np.sqrt(values[determined])).T
    score = root @ (g[base:] - beside.T @ g[:base])
    active, scale = len(fit.active), size[base:]
    of_lagged = root.T @ score / scale
    information = np.sqrt(values[determined])[:, None] * axes[:, determined].T * scale
    widening = -(root @ beside.T)[:, :active] / size[:active]
    left = _scores_left(innovations, size)
    left = (left[:, base:] - left[:, :base] @ beside) @ root.T
    dispersion = _dispersion(innovations, left)
    independent = max(innovations.count / dispersion, np.e)
    threshold = dispersion * count * (np.log(independent) + 2 * np.log(count))
    change, gain = score @ widening, float(score @ score)
    return Memory(gain, threshold, dispersion, change, widening, of_lagged, information)


def _scores_left(innovations: Innovations, size: np.ndarray) -> np.ndarray:
    """Scores g_b − G_b δ of stretches where all columns are fitted, (stretch, column).

    A force that the columns explain leaves none, however the motion varies.
    """
    scale = np.outer(size, size)
    G, g = innovations.information / scale, innovations.gradient / size
    fitted = np.linalg.pinv(G, SINGULAR, hermitian=True) @ g
    moment = innovations.moment
    return -moment[:, 0, 1:] / size - moment[:, 1:, 1:] / scale @ fitted


def _dispersion(innovations: Innovations, scores: np.ndarray) -> float:
    """Mean variance of `scores` over the one that they have of white innovations.

    A likelihood ratio is that many times χ² on average where innovations are not white
    (Rao and Scott, J. Am. Stat. Assoc. 76 (1981) 221). It is no less than their
    correlation length: errors of the integrator that made a motion repeat within a
    stretch, and sums of their scores do not vary between stretches.
    """
    if whiteness(innovations) > LEAST_WHITENESS:
        return 1.0
    rows, _ = of_stretches(innovations, scores)
    return max(float((rows**2).sum()) / scores.shape[1], innovations.correlation_length)


def of_forces(fit: Fit) -> np.ndarray:
    """Moves of the state in a row by a unit force on each coordinate, (row, 2n, n).

    A constant force moves the velocities by √Δt times its column of the white force's
    covariance over the root of its own variance, to first order in Δt.
    """
    n, dt, pushes = fit.motion.dof, fit.motion.dt, []
    for i in range(n):
        covariance = fit.model.Q[:, i, n:, n:]
        size = np.sqrt(np.maximum(covariance[:, i, i], 1e-300))
        rate = np.sqrt(dt) * covariance[:, :, i] / size[:, None]
        pushes.append(np.concatenate([dt / 2 * rate, rate], axis=1))
    return np.stack(pushes, axis=2)


def lagged_velocities(fit: Fit, period: float) -> np.ndarray:
    """Forces that are lagged velocities of their coordinate, (row, n, 2n)."""
    motion, n = fit.motion, fit.motion.dof
    forces = np.zeros((len(motion.y), n, n * len(LAGS_OF_MEMORY)))
    for j, lag in enumerate(LAGS_OF_MEMORY):
        rho = np.exp(-2 * np.pi * motion.dt / (lag * period))
        for part in motion.parts:
            v = fit.path[part, n:]
            z, _ = lfilter([1 - rho], [1, -rho], v, axis=0, zi=rho * v[:1])
            for i in range(n):
                forces[part, i, n * j + i] = z[:, i]
    return forces


def waves(fit: Fit, frequency: float) -> np.ndarray:
    """Forces of a tone on each coordinate and trajectory; none of NaN."""
    motion, n = fit.motion, fit.motion.dof
    if np.isnan(frequency):
        return np.zeros((len(motion.y), n, 0))
    phase = 2 * np.pi * frequency * motion.dt * np.arange(len(motion.y))
    forces = np.zeros((len(motion.y), n, 2 * n * len(motion.parts)))
    for p, part in enumerate(motion.parts):
        for i in range(n):
            place = 2 * (n * p + i)
            forces[part, i, place] = np.cos(phase[part])
            forces[part, i, place + 1] = np.sin(phase[part])
    return forces


def tone(fit: Fit) -> float:
    """Frequency, Hz, of a line that holds most of what innovations miss; NaN if none.

    Examples of lines that are none: those of an input whose response a law misses,
    each of which holds its part.
    """
    filtered, dt = fit.innovations, fit.motion.dt
    z = np.where(np.isfinite(filtered.V), filtered.e / np.sqrt(filtered.V), 0.0)
    series = [z[part] for part in fit.motion.parts]
    chance, frequency = largest_line(series, dt)
    if chance > LEAST_P_VALUE:
        return float("nan")
    near, beyond = 0.0, 0.0
    for x in series:
        power = np.abs(np.fft.rfft(x, axis=0)[1:-1]) ** 2
        # The median of exponential ordinates is log 2 of their mean.
        power = power - np.median(power, axis=0) / np.log(2)
        place = round(frequency * len(x) * dt) - 1
        near += power[max(place - LEAKAGE, 0) : place + LEAKAGE + 1].sum()
        beyond += power.sum()
    if near < SHARE_OF_TONE * beyond:
        return float("nan")
    # Between ordinates, a fiftieth apart.
    trials = frequency + np.linspace(-1, 1, 101) / (dt * max(map(len, series)))
    return float(trials[np.argmax(power_at(series, dt, trials))])


def power_at(series, dt: float, frequencies: np.ndarray) -> np.ndarray:
    """Power of all trajectories, (time, sensor), at frequencies in Hz."""
    waves = [np.exp(-2j * np.pi * f * dt) for f in frequencies]
    return np.array(
        [
            sum((np.abs(w ** np.arange(len(x)) @ x) ** 2).sum() for x in series)
            for w in waves
        ]
    )


def is_line(series, dt: float, frequency: float) -> bool:
    """Whether recorded inputs, (time, input) each, have a line at a frequency, Hz.

    Within half an ordinate of their largest power nearby, under Hann's window, if it
    is beyond what chance makes of the median of the ordinates beside.

    >>> time = 0.02 * np.arange(2000)
    >>> tones = [(np.sin(6 * time) + np.sin(9 * time))[:, None]]
    >>> is_line(tones, 0.02, 9 / (2 * np.pi)), is_line(tones, 0.02, 1.2)
    (True, False)
    """
    series = [x * np.hanning(len(x))[:, None] for x in series]
    ordinates = np.arange(-10.0, 10.5, 0.5)
    width = 1 / (dt * max(map(len, series)))
    power = power_at(series, dt, frequency + width * ordinates)
    # Hann's window has a line in two ordinates to each side.
    beside = np.median(power[np.abs(ordinates) > 3]) / np.log(2)
    largest = int(np.argmax(np.where(np.abs(ordinates) <= 2, power, -1.0)))
    chance = np.log(max(map(len, series)) / LEAST_P_VALUE)
    return bool(abs(ordinates[largest]) <= 0.5 and power[largest] > chance * beside)
