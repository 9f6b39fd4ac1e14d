"""Modes of the outputs of a randomly excited system, by stochastic realisation.

Covariances of the outputs at positive lags hold no white sensor noise and decay like
free vibrations: Λ_j = C A^{j−1} G (Akaike 1974; covariance-driven stochastic subspace
identification, Peeters and De Roeck 1999). Their block Hankel matrix H has the rank of
the state, its column space is the observability matrix, and the shift of that tells A.
With R₊ and R₋ the covariances of the future and of the past of the outputs, singular
values of R₊^{-1/2} H R₋^{-1/2} are canonical correlations (Larimore 1990): a weak mode
that is foreseen as well as a strong one counts as much. Eigenvalues of A are those of
the motion, and C times its vectors are mode shapes as the sensors see them. This needs
neither candidates nor start values.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import xarray as xr
from scipy.signal import welch

from leastaction.ensembles.contracts import CONTRACTS
from leastaction.ensembles.sensor_records import records_of, third_differences

# Lags per main period: the first resolves modes at twelve times the main frequency.
LAGS_PER_PERIOD = (24, 12, 6)
BLOCKS = 20
# Smallest eigenvalue of a covariance of outputs, of the largest.
ROUNDING = 1e-12
# Of one coordinate that runs away, as a pendulum that turns over, no realisation tells.
DAMPING_OF_GUESS = 0.1
# Spectrum of a displacement over the highest frequencies that is no noise.
ABOVE_NOISE = 10.0
SAMPLES_PER_SPECTRUM = 1 << 15


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Modes of the outputs at three spacings of the lags, and noise of the sensors.

    There are as many modes as degrees of freedom, from realisations with a state for
    the memory of the force and without. A pair of real eigenvalues is no
    mode: its frequency is the root of their product, its damping ratio is above one.
    """
    channels, records, dt = records_of(observations)
    count = observations.sizes["dof"]
    order = channels.velocity.any(axis=1) + 2 * channels.acceleration.any(axis=1)
    series = [record.y for record in records]
    main = main_frequency(order, series, dt)
    result = []
    for per_period in LAGS_PER_PERIOD:
        stride = max(1, round(2 * np.pi / main / dt / per_period))
        realised = StochasticRealisation(series, stride, BLOCKS, 2 * count + 1)
        for memories in (0, 1):
            rates, shapes = realised.rates(2 * count + memories, stride * dt)
            result.append(modes(rates, shapes, count))
    if count == 1:
        result.append((np.array([main]), np.array([DAMPING_OF_GUESS]), shapes[:, :1].T))
    frequency, damping, shape = (np.array(part) for part in zip(*result, strict=True))
    return CONTRACTS["output_modes"].dataset(
        {
            "mode_frequency": frequency,
            "mode_damping_ratio": damping,
            "mode_shape_real": shape.real,
            "mode_shape_imaginary": shape.imag,
            "main_frequency": main,
            "sensor_noise": np.sqrt(third_differences(records)),
            "output_std": np.nanstd(np.concatenate([r.y for r in records]), axis=0),
        },
        coords={
            "replicate": observations["replicate"],
            "channel": list(channels.names),
        },
    )


def main_frequency(
    order: np.ndarray, records: Sequence[np.ndarray], dt: float
) -> float:
    """Angular frequency of the strongest motion, rad/s.

    Where the velocity, or what is next to it without drowning in noise or drift, has
    the maximum of its spectrum: that of displacements where they stand above noise.
    `order` is 0, 1 or 2 of each channel that is a displacement, a velocity or an
    acceleration; `records` have the shape (time, channel).
    """
    total = 0.0
    longest = max(map(len, records))
    longest = max(16, longest // 4 if len(records) < 8 else longest)
    size = min(SAMPLES_PER_SPECTRUM, longest)
    for record in records:
        if len(record) < size:
            continue
        y = np.nan_to_num(record - np.nanmean(record, axis=0))
        f, power = welch(y, 1 / dt, nperseg=size, axis=0)
        floor = np.median(power[2 * len(f) // 3 :], axis=0)
        clear = (power[1:] > ABOVE_NOISE * floor) | (order > 0)
        weighted = power[1:] * f[1:, None] ** np.array([2.0, 0.0, 0.0])[order]
        weighted = np.where(clear.any(axis=0) & ~clear, 0.0, weighted)
        total = total + weighted / weighted.sum(axis=0)
    return 2 * np.pi * float(f[1 + np.argmax(total.sum(axis=1))])


class StochasticRealisation:
    """State-space models of all orders of random outputs, by canonical correlations.

    From the covariances Λ_h = E y_{k+h} y_kᵀ of outputs, scaled to unit variance, at
    lags h that are multiples of `stride` samples. Source: Van Overschee and De Moor,
    Subspace identification for linear systems (1996), chapter 3; Larimore, Proc. 29th
    CDC (1990) 596.

    Parameters
    ----------
    series
        Stretches of outputs, each (time, channel); missing samples are NaN.
    stride
        Samples between lags.
    blocks
        Lags in the past and in the future.
    order
        Largest order that is needed.

    Raises
    ------
    ValueError
        If the longest stretch has too few samples for this order.

    Examples
    --------
    An oscillator of 2 rad/s with a damping ratio of 5 %, driven by white noise:

    >>> from scipy.signal import dlsim, dlti
    >>> dt, rate = 0.1, 2 * (-0.05 + 1j * np.sqrt(1 - 0.05**2))
    >>> z = np.exp(rate * dt)
    >>> noise = np.random.default_rng(0).standard_normal(50_000)
    >>> _, y = dlsim(dlti([1, 0], [1, -2 * z.real, abs(z) ** 2], dt=dt), noise)
    >>> rates, _ = StochasticRealisation([y], 5, 20, 2).rates(2, 5 * dt)
    >>> ratio = -rates.real / np.abs(rates)
    >>> print(np.abs(rates).round(1), np.abs(ratio - 0.05).max() < 0.01)
    [2. 2.] True
    """

    def __init__(
        self, series: Sequence[np.ndarray], stride: int, blocks: int, order: int
    ):
        values = np.concatenate(series)
        mean, std = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
        self.std = np.where(std > 0, std, 1.0)
        self.width = len(mean)
        scaled = [np.nan_to_num((y - mean) / self.std) for y in series]
        longest, total = max(map(len, scaled)), sum(map(len, scaled))
        blocks = min(blocks, (longest - 1) // (2 * stride))
        if blocks < order // 2 + 1:
            raise ValueError(
                f"the longest stretch has {longest} samples, too few for the "
                "correlations of its motion; expected at least two main periods. "
                "Record longer"
            )

        def lagged(h: int) -> np.ndarray:
            return sum(y[h:].T @ y[: max(len(y) - h, 0)] for y in scaled) / total

        self.lags = [lagged(j * stride) for j in range(2 * blocks)]
        past, future = range(blocks)[::-1], range(blocks)
        self.root, whitening = _roots(self._covariance(future, future))
        self.of_past = _roots(self._covariance(past, past))[1]
        hankel = self._covariance(range(1, blocks + 1), range(0, -blocks, -1))
        self.left, self.correlations, self.right = np.linalg.svd(
            whitening @ hankel @ self.of_past
        )
        self.blocks = blocks

    def _covariance(self, one: Sequence[int], other: Sequence[int]) -> np.ndarray:
        """Of outputs at the times of `one`, in blocks of rows, and of `other`."""
        both = np.array([*(lag.T for lag in self.lags[:0:-1]), *self.lags])
        apart = np.subtract.outer(one, other) + len(self.lags) - 1
        rows, columns = self.width * np.array(apart.shape)
        return both[apart].swapaxes(1, 2).reshape(rows, columns)

    @cached_property
    def _with_past(self) -> tuple[np.ndarray, ...]:
        """Of the past a step on with the past and the next sample; of that with it."""
        past = np.arange(0, -self.blocks, -1)
        pairs = (1 + past, past), (1 + past, [1]), ([1], past)
        return tuple(self._covariance(*pair) for pair in pairs)

    def rates(self, order: int, step: float) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues of the shift of the observability matrix, in continuous time.

        Shape (order,), with `step` seconds between lags, and their shapes at the
        sensors, (channel, order).
        """
        observability = self.root @ self.left[:, :order]
        observability = observability * np.sqrt(self.correlations[:order])
        width = self.width
        shift, *_ = np.linalg.lstsq(observability[:-width], observability[width:])
        values, vectors = np.linalg.eig(shift)
        rates = np.log(values.astype(complex)) / step
        return rates, self.std[:, None] * (observability[:width] @ vectors)

    def innovations_form(self, order: int) -> tuple[np.ndarray, ...]:
        """A, C and K of x⁺ = A x + K e, y = C x + e, of scaled outputs.

        The state is what the past says of the future, so that regressions on it give
        the three (Larimore 1990, section 4).
        """
        shifted, last, ahead = self._with_past
        state = self.right[:order] @ self.of_past
        A = state @ shifted @ state.T
        C = ahead @ state.T
        cross = state @ last - A @ C.T
        return A, C, np.linalg.solve(self.lags[0] - C @ C.T, cross.T).T


def _roots(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Symmetric root of a covariance, and the inverse of that."""
    values, vectors = np.linalg.eigh(covariance)
    size = np.sqrt(np.maximum(values, ROUNDING * values[-1]))
    return (vectors * size) @ vectors.T, (vectors / size) @ vectors.T


def modes(rates: np.ndarray, shapes: np.ndarray, count: int):
    """Frequencies (rad/s, rising), damping ratios, shapes (mode, channel) of `count`.

    Complex pairs come first, the least damped ones; real eigenvalues are paired.
    """
    upper = np.flatnonzero(rates.imag > 0)
    upper = upper[np.argsort(-rates[upper].real / np.abs(rates[upper]))][:count]
    result = [
        (abs(rates[i]), -rates[i].real / abs(rates[i]), shapes[:, i]) for i in upper
    ]
    real = np.flatnonzero(rates.imag == 0)
    real = real[np.argsort(np.abs(rates[real]))]
    for i, j in zip(real[::2], real[1::2], strict=False):
        product = abs(rates[i] * rates[j])
        damping = abs(rates[i].real + rates[j].real) / 2 / np.sqrt(product)
        result.append((np.sqrt(product), damping, shapes[:, i]))
    while len(result) < count:
        frequency, damping, shape = result[-1]
        result.append((2 * frequency, damping, np.roll(shape, 1)))
    result = sorted(result[:count], key=lambda mode: mode[0])
    frequency, damping, shape = zip(*result, strict=True)
    return np.array(frequency), np.array(damping), np.array(shape)
