"""SINDy-PI: parallel implicit sparse identification (Kaheman et al. 2020)."""

import logging
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.implicit_library import ImplicitLibrary
from leastaction.core.noise_sweep import CHANNELS
from leastaction.trajectories.contracts import CONTRACTS
from leastaction.trajectories.gram import evenly
from leastaction.trajectories.motion import states

# One trajectory in so many is held out.
TRAJECTORIES_PER_HELD_OUT = 5
# Rows of a block of the QR factorisation over its columns: blocks fit the cache.
BLOCK_ROWS_PER_COLUMN = 16
MOST_THRESHOLDINGS = 20
# Share of the variance of an acceleration below which models are equally good.
NEGLIGIBLE_ERROR = 1e-10
log = logging.getLogger(__name__)


def held_out(qddot: np.ndarray) -> np.ndarray:
    """Every fifth trajectory in the order of its root mean square acceleration.

    The order of the trajectories in the file has no influence, and slow and fast
    motions are on both sides.

    Parameters
    ----------
    qddot
        Shape (trajectory, time, dof).

    Returns
    -------
    Positions of the trajectories held out, in that order.
    """
    order = np.argsort((qddot**2).mean((1, 2)), kind="stable")
    return order[TRAJECTORIES_PER_HELD_OUT // 2 :: TRAJECTORIES_PER_HELD_OUT]


def triangular_factor(theta: np.ndarray) -> np.ndarray:
    """R of Θ = Q R, from those of blocks of rows that fit the cache."""
    rows, columns = theta.shape
    size = BLOCK_ROWS_PER_COLUMN * columns
    whole = rows // size * size
    blocks = np.linalg.qr(theta[:whole].reshape(-1, size, columns), mode="r")
    stacked = np.concatenate([blocks.reshape(-1, columns), theta[whole:]])
    return np.linalg.qr(stacked, mode="r")


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """QR factor of the candidates Θ(q, q̇, q̈), and samples of trajectories held out.

    The triangular factor R holds all that least squares with any left-hand side needs,
    ΘᵀΘ = RᵀR, without the squared condition number of ΘᵀΘ.

    Raises
    ------
    ValueError
        If there are too few trajectories to hold some out, or too few samples.
    """
    check(observations, "motion")
    check(derivatives, "rates")
    coordinates = [str(name) for name in observations["dof"].values]
    terms = ImplicitLibrary.from_config(library, coordinates)
    motion = states(observations, derivatives)
    trajectories, _, dof = motion[0].shape
    if trajectories < TRAJECTORIES_PER_HELD_OUT:
        raise ValueError(
            f"SINDy-PI holds every {TRAJECTORIES_PER_HELD_OUT}th trajectory out to "
            f"choose its model; there are {trajectories}"
        )
    outside = held_out(motion[2])
    training = [
        np.delete(channel, outside, axis=0).reshape(-1, dof) for channel in motion
    ]
    kept = [channel[outside].reshape(-1, dof) for channel in motion]
    chosen = evenly(len(kept[0]), settings["samples"])
    theta = terms.evaluate(*training)
    if len(theta) < len(terms.terms):
        raise ValueError(
            f"SINDy-PI has {len(theta)} samples for {len(terms.terms)} candidates"
        )
    factor = triangular_factor(theta) / np.sqrt(len(theta))
    member = np.zeros((dof, len(terms.terms)), dtype="int8")
    for row, members in zip(member, terms.members, strict=True):
        row[list(members)] = 1
    return CONTRACTS["implicit_regression"].dataset(
        {
            "factor": factor,
            "member": member,
            **{
                f"{name}_held_out": channel[chosen]
                for name, channel in zip(CHANNELS, kept, strict=True)
            },
        },
        {
            "replicate": observations["replicate"],
            "dof": coordinates,
            "implicit_term": terms.names,
        },
    )


class ImplicitEquation(NamedTuple):
    """Relation Σ c_k Θ_k = 0, scaled so that the left-hand side has coefficient one."""

    coefficients: np.ndarray
    left: int
    threshold: float
    error: float


def sparse_relation(
    factor: np.ndarray, left: int, threshold: float, solved: dict | None = None
) -> np.ndarray:
    """Sequential thresholded least squares of one column on all others.

    Columns have unit length here, the left-hand side too, so `threshold` is a share of
    it whatever the units.

    Parameters
    ----------
    factor
        R of Θ = Q R, shape (row, term).
    left
        Column on the left-hand side.
    threshold
        Coefficients of unit columns below it are set to zero.
    solved
        Least squares solved before with this `factor`, by columns; it grows.

    Returns
    -------
    c of shape (term,) with Θ c ≈ 0 and c = 1 at `left`.
    """
    length = np.linalg.norm(factor, axis=0)
    length = np.where(length > 0, length, 1.0)
    unit = factor / length
    active = np.flatnonzero(np.arange(factor.shape[1]) != left)
    found = np.zeros(0)
    solved = {} if solved is None else solved
    for _ in range(MOST_THRESHOLDINGS):
        problem = (left, active.tobytes())
        if problem not in solved:
            solved[problem] = np.linalg.lstsq(
                unit[:, active], -unit[:, left], rcond=None
            )[0]
        found = solved[problem]
        large = np.abs(found) >= threshold
        if large.all():
            break
        active, found = active[large], found[large]
    coefficients = np.zeros(factor.shape[1])
    coefficients[active] = found / length[active]
    coefficients[left] = 1.0 / length[left]
    return coefficients / coefficients[left]


def held_out_error(
    values: np.ndarray, slope: np.ndarray, qddot: np.ndarray, coefficients: np.ndarray
) -> float:
    """Mean over samples of min(1, e²/var q̈), e the error of the predicted q̈.

    The acceleration follows from the equation with everything else as measured. The
    bound is in favour of the method: the published one lets a vanishing denominator
    spoil the mean. Of an acceleration that does not vary, every error is the largest.

    Parameters
    ----------
    values, slope
        Θ and ∂Θ/∂q̈ of the equation's coordinate, shape (sample, term).
    qddot
        Measured acceleration of that coordinate, shape (sample,).
    coefficients
        c, shape (term,).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        error = (values @ coefficients) / (slope @ coefficients)
    variance = qddot.var()
    if variance == 0:
        return float((error != 0).mean())
    return float(np.fmin(error**2 / variance, 1.0).mean())


def best_equation(
    factor: np.ndarray,
    left_hand_sides: list[int],
    values: np.ndarray,
    slope: np.ndarray,
    qddot: np.ndarray,
    settings: Mapping,
) -> ImplicitEquation:
    """Equation with the best score over left-hand sides and thresholds.

    .. math::  score = \\log(error) + cost × (number of terms)

    Parameters
    ----------
    factor, values, slope, qddot
        As for :func:`sparse_relation` and :func:`held_out_error`.
    left_hand_sides
        Columns that are tried on the left-hand side.
    settings
        `thresholds`, ``{smallest, largest, count}`` in geometric steps; `term_cost`.
    """
    grid = settings["thresholds"]
    thresholds = np.geomspace(grid["smallest"], grid["largest"], grid["count"])
    best, lowest, seen, solved = None, np.inf, set(), {}
    for left in left_hand_sides:
        for threshold in thresholds:
            found = sparse_relation(factor, left, threshold, solved)
            key = (left, *np.flatnonzero(found))
            if key in seen:
                continue
            seen.add(key)
            error = held_out_error(values, slope, qddot, found)
            score = np.log(error + NEGLIGIBLE_ERROR)
            score += settings["term_cost"] * np.count_nonzero(found)
            if score < lowest:
                best = ImplicitEquation(found, left, float(threshold), error)
                lowest = score
    return best


def identify(
    equations: xr.Dataset,
    settings: Mapping,
    observations: xr.Dataset,
    library: Mapping,
) -> xr.Dataset:
    """Identify an implicit equation for every coordinate.

    Paper: the least-squares program of Kaheman et al., eq. (2.8), with sequential
    thresholding as in their code and that of Purnomo and Hayashibe; columns are scaled
    to unit length, which theirs are not.
    """
    check(equations, "implicit_regression")
    coordinates = [str(name) for name in equations["dof"].values]
    terms = ImplicitLibrary.from_config(library, coordinates)
    factor = equations["factor"].values[0]
    q, qdot, qddot = (
        equations[f"{name}_held_out"].values[0] for name in ("q", "qdot", "qddot")
    )
    values, slopes = (f(q, qdot, qddot) for f in (terms.evaluate, terms.slopes))
    coefficients = np.zeros((len(coordinates), len(terms.terms)))
    still = [n for n, each in zip(coordinates, qddot.T, strict=True) if not each.var()]
    if still:
        log.warning(
            "sindy_pi: the acceleration of %s does not vary in the data; its equation "
            "says no more than that",
            ", ".join(still),
        )
    chosen = []
    for a, members in enumerate(terms.members):
        m = list(members)
        found = best_equation(
            factor[:, m],
            [m.index(k) for k in terms.left_hand_sides(a)],
            values[:, m],
            slopes[:, a, m],
            qddot[:, a],
            settings,
        )
        coefficients[a, m] = found.coefficients
        chosen.append(found._replace(left=m[found.left]))
    names = np.array(terms.names, dtype=object)
    return CONTRACTS["implicit_model"].dataset(
        {
            "coefficient_estimate": coefficients,
            "support": (coefficients != 0).astype("int8"),
            "left_hand_side": names[[found.left for found in chosen]],
            "threshold": [found.threshold for found in chosen],
            "held_out_error": [found.error for found in chosen],
            "member": equations["member"],
        },
        {
            "replicate": equations["replicate"],
            "dof": equations["dof"],
            "implicit_term": names,
        },
    )
