"""xL-SINDy: staged descents with soft and hard thresholds (Purnomo and Hayashibe).

On the residual of the equations of motion (cases I and III, eqs. 12–20), and on the
accelerations (case II, eqs. 10 and 11). There are no standard errors, since the paper
has none. Random starts depend on the setting `seed` and the replicate alone: they are
part of the recipe, not of the run.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

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

# An epoch that changes c by less, over the largest |c|, is a fixed point to round-off.
RELATIVE_CHANGE_OF_FIXED_POINT = 1e-13
RELATIVE_ROUNDOFF_OF_PIVOT = 1e-12

RESIDUAL_KERNEL = """
@njit(cache=True, nogil=True)
def descend(gram, moment, start, rate, penalty, epochs, steps, stationary):
    count = start.size
    present, before = start.copy(), start.copy()
    ahead, gradient, opening = start.copy(), np.empty(count), start.copy()
    for epoch in range(epochs):
        for k in range(count):
            opening[k] = before[k] = present[k]
        for i in range(1, steps + 1):
            momentum = (i - 1.0) / (i + 2.0)
            for k in range(count):
                ahead[k] = present[k] + momentum * (present[k] - before[k])
                gradient[k] = -moment[k]
                before[k] = present[k]
            for j in range(count):
                if ahead[j] != 0.0:
                    for k in range(count):
                        gradient[k] += gram[j, k] * ahead[j]
            for k in range(count):
                value = ahead[k] - rate * gradient[k]
                shrunk = abs(value) - rate * penalty[k]
                present[k] = np.sign(value) * max(shrunk, 0.0)
        change, size = 0.0, 0.0
        for k in range(count):
            change = max(change, abs(present[k] - opening[k]))
            size = max(size, abs(present[k]))
        if change <= stationary * size:
            return present, epoch + 1
    return present, epochs
"""

# Sums over the samples of a batch are innermost, on views from index zero: an index
# that might be negative would keep them out of the vector registers. Arrays are made
# outside and filled in loops: an array assigned to another takes seconds to compile.
ACCELERATION_KERNEL = """
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
        sums[:] = 0.0
        for k in range(count):
            column, factor = force[a, k, first:last], c[k]
            for n in range(size):
                sums[n] -= column[n] * factor
        for b in range(dof):
            sums = total[a, b]
            sums[:] = 0.0
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
        sums[:] = 0.0
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


def staged(
    descend: Callable, start: np.ndarray, stages: Sequence[Mapping]
) -> tuple[np.ndarray, list[int], list]:
    """Stages of ``descend(stage, active, c)``, each followed by a hard threshold.

    Terms with |c_k| < τ leave after a stage. Paper: it prints c_k < τ. Returns c, the
    terms left after each stage, and what `descend` tells of it: the end, if infinite.
    """
    coefficients = np.array(start, dtype=float)
    active = np.arange(coefficients.size)
    left, told = [], []
    for stage in stages:
        found, one = descend(stage, active, coefficients[active])
        kept = np.isfinite(found) & (np.abs(found) >= stage["threshold"])
        active = active[kept]
        coefficients[:] = 0.0
        coefficients[active] = found[kept]
        left.append(active.size)
        told.append(one)
        if not np.isfinite(one):
            break
    return coefficients, left, told


def descend_residual(
    gram: np.ndarray, moment: np.ndarray, start: np.ndarray, stage, settings: Mapping
) -> tuple[np.ndarray, int]:
    r"""Minimise ½ cᵀ G c − hᵀ c + Σ λ_k |c_k| by accelerated proximal gradient.

    .. math::

        v = c^{i-1} + \frac{i-1}{i+2} (c^{i-1} - c^{i-2}), \qquad
        c^i = \mathrm{prox}_{\alpha\lambda}(v - \alpha (G v - h))

    The counter i begins again with every epoch, so that an epoch is a map of c alone:
    once it changes nothing, neither would those that are left. Returns c and the number
    of epochs taken; α is at most the reciprocal of the largest eigenvalue of G. Terms
    that are `free` in the stage, shape (term,), are not penalised.

    Paper: eq. (20) thresholds at λ, the published code at α λ, which is the proximal
    operator of eq. (17) and what stands here.
    """
    if not start.size:
        return start.copy(), 0
    rate, steepest = stage["rate"], float(np.linalg.eigvalsh(gram)[-1])
    if steepest > 0:
        rate = min(rate, 1.0 / steepest)
    return kernel(RESIDUAL_KERNEL, {}).descend(
        np.ascontiguousarray(gram, dtype=float),
        np.asarray(moment, dtype=float),
        np.asarray(start, dtype=float),
        float(rate),
        np.where(stage["free"], 0.0, stage["penalty"]),
        int(settings["epochs"]),
        int(settings["steps_per_epoch"]),
        RELATIVE_CHANGE_OF_FIXED_POINT,
    )


def residual_descent(
    gram: np.ndarray, moment: np.ndarray, start: np.ndarray, settings: Mapping
) -> tuple[np.ndarray, list[int], list[int]]:
    """Stages of :func:`descend_residual`: c, the terms left and the epochs taken."""

    def descend(stage, active, c):
        stage = {**stage, "free": stage["free"][active]}
        part = gram[np.ix_(active, active)]
        return descend_residual(part, moment[active], c, stage, settings)

    return staged(descend, start, settings["stages"])


def identify_by_residual(
    equations: xr.Dataset, settings: Mapping
) -> LagrangianEstimate:
    r"""Identify L of one case by the paper's staged proximal gradient, cases I and III.

    .. math::

        J(c) = \frac{1}{n N} \sum \Big|Q - \sum_k c_k A_k\Big|^2
        = \frac{1}{n} (cᵀ G c - 2 hᵀ c) + \mathrm{const}

    with n degrees of freedom. In case III the prior term φ_r has coefficient one, and
    h = −G_r; in case I h is the moment of the input Q.

    Paper: minibatches of 128 consecutive samples; here every step sees all samples, in
    as many steps. The published code divides every derivative of a candidate by its
    range in the first stage, which leaves an equation that belongs to no Lagrangian;
    that is left out. Stages end by their number of epochs, not by a tolerance, for
    which the paper has no number where there is noise.

    Raises
    ------
    ValueError
        If a named term is no candidate, or there is neither a prior term nor an input.
    """
    check(equations, "gram")
    terms = [str(term) for term in equations["term"].values]
    coordinates = [str(name) for name in equations["dof"].values]
    gram = equations["gram"].values[0]
    places = partial(positions, terms=terms, coordinates=coordinates)
    excluded = places(settings["exclude"])
    coefficients = np.zeros(len(gram))
    moment = equations["input_moment"].values[0]
    prior = _prior(settings["prior"], moment, terms, coordinates[0])
    if prior is not None:
        (prior,) = places([prior])
        moment = -gram[prior]
        coefficients[prior] = 1.0
        excluded.append(prior)
    used = usable(equations, settings["candidates"], excluded)
    stages = []
    for stage in settings["stages"]:
        known = places(stage.get("unpenalised", settings["unpenalised"]))
        stages.append({**stage, "free": np.isin(used, known)})
    factor = 2.0 / len(coordinates)
    coefficients[used], left, taken = residual_descent(
        factor * gram[np.ix_(used, used)],
        factor * moment[used],
        random_starts(equations, settings, len(used)),
        {**settings, "stages": stages},
    )
    loss = coefficients @ gram @ coefficients
    if prior is None:
        square = float(equations["input_square"].values[0])
        loss = square - 2.0 * moment @ coefficients + loss
    meaning, dims = "mean square of the equations' residual", ("stage",)
    stages = {
        "stage_terms": (dims, left, "1", "terms left after the stage"),
        "stage_epochs": (dims, taken, "1", "epochs until nothing changed"),
    }
    loss = {"loss": (loss / len(coordinates), "mixed", meaning)}
    return lagrangian_estimate(equations, coefficients, loss, stages)


def _prior(named, moment, terms, coordinate) -> str | None:
    """Prior term: the one `named`; without input, the first velocity's square."""
    if named is not None or moment.any():
        return named
    prior = f"{coordinate}dot**2"
    if prior not in terms:
        raise ValueError(
            "prior: null needs recordings with an external input (case I), or the "
            f"candidate {prior}; name a term of L, or record an input"
        )
    return prior


def descend_accelerations(
    mass: np.ndarray, force, qddot, start: np.ndarray, stage, settings: Mapping
) -> tuple[np.ndarray, float]:
    r"""Accelerated proximal gradient on the mean of |q̈ − q̈_pred(c)|².

    .. math::

        \ddot q_{pred} = -\Big(\sum_k c_k m_k\Big)^{-1} \sum_k c_k f_k, \qquad
        \frac{\partial \ddot q_{pred}}{\partial c_k}
        = -M^{-1} (f_k + m_k \ddot q_{pred})

    `mass`, `force` and `qddot` have the sample last; a step sees a `batch` of them.
    Returns c and the mean loss of the last epoch.

    Paper: the pseudo-inverse of M. Here the inverse, which is the same wherever M has
    full rank; elsewhere the pseudo-inverse is not differentiable, and the predicted
    accelerations are zero.
    """
    batch = settings["batch"]
    if qddot.shape[1] < batch:
        raise ValueError(
            f"acceleration_gradient: {qddot.shape[1]} samples are given, at least one "
            f"batch of {batch} is expected; record more, or take a smaller batch"
        )
    settled = stage.get("settled") or {"loss": -1.0, "rate": stage["rate"]}
    dof, count = force.shape[:2]
    present = np.array(start, dtype=float)
    loss = kernel(ACCELERATION_KERNEL, {}).descend(
        np.ascontiguousarray(mass),
        np.flatnonzero(mass.any(axis=(0, 1, 3))),
        np.ascontiguousarray(force),
        np.ascontiguousarray(qddot),
        present,
        float(stage["rate"]),
        float(settled["rate"]),
        float(settled["loss"]),
        float(stage.get("tolerance", -1.0)),
        np.full(count, float(stage["penalty"])),
        int(settings["epochs"]),
        int(batch),
        RELATIVE_ROUNDOFF_OF_PIVOT,
        *(np.empty(count) for _ in range(3)),
        np.empty((dof, dof, batch)),
        np.empty((dof, batch)),
        (np.empty((dof, dof, batch)), *(np.empty((dof, batch)) for _ in range(3))),
    )
    return present, loss


def _range(table: np.ndarray) -> np.ndarray:
    extent = np.ptp(table, axis=-1, keepdims=True)
    largest = np.abs(table).max(axis=-1, keepdims=True)
    return np.where(extent > 1e-9 * largest, extent, 1.0)


def acceleration_descent(
    mass: np.ndarray, force, qddot, start: np.ndarray, settings: Mapping
) -> tuple[np.ndarray, float]:
    """Stages of :func:`descend_accelerations`: c, and the loss of the last one.

    The loss is infinite if nothing is left or a stage diverged. In a `scaled` stage
    every entry of m_k and f_k is divided by its range unless it is constant.
    """

    def descend(stage, active, c):
        if not active.size:
            return c, np.inf
        m, f = mass[:, :, active], force[:, active]
        if stage.get("scaled", False):
            m, f = m / _range(m), f / _range(f)
        return descend_accelerations(m, f, qddot, c, stage, settings)

    coefficients, left, losses = staged(descend, start, settings["stages"])
    return coefficients, losses[-1] if left[-1] else np.inf


def identify_by_accelerations(
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
    fits = [acceleration_descent(mass, force, qddot, one, settings) for one in starts]
    ends = np.zeros((len(starts), equations.sizes["column"]))
    ends[:, used], losses = map(np.array, zip(*fits, strict=True))
    meaning = "mean square error of the accelerations"
    end = "coefficients at the end of every start"
    of_starts = {
        "start_coefficient": (("start", "column"), ends, "mixed", end),
        "start_loss": (("start",), losses, "mixed", meaning),
    }
    loss = {"loss": (losses.min(), "mixed", meaning)}
    return lagrangian_estimate(equations, ends[losses.argmin()], loss, of_starts)
