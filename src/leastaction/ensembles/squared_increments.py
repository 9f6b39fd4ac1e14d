"""Volatility from squared increments, sample by sample.

With the identified drift removed, r_k = ∫ S dW over one step, so that
E[r_k² | state] = S²(q_k, q̇_k) dt. The regression of r_k²/dt on functions of the state
at the left end of the step therefore gives S², here with the constant among the
candidates and every sample kept: on the ensemble mean of one energy shell a constant
and ω² x² + v² could not be told apart.

If S² is more than a constant, the regression is repeated with averages over the step as
regressors and weights 1/S⁴ (:mod:`~leastaction.core.variance_function`), and S is
reported too if S² is the square of a + b f. The Itô drift of Stratonovich noise is left
in r_k: it changes r_k² by (∂S/∂q̇)² dt/4 of it.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core import variance_function
from leastaction.core.compiled import evaluator
from leastaction.core.contracts import time_step
from leastaction.core.estimate import LagrangianEstimate, VolatilityEstimate
from leastaction.core.euler_lagrange import rates_along_motion
from leastaction.core.expressions import symbol, to_text
from leastaction.core.library import Library, candidates
from leastaction.ensembles.martingale_moments import step_increments

# So that what is made of them fits the processor's cache.
INCREMENTS_PER_BATCH = 2000
# Change of S over one step by the drift, rms, over the constant part of S: at 0.035,
# the estimate of that part was off by 0.05 %.
LARGEST_CHANGE_PER_STEP = 0.03

log = logging.getLogger(__name__)


def identify(
    observations: xr.Dataset,
    estimate: LagrangianEstimate,
    settings: Mapping,
    library: Mapping,
) -> VolatilityEstimate:
    """Quadratic variation with drift removed, and best-subset regression of S².

    `volatility` is the square root of the quadratic variation over every sample; its
    standard error is σ / √(2 N) for N increments. Whether S² is more than a constant is
    decided on enough samples, evenly spaced; if it is, all count.
    """
    coordinates = [str(name) for name in observations["dof"].values]
    c, most = estimate.joint_coefficients, settings["max_terms"]
    residual = Residual(library, coordinates, np.flatnonzero(c))
    terms = residual.volatility_terms
    regressors = evaluator(list(terms), coordinates)
    q, qdot = observations["q"].values[0], observations["qdot"].values[0]
    dt, count = time_step(observations), q.shape[0] * (q.shape[1] - 1)
    sparse = max(1, count // variance_function.SAMPLES_TO_SEE_A_LAW)

    def squares(a):
        windows = residual.windows(q, qdot, dt, c, first=1)
        return ((x, v, np.square(r[:, a]) / dt) for x, v, r in windows)

    gram, samples, covariance = [0.0] * len(coordinates), 0, 0.0
    for x, v, r in residual.windows(q, qdot, dt, c):
        covariance = covariance + r.T @ r
        some = np.square(r[::sparse]) / dt
        values = regressors(x[:-1:sparse], v[:-1:sparse])
        samples += len(some)
        for a, target in enumerate(some.T):
            both = np.column_stack([values, target])
            gram[a] = gram[a] + both.T @ both
    covariance /= count * dt
    variance = np.diag(covariance)
    varying = [i for i, term in enumerate(terms) if term.free_symbols]
    fits = []
    for a, name in enumerate(coordinates):
        first = variance_function.select(gram[a], most, samples)
        result = variance_function.interpret(*first, terms)
        if result.coefficients[varying].any():
            result = _state_dependent(
                partial(squares, a), regressors, terms, most, (q[0], qdot[0]), name
            )
        elif result.coefficients.any():
            result = _constant(result, variance[a], count)
        fits.append(result)
    return _estimate(fits, terms, covariance, count)


def _estimate(fits, terms, covariance: np.ndarray, count: int) -> VolatilityEstimate:
    """Estimate from the law of each degree of freedom, and S Sᵀ of `count` samples."""
    variance = np.diag(covariance)
    varying = [i for i, term in enumerate(terms) if term.free_symbols]

    def each(name: str) -> np.ndarray:
        return np.array([getattr(one, name) for one in fits])

    return VolatilityEstimate(
        volatility=np.sqrt(variance),
        std=np.sqrt(variance / (2 * count)),
        terms=[to_text(term) for term in terms],
        coefficients=each("coefficients"),
        coefficient_std=each("std"),
        covariance=covariance,
        constant=~each("coefficients")[:, varying].any(axis=1),
        root=each("root"),
        root_std=each("root_std"),
        diagnostics={
            f"perfect_square_{name}": (each(name), "1", f"{meaning} S^2 = (a + b f)^2")
            for name, meaning in (
                ("statistic", "chi-square(1) of"),
                ("p_value", "p-value of"),
            )
        },
    )


def _constant(fit, variance: float, count: int):
    """The law of a constant: the quadratic variation over every sample."""
    one = fit.coefficients != 0
    return replace(
        fit,
        coefficients=np.where(one, variance, 0.0),
        std=np.where(one, variance * np.sqrt(2 / count), 0.0),
        root=np.where(one, np.sqrt(variance), 0.0),
        root_std=np.where(one, np.sqrt(variance / (2 * count)), 0.0),
        law=np.where(one, variance, 0.0),
    )


def _state_dependent(squares, regressors, terms, max_terms, path, name):
    """Law of S² by averages over each step of (q, q̇, `squares`).

    Warns if S changes much within a step of one `path`: averages then fall short.
    """

    def averaged():
        for x, v, square in squares():
            before, now = (x[:-2], v[:-2]), (x[1:-1], v[1:-1])
            yield variance_function.step_average(regressors, before, now), square

    result = variance_function.fit(averaged, terms, max_terms)
    one = [i for i, term in enumerate(terms) if not term.free_symbols]
    if not result.is_square or not result.root[one].any():
        return result
    change = np.diff(regressors(*path) @ result.root)
    # Noise in successive changes is uncorrelated; what the drift does repeats itself.
    drift = np.sqrt(max(np.mean(change[1:] * change[:-1]), 0.0))
    ratio = drift / abs(result.root[one].sum())
    if ratio > LARGEST_CHANGE_PER_STEP:
        log.warning(
            "the volatility of %s changes by %.2g of its constant part per sample "
            "(more than %g): that part has a bias of the order of 0.1 %%; sample "
            "faster",
            name,
            ratio,
            LARGEST_CHANGE_PER_STEP,
        )
    return result


class Residual:
    """Compiled residual of a library whose coefficients are given at run time.

    The coefficients are those of L, then those of the Rayleigh function. Terms that are
    not `chosen` are left out of the compiled code, whatever their coefficient.
    """

    def __init__(
        self,
        library: Mapping,
        coordinates: Sequence[str],
        chosen: Sequence[int] | None = None,
    ):
        terms = Library.from_config(library, coordinates)
        self.coordinates = coordinates
        self.volatility_terms = candidates(
            library.get("volatility", []), terms.variables
        )
        self._chosen = np.arange(len(terms.momenta[0])) if chosen is None else chosen
        self._momenta = [self._sum(row) for row in terms.momenta]
        self.forces = [self._sum(row) for row in terms.forces]
        self.lagrangian = self._sum([*terms.terms, *[0] * len(terms.dissipation)])

    def _sum(self, columns: Sequence[sp.Expr]) -> sp.Expr:
        """Sum of the chosen columns, each with its coefficient."""
        return sum((symbol(f"c_{i}") * columns[i] for i in self._chosen), sp.Integer(0))

    def compiled(self, functions: Sequence[sp.Expr]) -> Callable:
        """Evaluator ``(q, qdot, coefficients)`` of functions of the coefficients."""
        names = [f"c_{i}" for i in self._chosen]
        evaluate = evaluator(functions, self.coordinates, names)
        return lambda q, qdot, c: evaluate(q, qdot, c[self._chosen])

    @cached_property
    def _with_rates(self) -> Callable:
        rates = rates_along_motion(self.forces, self.coordinates)
        return self.compiled([*self._momenta, *self.forces, *rates])

    @cached_property
    def _with_value(self) -> Callable:
        return self.compiled([*self._momenta, *self.forces, self.lagrangian])

    def increments(self, q, qdot, dt: float, coefficients) -> np.ndarray:
        """Δ(∂L/∂q̇) − ∫∂L/∂q dt of each step, shape (samples − 1, dof)."""
        values = self._with_rates(q, qdot, coefficients)
        return step_increments(*np.split(values, 3, axis=1), dt)

    def windows(self, q, qdot, dt: float, coefficients, first: int = 0) -> Iterator:
        """Pieces of (q, q̇) of all paths, with the increments from the `first` on."""
        steps = q.shape[1] - 1
        for path, rate in zip(q, qdot, strict=True):
            for start in range(first, steps, INCREMENTS_PER_BATCH):
                stop = min(start + INCREMENTS_PER_BATCH, steps) + 1
                x, v = path[start - first : stop], rate[start - first : stop]
                yield x, v, self.increments(x, v, dt, coefficients)[first:]

    def central(self, q, qdot, dt: float, coefficients) -> tuple[np.ndarray, ...]:
        """Residual by central difference, (samples − 2, dof), and L, (samples − 2,)."""
        values = self._with_value(q, qdot, coefficients)
        momentum, force = np.split(values[:, :-1], 2, axis=1)
        rate = (momentum[2:] - momentum[:-2]) / (2 * dt)
        return rate - force[1:-1], values[1:-1, -1]
