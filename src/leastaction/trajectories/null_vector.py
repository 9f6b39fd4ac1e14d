"""A Lagrangian from the null vector of the Euler–Lagrange columns.

On motions that obey a Lagrangian the columns of its terms add up to the input, or to
zero. The search for them needs no reference term, no prior and no threshold; scale and
names come afterwards.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.estimate import LagrangianEstimate, lagrangian_estimate
from leastaction.core.library import Library
from leastaction.core.settings import CHANNELS
from leastaction.trajectories.corrected_moments import (
    SIGNIFICANT_STANDARD_ERRORS,
    Refit,
    fitting_states,
    refit,
)
from leastaction.trajectories.joint_spline import channel
from leastaction.trajectories.library_equations import (
    LibraryEquations,
    library_equations,
)
from leastaction.trajectories.splicing import (
    Path,
    Ratio,
    acceleration_error,
    larger_supports,
    rivals,
    size_by_jump,
    splicing,
)

# Jump of the error, nats, below which neighbouring sizes are nearly as good.
TRUSTED_JUMP = 1.5
# A further term must leave every coefficient beyond so many standard errors: among some
# ten thousand supports that are tried, chance alone reaches four.
CERTAIN_STANDARD_ERRORS = 6.0
# Supports of the next size that are refitted: the ranking sees some samples only.
SUPPORTS_REFITTED = 5
# A larger rival fits some of the noise, too: it is as good if it explains more by this.
STANDARD_ERRORS_OF_LARGER_RIVAL = 1.0
log = logging.getLogger(__name__)


def identify(
    equations: xr.Dataset,
    settings: Mapping,
    observations: xr.Dataset,
    library: Mapping,
) -> LagrangianEstimate:
    """Identify L and D of one case.

    1. Candidates that algebra shows to be null, duplicate or dependent are left out.
    2. Backward elimination of ρ(c) = cᵀGc / cᵀKc, then splicing: the best support of
       every size by the clipped error e of the accelerations.
    3. The size at the largest jump of log e, and further terms that halve e.
    4. Coefficients and standard errors of that support, corrected for the noise of the
       smoothed states. As long as a residual is left that noise does not explain (three
       standard errors), a further term is taken that halves it, if then every
       coefficient is beyond six standard errors.
    5. Supports that the ranking finds nearly as good are refitted, too. The one that
       leaves the smallest residual is taken, or a larger one that refutes it: in the
       fit of the terms of both, one of its own is beyond six standard errors, and none
       of the other's (encompassing: Mizon and Richard 1986). If another one is not
       refuted, and leaves no more by three standard errors of the difference
       (jackknife), the data do not tell the terms: no standard errors are given.
    6. Scale: with an input it is known. Otherwise the reference of the library has its
       coefficient; if it was not selected, the term with the largest inertial force
       has ½.

    The diagnostics hold `jump`, the confidence in the structure in nats (7 to 16 is
    safe), and `trusted`, whether it is at least 1.5 and the residual is within six
    standard errors of that of noise; the criterion is log e by size.
    """
    check(equations, "gram")
    terms = Library.from_config(library, [str(n) for n in equations["dof"].values])
    compiled = library_equations(terms)
    columns = free_columns(equations)
    path, ratio, error = search(equations, compiled, columns, settings)
    size, jump = size_by_jump(path.errors, settings["halving"])
    force = channel(observations, equations, "input") if ratio.mandatory else None
    support = path.supports[size]
    first = _chosen(support, columns)
    motion = fitting_states(compiled, first, observations, equations, force)

    def fitted(support, common=()) -> Refit:
        return _fitted(support, ratio, compiled, columns, terms, motion, common)

    def around(size):
        return larger_supports(
            path, ratio, error, size, settings["ranked"], SUPPORTS_REFITTED
        )

    sizes = range(size, min(settings["largest"], len(columns)))
    model, support = _grown(fitted, support, around, sizes, settings["halving"])
    near = rivals(path, ratio, error, support, settings["ranked"], settings["halving"])
    model, support, equals = _compared(fitted, model, support, near)
    size = len(support) - len(ratio.mandatory)
    _warn(model, size, jump)
    chosen = _chosen(support, columns)
    coefficients, std = np.zeros(compiled.count), np.full(compiled.count, np.nan)
    coefficients[chosen] = model.coefficients[: len(chosen)]
    if not equals:
        known = np.isfinite(model.std)
        std[chosen] = np.where(known, model.std, np.nan)[: len(chosen)]
    criterion = np.full(settings["largest"] + 1, np.nan)
    for tried, value in {0: 1.0, **path.errors}.items():
        criterion[tried] = np.log(max(value, 1e-300))
    estimate = lagrangian_estimate(
        equations,
        coefficients,
        _diagnostics(path, ratio, size, jump, model),
        _noise(equations),
        std,
        criterion,
    )
    labels = (equations["column"].values[_chosen(rival, columns)] for rival in equals)
    named = [", ".join(map(str, names)) for names in labels]
    return replace(estimate, alternatives="; ".join(named))


def _certain(model: Refit) -> np.ndarray:
    """Which coefficients cannot be zero, though many supports were tried."""
    return np.abs(model.coefficients) > CERTAIN_STANDARD_ERRORS * model.std


def _grown(fitted, support, around, sizes, halving) -> tuple[Refit, list]:
    """Model and support with the further terms that a residual beyond noise asks for.

    ``around(size)`` gives the supports of one term more to try.
    """
    model = fitted(support)
    for size in sizes:
        if not model.unexplained():
            break
        refits = [(fitted(trial), trial) for trial in around(size)]
        best, trial = min(refits, key=lambda each: each[0].excess)
        left = best.excess - best.excess_std
        if not _certain(best).all() or left > model.excess / halving:
            break
        model, support = best, trial
    return model, support


def _compared(fitted, model, support, near) -> tuple[Refit, tuple, list[tuple]]:
    """Best of the fits of a support and its rivals, its support, and its equals."""
    if not np.isfinite(model.excess):
        return model, support, []
    tried = [(model, support), *((fitted(rival), rival) for rival in near)]
    size = len(support)
    larger = [one for one in tried if len(one[1]) > size and _certain(one[0]).all()]
    alike = [one for one in tried if len(one[1]) == size]
    model, support = min(alike, key=lambda each: each[0].excess)
    equals = [
        rival
        for other, rival in alike
        if rival != support
        and other.behind(model) < SIGNIFICANT_STANDARD_ERRORS
        and not refuted(fitted, rival, support)
    ]
    for other, rival in larger:
        if refuted(fitted, support, rival):
            if not refuted(fitted, rival, support):
                return other, rival, []
        elif other.behind(model) < -STANDARD_ERRORS_OF_LARGER_RIVAL:
            equals.append(rival)
    return model, support, equals


def refuted(fitted: Callable, support: Sequence[int], rival: Sequence[int]) -> bool:
    """Whether a term that only the rival has is certain in the fit of both together.

    A residual that few large swings leave has a standard error as large as itself; the
    coefficients of both together have not.
    """
    both = tuple(sorted({*support, *rival}))
    places = [i for i, k in enumerate(both) if k not in support]
    return bool(_certain(fitted(both, set(support) & set(rival)))[places].any())


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
            "data hardly determine the number of terms",
            jump,
            TRUSTED_JUMP,
        )
    if model.unexplained(CERTAIN_STANDARD_ERRORS):
        log.warning(
            "null_vector: the residual ratio of %d terms is %.2g ± %.1g beyond that of "
            "noise: a candidate is missing, or the search did not find it",
            size,
            model.excess,
            model.excess_std,
        )


def free_columns(equations: xr.Dataset) -> np.ndarray:
    """Positions of the candidates that no algebra removes, those of L first.

    Nor those whose force is zero at all samples, such as that of a coordinate at rest:
    they would be null vectors alone. :class:`ValueError` if none is left.
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
) -> tuple[Path, Ratio, Callable]:
    """Best support of every size; an input is one more column, in every support."""
    chosen = np.ix_(columns, columns)
    gram = equations["gram"].values[0][chosen]
    inertia = equations["inertia_gram"].values[0][chosen]
    square = equations["input_square"].values
    if driven := square[0] > 0:
        moment = equations["input_moment"].values[0][columns, None]
        gram = np.block([[gram, -moment], [-moment.T, square[:, None]]])
        inertia = np.pad(inertia, (0, 1))
    ratio = Ratio.from_moments(gram, inertia, (len(columns),) if driven else ())
    sampled = [equations[f"{name}_sample"].values[0] for name in CHANNELS]
    scale = equations["acceleration_scale"].values[0]
    force = equations["input_sample"].values[0] if driven else None
    error = acceleration_error(compiled, columns, *sampled, scale, force)
    path = splicing(ratio, error, settings["largest"], settings["ranked"])
    return path, ratio, error


def _chosen(support, columns) -> np.ndarray:
    """Candidates of a support, which may hold the input."""
    return columns[[i for i in support if i < len(columns)]]


def _fitted(support, ratio, compiled, columns, terms, motion, common) -> Refit:
    """Refit of a support, with the scale of L that :func:`identify` describes.

    Only terms in `common`, if any, may fix it.
    """
    chosen = _chosen(support, columns)
    if motion.force is not None:
        return refit(compiled, chosen, motion, len(chosen))
    allowed = [not common or k in common for k in support]
    reference = chosen == terms.reference
    if (reference & allowed).any():
        fixed, value = int(np.argmax(reference)), terms.reference_coefficient
    else:
        unit = ratio.minimise(support)[1]
        inertia = np.diag(ratio.metric - ratio.gram)[list(support)]
        fixed, value = int(np.argmax(inertia * unit**2 * allowed)), 0.5
    result = refit(compiled, chosen, motion, fixed)
    return replace(
        result, coefficients=value * result.coefficients, std=abs(value) * result.std
    )


def _diagnostics(path, ratio, size, jump, model) -> dict:
    tau = max(ratio.minimise(path.supports[size])[0], 0.0)
    explained = not model.unexplained(CERTAIN_STANDARD_ERRORS)
    result = {
        "jump": (jump, "largest jump of log e, the confidence in the structure"),
        "trusted": (
            int(jump >= TRUSTED_JUMP and explained),
            "whether the jump is at least 1.5, and noise explains the residual",
        ),
        "acceleration_error": (
            path.errors[size],
            "clipped mean square error of qddot over its variance",
        ),
        "residual_ratio": (
            tau / max(1 - tau, 1e-300),
            "mean square residual over mean square inertial force",
        ),
        "excess": (model.excess, "residual ratio without the part of noise"),
        "excess_std": (model.excess_std, "its standard error"),
    }
    return {name: (value, "1", meaning) for name, (value, meaning) in result.items()}


def _noise(equations: xr.Dataset) -> dict:
    """Noise that the smoothing found, one array per channel."""
    if "noise_std" not in equations:
        return {}
    meaning = "standard deviation of the noise found in"
    return {
        f"noise_{name}": (("dof",), result, "mixed", f"{meaning} {name}")
        for name, result in zip(
            equations["channel"].values, equations["noise_std"].values[0].T, strict=True
        )
    }
