"""Staged accelerated proximal gradient (Purnomo and Hayashibe, eqs. 12–20)."""

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

# An epoch that changes c by less, over the largest |c|, is a fixed point to round-off.
RELATIVE_CHANGE_OF_FIXED_POINT = 1e-13

KERNEL = """
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


def descend(
    gram: np.ndarray,
    moment: np.ndarray,
    start: np.ndarray,
    *,
    rate: float,
    penalty: np.ndarray,
    epochs: int,
    steps_per_epoch: int,
) -> tuple[np.ndarray, int]:
    r"""Minimise ½ cᵀ G c − hᵀ c + Σ λ_k |c_k| by accelerated proximal gradient.

    .. math::

        v = c^{i-1} + \frac{i-1}{i+2} (c^{i-1} - c^{i-2}), \qquad
        c^i = \mathrm{prox}_{\alpha\lambda}(v - \alpha (G v - h))

    The counter i begins again with every epoch, which is an adaptive restart of the
    momentum. An epoch is therefore a map of c alone: once it changes nothing, neither
    would the epochs that are left.

    Paper: eq. (20) thresholds at λ, the published code at α λ, which is the proximal
    operator of eq. (17) and what stands here.

    Parameters
    ----------
    gram, moment
        G of shape (term, term) and h of shape (term,).
    start
        c⁰, shape (term,).
    rate
        α; at most the reciprocal of the largest eigenvalue of G is taken.
    penalty
        λ of each term, shape (term,).
    epochs, steps_per_epoch
        Longest number of epochs, and the steps of each.

    Returns
    -------
    coefficients of shape (term,), and the number of epochs taken.
    """
    if not start.size:
        return start.copy(), 0
    steepest = float(np.linalg.eigvalsh(gram)[-1])
    if steepest > 0:
        rate = min(rate, 1.0 / steepest)
    return kernel(KERNEL, {}).descend(
        np.ascontiguousarray(gram, dtype=float),
        np.asarray(moment, dtype=float),
        np.asarray(start, dtype=float),
        float(rate),
        np.asarray(penalty, dtype=float),
        int(epochs),
        int(steps_per_epoch),
        RELATIVE_CHANGE_OF_FIXED_POINT,
    )


def staged_descent(
    gram: np.ndarray,
    moment: np.ndarray,
    start: np.ndarray,
    stages: Sequence[Mapping],
    free: Sequence[Sequence[int]],
    epochs: int,
    steps_per_epoch: int,
) -> tuple[np.ndarray, list[int], list[int]]:
    """Stages of descent, each followed by a hard threshold that removes terms.

    Parameters
    ----------
    gram, moment, start
        As for :func:`descend`, over all candidates that may be used.
    stages
        ``{rate: α, penalty: λ, threshold: τ}``; terms with |c_k| < τ leave after the
        stage. Paper: it prints c_k < τ.
    free
        Positions that are not penalised, by stage.
    epochs, steps_per_epoch
        As for :func:`descend`, in each stage.

    Returns
    -------
    coefficients of shape (term,), the terms left and the epochs taken by each stage.
    """
    coefficients = np.array(start, dtype=float)
    active = np.arange(coefficients.size)
    left, taken = [], []
    for stage, unpenalised in zip(stages, free, strict=True):
        penalty = np.where(np.isin(active, unpenalised), 0.0, stage["penalty"])
        found, epoch = descend(
            gram[np.ix_(active, active)],
            moment[active],
            coefficients[active],
            rate=stage["rate"],
            penalty=penalty,
            epochs=epochs,
            steps_per_epoch=steps_per_epoch,
        )
        coefficients[:] = 0.0
        coefficients[active] = found
        active = active[np.abs(found) >= stage["threshold"]]
        coefficients[~np.isin(np.arange(coefficients.size), active)] = 0.0
        left.append(active.size)
        taken.append(epoch)
    return coefficients, left, taken


def identify(equations: xr.Dataset, settings: Mapping) -> LagrangianEstimate:
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

    The random start depends on the setting `seed` and the replicate alone: it is part
    of the recipe, not of the run. There are no standard errors, since the paper has
    none; `stage_terms` counts the terms left after each stage.

    Raises
    ------
    ValueError
        If a named term is no candidate, or there is neither a prior term nor an input.
    """
    check(equations, "gram")
    terms = [str(term) for term in equations["term"].values]
    coordinates = [str(name) for name in equations["dof"].values]
    gram = equations["gram"].values[0]

    def places(texts: Sequence[str]) -> list[int]:
        return positions(texts, terms, coordinates)

    excluded = places(settings["exclude"])
    coefficients = np.zeros(len(gram))
    if settings["prior"] is None:
        moment = equations["input_moment"].values[0]
        if not moment.any():
            raise ValueError(
                "prior: null needs recordings with an external input (case I); "
                "name a term of L, or record an input"
            )
    else:
        (prior,) = places([settings["prior"]])
        moment = -gram[prior]
        coefficients[prior] = 1.0
        excluded.append(prior)
    used = usable(equations, settings["candidates"], excluded)
    unpenalised = (
        places(stage.get("unpenalised", settings["unpenalised"]))
        for stage in settings["stages"]
    )
    free = [[used.index(i) for i in known if i in used] for known in unpenalised]
    factor = 2.0 / len(coordinates)
    start = random_starts(equations, settings, len(used))
    coefficients[used], left, taken = staged_descent(
        factor * gram[np.ix_(used, used)],
        factor * moment[used],
        start,
        settings["stages"],
        free,
        settings["epochs"],
        settings["steps_per_epoch"],
    )
    loss = coefficients @ gram @ coefficients
    if settings["prior"] is None:
        square = float(equations["input_square"].values[0])
        loss = square - 2.0 * moment @ coefficients + loss
    loss = loss / len(coordinates)
    return lagrangian_estimate(
        equations,
        coefficients,
        {"loss": (loss, "mixed", "mean square of the equations' residual")},
        {
            "stage_terms": (("stage",), left, "1", "terms left after the stage"),
            "stage_epochs": (("stage",), taken, "1", "epochs until nothing changed"),
        },
    )
