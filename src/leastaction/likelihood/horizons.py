"""Terms of a law by what it explains within one sample and over whole runs.

A linear law that is off by a small force has no true parameters, and the horizon of a
prediction decides which effects count. With process noise the filter corrects the path
at every sample (short horizon); without, only the start of a run is free (output error,
long horizon). Ljung 1999, sections 3.3 and 8.5.

A candidate is *real* if the extended BIC accepts it at the short horizon. It is part of
the law if without it a fifth more of the missed power would appear at the long one: a
sensor or a converter that is off within a sample moves no run, and a loss that is small
beside a ripple decides how a swing decays.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from leastaction.core.progress import report
from leastaction.likelihood.iterated_smoother import Fit, fit
from leastaction.likelihood.noise_levels import NoiseLevels
from leastaction.likelihood.term_selection import (
    SHARE_OF_MISSED_POWER,
    Candidates,
    Quadratic,
    Solution,
    select,
)

# Rounds of selection and refit; two or three are usual.
MOST_ROUNDS = 8
# Misfit of whole runs, over that of the same terms fitted to them, up to which the
# coefficients of the short horizon are published: they are the efficient ones where
# what is missed is independent of the motion.
LARGEST_RUN_RATIO = 1.5


@dataclass(frozen=True)
class Law:
    """A fitted law and the likelihood of all candidates about it."""

    fit: Fit
    quadratic: Quadratic
    solution: Solution

    @property
    def c(self) -> np.ndarray:
        """Coefficients of all candidates."""
        return self.fit.c


@dataclass(frozen=True)
class Horizons:
    """The terms of a law fitted with process noise, and without any."""

    law: Law  # with the coefficients that are published
    near: Fit  # with process noise
    far: Fit | None  # without; None where nothing follows the motion
    corrections: tuple[int, ...] = ()  # candidates that are real and no part of the law

    @property
    def deviation(self) -> np.ndarray:
        """Half of what coefficients differ by, shape (candidate,)."""
        if self.far is None:
            return np.zeros_like(self.law.c)
        return (self.near.c - self.far.c) / 2


def selected(
    candidates: Candidates,
    found: Fit,
    share: float = 0.0,
    among: Iterable[int] | None = None,
    noise: np.ndarray | None = None,
) -> Law:
    """Terms chosen and fitted again until they stay.

    Parameters
    ----------
    share
        Part of the missed power that a term must explain beside the extended BIC.
    among
        Candidates that may enter; all if None.
    noise
        Standard deviations of the sensors, if the fit is without process noise: missed
        is then what they do not explain.
    """
    if among is not None:
        barred = np.setdiff1d(np.arange(len(found.c)), list(among))
        candidates = replace(candidates, barred=tuple(barred))
    every = np.arange(len(found.c))
    fixed_process = noise is not None
    seen: set = set()
    while True:
        quadratic = Quadratic.of(candidates, found.c, found.of_all(every))
        if noise is not None:
            part = float(np.mean(np.square(noise / found.levels.sensor)))
            quadratic = replace(quadratic, sensor_share=part * quadratic.count)
        law = select(quadratic, np.flatnonzero(found.c), share)
        report("terms: %s", law.support)
        done = set(law.support) == set(np.flatnonzero(found.c))
        if done or law.support in seen or len(seen) >= MOST_ROUNDS:
            return Law(found, quadratic, quadratic.solve(np.flatnonzero(found.c)))
        seen.add(law.support)
        start = found.motion, law.x, law.free, found.path, found.levels
        again = fit(*start, fixed_process, rounds_of_starts=0)
        if again is None:
            return Law(found, quadratic, quadratic.solve(np.flatnonzero(found.c)))
        found = again


def both_horizons(candidates: Candidates, near: Law) -> Horizons:
    """The law among the real terms that `near` has; see the module.

    Where no motion follows without process noise, as of a machine that integrates its
    force for long, the missed power is that of the short horizon.
    """
    real = near.solution.support
    run = None
    if near.fit.levels.is_free.any():
        run = without_process_noise(near.fit)
        if run is None:
            near = selected(candidates, near.fit, SHARE_OF_MISSED_POWER, real)
            return _with_corrections(Horizons(near, near.fit, None), real)
    if run is None:  # nothing is missed
        return Horizons(near, near.fit, near.fit)
    noise = near.fit.levels.sensor
    far = selected(candidates, run, SHARE_OF_MISSED_POWER, real, noise)
    short = with_process_noise(far.fit, near.fit.levels)
    if short is None:
        return _with_corrections(Horizons(far, far.fit, far.fit), real)
    law = far
    if run_ratio(short, far.fit) < LARGEST_RUN_RATIO:
        quadratic = Quadratic.of(
            candidates, short.c, short.of_all(np.arange(len(short.c)))
        )
        law = Law(short, quadratic, quadratic.solve(far.solution.support))
    return _with_corrections(Horizons(law, short, far.fit), real)


def _with_corrections(found: Horizons, real: Iterable[int]) -> Horizons:
    absent = [k for k in real if k not in found.law.solution.support]
    return replace(found, corrections=tuple(absent))


def without_process_noise(near: Fit) -> Fit | None:
    """The law over whole runs, all that is missed taken for noise of the sensors."""
    levels = near.levels._replace(process=near.levels.least_process)
    found = fit(near.motion, near.c, near.active, near.path, levels, True)
    return found if found is not None and found.converged else None


def with_process_noise(far: Fit, levels: NoiseLevels) -> Fit | None:
    """The terms of a law over whole runs with process noise."""
    return fit(far.motion, far.c, far.active, far.path, levels, rounds_of_starts=0)


def run_ratio(near: Fit, far: Fit) -> float:
    """Misfit of whole runs with the coefficients of `near`, over that of `far`.

    The largest of a sensor; infinite where no run follows.
    """
    nothing = np.zeros(0, dtype=int)
    run = fit(far.motion, near.c, nothing, far.path, far.levels, True)
    if run is None or not run.converged:
        return np.inf
    return float((run.levels.sensor / far.levels.sensor).max())
