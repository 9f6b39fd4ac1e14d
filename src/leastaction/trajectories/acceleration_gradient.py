"""Case II: gradient descent on the accelerations (Purnomo, Hayashibe, eqs. 10, 11)."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from leastaction.core.compiled import kernel
from leastaction.core.contracts import check
from leastaction.core.estimate import (
    LagrangianEstimate,
    lagrangian_estimate,
    positions,
    random_starts,
    usable,
)
from leastaction.core.library import Library
from leastaction.trajectories.library_equations import library_equations

RELATIVE_ROUNDOFF_OF_PIVOT = 1e-12
# Sums over the samples of a batch are innermost, on views from index zero: an index
# that might be negative would keep them out of the vector registers. Arrays are made
# outside and filled in loops: an array assigned to another takes seconds to compile.
KERNEL = """
@njit(cache=True, nogil=True)
def invert(matrix, n, singular, inverse):
    dof = matrix.shape[0]
    largest = 0.0
    for a in range(dof):
        for b in range(dof):
            inverse[a, b, n] = 1.0 if a == b else 0.0
            largest = max(largest, abs(matrix[a, b, n]))
    for i in range(dof):
        pivot = i
        for a in range(i + 1, dof):
            if abs(matrix[a, i, n]) > abs(matrix[pivot, i, n]):
                pivot = a
        first = matrix[pivot, i, n]
        if abs(first) <= singular * largest:
            for a in range(dof):
                for b in range(dof):
                    inverse[a, b, n] = 0.0
            return
        for b in range(dof):
            held, kept = matrix[pivot, b, n], inverse[pivot, b, n]
            matrix[pivot, b, n] = matrix[i, b, n]
            inverse[pivot, b, n] = inverse[i, b, n]
            matrix[i, b, n] = held / first
            inverse[i, b, n] = kept / first
        for a in range(dof):
            if a != i:
                factor = matrix[a, i, n]
                for b in range(dof):
                    matrix[a, b, n] -= factor * matrix[i, b, n]
                    inverse[a, b, n] -= factor * inverse[i, b, n]


@njit(cache=True, nogil=True, error_model="numpy")
def predict(total, right, singular, inverse, predicted):
    dof, count = right.shape
    if dof == 1:
        masses, forces = total[0, 0], right[0]
        reciprocal, found = inverse[0, 0], predicted[0]
        for n in range(count):
            regular = abs(masses[n]) > singular
            reciprocal[n] = 1.0 / masses[n] if regular else 0.0
            found[n] = reciprocal[n] * forces[n]
        return
    for n in range(count):
        invert(total, n, singular, inverse)
        for a in range(dof):
            predicted[a, n] = 0.0
            for b in range(dof):
                predicted[a, n] += inverse[a, b, n] * right[b, n]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "arcp"})
def step_gradient(
    mass, massive, force, qddot, first, c, singular, total, right, work, gradient
):
    dof, count = force.shape[:2]
    inverse, predicted, error, weight = work
    size = right.shape[1]
    last = first + size
    for a in range(dof):
        sums = right[a]
        for n in range(size):
            sums[n] = 0.0
        for k in range(count):
            column, factor = force[a, k, first:last], c[k]
            for n in range(size):
                sums[n] -= column[n] * factor
        for b in range(dof):
            sums = total[a, b]
            for n in range(size):
                sums[n] = 0.0
            for k in massive:
                column, factor = mass[a, b, k, first:last], c[k]
                for n in range(size):
                    sums[n] += column[n] * factor
    predict(total, right, singular, inverse, predicted)
    loss = 0.0
    for a in range(dof):
        measured, found, rest = qddot[a, first:last], predicted[a], error[a]
        for n in range(size):
            rest[n] = measured[n] - found[n]
            loss += rest[n] ** 2
    for b in range(dof):
        sums = weight[b]
        for n in range(size):
            sums[n] = 0.0
        for a in range(dof):
            rest, factors = error[a], inverse[a, b]
            for n in range(size):
                sums[n] += rest[n] * factors[n]
    for k in range(count):
        slope = 0.0
        for b in range(dof):
            pull, column = weight[b], force[b, k, first:last]
            for n in range(size):
                slope += pull[n] * column[n]
        gradient[k] = slope
    for b in range(dof):
        for a in range(dof):
            pull, found = weight[b], predicted[a]
            for n in range(size):
                error[b, n] = pull[n] * found[n]
            for k in massive:
                slope, moved, column = 0.0, error[b], mass[b, a, k, first:last]
                for n in range(size):
                    slope += moved[n] * column[n]
                gradient[k] += slope
    return loss


@njit(cache=True, nogil=True)
def descend(
    mass, massive, force, qddot, present, rate, settled_rate, settled_loss, tolerance,
    penalty, epochs, batch, singular, before, ahead, gradient, total, right, work,
):
    dof, count = force.shape[:2]
    batches = qddot.shape[1] // batch
    scale = 2.0 / (batch * dof)
    loss = np.inf
    for epoch in range(epochs):
        for k in range(count):
            before[k] = present[k]
        sum_of_squares = 0.0
        for i in range(batches):
            momentum = i / (i + 3.0)
            for k in range(count):
                ahead[k] = present[k] + momentum * (present[k] - before[k])
                before[k] = present[k]
            sum_of_squares += step_gradient(
                mass, massive, force, qddot, i * batch, ahead, singular, total, right,
                work, gradient,
            )
            for k in range(count):
                value = ahead[k] - rate * scale * gradient[k]
                shrunk = abs(value) - rate * penalty[k]
                present[k] = np.sign(value) * max(shrunk, 0.0)
        loss = sum_of_squares / (batches * batch * dof)
        if not np.isfinite(loss):
            break
        if loss <= settled_loss:
            rate = settled_rate
        if loss <= tolerance:
            break
    return loss
"""


def descend(
    mass: np.ndarray,
    force: np.ndarray,
    qddot: np.ndarray,
    start: np.ndarray,
    stage: Mapping,
    penalty: np.ndarray,
    epochs: int,
    batch: int,
) -> tuple[np.ndarray, float]:
    r"""Accelerated proximal gradient on the mean of |q̈ − q̈_pred(c)|².

    .. math::

        \ddot q_{pred} = -\Big(\sum_k c_k m_k\Big)^{-1} \sum_k c_k f_k, \qquad
        \frac{\partial \ddot q_{pred}}{\partial c_k}
        = -M^{-1} (f_k + m_k \ddot q_{pred})

    Paper: the pseudo-inverse of M. Here the inverse, which is the same wherever M has
    full rank; elsewhere the pseudo-inverse is not differentiable, and the predicted
    accelerations are zero.

    Parameters
    ----------
    mass, force
        m of shape (dof, dof, term, sample) and f of shape (dof, term, sample).
    qddot
        Measured accelerations, shape (dof, sample).
    start
        c⁰, shape (term,).
    stage
        `rate`; optionally `settled`, ``{loss, rate}``: the rate once the mean loss of
        an epoch is below that; and `tolerance`: the loss at which the stage ends.
    penalty
        λ of each term.
    epochs, batch
        Number of epochs, and consecutive samples per step; a rest is left out.

    Returns
    -------
    coefficients of shape (term,), and the mean loss of the last epoch.

    Raises
    ------
    ValueError
        If there are fewer samples than one batch has.
    """
    if qddot.shape[1] < batch:
        raise ValueError(
            f"acceleration_gradient: {qddot.shape[1]} samples are given, at least one "
            f"batch of {batch} is expected; record more, or take a smaller batch"
        )
    settled = stage.get("settled") or {"loss": -1.0, "rate": stage["rate"]}
    dof, count = force.shape[:2]
    present = np.array(start, dtype=float)
    loss = kernel(KERNEL, {}).descend(
        np.ascontiguousarray(mass),
        np.flatnonzero(mass.any(axis=(0, 1, 3))),
        np.ascontiguousarray(force),
        np.ascontiguousarray(qddot),
        present,
        float(stage["rate"]),
        float(settled["rate"]),
        float(settled["loss"]),
        float(stage.get("tolerance", -1.0)),
        np.asarray(penalty, dtype=float),
        int(epochs),
        int(batch),
        RELATIVE_ROUNDOFF_OF_PIVOT,
        *(np.empty(count) for _ in range(3)),
        np.empty((dof, dof, batch)),
        np.empty((dof, batch)),
        (np.empty((dof, dof, batch)), *(np.empty((dof, batch)) for _ in range(3))),
    )
    return present, loss


def staged_descent(
    mass: np.ndarray,
    force: np.ndarray,
    qddot: np.ndarray,
    start: np.ndarray,
    stages: Sequence[Mapping],
    epochs: int,
    batch: int,
) -> tuple[np.ndarray, float]:
    """Stages of descent from one start, each followed by a hard threshold.

    Parameters
    ----------
    mass, force, qddot, start, epochs, batch
        As for :func:`descend`.
    stages
        ``{rate, penalty, threshold}``, see :func:`descend`. With `scaled` every entry
        of m_k and f_k is divided by its range over the samples unless it is constant.

    Returns
    -------
    coefficients of shape (term,), and the loss of the last stage; infinite if nothing
    is left or a stage diverged.
    """
    coefficients = np.array(start, dtype=float)
    active = np.arange(coefficients.size)
    loss = np.inf
    for stage in stages:
        m, f = mass[:, :, active], force[:, active]
        if stage.get("scaled", False):
            m, f = m / _range(m), f / _range(f)
        penalty = np.full(active.size, float(stage["penalty"]))
        found, loss = descend(
            m, f, qddot, coefficients[active], stage, penalty, epochs, batch
        )
        coefficients[:] = 0.0
        kept = np.isfinite(found) & (np.abs(found) >= stage["threshold"])
        active = active[kept]
        coefficients[active] = found[kept]
        if not np.isfinite(loss) or not active.size:
            return coefficients, np.inf
    return coefficients, loss


def _range(table: np.ndarray) -> np.ndarray:
    extent = np.ptp(table, axis=-1, keepdims=True)
    largest = np.abs(table).max(axis=-1, keepdims=True)
    return np.where(extent > 1e-9 * largest, extent, 1.0)


def identify(
    equations: xr.Dataset,
    settings: Mapping,
    observations: xr.Dataset,
    library: Mapping,
) -> LagrangianEstimate:
    """Identify L of one case from accelerations alone, from several random starts.

    The problem is not convex: the end depends on the start. The result is the end with
    the smallest loss; all ends are reported, so that the share of starts that succeed
    can be told.

    Paper: one start. The published code divides the tables ∂²φ/∂q̇∂q̇, ∂²φ/∂q∂q̇ and
    ∂φ/∂q by their ranges in the first stage; here m_k and f_k.

    The starts depend on the setting `seed` and the replicate alone: they are part of
    the recipe, not of the run. There are no standard errors; `start_coefficient`
    (start, term) and `start_loss` (start) tell the end of every start.
    """
    check(equations, "gram")
    coordinates = [str(name) for name in equations["dof"].values]
    terms = [str(term) for term in equations["term"].values]
    excluded = positions(settings["exclude"], terms, coordinates)
    used = usable(equations, settings["candidates"], excluded)
    compiled = library_equations(Library.from_config(library, coordinates))
    mass, force = compiled.mass_and_force(
        equations["q_sample"].values[0], equations["qdot_sample"].values[0], used
    )
    mass, force = (np.ascontiguousarray(np.moveaxis(x, 0, -1)) for x in (mass, force))
    qddot = equations["qddot_sample"].values[0].T
    starts = random_starts(equations, settings, (settings["starts"], len(used)))
    ends = np.zeros((settings["starts"], equations.sizes["column"]))
    losses = np.full(settings["starts"], np.inf)
    for i, start in enumerate(starts):
        ends[i, used], losses[i] = staged_descent(
            mass,
            force,
            qddot,
            start,
            settings["stages"],
            settings["epochs"],
            settings["batch"],
        )
    best = int(np.argmin(losses))
    meaning = "mean square error of the accelerations"
    return lagrangian_estimate(
        equations,
        ends[best],
        {"loss": (losses[best], "mixed", meaning)},
        {
            "start_coefficient": (
                ("start", "column"),
                ends,
                "mixed",
                "coefficients at the end of every start",
            ),
            "start_loss": (("start",), losses, "mixed", meaning),
        },
    )
