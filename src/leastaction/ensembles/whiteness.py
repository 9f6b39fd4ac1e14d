"""Test of the correlation of innovations over many lags."""

from collections.abc import Sequence

import numpy as np
from scipy.stats import chi2


def p_value(series: Sequence[np.ndarray], most: int, neighbours: float = 0.0) -> float:
    """P-value of Ljung and Box's test of several records and channels.

    With r_h the sample correlation at lag h of n innovations, Q = n Σ r_h² is χ².
    Fourier coefficients under a taper have a correlation ρ with their next neighbours,
    so that lag one is left out, and √n r_h have the covariances (Bartlett 1946)
    1 + 2ρ², 2ρ and ρ² at lags that are 0, 1 and 2 apart. Q is then taken for a multiple
    of χ² with the same mean and variance (Satterthwaite 1946).

    Parameters
    ----------
    series
        Standardised innovations, one array (time, channel) per record.
    most
        Lags, at most a quarter of the longest record.
    neighbours
        ρ.

    Returns
    -------
    float
        The smallest of all channels, times their number (Bonferroni).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> white = rng.standard_normal((4000, 1))
    >>> print(p_value([white], 200) > 0.01, p_value([np.cumsum(white, axis=0)], 200))
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
