r"""What to excite so that the interval of a coefficient shrinks.

An experiment of T seconds adds JᵀWJ(T) to the information C⁻¹ that a recording gives of
the coefficients, along the motion that the law predicts, with the noise of the sensors
and the process noise of the recording (locally optimal design; Fedorov, Theory of
Optimal Experiments, 1972, chapter 2). The interval of coefficient k shrinks by a factor
r after the T that solves

.. math::  [(C^{-1} + J^T W J(T))^{-1}]_{kk} = r^2 C_{kk} .
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy.optimize import brentq

from leastaction.likelihood.augmented_kalman_filter import augmented_filter
from leastaction.likelihood.measured_motion import MeasuredMotion
from leastaction.recordings.measured_rollout import CompiledLaw

# Excursion, over that of the recording, beyond which nothing says that the law holds:
# that of the largest release, about a middle that is off its rest by a fortieth.
LARGEST_EXCURSION = 2.05
# Amplitudes over those of the recording, and frequencies over that of its motion.
AMPLITUDES = (0.5, 1.0, 2.0)
FREQUENCIES = tuple(2.0 ** (k / 2) for k in range(-4, 5))
# Periods, of the slower of motion and input, that are simulated, and that an experiment
# has at least: one of one period shrank an interval to .7 where .5 was promised. Steps
# of the integrator in a sample; samples in a period of an input at least.
PERIODS, LEAST_PERIODS, STEPS, LEAST_SAMPLES = 20, 5, 4, 10
# An experiment that takes so many times the duration of the recording is none.
LONGEST = 1e3


class Trial(NamedTuple):
    """A sinusoidal input of a coordinate, or its release at rest."""

    excite: str
    amplitude: float
    frequency: float  # Hz; NaN of a release
    start: np.ndarray  # (q, q̇)
    force: np.ndarray  # amplitude by coordinate


def experiments(
    law: CompiledLaw, model: xr.Dataset, covariance: np.ndarray, place: int, r: float
) -> pd.DataFrame:
    """Rows (excite, amplitude, frequency, excursion, duration), the shortest first.

    Parameters
    ----------
    law
        Its motions, with the recording it follows from.
    model
        One replicate of contract ``model``.
    covariance
        Of its terms, which are those of ``law.c`` that are not zero (the rest are
        corrections of its runs); zero rows of those given.
    place
        Term whose standard error is to shrink by the factor `r`.
    """
    free = np.flatnonzero(np.diag(covariance))
    known = np.linalg.inv(covariance[np.ix_(free, free)])
    k = int(np.flatnonzero(free == place)[0])
    active = np.flatnonzero(law.c)[free]
    middle = np.median(law.q, axis=0)
    size = np.abs(law.q - middle).max(axis=0)
    most = LONGEST * law.dt * len(law.q)
    rows = []
    for trial in _trials(law, model, middle, size):
        path, time, information = _along(law, trial, active, model)
        excursion = np.abs(path - middle).max(axis=0) / size
        if not excursion.max() <= LARGEST_EXCURSION:
            continue
        duration = _duration(known, (time, information), k, r, most)
        if duration is not None:
            about = trial.excite, trial.amplitude, trial.frequency
            rows.append((*about, float(excursion.max()), duration))
    columns = ["excite", "amplitude", "frequency", "excursion", "duration"]
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values("duration", ignore_index=True)


def _trials(law: CompiledLaw, model, middle, size) -> Iterator[Trial]:
    """Sines on every input, or releases of every coordinate."""
    names = [str(name) for name in model["dof"].values]
    rest = np.concatenate([middle, np.zeros_like(middle)])
    for a, name in enumerate(names):
        unit = np.eye(len(names))[a]
        if law.inputs is None:
            for factor in AMPLITUDES:
                amplitude = factor * size[a]
                start = rest + np.concatenate([amplitude * unit, 0 * unit])
                yield Trial(name, amplitude, np.nan, start, 0 * unit)
            continue
        loud = np.sqrt(2) * law.inputs.recorded[:, a].std()
        for factor in AMPLITUDES if loud else ():
            for ratio in FREQUENCIES:
                frequency = ratio / float(model["period"])
                if frequency * law.dt * LEAST_SAMPLES < 1:
                    force = factor * loud * unit
                    yield Trial(name, factor * loud, frequency, rest, force)


def _along(law: CompiledLaw, trial: Trial, active, model):
    """Positions of the law in an experiment, times, and its information up to these."""
    period = float(model["period"])
    slowest = np.nanmax([period, 1 / trial.frequency])
    rows = round(PERIODS * slowest / law.dt)

    def force(steps: int) -> np.ndarray:
        nodes = np.arange(2 * steps * rows) / (2 * steps) * law.dt
        wave = np.sin(2 * np.pi * np.nan_to_num(trial.frequency) * nodes)
        return np.outer(wave, trial.force)

    first, length = np.array([0]), np.array([rows])
    how = law.dt, rows, STEPS, force(STEPS), first, length
    with np.errstate(all="ignore"):
        path = law.equations.rollout(trial.start[None], law.c, *how)[0]
    q = np.ascontiguousarray(path[:, : law.q.shape[1]])
    if not np.isfinite(path).all():
        return np.full_like(q, np.inf), None, None
    about = [slice(0, rows)], law.dt, STEPS, force
    motion = MeasuredMotion(law.equations, q, *about)
    linear, _ = motion.linearised(path, law.c, active)
    innovations = augmented_filter(linear, law.process_noise, law.noise)
    parts = innovations.moment[:, 1:, 1:]
    time = rows * law.dt * np.arange(1, len(parts) + 1) / len(parts)
    return q, time, parts.cumsum(axis=0)


def _duration(known, experiment, k: int, r: float, most: float) -> float | None:
    """Seconds after which the variance of k is r² of what it is; None beyond `most`.

    The motion goes on as in the second half of what was simulated.
    """
    time, information = experiment
    half = len(time) // 2
    rate = (information[-1] - information[half]) / (time[-1] - time[half])

    def after(duration: float) -> np.ndarray:
        if duration > time[-1]:
            return information[-1] + (duration - time[-1]) * rate
        place = int(np.searchsorted(time, duration))
        early = information[place - 1] if place else 0 * rate
        begin = time[place - 1] if place else 0.0
        part = (duration - begin) / (time[place] - begin)
        return early + part * (information[place] - early)

    def excess(logarithm: float) -> float:
        both = np.linalg.inv(known + after(np.exp(logarithm)))
        return float(np.log(both[k, k] / (r**2 * before)))

    before = np.linalg.inv(known)[k, k]
    ends = np.log([time[-1] * LEAST_PERIODS / PERIODS, most])
    if excess(ends[0]) < 0:
        return float(np.exp(ends[0]))
    if excess(ends[1]) > 0:
        return None
    return float(np.exp(brentq(excess, *ends, rtol=1e-6)))
