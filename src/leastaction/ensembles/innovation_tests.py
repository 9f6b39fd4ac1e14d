"""Whether innovations are white, Gaussian and without a line, as those of a law are."""

from collections.abc import Sequence

import numpy as np
from scipy.stats import chi2

from leastaction.ensembles.innovations_likelihood import (
    Fit,
    Likelihood,
    normalised_inverse,
)
from leastaction.ensembles.state_space import StateSpace

# Lags of the test of whiteness.
LAGS = 200


def order_disagreement(likelihood: Likelihood, fit: Fit) -> float:
    """Step to the maximum of a filter of first order, in standard errors.

    Where the second order matters, the third one may, too.
    """
    if likelihood.model.linear[list(fit.structure.columns)].all():
        return 0.0
    _, gradient, _ = likelihood.pieces(
        fit.structure, fit.theta, fit.axes, 3 - fit.order
    )
    inverse, size = normalised_inverse(fit.information)
    count = len(fit.structure.columns)
    step = (fit.axes @ (inverse @ (gradient / size) / size))[:count]
    step /= np.sqrt(np.diag(fit.covariance)[:count])
    return float(np.abs(step).max(initial=0.0))


def tested(model: StateSpace, fit: Fit) -> tuple[float, float, float, float]:
    """Largest excess kurtosis, p-values of whiteness and of a line, its frequency."""
    of_record = model.innovations(fit.structure, fit.theta, fit.order)
    series = [e / np.sqrt(V) for e, V in map(of_record, range(len(model.records)))]
    whole = np.concatenate(series)
    kurtosis = np.mean(whole**4, axis=0) / np.mean(whole**2, axis=0) ** 2 - 3
    white = ljung_box(series, LAGS, model.correlation_of_neighbours)
    line = (1.0, 0.0) if model.read_over == "Hz" else largest_line(series, model.dt)
    return float(np.abs(kurtosis).max()), white, *line


def ljung_box(series: Sequence[np.ndarray], most: int, neighbours=0.0) -> float:
    """P-value of Ljung and Box's test of the whiteness of records and channels.

    With r_h the sample correlation at lag h of n innovations, Q = n Σ r_h² is χ²; there
    are `most` lags, at most a quarter of the longest record of `series`, one array
    (time, channel) each. Fourier coefficients under a taper have a correlation ρ with
    their `neighbours`, so that lag one is left out, and √n r_h have the covariances
    (Bartlett 1946) 1 + 2ρ², 2ρ and ρ² at lags that are 0, 1 and 2 apart. Q is then
    taken for a multiple of χ² with the same mean and variance (Satterthwaite 1946). The
    smallest p-value of all channels counts, times their number (Bonferroni).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> white = rng.standard_normal((4000, 1))
    >>> walk = np.cumsum(white, axis=0)
    >>> print(ljung_box([white], 200) > 0.01, ljung_box([walk], 200))
    True 0.0
    """
    square = np.mean(np.square(np.concatenate(series)), axis=0)
    lags = range(2 if neighbours else 1, min(most, max(map(len, series)) // 4) + 1)
    statistic = np.zeros(len(square))
    for h in lags:
        count = sum(max(len(x) - h, 0) for x in series)
        product = sum((x[h:] * x[: max(len(x) - h, 0)]).sum(axis=0) for x in series)
        statistic += product**2 / count / square**2
    rho = neighbours**2
    mean, spread = 1 + 2 * rho, (1 + 2 * rho) ** 2 + 8 * rho + 2 * rho**2
    values = chi2.sf(statistic * mean / spread, len(lags) * mean**2 / spread)
    return float(min(1.0, values.min() * len(values)))


def largest_line(series: Sequence[np.ndarray], dt: float) -> tuple[float, float]:
    """P-value of the largest ordinate of all periodograms, and its frequency, Hz.

    Ordinates |Σ e_k exp(−2πi f k Δt)|²/n of white noise of unit variance are
    exponential, so that the largest of m, g, has p = 1 − (1 − e^{−g})^m (Fisher 1929).
    A tone stands out where it hardly adds to the correlations of innovations.

    Examples
    --------
    >>> white = np.random.default_rng(0).standard_normal((4000, 1))
    >>> tone = 0.2 * np.cos(0.8 * np.pi * np.arange(4000))[:, None]
    >>> largest_line([white], 0.1)[0] > 0.01, largest_line([white + tone], 0.1)[1]
    (True, 4.0)
    """
    square = np.mean(np.square(np.concatenate(series)), axis=0)
    count, largest, frequency = 0, 0.0, 0.0
    for x in series:
        power = np.abs(np.fft.rfft(x, axis=0)[1:-1]) ** 2 / len(x) / square
        count += power.size
        if power.max(initial=0.0) > largest:
            largest = power.max()
            place = 1 + np.argmax(power.max(axis=1))
            frequency = float(place / (len(x) * dt))
    return float(-np.expm1(count * np.log1p(-np.exp(-largest)))), frequency
