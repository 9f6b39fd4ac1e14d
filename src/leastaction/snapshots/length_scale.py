"""Length scale of a squared exponential kernel by evidence, from the data alone."""

from collections.abc import Callable

import numpy as np

from leastaction.snapshots.constrained_rows import constrained
from leastaction.snapshots.shadow_rows import (
    largest_degree,
    mass_conditions,
    shadow_rows,
    weight_space,
)
from leastaction.snapshots.weight_space import WeightSpace

VELOCITY_RATIO = 4.0
START = 1.4
FACTOR = 2.0
SHORTEST, LONGEST = 0.2, 64.0
# Rows of the small problem that is searched first.
FEW_ROWS = 300
# Error of a row over the rms acceleration below which the features resolve the motion.
RESOLVED = 1e-7


def most_probable_basis(
    positions: np.ndarray,
    time_step: float,
    rule: str,
    degree: int | None = None,
    cyclic: tuple[int, ...] = (),
    length_scale: float | None = None,
) -> WeightSpace:
    """Taylor features whose length scale makes the rows most probable.

    The length scale goes up or down by factors of two as long as the evidence rises
    (empirical Bayes): first on a few trajectories, with as many features as these can
    determine, then on all. The second search is left out where the rows are satisfied
    so well that another length scale would change nothing. Positions and velocities are
    measured in half widths of the data, so the result does not depend on units.

    Parameters
    ----------
    positions
        Shape (trajectory, time, dof).
    time_step
        h, s.
    rule
        ``midpoint`` or ``trapezoidal``.
    degree
        Total degree; by default the largest with a third as many features as rows.
    cyclic
        Coordinates that L must not depend on.
    length_scale
        Only the degree is chosen if this is given.
    """
    count, times, n = positions.shape
    equations, variables = count * (times - 2) * n, 2 * n - len(cyclic)
    if degree is None:
        degree = largest_degree(equations, variables)
    few = positions[:: max(1, equations // FEW_ROWS)]
    low = min(degree, largest_degree(len(few) * (times - 2) * n, variables))

    def basis(scale: float, degree: int) -> WeightSpace:
        return weight_space(positions, time_step, degree, scale, VELOCITY_RATIO, cyclic)

    def fit(scale: float, shown: np.ndarray, degree: int) -> tuple[float, float]:
        """Logarithm of the evidence, and the error of a row."""
        features = basis(scale, degree)
        rows = shadow_rows(features, shown, time_step, rule)
        conditions = mass_conditions(features, shown, time_step, rule)
        found = constrained(rows.reshape(-1, features.size), *conditions)
        damping, height = found.most_probable()
        return height, found.row_error(damping)

    if length_scale is None:
        length_scale = _highest(lambda scale: fit(scale, few, low)[0], START)
        height, error = fit(length_scale, positions, degree)
        # The rows are accelerations, since the conditions make the mean mass 1.
        acceleration = np.diff(positions, 2, axis=1) / time_step**2
        if error > RESOLVED * np.sqrt(np.mean(acceleration**2)):
            length_scale = _highest(
                lambda scale: fit(scale, positions, degree)[0], length_scale, height
            )
    return basis(length_scale, degree)


def _highest(
    evidence: Callable[[float], float], start: float, height: float | None = None
) -> float:
    """Length scale uphill from `start`, where the evidence may be known."""
    best, height = start, evidence(start) if height is None else height
    for factor in (FACTOR, 1 / FACTOR):
        while SHORTEST < best * factor < LONGEST:
            found = evidence(best * factor)
            if found <= height:
                break
            best, height = best * factor, found
        if best != start:
            break
    return best
