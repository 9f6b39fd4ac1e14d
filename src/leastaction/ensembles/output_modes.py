"""Modes of random outputs without a law: which there are, and how well each is known.

Models of all orders come from one realisation of the covariances
(:mod:`~leastaction.ensembles.stochastic_subspace`); the likelihood with Schwarz's
penalty chooses the order, so that a mode is one that the record pays for, and its
maximum (:mod:`~leastaction.ensembles.innovations_form`) gives frequencies, damping
ratios and shapes with errors. A pair of poles is a mode of a structure if it rings,
and if models of higher order have it, too; a line of constant amplitude is a tone.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.optimize import minimize_scalar
from scipy.signal import csd, resample

from leastaction.core.estimate import NORMAL_QUANTILE
from leastaction.ensembles.innovations_form import (
    Fit,
    Mode,
    criterion,
    diagonal,
    fit,
    modes_of,
    transforms,
)
from leastaction.ensembles.modes import (
    STRUCTURAL,
    interval_of_ratio,
    phase_collinearity,
)
from leastaction.ensembles.stochastic_subspace import (
    LAGS_PER_PERIOD,
    StochasticRealisation,
    main_frequency,
)

# Rows of the covariance of the past: of few channels more lags are taken.
ROWS, FEWEST_BLOCKS, MOST_BLOCKS = 240, 10, 60
MOST_STATES = 60
# Samples per parameter of the largest model.
SAMPLES_PER_PARAMETER = 10
# Orders beyond the best one that are looked at before the search ends.
PATIENCE = 5
# A mode rings: its amplitude falls by less than e in a period, ζ < 1/2π.
LARGEST_DAMPING_RATIO = 1 / (2 * np.pi)
# Models of higher order that must have a mode, within so many standard errors, and the
# scatter of a realisation over that of the likelihood.
CONFIRMING, WITHIN = 2, 5.0
# Excess kurtosis of a tone is −3/2. What decays by less than e² over the record is
# hardly less even: the limit is between the medians. What decays by less than a fifth
# is a tone if four fifths of the power in its band are: its excess kurtosis is −3/2 of
# the square of that part.
DECAYS_OF_SHORT, EVENNESS_OF_SHORT = 2.0, -1.3
DECAYS_OF_STEADY, EVENNESS_OF_STEADY = 0.2, -1.5 * 0.8**2
# Periods of a mode in all stretches together, at least. Of 24 records of two storeys
# with five of the lowest mode four modes of 48 are seen and nine others; with eight 37
# and four; with twenty 44 and one.
FEWEST_PERIODS = 8.0
# Half of the band of that: twice the width of the resonance, or this many 1/T. That of
# a tone that drifts is wider: up to this part of its frequency.
BAND, NARROWEST, WIDEST = 2.0, 2.0, 0.25
# Excess kurtosis that one of ten thousand random vibrations is below, of whatever
# damping and in whatever band, by the lines that its power is spread over (2000
# simulated ones of each of eleven dampings in seven bands).
SPREAD = 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0
EVENNESS = -1.5, -1.46, -1.41, -1.19, -0.93, -0.81, -0.69
# Models are of frequencies up to this multiple of the highest one that is asked for: a
# spectrum that is cut off there has a kink.
EDGE = 1.25
# Frequencies, in 1/T, on each side of a tone that it leaks into, or that tell what is
# beside it; part of 1/T to which its frequency is sought before it is refined.
LEAKS, GRID = 4.0, 0.25
# Frequencies of the spectrum that is drawn.
LINES = 600
TONE, DRIFT = "tone", "drifting tone"
BACKGROUND, UNCONFIRMED, SLOW = "background", "unconfirmed", "slow"


class Series(NamedTuple):
    """Outputs of unit variance, (time, channel) by stretch, and what was taken off."""

    stretches: list[np.ndarray]
    scale: np.ndarray
    dt: float

    @property
    def duration(self) -> float:
        """Seconds of all stretches."""
        return sum(map(len, self.stretches)) * self.dt


def output_modes(
    stretches: Sequence[np.ndarray],
    dt: float,
    channels: Sequence[str],
    highest: float | None = None,
    order: Sequence[int] | None = None,
) -> xr.Dataset:
    """Natural frequencies, damping ratios and complex shapes of random outputs.

    Parameters
    ----------
    stretches
        Outputs without gaps, each (time, channel), in any units.
    dt
        Seconds between samples.
    channels
        Names of the outputs.
    highest
        Frequency, Hz, up to which modes are looked for; twelve times that of the
        strongest motion if None, or half the rate of the samples.
    order
        0, 1 or 2 of each channel that is a displacement, a velocity, an acceleration;
        accelerations if None.

    Returns
    -------
    xr.Dataset
        Over `mode`: `frequency` (Hz), `damping_ratio`, `_std`, `_low` and `_high` of
        their 95 % intervals, `shape_real`, `shape_imaginary` and `_std` over (mode,
        channel), `phase_collinearity`, and the `kind`: ``mode``; ``tone``, a line of
        constant amplitude; ``drifting tone``, one whose frequency is not constant (of
        a wide drift several poles are); ``background``, what does not ring;
        ``unconfirmed``, what models of higher order lack; ``slow``, of which there are
        fewer than eight periods. There is none in white
        outputs. For a stabilisation diagram over `pole`:
        `pole_order`, `pole_frequency`, `pole_damping_ratio`, and over `line` the
        largest singular value of the spectral density of outputs of unit variance.

    Raises
    ------
    ValueError
        If no stretch has two periods of the motion.

    Examples
    --------
    >>> from scipy.signal import lfilter
    >>> dt, rate = 0.05, 2 * np.pi * (-0.01 + 1j * np.sqrt(1 - 0.01**2))
    >>> z = np.exp(rate * dt)
    >>> force = np.random.default_rng(3).standard_normal(20_000)
    >>> y = lfilter([1], [1, -2 * z.real, abs(z) ** 2], force)[:, None]
    >>> modes = output_modes([y], dt, ["a"])
    >>> print(modes.frequency.values.round(2), list(modes.kind.values))
    [1.] ['mode']
    """
    series = _scaled(stretches, dt)
    if order is None:
        order = np.full(len(channels), 2)
    main = main_frequency(np.asarray(order), series.stretches, dt) / (2 * np.pi)
    upper = LAGS_PER_PERIOD[0] / 2 * main if highest is None else highest
    rate = min(2 * EDGE * upper, 1 / dt)
    identified, poles, tones, rest = _separated(series, rate)
    named = [(mode, _kind(mode, poles, identified, rest)) for mode in identified.modes]
    # What the error of the frequency of a tone leaves beside it is none.
    line = 1 / (max(map(len, series.stretches)) * dt)
    named = [
        (mode, kind)
        for mode, kind in named
        if abs(mode.damping_ratio) * mode.frequency > line
        or all(
            abs(mode.frequency - tone.frequency) > NARROWEST * line for tone in tones
        )
    ]
    named += [(tone, TONE) for tone in tones]
    named = sorted((one for one in named if one[0].frequency < upper), key=_frequency)
    inside, kinds = [one for one, _ in named], [kind for _, kind in named]
    spectrum = _spectrum(series, rate)
    about = {"order": identified.order, "converged": int(identified.fitted.converged)}
    about["highest_frequency"] = min(upper, rate / 2)
    about["periods"] = main * series.duration
    return _dataset(inside, kinds, poles, spectrum, channels).assign_attrs(about)


class IdentifiedModes(NamedTuple):
    """Modes of the best model, its order, and its maximum of the likelihood."""

    modes: list[Mode]
    order: int
    fitted: Fit


def _scaled(stretches: Sequence[np.ndarray], dt: float) -> Series:
    values = np.concatenate(stretches)
    scale = values.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    return Series([(y - values.mean(axis=0)) / scale for y in stretches], scale, dt)


def _identified(series: Series, rate: float):
    """Modes of the likeliest model, and poles (order, frequency, ratio) of them all."""
    width, dt = series.stretches[0].shape[1], series.dt
    slow = series.stretches
    if rate * dt < 1:
        slow = [resample(y, round(len(y) * rate * dt)) for y in slow]
    blocks = int(np.clip(ROWS // width, FEWEST_BLOCKS, MOST_BLOCKS))
    realised = StochasticRealisation(slow, 1, blocks, 2)
    records = transforms(series.stretches, dt, rate)
    samples = 2 * sum(len(record.z) for record in records)
    most = min(
        MOST_STATES,
        realised.blocks * width,
        samples // (2 * SAMPLES_PER_PARAMETER),
    )
    models, values, poles = [], [], []
    # Without a state outputs are white.
    for order in range(0, most + 1, 2):
        model = diagonal(*realised.innovations_form(order))
        models.append(model)
        values.append(criterion(model, records))
        roots = rate * np.log(model.poles[model.paired])
        poles += [(order, abs(x) / (2 * np.pi), -x.real / abs(x)) for x in roots]
        if len(values) > np.argmin(values) + 2 * PATIENCE:
            break
    place = int(np.argmin(values))
    fitted = fit(models[place], records)
    # A realisation of high order is nearer to its maximum than one of low order is:
    # of the maxima a lower one may be the likelier, without the modes of noise.
    while place and np.isfinite(values[place - 1]):
        lower = fit(models[place - 1], records)
        if lower.criterion >= fitted.criterion:
            break
        place, fitted = place - 1, lower
    modes = modes_of(fitted, rate, series.scale)
    identified = IdentifiedModes(modes, models[place].order, fitted)
    return identified, np.reshape(poles, (-1, 3))


def _kind(
    mode: Mode, poles: np.ndarray, identified: IdentifiedModes, series: Series
) -> str:
    """What a pair of poles is that is no tone."""
    if mode.damping_ratio > LARGEST_DAMPING_RATIO:
        return BACKGROUND
    if _is_slow(mode, series):
        return SLOW
    if _drifts(mode, series):
        return DRIFT
    std = np.sqrt(mode.covariance[0, 0])
    above = [identified.order + 2 * (k + 1) for k in range(CONFIRMING)]
    for order in above:
        same = poles[poles[:, 0] == order]
        apart = np.abs(same[:, 1] - mode.frequency)
        if len(same) and apart.min() > WITHIN * std:
            return UNCONFIRMED
    return STRUCTURAL


def _is_slow(mode: Mode, series: Series) -> bool:
    """Whether the record has too few periods of it: a tone there is a random walk."""
    return mode.frequency * series.duration < FEWEST_PERIODS


def _tones(modes: Sequence[Mode], series: Series) -> list[float]:
    """Frequencies of lines with less modulation than a random vibration has."""
    result: list[float] = []
    for mode in sorted(modes, key=lambda one: abs(one.damping_ratio)):
        decays = 2 * np.pi * mode.frequency * max(mode.damping_ratio, 0.0)
        decays *= series.duration
        if decays > DECAYS_OF_SHORT or _is_slow(mode, series):
            continue
        steady = decays < DECAYS_OF_STEADY
        least = EVENNESS_OF_STEADY if steady else EVENNESS_OF_SHORT
        if evenness(mode, series, result)[0] < least:
            result.append(mode.frequency)
    return result


def _drifts(mode: Mode, series: Series) -> bool:
    """Whether it is as even as a tone in a band that holds all its frequencies."""
    longest, times = max(map(len, series.stretches)) * series.dt, 1.0
    while times * NARROWEST / longest < WIDEST * mode.frequency:
        even, spread = evenness(mode, series, times=times)
        if even < np.interp(np.log(spread), np.log(SPREAD), EVENNESS):
            return True
        times *= 2
    return False


def evenness(
    mode: Mode, series: Series, tones: Sequence[float] = (), times: float = 1.0
) -> tuple[float, float]:
    """Excess kurtosis of the channel that moves most, in `times` the band of a mode.

    Zero of a random vibration, −3/2 of a tone (Brincker, Andersen, Møller, Proc. IMAC
    18 (2000): an indicator for separation of structural and harmonic modes). Beside it
    stand the lines that its power P is spread over, (∑ P)²/∑ P². Lines of known `tones`
    are left out, and stretches of which the band is down to zero: these have two
    periods or fewer.
    """
    channel = int(np.argmax(np.abs(mode.shape) / series.scale))
    second, fourth, count, power = 0.0, 0.0, 0, [np.ones(1)]
    for y in series.stretches:
        f, line = np.fft.rfftfreq(len(y), series.dt), 1 / (len(y) * series.dt)
        width = 2 * abs(mode.damping_ratio) * mode.frequency
        width = times * max(BAND * width, NARROWEST * line)
        if width > mode.frequency:
            continue
        inside = np.abs(f - mode.frequency) < width
        for tone in tones:
            inside &= np.abs(f - tone) > LEAKS * line
        lines = np.fft.rfft(y[:, channel]) * inside
        narrow = np.fft.irfft(lines, len(y))
        second, fourth = second + np.sum(narrow**2), fourth + np.sum(narrow**4)
        count += len(y)
        power.append(np.abs(lines) ** 2 / len(y))
    if not second:
        return 0.0, 1.0
    P = np.concatenate(power[1:])
    spread = np.sum(P) ** 2 / np.sum(P**2)
    return float(fourth / count / (second / count) ** 2 - 3), float(spread)


def _frequency(named: tuple[Mode, str]) -> float:
    return named[0].frequency


def _separated(series: Series, rate: float):
    """Modes of what is left without tones, poles of models of it, and these tones.

    A tone beside a mode hides it from the realisation, whose lags are short. So what is
    narrower than 1/T without being a tone is one with a mode, if these are likelier by
    the criterion, also than the same coloured noise without the line.
    """
    longest = max(map(len, series.stretches)) * series.dt
    width, count = series.stretches[0].shape[1], len(series.stretches)
    samples = 2 * sum(
        len(one.z) for one in transforms(series.stretches, series.dt, rate)
    )
    price = (2 * width * count + 1) * np.log(samples)
    lines: list[float] = []
    rest, best = series, _identified(series, rate)
    while True:
        more = _tones(best[0].modes, rest)
        if more:
            lines = lines + [_line(rest, frequency) for frequency in more]
            rest = _without(series, lines)[0]
            best = _identified(rest, rate)
            continue
        for mode in best[0].modes:
            narrow = abs(mode.damping_ratio) * mode.frequency * longest < 1
            if not narrow or _is_slow(mode, series):
                continue
            tried = [*lines, _line(rest, mode.frequency)]
            less = _without(series, tried)[0]
            other, poles = _identified(less, rate)
            with_line = other.fitted.criterion + price
            if with_line >= best[0].fitted.criterion:
                continue
            coloured = fit(
                other.fitted.model, transforms(rest.stretches, rest.dt, rate)
            )
            if with_line < coloured.criterion:
                rest, best, lines = less, (other, poles), tried
            else:
                modes = modes_of(coloured, rate, series.scale)
                best = IdentifiedModes(modes, other.order, coloured), poles
            break
        else:
            return *best, _as_modes(series, lines), rest


def _line(series: Series, near: float) -> float:
    """Frequency of the strongest sinusoid within 2/T."""
    step = GRID / (max(map(len, series.stretches)) * series.dt)

    def power(f: float) -> float:
        return sum(
            np.sum(np.abs(_turning(len(y), f * series.dt) @ y) ** 2) / len(y)
            for y in series.stretches
        )

    grid = near + step * np.arange(-2 / GRID, 2 / GRID + 1)
    grid = grid[grid > step]
    middle = grid[np.argmax([power(f) for f in grid])]
    ends = middle - step, middle + step
    return minimize_scalar(lambda f: -power(f), bounds=ends, method="bounded").x


def _turning(samples: int, turns: float) -> np.ndarray:
    """exp(−2πi k `turns`) of sample k."""
    return np.exp(-2j * np.pi * turns * np.arange(samples))


def _without(series: Series, lines: Sequence[float]) -> tuple[Series, list[np.ndarray]]:
    """Least squares of sinusoids taken off, and their amplitudes (line, channel)."""
    if not len(lines):
        return series, []
    rests, amplitudes = [], []
    for y in series.stretches:
        turning = np.array([_turning(len(y), f * series.dt) for f in lines])
        basis = np.concatenate([turning.real, turning.imag]).T
        parts = np.linalg.lstsq(basis, y)[0]
        rests.append(y - basis @ parts)
        amplitudes.append(parts[: len(lines)] + 1j * parts[len(lines) :])
    return Series(rests, series.scale, series.dt), amplitudes


def _as_modes(series: Series, lines: Sequence[float]) -> list[Mode]:
    """Tones as modes without damping, and their errors.

    The Cramér–Rao bound of a sinusoid of amplitude a in noise of variance σ², N samples
    at steps of Δ, is var f = 6σ²/(π² a² N³ Δ²), and that of its complex amplitude 4σ²/N
    (Rife and Boorstyn, IEEE Trans. Inf. Theory 20 (1974) 591); σ² is that beside it.
    """
    rest, amplitudes = _without(series, lines)
    result = []
    for k, frequency in enumerate(lines):
        information, longest = 0.0, int(np.argmax([len(y) for y in rest.stretches]))
        for i, y in enumerate(rest.stretches):
            f, size = np.fft.rfftfreq(len(y), rest.dt), np.abs(amplitudes[i][k]) ** 2
            beside = np.abs(f - frequency) * len(y) * rest.dt < LEAKS
            noise = np.abs(np.fft.rfft(y, axis=0)[beside]) ** 2 / len(y)
            noise = noise.mean(axis=0) + np.finfo(float).tiny
            information += np.sum(size / noise) * len(y) ** 3 * rest.dt**2
            if i == longest:
                error = np.sqrt(2 * noise / len(y)) * rest.scale
        shape = amplitudes[longest][k] * rest.scale
        largest = shape[np.argmax(np.abs(shape))]
        std = np.tile(error / abs(largest), (2, 1))
        std[:, np.argmax(np.abs(shape))] = 0.0
        variance = np.diag([6 / np.pi**2 / information, 0.0])
        result.append(Mode(frequency, 0.0, variance, shape / largest, std))
    return result


def assurance(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Modal assurance criterion of shapes (mode, channel) and (other, channel).

    |φᴴ ψ|² / (φᴴφ ψᴴψ) (Allemang and Brown, Proc. IMAC 1 (1982) 110); zero where a
    shape is zero.

    >>> assurance(np.array([[1, 1], [1, -1]]), np.array([[2, 2]])).tolist()
    [[1.0], [0.0]]
    """
    cross = np.abs(one.conj() @ other.T) ** 2
    sizes = np.outer(*((np.abs(x) ** 2).sum(axis=1) for x in (one, other)))
    return np.divide(cross, sizes, out=np.zeros(cross.shape), where=sizes > 0)


def _spectrum(series: Series, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies, and the largest singular value of the spectral density, Welch's."""
    size = min(max(map(len, series.stretches)), int(LINES * 2 / (rate * series.dt)))
    long_enough = [y.T for y in series.stretches if len(y) >= size]
    result = [
        csd(y[:, None], y[None], 1 / series.dt, nperseg=size) for y in long_enough
    ]
    f = result[0][0]
    inside = (f > 0) & (f < rate / 2)
    density = np.mean([density for _, density in result], axis=0)
    values = np.linalg.eigvalsh(np.moveaxis(density, -1, 0)[inside])
    return f[inside], values[:, -1]


def unbiased_ratio(ratio: np.ndarray, std: np.ndarray) -> np.ndarray:
    r"""Damping ratios less the bias that their likeliest values have.

    In a record of length T the energy of a mode determines its damping: the inverse of
    the likeliest ratio is inverse Gaussian about 1/ζ, and the mean of the ratio is ζ +
    1/ωT = ζ + var ζ/ζ, to first order (Folks and Chhikara, J. R. Stat. Soc. B 40 (1978)
    263). The form here stays positive.

    >>> unbiased_ratio(np.array([0.01]), np.array([0.005])).tolist()
    [0.008]
    """
    total = ratio**2 + std**2
    return ratio * np.where(total > 0, ratio**2 / np.where(total > 0, total, 1.0), 1.0)


def _dataset(modes, kinds, poles, spectrum, channels) -> xr.Dataset:
    of_mode, of_shape = ("mode",), ("mode", "channel")
    values = np.array([m[:2] for m in modes]).reshape(-1, 2).T
    std = np.array([np.sqrt(np.diag(m.covariance)) for m in modes]).reshape(-1, 2).T
    half = NORMAL_QUANTILE * std
    width = len(channels)
    shapes = np.array([m.shape for m in modes]).reshape(-1, width)
    errors = np.array([m.shape_std for m in modes]).reshape(-1, 2, width)
    values[1] = unbiased_ratio(values[1], std[1])
    low, high = interval_of_ratio(values[1], std[1])
    data = {
        "frequency": (of_mode, values[0]),
        "frequency_std": (of_mode, std[0]),
        "frequency_low": (of_mode, values[0] - half[0]),
        "frequency_high": (of_mode, values[0] + half[0]),
        "damping_ratio": (of_mode, values[1]),
        "damping_ratio_std": (of_mode, std[1]),
        "damping_ratio_low": (of_mode, low),
        "damping_ratio_high": (of_mode, high),
        "shape_real": (of_shape, shapes.real),
        "shape_imaginary": (of_shape, shapes.imag),
        "shape_real_std": (of_shape, errors[:, 0]),
        "shape_imaginary_std": (of_shape, errors[:, 1]),
        "phase_collinearity": (of_mode, [phase_collinearity(s) for s in shapes]),
        "kind": (of_mode, np.array(kinds, dtype=object)),
        "pole_order": ("pole", poles[:, 0].astype(int)),
        "pole_frequency": ("pole", poles[:, 1]),
        "pole_damping_ratio": ("pole", poles[:, 2]),
        "line_frequency": ("line", spectrum[0]),
        "line_density": ("line", spectrum[1]),
    }
    coords = {"mode": np.arange(1, len(modes) + 1), "channel": list(channels)}
    return xr.Dataset(data, coords)
