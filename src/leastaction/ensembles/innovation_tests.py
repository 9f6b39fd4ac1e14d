"""Whether innovations are white, Gaussian and without a line, as those of a law are."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_discrete_are
from scipy.signal import fftconvolve
from scipy.stats import chi2

from leastaction.core.estimate import SURE_SCORE
from leastaction.ensembles.innovations_likelihood import (
    Fit,
    Likelihood,
    normalised_inverse,
)
from leastaction.ensembles.kalman_filter import response
from leastaction.ensembles.state_space import StateSpace

# Lags of the test of whiteness.
LAGS = 200
# Lags that innovations are predicted from, and parts of a record, every second of which
# tells how well.
PAST, PARTS = 20, 8
# Events that are named, and that carry no kurtosis of a force with a variance.
LARGEST = 5
# Of a shape, where it ends at the latest, and part of its largest value that is left.
MOST_OF_SHAPE, LEAST_OF_SHAPE = 2000, 1e-3
# Samples of the motion of a law, at most, and steps in one that turns by 0.3 rad.
SIMULATED, REFINED = 5000, 3


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


class Impulses(NamedTuple):
    """What the matched filter of impulses of the force says, of :func:`impulses`.

    Its excess `kurtosis` in all, and in standard deviations of one of a Gaussian force,
    the `score`; the `rate` of impulses of normal sizes that have it, 1/s; the part of
    it that the `LARGEST` events alone carry, in which records these are, and when, s.
    The likeliest size of an impulse at each sample of each record is its momentum.
    """

    kurtosis: float
    score: float
    rate: float
    part: float
    records: np.ndarray
    times: np.ndarray
    sizes: list[np.ndarray]

    @property
    def significant(self) -> bool:
        """Whether a Gaussian force does not have this kurtosis."""
        return self.score > SURE_SCORE


class Innovations(NamedTuple):
    """What innovations say: largest excess `kurtosis`, p-values, shares.

    Kurtosis is that of `impulses` where the law is linear. P-values of their whiteness
    and of their largest `line`, at a `frequency`, Hz; the share of their power that the
    `past` predicts.
    """

    kurtosis: float
    whiteness: float
    line: float
    frequency: float
    past: float
    impulses: Impulses | None


def tested(model: StateSpace, fit: Fit) -> Innovations:
    """Tests of the innovations of a law."""
    of_record = model.innovations(fit.structure, fit.theta, fit.order)
    series = [e / np.sqrt(V) for e, V in map(of_record, range(len(model.records)))]
    values = np.concatenate(series)
    kurtosis = excess_kurtosis(values)
    white = ljung_box(series, LAGS, model.correlation_of_neighbours)
    over_time = model.read_over == "s"
    line = largest_line(series, model.dt) if over_time else (1.0, 0.0)
    past = predicted_share(series) if over_time else 0.0
    shocks = impulses(model, fit, series) if over_time else None
    largest = float(np.abs(kurtosis).max()) if shocks is None else shocks.kurtosis
    return Innovations(largest, white, *line, past, shocks)


def impulses(
    model: StateSpace, fit: Fit, series: Sequence[np.ndarray]
) -> Impulses | None:
    """Matched filter for impulses of the random force, on innovations over their rms.

    An impulse between samples k and k + 1 makes the innovations a s_j, j = 0, 1, ...,
    where s_j = H (A (1 − K H))^j g/√V and g is the mean response within a step. Then
    z_k = Σ_j s_jᵀ e_{k+1+j} / |s| is normal with the autocorrelation ρ of s, and its
    excess kurtosis has the variance (24/N) Σ_h ρ_h⁴ (Lomnicki 1961). Impulses at a rate
    λ of normal sizes have κ = 3 f² Σ ρ⁴ / (λ Δt (Σ ρ²)²), with the part f of the
    variance of z that is that of the force. Raw innovations hide impulses under the
    noise of sensors, each of which is spread over many of them.

    Of the force that shows them most; None of nonlinear laws, and of those that do not
    settle.
    """
    if not model.linear[list(fit.structure.columns)].all():
        return None
    parameters = model.parameters(fit.structure, fit.theta)
    law = model.discrete(fit.structure, parameters)
    kicks = law and model.kicks(fit.structure, parameters)
    shapes = law and _shapes(law, kicks, parameters.noise, model.dt)
    shortest = min(map(len, series))
    filters = [
        _of_filter(shape, np.abs(root).max(), series, model.dt)
        for shape, root in zip(shapes or (), parameters.root.T, strict=False)
        if np.sum(shape**2) > 0 and len(shape) < shortest
    ]
    return max(filters, key=lambda one: one.score, default=None)


def _of_filter(shape: np.ndarray, root: float, series, dt: float) -> Impulses:
    """What the filter matched to a shape says of a force of strength `root`."""
    norm = np.sqrt(np.sum(shape**2))
    filtered = [_matched(x, shape / norm) for x in series]
    rho = sum(np.correlate(x, x, "full") for x in (shape / norm).T)
    z = np.concatenate(filtered)
    variance = np.mean(z**2)
    kurtosis = float(excess_kurtosis(z))
    score = float(kurtosis / np.sqrt(24 * np.sum(rho**4) / len(z)))
    rate = _rate(kurtosis, min(1.0, norm**2 * dt * np.sum(rho**2) / variance), rho, dt)
    places, carried = _largest(z, len(shape))
    share = carried / np.sum(z**4 - 3 * variance**2)
    sizes = _sizes(filtered, series, root / norm)
    events = _events(places, filtered, dt)
    return Impulses(kurtosis, score, rate, share, *events, sizes)


def _rate(kurtosis: float, part: float, rho: np.ndarray, dt: float) -> float:
    """Impulses of normal sizes in a second that have this kurtosis.

    The force makes a `part` of the variance of the filter, whose autocorrelation is ρ.
    """
    rate = 3 * part**2 * np.sum(rho**4) / np.sum(rho**2) ** 2 / dt
    return rate / kurtosis if kurtosis > 0 else np.inf


def _sizes(filtered, series, unit: float) -> list[np.ndarray]:
    """Size of an impulse at each sample of each record; NaN at the end of one."""
    result = [np.full(len(x), np.nan) for x in series]
    for sizes, z in zip(result, filtered, strict=True):
        sizes[1 : len(z) + 1] = unit * z[: len(sizes) - 1]
    return result


def _events(places: np.ndarray, filtered: Sequence[np.ndarray], dt: float):
    """Records, and times, s, from their beginning, of places in all of them together.

    >>> _events(np.array([2, 4]), [np.zeros(3), np.zeros(3)], 0.5)
    (array([0, 1]), array([1.5, 1. ]))
    """
    ends = np.cumsum([0, *map(len, filtered)])
    record = np.searchsorted(ends, places, side="right") - 1
    return record, (places - ends[record] + 1) * dt


def _shapes(law, kicks, noise, dt: float) -> list[np.ndarray] | None:
    """Innovations after one impulse by each column of `kicks`, in their deviations.

    Of channels taken one after the other: those of all at once by the unit factor L of
    V = L D Lᵀ. None if the filter does not settle.
    """
    A, Q, H = law.transition, law.covariance, law.sees
    try:
        P = solve_discrete_are(A.T, H.T, Q, np.diag(noise))
    except (np.linalg.LinAlgError, ValueError):
        return None
    V = H @ P @ H.T + np.diag(noise)
    root = np.linalg.cholesky(V)
    gain = P @ H.T @ np.linalg.inv(V)
    rest = A @ (np.eye(len(A)) - gain @ H)
    core = len(law.rates)
    mean = sum(response(law.rates, dt)) / dt
    state = np.zeros((len(A), kicks.shape[1]))
    state[:core] = mean @ kicks
    result, largest = [], 0.0
    while len(result) < MOST_OF_SHAPE:
        one = np.linalg.solve(root, H @ state)
        result.append(one)
        largest = max(largest, np.abs(one).max())
        if not np.abs(one).max() > LEAST_OF_SHAPE * largest:
            break
        state = rest @ state
    return list(np.moveaxis(np.array(result), 2, 0))


def _matched(x: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """Σ_j s_j · x_{k+j} of innovations (time, channel)."""
    sums = [fftconvolve(a, s[::-1], "valid") for a, s in zip(x.T, shape.T, strict=True)]
    return np.sum(sums, axis=0)


def _largest(z: np.ndarray, apart: int) -> tuple[np.ndarray, float]:
    """Places of the largest events, so far `apart`, and what they add to Σ z⁴ − 3σ⁴."""
    left, places, carried = np.abs(z), [], 0.0
    typical = 3 * np.mean(z**2) ** 2
    for _ in range(LARGEST):
        place = int(np.argmax(left))
        near = slice(max(place - apart, 0), place + apart + 1)
        carried += float(np.sum(left[near] ** 4 - typical * (left[near] > 0)))
        places.append(place)
        left[near] = 0.0
    return np.array(places), carried


def predicted_share(series: Sequence[np.ndarray]) -> float:
    """Largest share of the power of a channel that innovations before it predict.

    By least squares in every second part of the records, tested in the others; zero if
    it is none.

    Examples
    --------
    >>> white = np.random.default_rng(0).standard_normal((4000, 1))
    >>> mean = white[1:] + white[:-1]
    >>> print(predicted_share([white]), round(predicted_share([mean]), 2))
    0.0 0.49
    """
    from numpy.lib.stride_tricks import sliding_window_view

    sides: list[list] = [[], []]
    for x in series:
        if len(x) < PARTS * PAST:
            continue
        windows = sliding_window_view(x, PAST + 1, axis=0)
        past = windows[..., :-1].reshape(len(windows), -1)
        for k, rows in enumerate(np.array_split(np.arange(len(windows)), PARTS)):
            sides[k % 2].append((past[rows], windows[rows, :, -1]))
    if not sides[0]:
        return 0.0
    (x, y), (u, v) = (map(np.concatenate, zip(*side, strict=True)) for side in sides)
    weights, *_ = np.linalg.lstsq(x, y)
    left = np.mean((v - u @ weights) ** 2, axis=0) / np.mean(v**2, axis=0)
    return float(np.max(1 - left).clip(0.0))


def simulated_size(model: StateSpace, fit: Fit) -> float:
    """Rms of what sensors see of a law under its random force, over that of the record.

    Of the channel that differs most, as a ratio above or below one; infinite if the
    motion leaves all bounds. Semi-implicit Euler steps of one path from the first
    sample, with recorded forces; NaN of a band of a spectrum.
    """
    if model.read_over != "s":
        return np.nan
    n, structure = model.dof, fit.structure
    parameters = model.parameters(structure, fit.theta)
    sees, of_acceleration, shaken = model.matrices(structure)
    y = model.records[0].y[:SIMULATED]
    forces = parameters.gain * model.recorded(0, parameters.lag)[::2]
    steps = REFINED * model.steps
    h = model.dt / steps
    x = model.starts[0].mean if model.starts[0] else np.zeros(2 * n)
    rng, columns = np.random.default_rng(0), parameters.root.shape[1]
    white = rng.standard_normal((len(y), steps, columns)) * np.sqrt(h)
    q, v, u = x[:n].copy(), x[n : 2 * n].copy(), np.zeros(columns)
    last, out = v.copy(), np.zeros_like(y)
    for k, kicks in enumerate(white):
        inverse, f, _ = model.at(parameters.coefficients, np.concatenate([q, v]))
        push = inverse @ forces[min(k, len(forces) - 1)]
        state = np.concatenate([q, v, u])[: sees.shape[1]]
        if len(state) < sees.shape[1]:
            state = np.append(state[: sees.shape[1] - n], last)
        out[k] = sees @ state + of_acceleration @ (f + push)
        last = v.copy()
        for kick in kicks:
            inverse, f, _ = model.at(parameters.coefficients, np.concatenate([q, v]))
            root = (
                parameters.root
                if structure.force == "ground"
                else inverse @ parameters.root
            )
            moved = root @ (u * h if structure.coloured else kick)
            v = v + h * (f + push) + moved
            q = q + h * v
            if structure.coloured:
                u = u + parameters.rate * (kick - u * h)
        if not np.abs(q).max() < 1e6 * model.scale[:n].max():
            return np.inf
    measured = np.isfinite(y)
    size = np.sqrt(
        [
            np.mean(np.square([a[m], b[m]]), axis=1)
            for a, b, m in zip(out.T, y.T, measured.T, strict=True)
        ]
    )
    ratio = size[:, 0] / size[:, 1]
    return float(ratio[np.abs(np.log(ratio)).argmax()])


def excess_kurtosis(values: np.ndarray) -> np.ndarray:
    """Fourth moment over the squared second of each column, about zero, less 3.

    >>> excess_kurtosis(np.array([1.0, -1.0, 1.0, -1.0]))
    np.float64(-2.0)
    """
    return np.mean(values**4, axis=0) / np.mean(values**2, axis=0) ** 2 - 3


def ljung_box(
    series: Sequence[np.ndarray], most: int, neighbours=0.0, least=0.0
) -> float:
    """P-value of Ljung and Box's test of the whiteness of records and channels.

    With r_h the sample correlation at lag h of n innovations, Q = n Σ r_h² is χ²; there
    are `most` lags, at most a quarter of the longest record of `series`, one array
    (time, channel) each. Fourier coefficients under a taper have a correlation ρ with
    their `neighbours`, so that lag one is left out, and √n r_h have the covariances
    (Bartlett 1946) 1 + 2ρ², 2ρ and ρ² at lags that are 0, 1 and 2 apart. Q is then
    taken for a multiple of χ² with the same mean and variance (Satterthwaite 1946). The
    smallest p-value of all channels counts, times their number (Bonferroni). Variances
    count as `least` at least, of a resolution that innovations are below.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> white = rng.standard_normal((4000, 1))
    >>> walk = np.cumsum(white, axis=0)
    >>> print(ljung_box([white], 200) > 0.01, ljung_box([walk], 200))
    True 0.0
    """
    square = np.maximum(np.mean(np.square(np.concatenate(series)), axis=0), least)
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
