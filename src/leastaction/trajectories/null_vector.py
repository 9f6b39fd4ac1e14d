"""A Lagrangian from the null vector of the Euler–Lagrange columns.

On motions that obey a Lagrangian the columns of its terms add up to the input, or to
zero. The search for them needs no reference term, no prior and no threshold; scale and
names come afterwards.

The coefficients are refitted on moments from which the noise of the smoothed states is
removed. AᵀA of noisy states is biased even if smoothing is not: E[g(z + e)] is not
g(z). The covariance of e is known, since smoothing is linear and the noise was found
with it, so the bias is evaluated and subtracted (corrected scores: Nakamura 1990;
Kanatani 1996).
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from scipy.sparse import csr_array

from leastaction.core.contracts import check, time_step
from leastaction.core.estimate import LagrangianEstimate, lagrangian_estimate
from leastaction.core.library import Library
from leastaction.core.noise_sweep import CHANNELS
from leastaction.trajectories.gram import clear_of_switches
from leastaction.trajectories.joint_spline import (
    demmler_reinsch,
    kept,
    spline_bases,
    states,
)
from leastaction.trajectories.library_equations import (
    LibraryEquations,
    library_equations,
)
from leastaction.trajectories.splicing import (
    RIDGE_OF_UNIT_COLUMNS,
    AccelerationError,
    Path,
    Ratio,
    larger_supports,
    size_by_jump,
    splicing,
    whitened,
)

# Penalty of the smoothing over that of the states for a refit: their bias must be small
# against their noise, which is corrected for.
PENALTY_RATIO = 10.0
# Groups of a jackknife at least: its standard error is then known to 16 %.
LEAST_JACKKNIFE_GROUPS = 20
SIGNIFICANT_STANDARD_ERRORS = 3.0
# Smaller residual ratios are round-off: accelerations have six digits at best.
LEAST_EXCESS = 1e-12
# Added to biased moments of unit columns, which may be singular to round-off.
RIDGE_OF_BIASED_MOMENTS = 1e-12
# Jump of the error, nats, below which neighbouring sizes are nearly as good.
TRUSTED_JUMP = 1.5
# A further term must leave every coefficient beyond so many standard errors: among some
# ten thousand supports that are tried, chance alone reaches four.
CERTAIN_STANDARD_ERRORS = 6.0
# Supports of the next size that are refitted: the ranking sees some samples only.
SUPPORTS_REFITTED = 5
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Smoothed:
    """Lightly smoothed states, and the covariance of their errors.

    Errors of different coordinates are taken for independent.
    """

    states: tuple[np.ndarray, ...]  # q, q̇, q̈, each (trajectory, time, dof)
    # Cholesky factor, (derivative, derivative, trajectory, time, dof), if known.
    spread: np.ndarray | None
    used: np.ndarray  # samples that count, (trajectory, time)
    force: np.ndarray | None = None  # input, (trajectory, time, dof)


@dataclass(frozen=True)
class Refit:
    """Coefficients of a support with standard errors, relative to the fixed one."""

    coefficients: np.ndarray
    std: np.ndarray
    # τ of the corrected moments: what neither the support nor the noise explains;
    # infinite if the noise is too large for the correction.
    excess: float
    excess_std: float

    @property
    def unexplained(self) -> bool:
        """Whether the excess is beyond three standard errors, and beyond rounding."""
        return self.excess > max(
            SIGNIFICANT_STANDARD_ERRORS * self.excess_std, LEAST_EXCESS
        )


def identify(
    equations: xr.Dataset,
    settings: Mapping,
    observations: xr.Dataset,
    library: Mapping,
) -> LagrangianEstimate:
    """Identify L and D of one case.

    1. Candidates that algebra shows to be null, duplicate or dependent are left out.
    2. Backward elimination of ρ(c) = cᵀGc / cᵀKc, then splicing: the best support of
       every size by the clipped error of the accelerations.
    3. The size at the largest jump of log e, and further terms that halve e.
    4. Coefficients and standard errors of that support, corrected for the noise of the
       smoothed states. As long as a residual is left that noise does not explain (three
       standard errors), a further term is taken that halves it, if then every
       coefficient is beyond six standard errors.
    5. Scale: with an input it is known. Otherwise the reference of the library has its
       coefficient; if it was not selected, the term with the largest inertial force
       has ½.

    The diagnostics hold `jump`, the confidence in the structure in nats (7 to 16 is
    safe), and `trusted`, whether it is at least 1.5; the criterion is log e by size.
    """
    check(equations, "gram")
    terms = Library.from_config(library, [str(n) for n in equations["dof"].values])
    compiled = library_equations(terms)
    columns = free_columns(equations)
    path, ratio, error = search(equations, compiled, columns, settings)
    size, jump = size_by_jump(path.errors, settings["halving"])
    largest = min(settings["largest"], len(columns))
    force = kept(observations, equations, "input") if ratio.kept else None
    support = path.supports[size]
    chosen = _chosen(support, columns)
    motion = fitting_states(compiled, chosen, observations, equations, force)

    def fitted(support) -> Refit:
        return _fitted(support, ratio, compiled, columns, terms, motion)

    model = fitted(support)
    while size < largest and model.unexplained:
        around = larger_supports(
            path, ratio, error, size, settings["ranked"], SUPPORTS_REFITTED
        )
        trials = [(fitted(trial), trial) for trial in around]
        larger, trial = min(trials, key=lambda each: each[0].excess)
        certain = np.abs(larger.coefficients) > CERTAIN_STANDARD_ERRORS * larger.std
        left = larger.excess - larger.excess_std
        if not certain.all() or left > model.excess / settings["halving"]:
            break
        size, model, support = size + 1, larger, trial
    _warn(model, size, jump)
    chosen = _chosen(support, columns)
    coefficients, std = np.zeros(compiled.count), np.full(compiled.count, np.nan)
    coefficients[chosen] = model.coefficients[: len(chosen)]
    known = np.isfinite(model.std)
    std[chosen] = np.where(known, model.std, np.nan)[: len(chosen)]
    diagnostics = _diagnostics(path, ratio, size, jump) | {
        "excess": (model.excess, "1", "residual ratio without the part of noise"),
        "excess_std": (model.excess_std, "1", "its standard error"),
    }
    criterion = np.full(settings["largest"] + 1, np.nan)
    criterion[0] = 0.0
    for size, value in path.errors.items():
        criterion[size] = np.log(max(value, 1e-300))
    return lagrangian_estimate(
        equations, coefficients, diagnostics, _noise(equations), std, criterion
    )


def _warn(model: Refit, size: int, jump: float) -> None:
    if not np.isfinite(model.excess):
        log.warning(
            "null_vector: the noise is too large for its bias to be removed from the "
            "moments of %d terms; coefficients are biased, without standard errors",
            size,
        )
    if jump < TRUSTED_JUMP:
        log.warning(
            "null_vector: the largest jump of the error is %.2g nats; below %g the "
            "data hardly tell how many terms there are",
            jump,
            TRUSTED_JUMP,
        )


def free_columns(equations: xr.Dataset) -> np.ndarray:
    """Positions of the candidates that no algebra removes, those of L first.

    Nor those whose force is zero at all samples, such as that of a coordinate at rest:
    they would be null vectors alone.

    Raises
    ------
    ValueError
        If there is none.
    """
    status = [*equations["status"].values, *equations["dissipation_status"].values]
    independent = np.isin(status, ("reference", "independent"))
    moves = np.diag(equations["gram"].values[0]) > 0
    if (independent & ~moves).any():
        log.warning(
            "these candidates have no force anywhere in the data and are left out: %s; "
            "let every coordinate move to learn about them",
            ", ".join(map(str, equations["column"].values[independent & ~moves])),
        )
    if not (independent & moves).any():
        raise ValueError(
            "no candidate is left: algebra removes them, or they have no force in the "
            "data; list further candidates, or let the coordinates move"
        )
    return np.flatnonzero(independent & moves)


def search(
    equations: xr.Dataset,
    compiled: LibraryEquations,
    columns: np.ndarray,
    settings: Mapping,
) -> tuple[Path, Ratio, AccelerationError]:
    """Best support of every size; an input is one more column, in every support."""
    chosen = np.ix_(columns, columns)
    gram = equations["gram"].values[0][chosen]
    inertia = equations["inertia_gram"].values[0][chosen]
    square = float(equations["input_square"].values[0])
    if driven := square > 0:
        moment = equations["input_moment"].values[0][columns, None]
        gram = np.block([[gram, -moment], [-moment.T, np.array([[square]])]])
        inertia = np.pad(inertia, (0, 1))
    ratio = Ratio.from_moments(gram, inertia, [len(columns)] if driven else [])
    sampled = [equations[f"{name}_sample"].values[0] for name in ("q", "qdot", "qddot")]
    scale = equations["acceleration_scale"].values[0]
    force = equations["input_sample"].values[0] if driven else None
    error = AccelerationError(compiled, columns, *sampled, scale, force)
    path = splicing(ratio, error, settings["largest"], settings["ranked"])
    return path, ratio, error


def _chosen(support, columns) -> np.ndarray:
    """Candidates of a support, which may hold the input."""
    return columns[[i for i in support if i < len(columns)]]


def _fitted(support, ratio, compiled, columns, terms, motion) -> Refit:
    """Refit of a support, with the scale of L that :func:`identify` describes."""
    chosen = _chosen(support, columns)
    if motion.force is not None:
        return refit(compiled, chosen, motion, len(chosen))
    if terms.reference in chosen:
        fixed = int(np.flatnonzero(chosen == terms.reference)[0])
        value = terms.reference_coefficient
    else:
        unit = ratio.minimise(support)[1]
        inertia = np.diag(ratio.whole - ratio.gram)[list(support)]
        fixed, value = int(np.argmax(inertia * unit**2)), 0.5
    found = refit(compiled, chosen, motion, fixed)
    return replace(
        found, coefficients=value * found.coefficients, std=abs(value) * found.std
    )


def _diagnostics(path: Path, ratio: Ratio, size: int, jump: float) -> dict:
    tau = max(ratio.minimise(path.supports[size])[0], 0.0)
    return {
        "jump": (jump, "1", "largest jump of log e, the confidence in the structure"),
        "trusted": (int(jump >= TRUSTED_JUMP), "1", "whether the jump is at least 1.5"),
        "acceleration_error": (
            path.errors[size],
            "1",
            "clipped mean square error of qddot over its variance",
        ),
        "residual_ratio": (
            tau / max(1 - tau, 1e-300),
            "1",
            "mean square residual over mean square inertial force",
        ),
    }


def _noise(equations: xr.Dataset) -> dict:
    """Noise that the smoothing found, one array per channel."""
    if "noise_std" not in equations:
        return {}
    return {
        f"noise_{name}": (
            ("dof",),
            equations["noise_std"].sel(channel=name).values[0],
            "mixed",
            f"standard deviation of the noise found in {name}",
        )
        for name in map(str, equations["channel"].values)
    }


def smoothed(
    observations: xr.Dataset, rates: xr.Dataset, equations: LibraryEquations
) -> Smoothed:
    """Spline with a tenth of the penalty, applied twice (twicing: Tukey 1977).

    With s = 1 / (1 + λμ/10) the filter s (2 − s) has the bias (1 − s)².
    """
    motion = states(observations, rates)
    used = clear_of_switches(equations, motion[0], motion[1], rates)
    if "spline" not in rates:
        return Smoothed(motion, None, used)
    recorded = [str(name) for name in rates["channel"].values]
    orders = tuple(CHANNELS.index(name) for name in recorded)
    samples, step = observations.sizes["time"], time_step(observations)
    bases = [csr_array(basis) for basis in spline_bases(rates)]
    values, spreads = [], []
    for a in range(observations.sizes["dof"]):
        ratio = tuple(map(int, rates["noise_ratio"].values[0, a]))
        spacing = int(rates["knot_spacing"])
        basis = demmler_reinsch(samples, step, spacing, orders, ratio)
        rough = rates["penalty"].values[0, :, a, None] * basis.penalty
        light = 1 / (1 + rough / PENALTY_RATIO)
        light = light * (2 - light)
        spectrum = rates["spline"].values[0, :, a] @ basis.inverse.T * (1 + rough)
        modes = [b @ basis.vectors for b in bases]
        noise = rates["noise_std"].values[0, a]
        variance = light**2 * ((np.array(basis.weights) * noise**2) @ basis.share)
        values.append([(light * spectrum) @ mode.T for mode in modes])
        pairs = [(m, modes[: i + 1]) for i, m in enumerate(modes)]
        lower = [[variance @ (m * n).T for n in earlier] for m, earlier in pairs]
        spreads.append(_cholesky(lower))
    whole = np.moveaxis(np.array(values), 0, -1)
    return Smoothed(tuple(whole), np.moveaxis(np.array(spreads), 0, -1), used)


def _cholesky(lower: list[list[np.ndarray]]) -> np.ndarray:
    """Cholesky factors of many matrices; a variance of zero gives zeros."""
    size = len(lower)
    root = np.zeros((size, size, *lower[0][0].shape))
    for i in range(size):
        for j in range(i + 1):
            rest = lower[i][j] - (root[i, :j] * root[j, :j]).sum(0)
            if i == j:
                root[i, i] = np.sqrt(np.maximum(rest, 0.0))
            else:
                divisor = np.where(root[j, j] > 0, root[j, j], 1.0)
                root[i, j] = np.where(root[j, j] > 0, rest / divisor, 0.0)
    return root


def corrected_moments(
    equations: LibraryEquations, columns: Sequence[int], motion: Smoothed, groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """AᵀA and (m q̈)ᵀ(m q̈) without the bias of noise, (group, column, column).

    The expectation over Gaussian errors is that of a cubature with 2 d points in d
    dimensions, exact to third order; an input Q adds the column −Q:

    .. math::

        G_c = 2 G(ẑ) − \\frac{1}{2 d} \\sum_{i, ±} G(ẑ ± \\sqrt{d}\\, L_i)

    Each trajectory is cut into so many `groups`, which are summed apart.
    """

    def moments(states):
        rows = _rows(equations, columns, replace(motion, states=states))
        return [_grouped(part, groups) for part in rows]

    if motion.spread is None:
        return moments(motion.states)
    dof = motion.states[0].shape[-1]
    points = 3 * dof
    mean = np.zeros(())
    for a in range(dof):
        for direction in range(3):
            for sign in (1, -1):
                moved = [values.copy() for values in motion.states]
                for order in range(direction, 3):
                    shift = sign * points**0.5 * motion.spread[order, direction, ..., a]
                    moved[order][..., a] += shift
                mean = mean + np.array(moments(moved)) / (2 * points)
    gram, inertia = 2 * np.array(moments(motion.states)) - mean
    return gram, inertia


def _rows(equations, columns, motion):
    """A and m q̈, shape (trajectory, time, dof, column); zero where not used."""
    shape = motion.states[0].shape
    flat = [values.reshape(-1, shape[-1]) for values in motion.states]
    rows, inertia = equations.columns(*flat, columns)
    if motion.force is not None:
        rows = np.concatenate([rows, -motion.force.reshape(-1, shape[-1], 1)], axis=2)
        inertia = np.concatenate([inertia, np.zeros_like(rows[..., -1:])], axis=2)
    if not motion.used.all():
        unused = ~motion.used.ravel()
        rows[unused], inertia[unused] = 0.0, 0.0
    return rows.reshape(*shape, -1), inertia.reshape(*shape, -1)


def _grouped(rows, groups):
    """Sums over the samples of each piece of each trajectory."""
    parts = [
        part.reshape(len(part), -1, part.shape[-1])
        for part in np.array_split(rows, groups, axis=1)
    ]
    return np.concatenate([np.swapaxes(part, 1, 2) @ part for part in parts])


def null_vectors(
    gram: np.ndarray, inertia: np.ndarray, ridge: float = RIDGE_OF_UNIT_COLUMNS
) -> tuple[np.ndarray, np.ndarray]:
    """Minima of τ = cᵀ G c / cᵀ (G + K) c of many pairs, and where they are.

    Corrected moments may give a τ below zero; a :class:`~numpy.linalg.LinAlgError` is
    raised if a G + K is not positive definite.
    """
    square = np.diagonal(inertia + np.abs(gram), axis1=1, axis2=2).mean(0)
    if not (square > 0).all():
        raise np.linalg.LinAlgError("a column has no positive mean square")
    length = np.sqrt(square)
    scale = np.outer(length, length)
    gram = gram / scale
    whole = gram + inertia / scale
    root, white = whitened(gram, whole + ridge * np.eye(len(length)))
    values, vectors = np.linalg.eigh(white)
    vectors = np.linalg.solve(np.swapaxes(root, 1, 2), vectors[:, :, :1])[..., 0]
    return values[:, 0], vectors / length


def fitting_states(
    equations: LibraryEquations,
    columns: Sequence[int],
    observations: xr.Dataset,
    rates: xr.Dataset,
    force: np.ndarray | None,
) -> Smoothed:
    """Smoothed states, or the recorded ones if these obey the equations better.

    A spline cannot follow a motion to more than some digits.
    """
    motion = replace(smoothed(observations, rates, equations), force=force)
    if motion.spread is None or not set(CHANNELS) <= set(observations):
        return motion
    recorded = tuple(kept(observations, rates, name) for name in CHANNELS)
    choices = motion, replace(motion, states=recorded, spread=None)
    residuals = []
    for choice in choices:
        rows = _rows(equations, columns, choice)
        moments = [_grouped(part, 1).sum(0, keepdims=True) for part in rows]
        ((vector,),) = null_vectors(*moments)[1:]
        force_left, inertial = (((part @ vector) ** 2).sum() for part in rows)
        residuals.append(force_left / inertial)
    return choices[int(np.argmin(residuals))]


def refit(
    equations: LibraryEquations, columns: Sequence[int], motion: Smoothed, fixed: int
) -> Refit:
    """Null vector of the corrected moments, and its jackknife over trajectories.

    Errors of neighbouring samples are correlated, those of trajectories are not. Few
    trajectories are cut into pieces. The coefficient at `fixed` of the support, or of
    the input after it, is one.

    Corrected moments are positive definite in the mean, not always: with much noise and
    candidates that are nearly the same they may not be. Then nothing but the moments as
    they are is left; their bias is unknown, and standard errors are infinite.
    """
    groups = max(1, -(-LEAST_JACKKNIFE_GROUPS // len(motion.used)))
    gram, inertia = corrected_moments(equations, columns, motion, groups)
    total, inertial = gram.sum(0), inertia.sum(0)
    try:
        (excess,), (whole,) = null_vectors(total[None], inertial[None])
        excesses, without = null_vectors(total - gram, inertial - inertia)
    except np.linalg.LinAlgError:
        return _uncorrected(equations, columns, motion, fixed)
    return Refit(
        whole / whole[fixed],
        _jackknife(without / without[:, fixed, None]),
        float(excess),
        float(_jackknife(excesses)),
    )


def _uncorrected(equations, columns, motion, fixed) -> Refit:
    """Null vector of the moments with the bias of noise; its errors are not known."""
    plain = replace(motion, spread=None)
    moments = corrected_moments(equations, columns, plain, 1)
    (vector,) = null_vectors(
        *(part.sum(0)[None] for part in moments), RIDGE_OF_BIASED_MOMENTS
    )[1]
    std = np.full(len(vector), np.inf)
    std[fixed] = 0.0
    return Refit(vector / vector[fixed], std, np.inf, np.inf)


def _jackknife(without: np.ndarray) -> np.ndarray:
    """Standard error from estimates that leave one group out each."""
    count = len(without)
    return np.sqrt(((without - without.mean(0)) ** 2).sum(0) * (count - 1) / count)
