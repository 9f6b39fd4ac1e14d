"""Discrete Euler–Lagrange equations of positions (Lagrangian Shadow Integration).

The rows need a basis, so what defines it is chosen here: the degree by the number of
rows, the length scale by the evidence of the rows that it gives.
"""

from collections.abc import Callable, Mapping
from math import comb

import numpy as np
import xarray as xr

from leastaction.core.contracts import time_step
from leastaction.snapshots.bases import (
    VELOCITY_RATIO,
    RadialBasis,
    WeightSpace,
    scaled_inputs,
)
from leastaction.snapshots.constrained_rows import constrained
from leastaction.snapshots.contracts import equations_dataset
from leastaction.snapshots.discrete_lagrangian import (
    discrete_euler_lagrange,
    mass_conditions,
    pair_states,
    pairs,
    positions_of,
    published_conditions,
)

# Of the search for a length scale, in half widths of the data.
FIRST_LENGTH_SCALE, FACTOR_OF_LENGTH_SCALES = 1.4, 2.0
SHORTEST_LENGTH_SCALE, LONGEST_LENGTH_SCALE = 0.2, 64.0
# Rows of the small problem that is searched first.
ROWS_SEARCHED_FIRST = 300
# Error of a row over the rms acceleration below which the features resolve the motion.
ERROR_OF_RESOLVED_ROWS = 1e-7
# A third as many features as rows are fitted, but none of a higher degree than this.
ROWS_PER_FEATURE, HIGHEST_DEGREE = 3, 20


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset | None,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Rows of the discrete Euler–Lagrange equation for an inverse modified Lagrangian.

    .. math::

        [∇_2 L_d(q_{k-1}, q_k) + ∇_1 L_d(q_k, q_{k+1})]/h = 0, \\qquad
        L = \\sum_i b_i φ_i

    Nothing but positions is used: a Lagrangian that satisfies them, integrated with the
    same rule and step, goes through the snapshots without discretisation error. Radial
    functions (published) have their centres at all pairs of snapshots. A ValueError
    tells of a cyclic coordinate that is not one of the coordinates.
    """
    positions, h = positions_of(observations), time_step(observations)
    rule, recipe = settings["rule"], settings["basis"]
    if recipe["kind"] == "radial":
        centres = pair_states(*pairs(positions), h)
        basis = RadialBasis(centres, recipe["length_scale"])
    else:
        names, hidden = observations["dof"].values.tolist(), recipe.get("cyclic", ())
        if wrong := sorted(set(hidden) - set(names)):
            raise ValueError(
                f"basis.cyclic: {wrong} are not coordinates; these are {names}"
            )
        cyclic = tuple(map(names.index, hidden))
        degree, scale = recipe.get("degree"), recipe.get("length_scale")
        basis = most_probable_basis(positions, h, rule, degree, cyclic, scale)
    rows = discrete_euler_lagrange(basis, positions, h, rule, settings["whiten"])
    if settings["normalisation"] == "corner":
        conditions = published_conditions(basis, settings["volume"])
    else:
        conditions = mass_conditions(basis, positions, h, rule)
    made = equations_dataset(basis, rows, conditions, observations, rule, shadow=1)
    fixed_scale = recipe.get("length_scale") is not None
    return made.assign_attrs(length_scale_given=int(fixed_scale))


def most_probable_basis(
    positions: np.ndarray,
    time_step: float,
    rule: str,
    degree: int | None = None,
    cyclic: tuple[int, ...] = (),
    length_scale: float | None = None,
) -> WeightSpace:
    """Taylor features of the most probable length scale (empirical Bayes).

    They do not see `cyclic` coordinates. A given degree or length scale is kept.
    """
    # The length scale goes up or down by factors of two as long as the evidence rises:
    # first on a few trajectories, with as many features as these can determine, then
    # on all. The second search is left out where the rows are satisfied so well that
    # another length scale would change nothing. Positions and velocities are measured
    # in half widths of the data, so the result does not depend on units.
    count, times, n = positions.shape
    equations, variables = count * (times - 2) * n, 2 * n - len(cyclic)
    if degree is None:
        degree = largest_degree(equations, variables)
    if length_scale is not None:
        return weight_space(positions, time_step, degree, length_scale, cyclic)
    few = positions[:: max(1, equations // ROWS_SEARCHED_FIRST)]
    low = min(degree, largest_degree(len(few) * (times - 2) * n, variables))

    def fit(scale: float, shown: np.ndarray, degree: int) -> tuple[float, float]:
        """Logarithm of the evidence, and the error of a row."""
        features = weight_space(positions, time_step, degree, scale, cyclic)
        rows = discrete_euler_lagrange(features, shown, time_step, rule, whiten=True)
        conditions = mass_conditions(features, shown, time_step, rule)
        result = constrained(rows.reshape(-1, features.size), *conditions)
        damping, height = result.most_probable()
        return height, result.row_error(damping)

    length_scale = highest(lambda scale: fit(scale, few, low)[0], FIRST_LENGTH_SCALE)
    height, error = fit(length_scale, positions, degree)
    # The rows are accelerations, since the conditions make the mean mass 1.
    acceleration = np.diff(positions, 2, axis=1) / time_step**2
    if error > ERROR_OF_RESOLVED_ROWS * np.sqrt(np.mean(acceleration**2)):
        length_scale = highest(
            lambda scale: fit(scale, positions, degree)[0], length_scale, height
        )
    return weight_space(positions, time_step, degree, length_scale, cyclic)


def highest(
    evidence: Callable[[float], float], start: float, height: float | None = None
) -> float:
    """Length scale uphill from `start`, where the evidence may be known."""
    best, height = start, evidence(start) if height is None else height
    for factor in (FACTOR_OF_LENGTH_SCALES, 1 / FACTOR_OF_LENGTH_SCALES):
        while SHORTEST_LENGTH_SCALE < best * factor < LONGEST_LENGTH_SCALE:
            result = evidence(best * factor)
            if result <= height:
                break
            best, height = best * factor, result
        if best != start:
            break
    return best


def largest_degree(rows: int, variables: int) -> int:
    """Largest degree with at most a third as many features as rows; 2 at least."""
    degree = 2
    while degree < HIGHEST_DEGREE:
        if ROWS_PER_FEATURE * comb(degree + 1 + variables, variables) > rows:
            break
        degree += 1
    return degree


def weight_space(
    positions: np.ndarray,
    time_step: float,
    degree: int,
    length_scale: float,
    cyclic: tuple[int, ...] = (),
) -> WeightSpace:
    """Taylor features on the cube that the pairs of positions span.

    ε of positions is in half widths of the cube, that of velocities `VELOCITY_RATIO`.
    """
    states = pair_states(*pairs(positions), time_step)
    return WeightSpace(
        degree, length_scale, *scaled_inputs(states, cyclic, VELOCITY_RATIO)
    )
