"""Terms of a law by what it explains within one sample and over whole runs.

A linear law that is off by a small force has no true parameters, and the horizon of a
prediction decides which effects count. With process noise the filter corrects the path
at every sample (short horizon); without, only the start of a run is free (output error,
long horizon). Ljung 1999, sections 3.3 and 8.5.

A candidate is *real* if the extended BIC accepts it at the short horizon. It is part of
the law if it explains a fifth of what is missed at the long one, or at the short one
with a coefficient that is the same at both: a sensor or a converter that is off within
a sample moves no run, and a loss that is small beside a ripple decides how a swing
decays. Coefficients are those of the short horizon, which is the efficient one where
what is missed does not depend on the motion; half of what the long one differs by
beyond chance is in their intervals. What is real and no part of the law is in
predictions of the next sample alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from leastaction.core.progress import report
from leastaction.likelihood.covariance import spread
from leastaction.likelihood.iterated_smoother import Fit, fit
from leastaction.likelihood.noise_levels import NoiseLevels
from leastaction.likelihood.term_selection import (
    Candidates,
    Quadratic,
    Solution,
    biasing,
    corrections,
    select,
)

# Rms misfit of whole runs over the motion, or of a law over the force, beyond which a
# tenth of the power is not explained, and there is no law: a Duffing oscillator on its
# other branch misses .4, laws of swings and stages .0004 to .02.
LARGEST_MISFIT = 0.1**0.5
# Part of a coefficient that horizons may disagree about, if a term is to be judged by
# the short one. Silverbox: .89 to 1 of three terms that make whole runs worse, .21 at
# most of the six of its equation. A slide: .27 of its Stribeck force, which explains .7
# of what is missed in a sample, and a third over runs that integrate all forces.
LARGEST_DISAGREEMENT = 0.5


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

    @property
    def criterion(self) -> float:
        """Extended BIC, −2ℓ and what its terms cost."""
        price = self.quadratic.price(self.c)[list(self.solution.support)].sum()
        return float(self.quadratic.penalty * price - 2 * self.fit.value)


@dataclass(frozen=True)
class Horizons:
    """The terms of a law fitted with process noise, and without any."""

    law: Law  # with the coefficients that are published
    near: Fit  # with process noise
    far: Fit | None  # without; None where nothing follows the motion
    corrections: tuple[int, ...] = ()  # candidates that are real and no part of the law

    @property
    def deviation(self) -> np.ndarray:
        """Half of what coefficients differ by beyond chance, shape (candidate,).

        Whole runs know less of a coefficient where a force is missed: the difference of
        an efficient estimate and of another has the difference of their variances
        (Hausman, Econometrica 46 (1978) 1251).
        """
        difference = np.zeros_like(self.law.c)
        if self.far is not None and self.far is not self.near:
            difference = self.near.c - self.far.c
            rows = spread(self.far.innovations).deviations
            chance = (rows**2).sum(axis=0)
            active = self.far.active
            beyond = np.maximum(difference[active] ** 2 - chance, 0.0)
            difference[active] = np.sign(difference[active]) * np.sqrt(beyond)
        return difference / 2


def of_every(candidates: Candidates, near: Fit) -> Quadratic:
    """The likelihood of all candidates about a fit."""
    every = np.arange(len(near.c))
    return Quadratic.of(candidates, near.c, near.of_all(every))


def selected(
    candidates: Candidates, current: Fit, noise: np.ndarray | None = None
) -> Law:
    """Terms chosen and fitted again until they stay.

    A fit without process noise has that of the sensors beside it, `noise`: missed is
    what they do not explain.
    """
    visited: set = set()
    while True:
        quadratic = of_every(candidates, current)
        if noise is not None:
            part = float(np.mean(np.square(noise / current.levels.sensor)))
            quadratic = replace(quadratic, sensor_share=part * quadratic.count)
        present = np.flatnonzero(current.c)
        law = select(quadratic, np.setdiff1d(present, candidates.excluded))
        report("terms: %s", ", ".join(candidates.names[k] for k in law.support))
        if set(law.support) == set(present) or law.support in visited:
            return Law(current, quadratic, quadratic.solve(present))
        visited.add(law.support)
        start = current.motion, law.x, law.free, current.path, current.levels
        again = fit(*start, noise is not None, rounds_of_starts=0)
        if again is None:
            return Law(current, quadratic, quadratic.solve(present))
        current = again


def both_horizons(candidates: Candidates, near: Law) -> Horizons:
    """The law by what counts over whole runs, from that of the short horizon.

    Where no motion follows without process noise, as of a machine that integrates its
    force for long, the law of the short horizon stands.
    """
    if not near.fit.levels.is_free.any():  # nothing is missed
        return Horizons(near, near.fit, near.fit)
    added = corrections(near.quadratic, near.solution)
    needed = biasing(near.quadratic, near.solution)
    required = [*candidates.required, *needed]
    candidates = replace(candidates, required=required)
    near = with_terms(candidates, near, needed)
    added = tuple(k for k in added if k not in needed)
    wide = with_terms(candidates, near, added).fit
    run = without_process_noise(wide)
    if run is None:
        return Horizons(near, near.fit, None, added)
    candidates = of_whole_runs(candidates, near, wide, run)
    noise = wide.levels.sensor
    far = selected(candidates, run, noise)
    short = with_process_noise(far.fit, wide.levels)
    law = far
    if short is not None:
        law = replace(far, fit=short, quadratic=of_every(candidates, short))
        law = replace(law, solution=law.quadratic.solve(far.solution.support))
    absent = [k for k in np.flatnonzero(wide.c) if k not in far.solution.support]
    return Horizons(law, law.fit, far.fit, tuple(absent))


def with_terms(candidates: Candidates, law: Law, added: Sequence[int]) -> Law:
    """The law with terms `added`; as it is where nothing follows."""
    wide = law.quadratic.solve({*law.solution.support, *added})
    one = law.fit
    start = one.motion, wide.x, wide.free, one.path, one.levels
    more = fit(*start, rounds_of_starts=0) if added else None
    if more is None:
        return law
    quadratic = of_every(candidates, more)
    return Law(more, quadratic, quadratic.solve(wide.support))


def of_whole_runs(candidates: Candidates, near: Law, wide: Fit, run: Fit) -> Candidates:
    """Candidates of the search over whole runs: what stays, and what is excluded.

    The terms of the short horizon stay if their coefficients agree. Barred is what is
    not real, and what disagrees.
    """
    apart = np.abs(wide.c - run.c) > LARGEST_DISAGREEMENT * np.abs(wide.c)
    joining = candidates.joining(near.solution.support)
    out = (apart | (wide.c == 0)) & ~np.isin(np.arange(len(run.c)), [*joining])
    unproven = joining - {*candidates.stays} | {*np.flatnonzero(out)}
    stays = tuple(set(near.solution.support) - unproven)
    return replace(candidates, stays=stays, excluded=tuple(np.flatnonzero(out)))


def without_process_noise(near: Fit) -> Fit | None:
    """The law over whole runs, all that is missed taken for noise of the sensors.

    None where nothing follows the motion, or where runs miss it by fewer independent
    amounts than coefficients and starts are fitted: of 8 s of a slide that
    integrates a force of 1 N that nobody recorded there are three.
    """
    levels = near.levels._replace(process=near.levels.least_process)
    far = fit(near.motion, near.c, near.active, near.path, levels, True)
    if far is None or not far.converged:
        return None
    size = np.nanstd(far.motion.y, axis=0)
    if (far.levels.sensor > LARGEST_MISFIT * size).any():
        return None
    independent = far.innovations.count / far.innovations.correlation_length
    unknowns = len(far.active) + 2 * far.motion.dof * len(far.motion.parts)
    return far if independent > unknowns else None


def with_process_noise(far: Fit, levels: NoiseLevels) -> Fit | None:
    """The terms of a law over whole runs with process noise."""
    return fit(far.motion, far.c, far.active, far.path, levels, rounds_of_starts=0)
