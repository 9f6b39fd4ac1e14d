"""SINDy-PI: parallel implicit sparse identification (Kaheman et al. 2020)."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.euler_lagrange import acceleration_names, symbols, velocity_names
from leastaction.core.expressions import parse, symbol
from leastaction.core.settings import CHANNELS
from leastaction.trajectories.gram import evenly
from leastaction.trajectories.joint_spline import channel, states
from leastaction_papers.scorecard.implicit_library import ImplicitLibrary, input_names
from leastaction_papers.xl_sindy.contracts import CONTRACTS

RECORDED = (*CHANNELS, "input")
# One trajectory in so many is held out.
TRAJECTORIES_PER_HELD_OUT = 5
# Rows of a block of the QR factorisation over its columns: blocks fit the cache.
BLOCK_ROWS_PER_COLUMN = 16
MOST_THRESHOLDINGS = 20
# Share of the variance of an acceleration below which models are equally good.
NEGLIGIBLE_ERROR = 1e-10
log = logging.getLogger(__name__)


def held_out(qddot: np.ndarray, which: str = "fifth") -> np.ndarray:
    """Every fifth trajectory by its rms acceleration, or ``last``, only the last one.

    The order of the trajectories in the file has no influence, and slow and fast
    motions are on both sides. `qddot` has the shape (trajectory, time, dof).
    """
    if which == "last":
        return np.array([len(qddot) - 1])
    order = np.argsort((qddot**2).mean((1, 2)), kind="stable")
    return order[TRAJECTORIES_PER_HELD_OUT // 2 :: TRAJECTORIES_PER_HELD_OUT]


def triangular_factor(theta: np.ndarray) -> np.ndarray:
    """R of Θ = Q R, from those of blocks of rows that fit the cache."""
    rows, columns = theta.shape
    size = BLOCK_ROWS_PER_COLUMN * columns
    blocked = rows // size * size
    blocks = np.linalg.qr(theta[:blocked].reshape(-1, size, columns), mode="r")
    stacked = np.concatenate([blocks.reshape(-1, columns), theta[blocked:]])
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
    q, qdot, qddot = states(observations, derivatives)
    driven = "input" in observations
    force = channel(observations, derivatives, "input") if driven else np.zeros_like(q)
    motion = {"q": q, "qdot": qdot, "qddot": qddot, "input": force}
    trajectories, _, dof = q.shape
    least = 2 if settings["held_out"] == "last" else TRAJECTORIES_PER_HELD_OUT
    if trajectories < least:
        raise ValueError(
            f"SINDy-PI holds the {settings['held_out']} trajectory out to choose its "
            f"model, of {least} at least; number of trajectories: {trajectories}"
        )
    outside = held_out(qddot, settings["held_out"])
    training = (np.delete(channel, outside, axis=0) for channel in motion.values())
    theta = terms.evaluate(*(channel.reshape(-1, dof) for channel in training))
    others = {k: channel[outside].reshape(-1, dof) for k, channel in motion.items()}
    chosen = evenly(len(others["q"]), settings["samples"])
    if len(theta) < len(terms.terms):
        raise ValueError(
            f"SINDy-PI has {len(theta)} samples for {len(terms.terms)} candidates"
        )
    every = np.arange(len(terms.terms))
    return CONTRACTS["implicit_regression"].dataset(
        {
            "factor": triangular_factor(theta) / np.sqrt(len(theta)),
            "member": np.array([np.isin(every, m) for m in terms.members], "int8"),
            **{f"{name}_held_out": each[chosen] for name, each in others.items()},
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
    factor: np.ndarray,
    left: int,
    threshold: float,
    solved: dict,
    unit: bool = True,
    left_only: Sequence[int] = (),
) -> np.ndarray:
    """Sequential thresholded least squares of one column on all others.

    From R of Θ = Q R: c with Θ c ≈ 0 and c = 1 at `left`. Of columns of `unit` length
    the `threshold` is a share of the left-hand side whatever the units; `solved` keeps
    what was solved before. Columns `left_only` are on no right-hand side. Source:
    Kaheman, Kutz, Brunton, SINDy-PI (2020).

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((100, 2))
    >>> theta = np.column_stack([2 * x[:, 0], x])
    >>> sparse_relation(theta, 0, 0.1, {}).round(6)
    array([ 1., -2.,  0.])
    """
    length = np.linalg.norm(factor, axis=0) if unit else np.ones(factor.shape[1])
    length = np.where(length > 0, length, 1.0)
    scaled = factor / length
    active = np.delete(np.arange(factor.shape[1]), [left, *left_only])
    solution = np.zeros(0)
    for _ in range(MOST_THRESHOLDINGS):
        problem = (left, active.tobytes())
        if problem not in solved:
            sides = scaled[:, active], -scaled[:, left]
            solved[problem] = np.linalg.lstsq(*sides, rcond=None)[0]
        solution = solved[problem]
        large = np.abs(solution) >= threshold
        if large.all():
            break
        active, solution = active[large], solution[large]
    coefficients = np.zeros(factor.shape[1])
    coefficients[active] = solution / length[active]
    coefficients[left] = 1.0 / length[left]
    return coefficients / coefficients[left]


def held_out_error(
    values: np.ndarray,
    slope: np.ndarray,
    qddot: np.ndarray,
    coefficients: np.ndarray,
    bounded: bool = True,
) -> float:
    """Mean over samples of min(1, e²/var q̈), e the error of the predicted q̈.

    The acceleration follows from the equation with everything else as measured. The
    bound is in favour of the method: the published one has none and lets a vanishing
    denominator spoil the mean. Of an acceleration that does not vary, every error is
    the largest. `values` of the candidates and their `slope`, the derivatives by q̈,
    have the shape (sample, term), `qddot` (sample,).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        error = (values @ coefficients) / (slope @ coefficients)
    variance = qddot.var()
    if variance == 0:
        return float((error != 0).mean())
    largest = 1.0 if bounded else np.inf
    return float(np.fmin(error**2 / variance, largest).mean())


def best_equation(
    factor: np.ndarray,
    left_hand_sides: Sequence[int],
    values: np.ndarray,
    slope: np.ndarray,
    qddot: np.ndarray,
    settings: Mapping,
    left_only: Sequence[int] = (),
) -> ImplicitEquation:
    """Equation with the best score over left-hand sides and thresholds.

    .. math::  score = \\log(error) + cost × (number of terms)

    Arrays as for :func:`sparse_relation` and :func:`held_out_error`; `left_only` are on
    no right-hand side.
    """
    grid = settings["thresholds"]
    thresholds = np.geomspace(grid["smallest"], grid["largest"], grid["count"])
    best, lowest, tried, solved = None, np.inf, set(), {}
    how = solved, settings["unit_columns"], left_only
    for left, threshold in product(left_hand_sides, thresholds):
        relation = sparse_relation(factor, left, threshold, *how)
        key = (left, *np.flatnonzero(relation))
        if key in tried:
            continue
        tried.add(key)
        error = held_out_error(values, slope, qddot, relation, settings["bounded"])
        score = np.log(error + NEGLIGIBLE_ERROR)
        score += settings["term_cost"] * np.count_nonzero(relation)
        if score < lowest:
            best = ImplicitEquation(relation, left, float(threshold), error)
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
    thresholding as in their code and that of Purnomo and Hayashibe. By itself columns
    are scaled to unit length, which theirs are not.
    """
    check(equations, "implicit_regression")
    coordinates = [str(name) for name in equations["dof"].values]
    terms = ImplicitLibrary.from_config(library, coordinates)
    factor = equations["factor"].values[0]
    motion = [equations[f"{name}_held_out"].values[0] for name in RECORDED]
    values, slopes = terms.evaluate(*motion), terms.slopes(*motion)
    qddot = motion[2]
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
        equation = best_equation(
            factor[:, m],
            _places(settings.get("left_hand_sides"), terms, m)
            or [m.index(k) for k in terms.left_hand_sides(a)],
            values[:, m],
            slopes[:, a, m],
            qddot[:, a],
            settings,
            _places(settings.get("left_only"), terms, m),
        )
        coefficients[a, m] = equation.coefficients
        chosen.append(equation._replace(left=m[equation.left]))
    names = np.array(terms.names, dtype=object)
    return CONTRACTS["implicit_model"].dataset(
        {
            "coefficient_estimate": coefficients,
            "support": (coefficients != 0).astype("int8"),
            "left_hand_side": names[[equation.left for equation in chosen]],
            "threshold": [equation.threshold for equation in chosen],
            "held_out_error": [equation.error for equation in chosen],
            "member": equations["member"],
        },
        {
            "replicate": equations["replicate"],
            "dof": equations["dof"],
            "implicit_term": names,
        },
    )


def _places(texts, terms: ImplicitLibrary, members: Sequence[int]) -> list[int]:
    """Positions among the members of an equation of terms as a person writes them."""
    places = map(terms.position, texts or ())
    return [members.index(k) for k in places if k in members]


@dataclass(frozen=True, repr=False)
class ImplicitModel:
    """Equations Σ c_k Θ_k(q, q̇, q̈) = 0, one per coordinate, affine in q̈.

    The dataset is one case, contract ``implicit_model``, without a sweep.
    """

    dataset: xr.Dataset
    replicate: int = 0  # its position

    def __post_init__(self):
        check(self.dataset, "implicit_model")

    @property
    def coordinates(self) -> list[str]:
        """Names of q."""
        return [str(name) for name in self.dataset["dof"].values]

    @cached_property
    def equations(self) -> tuple[sp.Expr, ...]:
        """Left sides Σ c_k Θ_k, one per coordinate, in `parameters`."""
        names = self.coordinates
        rates = [*velocity_names(names), *acceleration_names(names)]
        names = [*names, *rates, *input_names(names)]
        terms = [parse(str(t), names) for t in self.dataset["implicit_term"].values]
        rows = [np.flatnonzero(row) for row in self._rows]
        return tuple(
            sp.Add(*(symbol(f"c_{a}_{k}") * terms[k] for k in row))
            for a, row in enumerate(rows)
        )

    @property
    def parameters(self) -> dict[str, float]:
        """Values of the coefficients: ``c_a_k`` of term k in equation a.

        Models with the same terms share what is compiled from them.
        """
        return {
            f"c_{a}_{k}": float(row[k])
            for a, row in enumerate(self._rows)
            for k in np.flatnonzero(row)
        }

    @property
    def _rows(self) -> np.ndarray:
        return self.dataset["coefficient_estimate"].values[self.replicate]

    @cached_property
    def slopes(self) -> sp.Matrix:
        """Matrix of ∂(equation)/∂q̈; where it is singular there is no acceleration."""
        return sp.Matrix(self.equations).jacobian(self._qddot)

    @cached_property
    def accelerations(self) -> tuple[sp.Expr, ...]:
        """Accelerations q̈ (q, q̇) that solve the equations.

        Raises
        ------
        ValueError
            If the equations do not determine the accelerations anywhere, or hold an
            input.
        """
        driven = symbols(input_names(self.coordinates))
        if any(equation.has(*driven) for equation in self.equations):
            raise ValueError(
                "rollouts of implicit equations with an input are not made; leave the "
                "estimator out of validate.estimators"
            )
        if self.slopes.det() == 0:
            raise ValueError(
                f"the equations do not determine the accelerations:\n{self}"
            )
        rest = sp.Matrix(self.equations).subs(dict.fromkeys(self._qddot, 0))
        return tuple(self.slopes.LUsolve(-rest))

    @property
    def _qddot(self) -> tuple[sp.Symbol, ...]:
        return symbols(acceleration_names(self.coordinates))

    def __str__(self) -> str:
        left = self.dataset["left_hand_side"].values[self.replicate]
        rows = self._rows
        names = [str(t) for t in self.dataset["implicit_term"].values]
        lines = ["Implicit equations of motion"]
        for side, row in zip(left, rows, strict=True):
            rest = [
                f"{'+-'[bool(-row[k] < 0)]} {abs(row[k]):.6g} {names[k]}"
                for k in np.flatnonzero(row)
                if names[k] != side
            ]
            lines.append(f"  {side} = {' '.join(rest) or '0'}")
        return "\n".join(lines)

    __repr__ = __str__
