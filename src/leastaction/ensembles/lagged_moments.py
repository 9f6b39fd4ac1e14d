"""Martingale moments of noisy measurements of q and q̇.

What :mod:`~leastaction.ensembles.martingale_moments` pairs is noisy on both sides: the
increment k → k+1 contains the sensor noise of samples k and k+1. Three changes make the
moments right again:

* The instruments come from samples at least `lag` before the increment, the memory of
  the sensor noise; a trailing mean over about 2ξ samples keeps the noise in them small,
  with ξ = s_q̇/(σ√dt).
* A nonlinear function of noisy data has the wrong mean. Appell's operator
  exp(−½ Σ s_j² ∂_j²), applied to ∂D/∂q̇ and ∂D/∂q, removes that.
* The residual is a moving average: its autocovariance goes with the moments.
"""

from collections.abc import Mapping

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.contracts import check, time_step
from leastaction.core.euler_lagrange import (
    rates_along_motion,
    symbols,
    velocity_names,
)
from leastaction.core.evaluator import evaluator
from leastaction.core.expressions import symbol
from leastaction.core.library import Library
from leastaction.ensembles.appell import unbiased
from leastaction.ensembles.increments import step_increments
from leastaction.ensembles.martingale_moments import monomial_instruments
from leastaction.ensembles.moving_average_moments import (
    Moments,
    by_term,
    lagged_gram,
    moments_dataset,
)

BLOCK = 500


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Lagged moments of one replicate.

    Parameters
    ----------
    observations
        One replicate, contract ``observations``.
    derivatives
        One replicate, contract ``sensor_noise``.
    settings
        `instrument_degree`: Z are all monomials of the smoothed state up to this
        degree, or up to a lower one (at least 2) if there were more than
        `most_instruments`.
    library
        The `library` section of the example.

    Returns
    -------
    xr.Dataset
        Contract ``moving_average_moments`` with a single scale, the length of the
        trailing mean.
    """
    check(derivatives, "sensor_noise")
    coordinates = [str(name) for name in observations["dof"].values]
    terms = Library.from_config(library, coordinates)
    instruments = monomial_instruments(coordinates, settings)
    moments = _accumulate(observations, derivatives, terms, instruments)
    q = observations["q"]
    return moments_dataset(
        [moments],
        derivatives,
        terms,
        [str(z) for z in instruments],
        q.sizes["trajectory"] * (q.sizes["time"] - 1),
        time_step(observations),
    )


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
    coordinates = terms.coordinates
    dof, m, p = len(coordinates), len(terms.columns), len(instruments)
    increments = Increments(terms, derivatives)
    evaluate = evaluator(list(instruments), coordinates)
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
    place = increments.place
    full_moment = np.zeros((p, dof * m))
    full_moment[:, place] = moment
    full_gram = np.zeros((lag + 1, dof * m, dof * m))
    full_gram[:, place[:, None], place] = x_gram
    return Moments(
        np.moveaxis(full_moment.reshape(p, dof, m), 0, 1),
        z_gram,
        by_term(full_gram, dof),
        mean,
    )


def _variance(x_gram, long_run, products) -> np.ndarray:
    """G_0 such that the long-run variance is that of the triangular windows.

    Windows with Σ w_j w_{j+h} = W_h have the variance γ_0 W_0 + 2 Σ γ_h W_h. The sum
    γ_0 + 2 Σ γ_h of directly measured values would be lost in their errors for ξ ≫ 1.
    """
    both = x_gram[1:] + np.swapaxes(x_gram[1:], 1, 2)
    weighted = np.tensordot(products[1:], both, axes=1)
    return (long_run - weighted) / products[0]


class Increments:
    """Increments of all candidates over each step, without the bias by sensor noise.

    Most candidates act on few degrees of freedom: only columns that algebra does not
    show to be zero are computed.

    Attributes
    ----------
    width
        Number of columns.
    place
        Their positions among all (dof, term), shape (width,).
    """

    def __init__(self, terms: Library, derivatives: xr.Dataset):
        q = symbols(terms.coordinates)
        qdot = symbols(velocity_names(terms.coordinates))
        momenta = [sp.diff(term, v) for v in qdot for term in terms.column_terms]
        forces = [sp.diff(term, x) for x in q for term in terms.column_terms]
        pairs = list(zip(momenta, forces, strict=True))
        self.place = np.array([i for i, pair in enumerate(pairs) if any(pair)])
        self.width = len(self.place)
        self._moving = np.array([bool(momenta[i]) for i in self.place])
        state = [*terms.coordinates, *velocity_names(terms.coordinates)]
        noise = [f"{name}_variance" for name in state]
        variance = {symbol(x): symbol(s) for x, s in zip(state, noise, strict=True)}
        momenta = [momenta[i] for i in self.place if momenta[i]]
        forces = [forces[i] for i in self.place]
        rates = rates_along_motion(forces, terms.coordinates)
        columns = [unbiased(f, variance) for f in (*momenta, *forces)]
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
        momentum = np.zeros((BLOCK + 1, self.width))
        for start in range(0, steps, BLOCK):
            window = slice(start, min(start + BLOCK, steps) + 1)
            values = self._evaluate(q[window], qdot[window], self._variance)
            momentum[: len(values), self._moving] = values[:, :moving]
            rows[start : window.stop - 1] = step_increments(
                momentum[: len(values)],
                values[:, moving : moving + self.width],
                values[:, moving + self.width :],
                dt,
            )
        return rows
