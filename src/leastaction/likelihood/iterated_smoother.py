"""Path, coefficients and noise levels of a recorded motion together.

The iterated Kalman smoother (B. M. Bell, SIAM J. Optim. 4 (1994) 626) is Gauss and
Newton's method on the whole path: linearise about it, filter with a column for every
coefficient, smooth, and begin again. Every row is a knot. Windows with free states are
process noise without a bound at their edges, single shooting is none.
"""

import logging
from dataclasses import dataclass, replace

import numpy as np

from leastaction.likelihood.augmented_kalman_filter import (
    Innovations,
    LinearModel,
    augmented_filter,
    smoothed,
)
from leastaction.likelihood.measured_motion import (
    LARGEST_INDEFINITE_SHARE,
    MeasuredMotion,
    smoothness_model,
)
from leastaction.likelihood.noise_levels import (
    STARTS,
    NoiseLevels,
    promised,
    step_of,
    tuned,
)

log = logging.getLogger(__name__)
# A fit has converged when ℓ moves, and could gain, less than this: a fifth of a
# standard error of one coefficient.
CONVERGED = 0.02
MOST_ROUNDS = 25
# Rounds after which less than half a unit of ℓ for every independent innovation is
# enough, a standard error of one coefficient: where a joint sticks ℓ has kinks, and
# steps end near the maximum. Whole runs of a slide whose friction falls with the
# velocity end at 2 to 13 with innovations that are correlated over 38 rows. A fit that
# promises much after so many rounds does not end: of a stage that integrates its force,
# without process noise, 25 rounds promise 10⁴ to 10⁷.
SMOOTH_ROUNDS = 6
# Noise levels are tuned again where ℓ has changed by more: they cost all the time, and
# the end of their search is not sharp.
LEAST_CHANGE_RETUNED = 0.5
# Rounds in which noise levels are sought from several starts.
ROUNDS_OF_STARTS = 3
# A step is quartered where ℓ falls by more, or by more than this part of what the
# linear model promised: Silverbox without process noise takes 25 steps without the
# latter, and 5 with it. The former is halved in every round: where a joint sticks,
# steps would go back and forth for ever.
LARGEST_FALL, LARGEST_BROKEN_PROMISE = 50.0, 0.5
MOST_QUARTERINGS = 4
MOST_STEPS = 16  # of the integrator between rows


@dataclass(frozen=True)
class Fit:
    """A maximum of the likelihood, linearised about its path."""

    motion: MeasuredMotion
    c: np.ndarray  # coefficients of all candidates
    active: np.ndarray  # positions of those that were fitted
    path: np.ndarray  # (row, 2 dof)
    levels: NoiseLevels
    model: LinearModel  # about the path; columns of the active coefficients
    innovations: Innovations
    converged: bool

    @property
    def value(self) -> float:
        """ℓ."""
        return self.innovations.value

    def of_all(self, columns: np.ndarray) -> Innovations:
        """The likelihood as a quadratic function of other coefficients, too."""
        model, _ = self.motion.linearised(self.path, self.c, columns)
        return augmented_filter(model, self.levels.process, self.levels.sensor)


def smooth_motion(
    motion: MeasuredMotion, least_sensor: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """q, q̇, q̈ without a law, (row, 3, dof), and the noise of every sensor."""
    derivatives, noise = np.empty((len(motion.y), 3, motion.dof)), np.empty(motion.dof)
    for a in range(motion.dof):
        y = motion.y[:, a]
        model = smoothness_model(y, motion.begin, motion.dt)
        # A jerk that moves the position in one row by what neighbours differ by.
        rough = np.nanstd(np.diff(y)) / motion.dt**2.5
        rough = np.array([max(rough, 1e-300)])
        least = np.array([least_sensor[a]])
        guess = np.maximum(1e-3 * np.nanstd(y), least)
        levels = NoiseLevels(rough, guess, 1e-12 * rough, least)
        levels = tuned(model, levels, (1.0, 1e-2, 1e-4, 1e-6))
        states, _ = smoothed(model, levels.process, levels.sensor)
        derivatives[:, :, a], noise[a] = states, levels.sensor[0]
        derivatives[:, 0, a] += np.nanmean(y)
    return derivatives, noise


def fit(
    motion: MeasuredMotion,
    c: np.ndarray,
    active: np.ndarray,
    path: np.ndarray,
    levels: NoiseLevels,
    fixed_process: bool = False,
    rounds_of_starts: int = ROUNDS_OF_STARTS,
    rounds: int = MOST_ROUNDS,
) -> Fit | None:
    """Fit the `active` coefficients from a path and levels to begin with.

    None if the mass matrix is indefinite along the motion, or nothing follows it.
    """
    active = np.asarray(active, dtype=int)
    model, indefinite = motion.linearised(path, c, active)
    if indefinite > LARGEST_INDEFINITE_SHARE:
        return None
    before, here, converged, innovations = np.inf, -np.inf, False, None
    for number in range(rounds):
        if abs(here - before) > LEAST_CHANGE_RETUNED:
            starts = STARTS if number < rounds_of_starts and not fixed_process else ()
            levels, innovations = tuned(model, levels, starts, fixed_process), None
        if innovations is None:
            innovations = augmented_filter(model, levels.process, levels.sensor)
        if not np.isfinite(innovations.moment).all():
            return None
        change, gain = step_of(innovations)
        before, here = here, innovations.value + gain
        moved, _ = smoothed(model.shifted(change), levels.process, levels.sensor)
        now = levels.process, levels.sensor
        log.debug("round %d: %.2f, %.3g, %s, %s", number, innovations.value, gain, *now)
        size = np.abs(moved[:, : motion.dof]) / levels.sensor
        enough = CONVERGED
        if number >= SMOOTH_ROUNDS:
            enough = LEAST_CHANGE_RETUNED * innovations.correlation_length
        settled = abs(here - before) < enough and gain < enough
        if settled or (gain < CONVERGED and size.max() < 0.01):
            converged = True
            break
        if number > SMOOTH_ROUNDS and gain > LARGEST_FALL:
            break
        step = 1.0
        for _ in range(MOST_QUARTERINGS):
            trial = c.copy()
            trial[active] += step * change
            proposed = path + step * moved
            new, indefinite = motion.linearised(proposed, trial, active)
            value = -np.inf
            if _usable(new, indefinite):
                innovations = augmented_filter(new, levels.process, levels.sensor)
                value = promised(innovations)
            allowed = max(LARGEST_FALL / 2**number, LARGEST_BROKEN_PROMISE * gain)
            if value > here - allowed:
                break
            step /= 4
        else:
            if not np.isfinite(value):
                return None
        c, path, model = trial, proposed, new
    return Fit(motion, c, active, path, levels, model, innovations, converged)


def _usable(model: LinearModel, indefinite: float) -> bool:
    return indefinite <= LARGEST_INDEFINITE_SHARE and bool(np.isfinite(model.A).all())


def with_noise_of_runs(fitted: Fit) -> Fit:
    """The fit with a sensor noise of its own for every trajectory, if that is likelier.

    By the BIC: half the logarithm of the measurements for each. Four swings of .4 to 1
    rad, each with a noise of .05 % of it, had coefficients off by 2.8 standard errors.
    """
    innovations, motion = fitted.innovations, fitted.motion
    if len(motion.parts) < 2:
        return fitted
    known = np.isfinite(innovations.V)
    power = np.where(known, innovations.e**2 / innovations.V, np.nan)
    relative = np.ones_like(power)
    for part in motion.parts:
        relative[part] = np.nanmean(power[part], axis=0)
    relative /= np.nanmean(power, axis=0)
    motion = replace(motion, relative_R=motion.relative_R * relative)
    start = fitted.c, fitted.active, fitted.path, fitted.levels
    again = fit(motion, *start, rounds_of_starts=0)
    price = motion.dof * (len(motion.parts) - 1) * np.log(innovations.count) / 2
    return again if again and again.value > fitted.value + price else fitted


def begin_levels(
    missed: np.ndarray,
    noise: np.ndarray,
    least_force: np.ndarray,
    least_sensor: np.ndarray,
    dt: float,
) -> NoiseLevels:
    """Noise levels to begin with, from missed forces of rows and noise of sensors."""
    process = np.maximum(missed * np.sqrt(dt), least_force)
    return NoiseLevels(
        process, np.maximum(noise, least_sensor), least_force, least_sensor
    )


def accurate(fitted: Fit, fixed_process: bool = False) -> Fit:
    """The fit with so many steps that twice as many move ℓ by less than ½.

    With the fewest of them; a fit that is near enough is returned as it is.
    """
    while fitted.motion.steps < MOST_STEPS:
        motion = replace(fitted.motion, steps=2 * fitted.motion.steps)
        finer = fit(
            motion, fitted.c, fitted.active, fitted.path, fitted.levels, fixed_process,
            rounds_of_starts=0,
        )  # fmt: skip
        if finer is None or abs(finer.value - fitted.value) < LEAST_CHANGE_RETUNED:
            break
        fitted = finer
    return fitted
