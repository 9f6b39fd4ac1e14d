"""xL-SINDy: staged descents with soft and hard thresholds (Purnomo and Hayashibe).

On the residual of the equations of motion (cases I and III, eqs. 12–20), and on the
accelerations (case II, eqs. 10 and 11). There are no standard errors, since the paper
has none. Random starts and tolerances depend on the setting `seed` and the replicate
alone: they are part of the recipe, not of the run.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import xarray as xr

from leastaction.core.compiled import kernel
from leastaction.core.contracts import check
from leastaction.core.estimate import (
    LagrangianEstimate,
    lagrangian_estimate,
    positions,
    random_generator,
    usable,
)
from leastaction.core.library import Library
from leastaction.trajectories.joint_spline import channel, states
from leastaction.trajectories.library_equations import (
    SAMPLES_PER_BATCH,
    library_equations,
)

RELATIVE_ROUNDOFF_OF_PIVOT = 1e-12
# A table whose values differ by less, over the largest, is a constant.
RELATIVE_ROUNDOFF_OF_CONSTANT = 1e-9

# The residual is linear in c, so that the gradient over a batch is 2 (G_b c − h_b).
RESIDUAL_KERNEL = """
@njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def quadratic(gram, moment, square, c):
    cost = square
    for j in range(c.size):
        if c[j] != 0.0:
            half = 0.0
            for k in range(c.size):
                half += gram[j, k] * c[k]
            cost += c[j] * (half - 2.0 * moment[j])
    return cost


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def descend(
    grams, moments, gram, moment, square, present, rate, penalty, epochs, every,
    tolerance,
):
    batches, count = moments.shape
    before, ahead, gradient = np.empty(count), np.empty(count), np.empty(count)
    cost, step = np.inf, 0
    for epoch in range(epochs):
        for k in range(count):
            before[k] = present[k]
        for i in range(batches):
            momentum = i / (i + 3.0)
            for k in range(count):
                ahead[k] = present[k] + momentum * (present[k] - before[k])
                before[k] = present[k]
                gradient[k] = -moments[i, k]
            for j in range(count):
                if ahead[j] != 0.0:
                    for k in range(count):
                        gradient[k] += grams[i, j, k] * ahead[j]
            for k in range(count):
                value = ahead[k] - rate * 2.0 * gradient[k]
                shrunk = abs(value) - rate * penalty[k]
                present[k] = np.sign(value) * max(shrunk, 0.0)
            step += 1
            if tolerance > -np.inf and step % every == 0:
                cost = quadratic(gram, moment, square, present)
                if cost <= tolerance or not np.isfinite(cost):
                    return cost, step
    return quadratic(gram, moment, square, present), step
"""

# Sums over the samples of a batch are innermost, on views from index zero: an index
# that might be negative would keep them out of the vector registers. Arrays are made
# outside and filled in loops: an array assigned to another takes seconds to compile.
ACCELERATION_KERNEL = """
@njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
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


@njit(
    cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, error_model="numpy"
)
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


@njit(
    cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True,
    fastmath={"reassoc", "contract", "arcp"},
)
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


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
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


class Batches(NamedTuple):
    r"""Cost of batches of consecutive samples, :math:`c^T G_b c - 2 h_b^T c + s_b`."""

    gram: np.ndarray  # (batch, term, term)
    moment: np.ndarray  # (batch, term)
    square: np.ndarray  # (batch,)

    @classmethod
    def of(cls, columns: np.ndarray, target: np.ndarray, size: int) -> "Batches":
        """Of the residual target − columns c, (sample, dof, term) and (sample, dof).

        Samples behind the last full batch are left out, as in the published code.
        """
        samples, dof, count = columns.shape
        batches = samples // size
        rows = columns[: batches * size].reshape(batches, size * dof, count)
        right = target[: batches * size].reshape(batches, size * dof, 1)
        turned = rows.swapaxes(1, 2)
        return cls(
            turned @ rows / (size * dof),
            (turned @ right)[..., 0] / (size * dof),
            (right**2).mean((1, 2)),
        )

    @classmethod
    def joined(cls, parts: Sequence["Batches"]) -> "Batches":
        """Return the batches of all `parts`, in order."""
        return cls(*(np.concatenate(values) for values in zip(*parts, strict=True)))

    def of_terms(self, active: np.ndarray) -> "Batches":
        """Return the same of some terms alone."""
        gram = self.gram[:, active[:, None], active]
        return Batches(gram, self.moment[:, active], self.square)

    @property
    def mean(self) -> tuple[np.ndarray, np.ndarray, float]:
        """G, h and s of all batches together."""
        return self.gram.mean(0), self.moment.mean(0), float(self.square.mean())

    def least(self) -> float:
        """Cost of the coefficients of least squares; 0 if round-off makes it less."""
        gram, moment, square = self.mean
        fitted = np.linalg.lstsq(gram, moment, rcond=None)[0]
        return max(square - float(moment @ fitted), 0.0)


class Tolerance(NamedTuple):
    """What ends a descent: a cost, above that of least squares where there is noise."""

    excess: float
    least: float

    def reached(self, cost: float) -> bool:
        """Whether the descent is to end at this cost."""
        return cost <= self.excess + self.least


def staged(
    descend: Callable,
    start: np.ndarray,
    stages: Sequence[Mapping],
    tolerance: Tolerance,
) -> tuple[np.ndarray, list[int], list[float]]:
    """Stages of ``descend(stage, active, c)``, each followed by a hard threshold.

    They end once one that is not `scaled` has reached the `tolerance`. Terms with
    |c_k| < τ leave after a stage. Paper: it prints c_k < τ. Returns c, the terms left
    and the cost after each stage, which is the last one if that is not finite.
    """
    coefficients = np.array(start, dtype=float)
    active = np.arange(coefficients.size)
    left, costs = [], []
    for stage in stages:
        values, cost = descend(stage, active, coefficients[active])
        large = np.isfinite(values) & (np.abs(values) >= stage["threshold"])
        active = active[large if np.isfinite(cost) else []].astype(int)
        coefficients[:] = 0.0
        coefficients[active] = values[large] if np.isfinite(cost) else 0.0
        left.append(active.size)
        costs.append(cost)
        ends = tolerance.reached(cost) and not stage.get("scaled", False)
        if ends or not np.isfinite(cost):
            break
    return coefficients, left, costs


def descend_residual(
    batches: Batches, start: np.ndarray, stage: Mapping, settings: Mapping
) -> tuple[np.ndarray, float, int]:
    r"""Accelerated proximal gradient on J(c) + Σ λ_k |c_k|, batch after batch.

    .. math::

        v = c^{i-1} + \frac{i-1}{i+2} (c^{i-1} - c^{i-2}), \qquad
        c^i = \mathrm{prox}_{\alpha\lambda}(v - \alpha \nabla J_b(v)), \qquad
        \nabla J_b(v) = 2 (G_b v - h_b)

    The batches come in order, and the counter i begins again with every epoch. Terms
    that are `free` in the stage, shape (term,), are not penalised. The stage ends at
    the first of the costs J(c) of all samples, evaluated every `checked_every` steps,
    that is at most `ends_at`. Returns c, J(c) and the steps taken.

    Paper: eq. (20) thresholds at λ, the published code at α λ, which is the proximal
    operator of eq. (17) and what stands here.
    """
    if not start.size:
        return start.copy(), batches.mean[2], 0
    present = np.array(start, dtype=float)
    cost, steps = kernel(RESIDUAL_KERNEL, {}).descend(
        np.ascontiguousarray(batches.gram),
        np.ascontiguousarray(batches.moment),
        *batches.mean,
        present,
        float(stage["rate"]),
        np.where(stage["free"], 0.0, stage["penalty"]).astype(float),
        int(settings["epochs"]),
        int(settings["checked_every"]),
        float(stage["ends_at"]),
    )
    return present, cost, steps


def residual_descent(
    batches: Batches,
    scaled: Batches | None,
    start: np.ndarray,
    settings: Mapping,
    tolerance: float,
) -> tuple[np.ndarray, dict[str, list]]:
    """Stages of :func:`descend_residual`: c, and what each stage reports.

    Stages that are `scaled` see the batches `scaled`. Rates that are `capped` are at
    most the reciprocal of the largest curvature of a batch. The tolerance is a cost
    above that of least squares, which is zero without noise. Paper: it "has to be
    relaxed" where there is noise; by how much is not printed.
    """
    ends = Tolerance(tolerance, batches.least())
    counts = []

    def descend(stage, active, c):
        rescaled = stage.get("scaled", False)
        of_stage = (scaled if rescaled else batches).of_terms(active)
        ends_at = -np.inf if rescaled else sum(ends)
        stage = {**stage, "free": stage["free"][active], "ends_at": ends_at}
        if settings["capped"] and active.size:
            steepest = float(np.linalg.eigvalsh(of_stage.gram)[:, -1].max())
            stage["rate"] = min(stage["rate"], 1 / (2 * steepest or 1.0))
        values, cost, steps = descend_residual(of_stage, c, stage, settings)
        counts.append(steps)
        return values, cost

    coefficients, left, costs = staged(descend, start, settings["stages"], ends)
    return coefficients, {"terms": left, "steps": counts, "cost": costs}


def identify_by_residual(
    equations: xr.Dataset,
    settings: Mapping,
    observations: xr.Dataset,
    library: Mapping,
) -> LagrangianEstimate:
    r"""Identify L of one case by the paper's staged proximal gradient, cases I and III.

    .. math::

        J(c) = \frac{1}{n N} \sum \Big|Q - \sum_k c_k A_k\Big|^2

    with n degrees of freedom. In case III the prior term φ_r has coefficient one, and
    −A_r takes the place of the input Q; in case I all coefficients are free.

    In a `scaled` stage every entry of m_k and f_k is divided by its range over the
    samples unless it is constant. Paper: it multiplies "each candidate function with a
    scaling term", its code divides the tables ∂²φ/∂q̇∂q̇, ∂²φ/∂q∂q̇ and ∂φ/∂q; the
    residual of such a stage belongs to no Lagrangian.

    Raises
    ------
    ValueError
        If a named term is no candidate, there is neither a prior term nor an input, or
        there are fewer samples than a batch has.
    """
    check(equations, "gram")
    terms = [str(term) for term in equations["term"].values]
    coordinates = [str(name) for name in equations["dof"].values]
    places = partial(positions, terms=terms, coordinates=coordinates)
    excluded = places(settings["exclude"])
    coefficients = np.zeros(equations.sizes["column"])
    driven = "input" in observations
    prior = _prior(settings["prior"], driven, terms, coordinates[0])
    if prior is not None:
        (prior,) = places([prior])
        coefficients[prior] = 1.0
        excluded.append(prior)
    used = usable(equations, settings["candidates"], excluded)
    batches, scaled = _batches(
        equations, settings, observations, library, used, prior, coordinates
    )
    stages = []
    for stage in settings["stages"]:
        known = places(stage.get("unpenalised", settings["unpenalised"]))
        stages.append({**stage, "free": np.isin(used, known)})
    random = random_generator(equations, settings)
    start = random.uniform(-settings["start"], settings["start"], len(used))
    coefficients[used], of_stages = residual_descent(
        batches,
        scaled,
        start,
        {**settings, "stages": stages},
        _tolerance(settings, random),
    )
    gram, moment, square = batches.mean
    estimate = coefficients[used]
    cost = square + estimate @ (gram @ estimate - 2.0 * moment)
    meanings = {
        "terms": "terms left after the stage",
        "steps": "steps of the stage",
        "cost": "mean square of the equations' residual at the end of the stage",
    }
    arrays = {
        f"stage_{name}": (("stage",), values, "1", meanings[name])
        for name, values in _padded(of_stages, len(stages)).items()
    }
    loss = {"loss": (cost, "mixed", "mean square of the equations' residual")}
    return lagrangian_estimate(equations, coefficients, loss, arrays)


def _padded(of_stages: Mapping[str, list], count: int) -> dict[str, np.ndarray]:
    """Values of every stage; NaN of those that were not needed."""
    return {
        name: np.array([*values, *[np.nan] * (count - len(values))], dtype=float)
        for name, values in of_stages.items()
    }


def _tolerance(settings: Mapping, random: np.random.Generator) -> float:
    """Tolerance between the two of the settings, on a logarithmic scale."""
    return float(np.exp(random.uniform(*np.log(settings["tolerance"]))))


def _batches(
    equations, settings, observations, library, used, prior, coordinates
) -> tuple[Batches, Batches | None]:
    """Batches of the columns as they are, and of scaled ones if a stage wants them."""
    compiled = library_equations(Library.from_config(library, coordinates))
    columns_used = used if prior is None else [*used, prior]
    motion = [
        channel.reshape(-1, len(coordinates))
        for channel in states(observations, equations)
    ]
    if prior is None:
        motion.append(
            channel(observations, equations, "input").reshape(motion[0].shape)
        )
    size = settings["batch"]
    scales = None
    if any(stage.get("scaled", False) for stage in settings["stages"]):
        scales = _scales(compiled, motion, columns_used)
    parts, scaled_parts = [], []
    for q, qdot, qddot, *force in _pieces(motion, size):
        tables = compiled.mass_and_force(q, qdot, columns_used)
        columns = _columns(*tables, qddot)
        target = force[0] if force else -columns[..., -1]
        columns = columns[..., : len(used)]
        parts.append(Batches.of(columns, target, size))
        if scales:
            tables = (t / scale for t, scale in zip(tables, scales, strict=True))
            columns = _columns(*tables, qddot)[..., : len(used)]
            scaled_parts.append(Batches.of(columns, target, size))
    return Batches.joined(parts), Batches.joined(scaled_parts) if scales else None


def _pieces(motion: Sequence[np.ndarray], size: int):
    """Some batches of every channel at a time, as many as fit the cache."""
    samples = len(motion[0])
    if samples < size:
        raise ValueError(
            f"proximal_gradient: {samples} samples are given, at least one batch of "
            f"{size} is expected; record more, or take a smaller batch"
        )
    full = samples - samples % size
    step = size * max(1, SAMPLES_PER_BATCH // size)
    for first in range(0, full, step):
        yield [channel[first : min(first + step, full)] for channel in motion]


def _scales(compiled, motion, columns) -> list[np.ndarray]:
    """Range over the samples of every entry of m_k and f_k; 1 of constants."""
    low = high = None
    q, qdot = motion[:2]
    for first in range(0, len(q), SAMPLES_PER_BATCH):
        chunk = slice(first, first + SAMPLES_PER_BATCH)
        tables = compiled.mass_and_force(q[chunk], qdot[chunk], columns)
        least, most = ([f(t, axis=0) for t in tables] for f in (np.min, np.max))
        low = least if low is None else list(map(np.minimum, low, least))
        high = most if high is None else list(map(np.maximum, high, most))
    return [_extent(*ends) for ends in zip(low, high, strict=True)]


def _extent(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    largest = np.maximum(np.abs(low), np.abs(high))
    constant = high - low <= RELATIVE_ROUNDOFF_OF_CONSTANT * largest
    return np.where(constant, 1.0, high - low)


def _columns(mass: np.ndarray, force: np.ndarray, qddot: np.ndarray) -> np.ndarray:
    """Columns m q̈ + f, shape (sample, dof, term)."""
    return (qddot[:, None, None, :] @ mass)[:, :, 0] + force


def _prior(named, driven: bool, terms, coordinate) -> str | None:
    """Prior term: the one `named`; without input, the first velocity's square."""
    if named is not None or driven:
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


def acceleration_descent(
    mass: np.ndarray,
    force,
    qddot,
    start: np.ndarray,
    settings: Mapping,
    tolerance: float = 0.0,
) -> tuple[np.ndarray, float]:
    """Stages of :func:`descend_accelerations`: c, and the loss of the last one.

    They end once the mean loss of an epoch is at most the tolerance.

    The loss is infinite if nothing is left or a stage diverged. In a `scaled` stage
    every entry of m_k and f_k is divided by its range unless it is constant.
    """

    def descend(stage, active, c):
        if not active.size:
            return c, np.inf
        m, f = mass[:, :, active], force[:, active]
        if stage.get("scaled", False):
            m, f = (t / _extent(t.min(-1), t.max(-1))[..., None] for t in (m, f))
        elif "tolerance" not in stage:
            stage = {**stage, "tolerance": tolerance}
        return descend_accelerations(m, f, qddot, c, stage, settings)

    ends = Tolerance(tolerance, 0.0)
    coefficients, left, losses = staged(descend, start, settings["stages"], ends)
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
    can be read off.

    Paper: one start. The published code divides the tables ∂²φ/∂q̇∂q̇, ∂²φ/∂q∂q̇ and
    ∂φ/∂q by their ranges in the first stage; here m_k and f_k.
    """
    check(equations, "gram")
    coordinates = [str(name) for name in equations["dof"].values]
    terms = [str(term) for term in equations["term"].values]
    excluded = positions(settings["exclude"], terms, coordinates)
    used = usable(equations, settings["candidates"], excluded)
    q, qdot, qddot = (
        np.ascontiguousarray(channel.reshape(-1, len(coordinates)))
        for channel in states(observations, equations)
    )
    compiled = library_equations(Library.from_config(library, coordinates))
    mass, force = compiled.mass_and_force(q, qdot, used)
    mass, force = (np.ascontiguousarray(np.moveaxis(x, 0, -1)) for x in (mass, force))
    random = random_generator(equations, settings)
    largest = settings["start"]
    starts = random.uniform(-largest, largest, (settings["starts"], len(used)))
    tolerance = _tolerance(settings, random)
    fits = [
        acceleration_descent(mass, force, qddot.T, one, settings, tolerance)
        for one in starts
    ]
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
