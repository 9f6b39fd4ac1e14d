"""Standard deviations of process and sensor noise by maximum likelihood.

Both are logarithms between bounds; a process noise at its lower bound is none. With
coefficients profiled the likelihood is ℓ + ½ gᵀ G⁻¹ g.
"""

from typing import NamedTuple

import numpy as np

from leastaction.likelihood.augmented_kalman_filter import (
    Innovations,
    LinearModel,
    augmented_filter,
)

# Process noise over that of a start without a law; noise and force can each explain a
# miss, and the likelihood has a maximum near each.
STARTS = (1.0, 1e-1, 1e-2, 1e-3, 1e-5)
# Lower bound of noises, the standard deviation of a number of 24 bits: for a sensor
# over its range where its step is not known, for the mean force of a main period over
# that of the motion. A bound of 14 bits for the force makes intervals of a clean
# pendulum 1.6 times as wide; 16 bits for the sensor cost a machine with an encoder of
# 22 bits its law.
LEAST_OF_RANGE = 2.0**-24 / 12**0.5
# Eigenvalues of an information with unit diagonal that count as none: the roundoff of
# 1e5 rows.
SINGULAR = 1e-11


class NoiseLevels(NamedTuple):
    """Standard deviations of the process noises and of the sensors, with bounds."""

    process: np.ndarray
    sensor: np.ndarray
    least_process: np.ndarray
    least_sensor: np.ndarray

    @property
    def is_free(self) -> np.ndarray:
        """Whether a process noise is above its bound."""
        return self.process > 1.1 * self.least_process


@np.errstate(all="ignore")  # a motion that escapes has infinite information
def step_of(innovations: Innovations) -> tuple[np.ndarray, float]:
    """δc = G⁻¹g and the gain ½ gᵀG⁻¹g; directions without information stay."""
    G, g = innovations.information, innovations.gradient
    if not len(g):
        return g, 0.0
    size = np.sqrt(np.maximum(np.diag(G), 1e-300))
    # A correlation, whatever the roundoff of a motion that nearly escapes makes of it.
    scaled = np.clip(np.nan_to_num(G / np.outer(size, size)), -1.0, 1.0)
    values, vectors = np.linalg.eigh(scaled)
    inverse = np.where(values > SINGULAR * len(g), 1 / np.maximum(values, 1e-300), 0.0)
    change = vectors @ (inverse * (vectors.T @ (g / size))) / size
    return change, 0.5 * float(g @ change)


def profiled(model: LinearModel, levels: NoiseLevels) -> float:
    """ℓ + ½ gᵀG⁻¹g; −∞ where the filter diverges."""
    return promised(augmented_filter(model, levels.process, levels.sensor))


def promised(innovations: Innovations) -> float:
    """ℓ + ½ gᵀG⁻¹g of a filter that has run; −∞ where it diverges."""
    if not np.isfinite(innovations.moment).all():
        return -np.inf
    return innovations.value + step_of(innovations)[1]


def tuned(
    model: LinearModel,
    levels: NoiseLevels,
    starts: tuple[float, ...] = (),
    fixed_process: bool = False,
) -> NoiseLevels:
    """Levels of the largest likelihood from `levels`, or the best of several `starts`.

    Starts are factors of the process noise; both noises are then scaled by the mean of
    e²/V. With `fixed_process` the sensors alone are tuned.
    """
    from scipy.optimize import minimize

    count = 0 if fixed_process else len(levels.process)

    def at(logs: np.ndarray) -> NoiseLevels:
        process = np.exp(logs[:count]) if count else levels.process
        return levels._replace(process=process, sensor=np.exp(logs[count:]))

    costs: dict[bytes, float] = {}

    def cost(logs: np.ndarray) -> float:
        key = logs.tobytes()
        if key not in costs:
            value = profiled(model, at(logs))
            costs[key] = -value if np.isfinite(value) else 1e300
        return costs[key]

    trials = [_scaled(model, levels)]
    for factor in starts:
        moved = np.maximum(factor * levels.process, levels.least_process)
        trials.append(_scaled(model, levels._replace(process=moved)))
    best = trials[0]
    if starts:
        best = max(trials, key=lambda each: profiled(model, each))
    least = np.append(levels.least_process[:count], levels.least_sensor)
    least = np.maximum(least, 1e-300)  # a coordinate at rest has a bound of zero
    begin = np.append(best.process[:count], best.sensor)
    begin, least = np.log(np.maximum(begin, least)), np.log(least)
    bounds = [(low, max(low, x) + 12.0) for low, x in zip(least, begin, strict=True)]
    # Differences of e-3 of a level, and an end where ℓ gains less than 0.01.
    how = {"eps": 1e-3, "ftol": 1e-2 / max(abs(cost(begin)), 1.0), "maxiter": 40}
    optimum = minimize(cost, begin, method="L-BFGS-B", bounds=bounds, options=how)
    return at(optimum.x)


def _scaled(model: LinearModel, levels: NoiseLevels) -> NoiseLevels:
    innovations = augmented_filter(model, levels.process, levels.sensor)
    square = innovations.moment[:, 0, 0].sum() - 2 * step_of(innovations)[1]
    factor = np.sqrt(max(square, 1e-300) / max(innovations.count, 1))
    if not np.isfinite(factor):
        return levels
    return levels._replace(
        process=np.maximum(factor * levels.process, levels.least_process),
        sensor=np.maximum(factor * levels.sensor, levels.least_sensor),
    )
