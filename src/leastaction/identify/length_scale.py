"""Length scale of a squared exponential kernel by evidence, from the data alone."""

import numpy as np

from leastaction.assemble.shadow_rows import (
    largest_degree,
    mass_conditions,
    shadow_rows,
    weight_space,
)
from leastaction.identify.constrained_rows import constrained
from leastaction.mechanics.weight_space import WeightSpace

VELOCITY_RATIO = 4.0
START = 1.4
FACTOR = 2.0
SHORTEST, LONGEST = 0.2, 64.0


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
    (empirical Bayes). Positions and velocities are measured in half widths of the data,
    so the result does not depend on units.

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
    if degree is None:
        degree = largest_degree(count * (times - 2) * n, 2 * n - len(cyclic))

    def basis(scale: float) -> WeightSpace:
        return weight_space(positions, time_step, degree, scale, VELOCITY_RATIO, cyclic)

    def evidence(scale: float) -> float:
        features = basis(scale)
        rows = shadow_rows(features, positions, time_step, rule)
        conditions = mass_conditions(features, positions, time_step, rule)
        found = constrained(rows.reshape(-1, features.size), *conditions)
        return found.most_probable()[1]

    if length_scale is not None:
        return basis(length_scale)
    best, height = START, evidence(START)
    for factor in (FACTOR, 1 / FACTOR):
        start = best
        while SHORTEST < best * factor < LONGEST:
            found = evidence(best * factor)
            if found <= height:
                break
            best, height = best * factor, found
        if best != start:
            break
    return basis(best)
