"""Moments of noisy measurements, whose residual is a moving average.

What :mod:`~leastaction.ensembles.martingale_moments` pairs is noisy on both sides: the
increment k → k+1 contains the sensor noise of samples k and k+1. Three changes make the
moments right again:

* The instruments come from samples at least `lag` before the increment, the memory of
  the sensor noise; a trailing mean over about 2ξ samples keeps the noise in them small,
  with ξ = s_q̇/(σ√dt).
* A nonlinear function of noisy data has the wrong mean. If e is Gaussian with
  covariance diag(s²), the mean of f(x + e) is exp(½ Σ s_j² ∂_j²) f. So Appell's
  operator, the inverse of that heat kernel, gives f̃ = exp(−½ Σ s_j² ∂_j²) f with
  E f̃(x + e) = f(x); on monomials these are Hermite polynomials (Appell 1880; Stefanski
  1989 for errors in variables). It is applied to ∂D/∂q̇ and ∂D/∂q.
* Neighbouring residuals depend on each other. With the products of instruments and of
  increments at lags 0 ... L kept, every residual autocovariance γ_h(c) = cᵀ G_h c, and
  with it the covariance of the moments,

  .. math::  \\operatorname{Cov} \\sum_k Z_k r_k
             = \\sum_h γ_h ⊗ \\sum_k Z_k Z_{k+h}^T ,

  is known for every choice of coefficients c without a second look at the data.

From displacements alone: :mod:`~leastaction.ensembles.weak_moments`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.compiled import evaluator
from leastaction.core.contracts import check, time_step
from leastaction.core.euler_lagrange import (
    rates_along_motion,
    symbols,
    velocity_names,
)
from leastaction.core.expressions import symbol
from leastaction.core.library import Library
from leastaction.ensembles.contracts import CONTRACTS
from leastaction.ensembles.martingale_moments import (
    monomial_instruments,
    step_increments,
)

# So that what is made of them fits the processor's cache.
SAMPLES_PER_BATCH = 500
# Exact for polynomials of degree 7; the next term of sin x is s⁸/384.
ORDER_OF_APPELL = 3


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Lagged moments of noisy (q, q̇) at one scale, the length of the trailing mean.

    Instruments are those of
    :func:`~leastaction.ensembles.martingale_moments.monomial_instruments`, of the
    smoothed state.
    """
    check(derivatives, "sensor_noise")
    coordinates = [str(name) for name in observations["dof"].values]
    terms = Library.from_config(library, coordinates)
    instruments = monomial_instruments(coordinates, settings)
    moments = _accumulate(observations, derivatives, terms, instruments)
    return moments_dataset([moments], observations, derivatives, terms, instruments)


@dataclass(frozen=True)
class Moments:
    """Sums over one replicate at one scale of smoothing.

    Attributes
    ----------
    moment
        Σ Z Xᵀ, shape (dof, instrument, term).
    instrument_gram
        Σ_k Z_k Z_{k+h}ᵀ, shape (lag, instrument, instrument).
    increment_gram
        Mean of X_k X_{k+h}ᵀ, shape (lag, dof, dof, term, term).
    window
        What the scale is, in samples.
    """

    moment: np.ndarray
    instrument_gram: np.ndarray
    increment_gram: np.ndarray
    window: int

    @classmethod
    def of_columns(cls, moment, z_gram, x_gram, columns: "Columns", window: int):
        """From sums over the columns that are not zero, shapes (..., column)."""
        place, dof, m = columns.place, columns.dof, columns.terms
        full_moment = np.zeros((len(moment), dof * m))
        full_moment[:, place] = moment
        full_gram = np.zeros((len(x_gram), dof * m, dof * m))
        full_gram[:, place[:, None], place] = x_gram
        return cls(
            np.moveaxis(full_moment.reshape(-1, dof, m), 0, 1),
            z_gram,
            np.moveaxis(full_gram.reshape(-1, dof, m, dof, m), -2, -3),
            window,
        )


class Columns:
    """Momenta and forces of all candidates, those that are zero by algebra left out.

    Most candidates act on few degrees of freedom.

    Attributes
    ----------
    dof, terms
        Numbers of degrees of freedom and of candidates.
    place
        Positions of the columns among all (dof, term).
    width
        Number of columns.
    momenta, forces
        ∂D/∂q̇ and ∂D/∂q of each column.
    """

    def __init__(self, library: Library):
        q = symbols(library.coordinates)
        qdot = symbols(velocity_names(library.coordinates))
        momenta = [sp.diff(term, v) for v in qdot for term in library.column_terms]
        forces = [sp.diff(term, x) for x in q for term in library.column_terms]
        pairs = list(zip(momenta, forces, strict=True))
        self.dof, self.terms = len(q), len(library.columns)
        self.place = np.array([i for i, pair in enumerate(pairs) if any(pair)])
        self.width = len(self.place)
        self.momenta = [momenta[i] for i in self.place]
        self.forces = [forces[i] for i in self.place]


def lagged_gram(rows: np.ndarray, lags: int, first: int = 0) -> np.ndarray:
    """Σ_k x_k x_{k+h}ᵀ of one path, h = `first` ... `lags`, (lag, column, column)."""
    n, width = rows.shape
    gram = np.empty((lags + 1 - first, width, width))
    for i, h in enumerate(range(first, lags + 1)):
        np.matmul(rows[: n - h].T, rows[h:], out=gram[i])
    return gram


def moments_dataset(
    scales: list[Moments], observations, derivatives, terms: Library, instruments
) -> xr.Dataset:
    """Contract ``moving_average_moments`` of one replicate.

    Fewer lags at a scale than at the others are filled with zeros.
    """
    lags = max(len(one.instrument_gram) for one in scales)
    q = observations["q"]
    return CONTRACTS["moving_average_moments"].dataset(
        {
            "moment": np.stack([one.moment for one in scales]),
            "instrument_gram": np.stack(
                [_padded(one.instrument_gram, lags) for one in scales]
            ),
            "increment_gram": np.stack(
                [_padded(one.increment_gram, lags) for one in scales]
            ),
            "realised_covariation": derivatives["realised_covariation"],
            "window": [one.window for one in scales],
            "samples": q.sizes["trajectory"] * (q.sizes["time"] - 1),
            "time_step": time_step(observations),
            "status": [terms.status[i] for i in terms.columns],
            "library_status": terms.status,
            "library_equivalent": terms.freedom.equivalent,
            "library_given": terms.given,
        },
        coords={
            "replicate": derivatives["replicate"],
            "dof": list(terms.coordinates),
            "term": [terms.names[i] for i in terms.columns],
            "instrument": [str(z) for z in instruments],
            "candidate": terms.names,
        },
        attrs={"lagrangian_candidates": len(terms.terms)},
    )


def _padded(gram: np.ndarray, lags: int) -> np.ndarray:
    return np.concatenate([gram, np.zeros((lags - len(gram), *gram.shape[1:]))])


def unbiased(
    expression: sp.Expr,
    variance: Mapping[sp.Symbol, sp.Expr],
    order: int = ORDER_OF_APPELL,
) -> sp.Expr:
    """f̃ with E f̃(x + e) = f(x), to the power `order` of the variances.

    Parameters
    ----------
    expression
        f.
    variance
        s² of each symbol that is measured with noise.
    """
    total = term = sp.sympify(expression)
    for n in range(1, order + 1):
        if term == 0:
            break
        term = sum(
            (-s2 * sp.diff(term, x, 2) / (2 * n) for x, s2 in variance.items()),
            sp.Integer(0),
        )
        total += term
    return total


def smoothing_lengths(derivatives: xr.Dataset, steps: int) -> tuple[int, int]:
    """Samples of the trailing mean, and of the blocks that tell the long-run variance.

    About 2ξ and 5ξ. Where the first guess of σ is an upper limit only, both are lower
    limits; the smoothing scale bounds the first.
    """
    lag = int(derivatives["lag"].values[0])
    xi = float(np.nanmax(derivatives["noise_ratio"].values[0])) * np.sqrt(lag)
    scale = int(derivatives["smoothing_scale"].values[0])
    mean = int(np.clip(round(2 * xi), 1, max(1, scale)))
    shortest = 4 * max(1, lag)
    block = int(np.clip(np.ceil(5 * xi), shortest, max(shortest, steps // 16)))
    return mean, block


def trailing_mean(path: np.ndarray, length: int) -> np.ndarray:
    """Mean of the last `length` samples, of fewer where the path begins."""
    if length == 1:
        return path
    total = np.cumsum(path, axis=0)
    count = np.minimum(np.arange(1, len(path) + 1), length)
    total[length:] -= total[:-length].copy()
    return total / count[:, None]


def long_run_gram(rows: np.ndarray, block: int) -> np.ndarray:
    """Σ P Pᵀ with P the sums of increments under triangular windows (pre-averaging).

    The windows rise over one block of samples and fall over the next.
    """
    count = len(rows) // block
    pieces = rows[: count * block].reshape(count, block, -1)
    rise = np.arange(1, block + 1) / block
    rising, both = np.moveaxis(np.stack([rise, np.ones(block)]) @ pieces, 1, 0)
    windows = rising[:-1] + (both - rising)[1:]
    return windows.T @ windows


def triangle_products(block: int, lags: int) -> np.ndarray:
    """Σ_j w_j w_{j+h} of the triangular window, h = 0 ... `lags`."""
    rise = np.arange(1, block + 1) / block
    window = np.concatenate([rise, rise[-2::-1]])
    padded = np.concatenate([window, np.zeros(lags)])
    return np.array([window @ padded[h : h + len(window)] for h in range(lags + 1)])


def _accumulate(observations, derivatives, terms: Library, instruments) -> Moments:
    p = len(instruments)
    increments = Increments(terms, derivatives)
    evaluate = evaluator(list(instruments), terms.coordinates)
    q, v = observations["q"].values[0], observations["qdot"].values[0]
    dt, steps = time_step(observations), q.shape[1] - 1
    lag = int(derivatives["lag"].values[0])
    mean, block = smoothing_lengths(derivatives, steps)
    width = increments.width
    moment = np.zeros((p, width))
    z_gram = np.zeros((lag + 1, p, p))
    x_gram = np.zeros((lag + 1, width, width))
    long_run = np.zeros((width, width))
    for x, xdot in zip(q, v, strict=True):
        rows = increments(x, xdot, dt)[lag:]
        z = evaluate(*(trailing_mean(s, mean)[: steps - lag] for s in (x, xdot)))
        moment += z.T @ rows
        z_gram += lagged_gram(z, lag)
        x_gram[1:] += lagged_gram(rows, lag, first=1)
        long_run += long_run_gram(rows, block)
    x_gram /= len(q) * (steps - lag)
    long_run /= len(q) * ((steps - lag) // block - 1)
    x_gram[0] = _variance(x_gram, long_run, triangle_products(block, lag))
    return Moments.of_columns(moment, z_gram, x_gram, increments, mean)


def _variance(x_gram, long_run, products) -> np.ndarray:
    """G_0 such that the long-run variance is that of the triangular windows.

    Windows with Σ w_j w_{j+h} = W_h have the variance γ_0 W_0 + 2 Σ γ_h W_h. The sum
    γ_0 + 2 Σ γ_h of directly measured values would be lost in their errors for ξ ≫ 1.
    """
    both = x_gram[1:] + np.swapaxes(x_gram[1:], 1, 2)
    weighted = np.tensordot(products[1:], both, axes=1)
    return (long_run - weighted) / products[0]


class Increments(Columns):
    """Increments of all candidates over each step, without the bias by sensor noise."""

    def __init__(self, terms: Library, derivatives: xr.Dataset):
        super().__init__(terms)
        self._moving = np.array([bool(momentum) for momentum in self.momenta])
        state = [*terms.coordinates, *velocity_names(terms.coordinates)]
        noise = [f"{name}_variance" for name in state]
        variance = {symbol(x): symbol(s) for x, s in zip(state, noise, strict=True)}
        momenta = [momentum for momentum in self.momenta if momentum]
        rates = rates_along_motion(self.forces, terms.coordinates)
        columns = [unbiased(f, variance) for f in (*momenta, *self.forces)]
        self._evaluate = evaluator([*columns, *rates], terms.coordinates, noise)
        self._variance = np.square(
            np.concatenate(
                [derivatives[f"{x}_noise"].values[0] for x in ("position", "velocity")]
            )
        )

    def __call__(self, q: np.ndarray, qdot: np.ndarray, dt: float) -> np.ndarray:
        """Increments of one path, shape (samples − 1, width)."""
        steps, moving = len(q) - 1, int(self._moving.sum())
        rows = np.empty((steps, self.width))
        momentum = np.zeros((SAMPLES_PER_BATCH + 1, self.width))
        for start in range(0, steps, SAMPLES_PER_BATCH):
            window = slice(start, min(start + SAMPLES_PER_BATCH, steps) + 1)
            values = self._evaluate(q[window], qdot[window], self._variance)
            momentum[: len(values), self._moving] = values[:, :moving]
            rows[start : window.stop - 1] = step_increments(
                momentum[: len(values)],
                values[:, moving : moving + self.width],
                values[:, moving + self.width :],
                dt,
            )
        return rows
