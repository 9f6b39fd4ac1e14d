"""A shaken motion in the frequency domain, and what its innovations say of the law."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter

from leastaction.core.estimate import NORMAL_QUANTILE, SURE_SCORE
from leastaction.core.model import interval
from leastaction.ensembles.modes import (
    Linear,
    Motion,
    force_density,
    modes,
    noise_density,
    spectral_density,
    transfer,
)
from leastaction.figures.panel import MAIN, Panel
from leastaction.figures.style import DASHED, grid_of, key, legend_on_top, note, small

# Segments that a spectrum is the mean of, at least.
SEGMENTS = 16
LARGEST_SEGMENT = 4096
# Frequencies of the law per frequency of the estimate.
FINER = 8
# The band that is drawn: from this part of the lowest natural frequency, to this
# multiple of the highest one.
LOWEST, HIGHEST = 0.1, 6.0
LAGS = 60
# Main periods of the one-step predictions that are drawn.
PERIODS = 8.0
# Power over that of the sensors from which a force is seen through them.
VISIBLE = 3.0
# Room below and above the density of a force, as a factor.
DECADES = 20.0
BINS = 61


def spectra(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Measured and predicted spectra of the channels, natural frequencies, mode shapes.

    Left the one-sided spectral density of each channel (Welch 1967) with that of the
    law, what sampling folds and the noise of the sensor in it. A nonlinear law stands
    for its equivalent linear one; vertical lines are the natural frequencies of that.
    On bands the measured density is the mean of neighbouring Fourier coefficients.
    What a recorded input moves is in the measured spectra, not in that of the law.
    Right the shapes of the modes about the equilibrium, largest entry one, with natural
    frequency, damping ratio and their 95 % intervals.
    """
    model, channels = _shown(panels, "channel")
    linear, mode_table = Motion(model).equivalent(), modes(model)
    count = 0 if mode_table is None else mode_table.sizes["mode"]
    size = {"row": 42, "rest": 16, "width_ratios": [1.9, 1]}
    figure, grid = grid_of(settings, max(len(channels), count), 2, **size)
    dt, (units, factors) = float(model["sample_step"]), _units(model)
    f, density = _density(model)
    line = {"linestyle": "none", "marker": "."} if _on_bands(model) else {}
    for k, name in enumerate(channels):
        axes = grid[k, 0]
        power = density[:, k, k].real / factors[k] ** 2
        axes.loglog(f, power, linewidth=0.8, **_red(settings), **line)
        axes.set_ylabel(f"density of {name} ({units[k]}²/Hz)")
        noise = noise_density(model, dt)[k] / factors[k] ** 2
        axes.axhline(noise, color="0.5", linestyle=":", linewidth=0.9)
        if linear is not None:
            _predicted(axes, linear, model, k, f, dt, settings)
    for k in range(max(len(channels), count)):
        if k < count:
            _shape(grid[k, 1], mode_table.isel(mode=k), settings)
        else:
            grid[k, 1].set_axis_off()
        if k >= len(channels):
            grid[k, 0].set_axis_off()
    grid[len(channels) - 1, 0].set_xlabel("Frequency (Hz)")
    handles = [
        key("measured", **_red(settings)),
        key(_law(model), **_blue(settings)),
        key("sensor noise", "0.5", linestyle=":"),
        key("natural frequency", "0.7", linewidth=0.7),
    ]
    legend_on_top(figure, handles)
    return figure


def _shown(panels: Sequence[Panel], dim: str) -> tuple[xr.Dataset, list[str]]:
    """The first replicate of a law, and names along a dimension, such as channels."""
    model = panels[0].model(MAIN).isel(replicate=0)
    return model, [str(name) for name in model[dim].values]


def _units(model: xr.Dataset) -> tuple[list[str], np.ndarray]:
    """Units of the channels, and their SI values; `SI` where no unit is known."""
    if "channel_unit" in model.coords:
        return list(model["channel_unit"].values), model["channel_factor"].values
    return ["SI"] * model.sizes["channel"], np.ones(model.sizes["channel"])


def _law(model: xr.Dataset) -> str:
    driven = float(model["input_gain_estimate"]) != 0
    return "law, without the recorded input" if driven else "law"


def _red(settings: Mapping) -> dict:
    return {"color": settings["truth_color"]}


def _blue(settings: Mapping) -> dict:
    return {"color": settings["estimate_color"], "linestyle": DASHED}


def _predicted(axes: Axes, linear: Linear, model, k: int, f, dt, settings) -> None:
    """Spectrum of the law as the same windows show it, and natural frequencies."""
    if _on_bands(model):
        power = spectral_density(linear, model, f, dt)[:, k]
    else:
        fine = np.linspace(0, 0.5 / dt, FINER * (len(f) + 1) + 1)
        density = spectral_density(linear, model, fine, dt)[:, k]
        power = _windowed(density, dt, 2 * (len(f) + 1))[1:-1]
    power = power / _units(model)[1][k] ** 2
    axes.loglog(f, power, linewidth=1.0, zorder=3, **_blue(settings))
    frequency = linear.modes()[0]
    for x in frequency:
        axes.axvline(x, color="0.7", linewidth=0.7, zorder=0)
    if len(frequency):
        low, high = LOWEST * frequency[0], HIGHEST * frequency[-1]
        axes.set_xlim(max(f[0], low), min(f[-1], high))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _windowed(density: np.ndarray, dt: float, size: int) -> np.ndarray:
    """Mean of Welch's estimate with segments of `size` samples.

    The window multiplies the autocovariance by its own, so that a line narrower than
    the resolution is as low and as wide as that of the estimate.
    """
    from scipy.signal import get_window

    covariance = np.fft.irfft(density)[: size + 1] / (2 * dt)
    window = get_window("hann", size)
    overlap = np.correlate(window, window, "full")[size - 1 :] / (window**2).sum()
    product = covariance[:size] * overlap
    symmetric = np.concatenate([product, [0.0], product[:0:-1]])
    return 2 * dt * np.fft.rfft(symmetric)[::2].real


def _shape(axes: Axes, mode: xr.Dataset, settings: Mapping) -> None:
    """Shape of a mode, with frequency and damping ratio as a title."""
    names = [str(name) for name in mode["dof"].values]
    real = mode["shape_real"].values
    axes.axhline(0, color="black", linewidth=0.5)
    axes.plot(range(len(names)), real, color=settings["estimate_color"], marker="o")
    axes.set_xticks(range(len(names)), names)
    axes.margins(x=0.3 if len(names) > 1 else 0.5)
    axes.set_ylim(-1.2, 1.2)
    axes.set_ylabel("shape")

    def written(name: str, factor: float) -> str:
        error = factor * NORMAL_QUANTILE * float(mode[f"{name}_std"])
        return interval(factor * float(mode[name]), error)

    frequency, damping = written("frequency", 1), written("damping_ratio", 100)
    text = f"Mode {int(mode['mode'])}: {frequency} Hz, $\\zeta$ = {damping} %"
    axes.set_title(text, fontsize=small(settings))


def innovations(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Innovations in standard deviations: over time, their correlation, distribution.

    Of the right law they are white and normal: the correlation stays within its 95 %
    limits, and the histogram follows the normal distribution. On bands they are Fourier
    coefficients over frequency; the taper gives neighbours a correlation of 1/6.
    """
    model, channels = _shown(panels, "channel")
    size = {"row": 40, "rest": 16, "width_ratios": [1.5, 1.2, 0.9]}
    figure, grid = grid_of(settings, len(channels), 3, **size)
    names = ("innovation_time", "innovation", "innovation_variance")
    places, *parts = (_records(model, name) for name in names)
    standard = [e / np.sqrt(V) for e, V in zip(*parts, strict=True)]
    on_bands, dt = _on_bands(model), float(model["sample_step"])
    blue = {"color": settings["estimate_color"]}
    for k, (row, name) in enumerate(zip(grid, channels, strict=True)):
        series, start = [e[:, k] for e in standard], 0.0
        for e, place in zip(series, places, strict=True):
            if on_bands:
                row[0].plot(place, e, ",", rasterized=True, **blue)
                continue
            time = start + dt * np.arange(len(e))
            row[0].plot(time, e, linewidth=0.3, rasterized=True, **blue)
            start = time[-1] + dt
        row[0].set_xlim(*((None, None) if on_bands else (0, start)))
        row[0].set_ylabel(f"innovation of {name}")
        correlation, total = _autocorrelation(series)
        limit = NORMAL_QUANTILE / np.sqrt(total)
        row[1].axhspan(-limit, limit, color=settings["band_color"], linewidth=0)
        row[1].vlines(np.arange(1, len(correlation) + 1), 0, correlation, **blue)
        row[1].axhline(0, color="black", linewidth=0.5)
        largest = 1.2 * max(2 * limit, np.abs(correlation).max(initial=0.0))
        row[1].set_ylim(-largest, largest)
        row[1].set_ylabel("correlation")
        values = np.concatenate(series)
        row[2].hist(values, np.linspace(-5, 5, BINS), density=True, **blue, alpha=0.4)
        x = np.linspace(-5, 5, 200)
        normal = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
        row[2].semilogy(x, normal, color="black", linewidth=0.8)
        row[2].set_ylim(1e-5, 1)
        row[2].set_ylabel("density")
    along = ("Frequency (Hz)", "Lag (coefficients)")
    along = along if on_bands else ("Time (s)", "Lag (samples)")
    for axes, text in zip(grid[-1], (*along, "Innovation / std"), strict=True):
        axes.set_xlabel(text)
    handles = [
        key("innovations", **blue),
        Patch(color=settings["band_color"], label="95 % of white noise"),
        key("normal distribution", "black"),
    ]
    legend_on_top(figure, handles)
    return figure


def _autocorrelation(series: Sequence[np.ndarray]) -> tuple[np.ndarray, int]:
    """Correlation at lags of one sample and more, all stretches together; samples."""
    total = sum(len(x) for x in series)
    power = sum((x**2).sum() for x in series) / total
    lags = range(1, min(LAGS, max(map(len, series)) - 1) + 1)
    result = [
        sum((x[h:] * x[: len(x) - h]).sum() for x in series if len(x) > h)
        / max(sum(len(x) - h for x in series if len(x) > h), 1)
        / power
        for h in lags
    ]
    return np.array(result), total


def one_step(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Each sample and its prediction from all samples before, and their difference.

    The middle of the longest record. The band is that of 95 % of the differences if the
    law is right.
    """
    model, channels = _shown(panels, "channel")
    size = {"row": 34, "rest": 16, "sharex": True, "width_ratios": [1.7, 1]}
    figure, grid = grid_of(settings, len(channels), 2, **size)
    if _on_bands(model):
        for axes in grid.flat:
            note(axes, "on bands no sample is predicted", 0.5, 0.5, ha="center")
        return figure
    dt, parts = float(model["sample_step"]), _records(model, "measured")
    longest = int(np.argmax([len(y) for y in parts]))
    measured, innovation, variance = (
        _records(model, name)[longest]
        for name in ("measured", "innovation", "innovation_variance")
    )
    linear = Motion(model).equivalent()
    slowest = linear.modes()[0] if linear is not None else []
    period = 1 / slowest[0] if len(slowest) else 50 * dt
    count = min(max(int(PERIODS * period / dt), 16), len(measured))
    begin = (len(measured) - count) // 2
    shown = slice(begin, begin + count)
    time = dt * np.arange(len(measured))[shown]
    red, blue = _red(settings), _blue(settings)
    units, factors = _units(model)
    for k, ((left, right), name) in enumerate(zip(grid, channels, strict=True)):
        y, e = measured[shown, k] / factors[k], innovation[shown, k] / factors[k]
        band = NORMAL_QUANTILE * np.sqrt(variance[shown, k]) / factors[k]
        style = {"color": settings["band_color"], "linewidth": 0}
        left.fill_between(time, y - e - band, y - e + band, **style)
        right.fill_between(time, -band, band, **style)
        left.plot(time, y, linewidth=1.4, **red)
        left.plot(time, y - e, linewidth=1.0, **blue)
        right.plot(time, e, linewidth=0.7, **red)
        left.set_xlim(time[0], time[-1])
        left.set_ylabel(f"{name} ({units[k]})")
        right.set_ylabel(f"error ({units[k]})")
        right.locator_params(axis="x", nbins=4)
    for axes in grid[-1]:
        axes.set_xlabel("Time (s)")
    handles = [
        key("measured", linewidth=1.4, **red),
        key("predicted from the samples before", **blue),
        Patch(color=settings["band_color"], label="95 % band"),
    ]
    legend_on_top(figure, handles)
    return figure


def force_spectrum(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Spectral density of the random force on each coordinate, seen through the law.

    The measured spectra, less the noise of the sensors, are carried back through the
    transfer function of the law; where the sensors' noise is a third of the signal or
    more, nothing is drawn. A white force is flat; a line is a tone. A force that comes
    in impulses has their sizes over time in a further row.
    """
    model, names = _shown(panels, "dof")
    has_impulses = float(model["impulse_score"]) > SURE_SCORE
    rows = len(names) + has_impulses
    figure, grid = grid_of(settings, rows, 1, row=42, rest=16)
    linear = Motion(model).equivalent()
    f, densities = (None, None) if linear is None else _forces(linear, model)
    if has_impulses:
        _impulses(grid[-1, 0], model, settings)
    for a, (axes, name) in enumerate(zip(grid[:, 0], names, strict=False)):
        axes.set_ylabel(f"density of the force on {name} (SI)")
        if densities is None:
            text = "there are fewer sensors than coordinates, or no stationary motion"
            note(axes, text, 0.5, 0.5, ha="center")
            continue
        axes.loglog(f, densities[:, a], linewidth=0.8, **_red(settings))
        law = force_density(model, f)[:, a, a]
        axes.loglog(f, law, linewidth=1.2, **_blue(settings))
        for x in linear.modes()[0]:
            axes.axvline(x, color="0.7", linewidth=0.7, zorder=0)
        highest = np.nanmax([*densities[:, a], law.max()])
        axes.set_ylim(law.min() / DECADES, DECADES * highest)
    grid[len(names) - 1, 0].set_xlabel("Frequency (Hz)")
    handles = [
        key("measured motion, inverted", **_red(settings)),
        key(_law(model), **_blue(settings)),
        key("natural frequency", "0.7", linewidth=0.7),
    ]
    legend_on_top(figure, handles)
    return figure


def _impulses(axes: Axes, model: xr.Dataset, settings: Mapping) -> None:
    """Likeliest momentum of an impulse at each sample; the largest are marked.

    The band is that of 95 % of the values if the force were Gaussian.
    """
    dt, start = float(model["sample_step"]), 0.0
    sizes = model["impulse_size"].values
    band = NORMAL_QUANTILE * np.nanstd(sizes)
    axes.axhspan(-band, band, color=settings["band_color"], linewidth=0)
    number = model["innovation_trajectory"].values
    for k in np.unique(number):
        one = sizes[number == k]
        axes.plot(
            start + dt * np.arange(len(one)),
            one,
            linewidth=0.4,
            color=settings["estimate_color"],
        )
        start += dt * len(one)
    record = model["impulse_trajectory"].values
    places = np.searchsorted(number, record)
    places += np.rint(model["impulse_time"].values / dt).astype(int)
    largest = np.sort(places[places < np.searchsorted(number, record, "right")])
    axes.plot(
        dt * largest,
        sizes[largest],
        "o",
        markersize=3,
        fillstyle="none",
        color=settings["truth_color"],
    )
    axes.set_xlim(0, start)
    axes.set_xlabel("Time (s)")
    axes.set_ylabel("impulse of the force (SI)")
    rate, kurtosis = float(model["impulse_rate"]), float(model["kurtosis"])
    axes.set_title(
        f"Impulses, about {rate:.2g} per s; excess kurtosis {kurtosis:.2g}",
        fontsize=small(settings),
    )


def _forces(linear: Linear, model: xr.Dataset):
    """Frequencies, and densities of the forces (frequency, dof); None if not seen."""
    dt, (f, density) = float(model["sample_step"]), _density(model)
    H = transfer(linear, model, f, dt)
    if np.linalg.matrix_rank(H[len(f) // 2]) < H.shape[2]:
        return f, None
    noise = noise_density(model, dt)
    power = np.diagonal(density, axis1=1, axis2=2).real
    inverse = np.linalg.pinv(H)
    force = inverse @ (density - np.diag(noise)) @ inverse.conj().swapaxes(1, 2)
    result = np.diagonal(force, axis1=1, axis2=2).real.copy()
    result[(power < VISIBLE * noise).any(axis=1)] = np.nan
    return f, np.where(result > 0, result, np.nan)


def _on_bands(model: xr.Dataset) -> bool:
    """Whether innovations are Fourier coefficients, of a Whittle likelihood."""
    return model["innovation_time"].attrs["units"] == "Hz"


def _records(model: xr.Dataset, name: str) -> list[np.ndarray]:
    """One array (sample, ...) per record; gaps are zero."""
    number = model["innovation_trajectory"].values
    values = np.nan_to_num(model[name].values)
    return [values[number == k] for k in np.unique(number)]


def _density(model: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies, and measured one-sided densities (frequency, channel, channel)."""
    dt, parts = float(model["sample_step"]), _records(model, "measured")
    if _on_bands(model):
        return _of_coefficients(_records(model, "innovation_time"), parts, dt)
    return _welch(parts, dt)


def _of_coefficients(places, parts, dt: float):
    """Means over neighbouring Fourier coefficients: real parts, then imaginary ones."""
    f = np.concatenate([x[: len(x) // 2] for x in places])
    d = np.concatenate([y[: len(y) // 2] + 1j * y[len(y) // 2 :] for y in parts])
    order = np.argsort(f, kind="stable")
    groups = np.array_split(order, max(len(f) // (2 * SEGMENTS), 1))
    power = 2 * dt * np.einsum("na,nb->nab", d, d.conj())
    return tuple(np.array([x[group].mean(0) for group in groups]) for x in (f, power))


def _welch(series: Sequence[np.ndarray], dt: float):
    """Mean over overlapping segments of all records, without zero and the last."""
    from scipy.signal import csd

    total, longest = sum(map(len, series)), max(map(len, series))
    size = min(max(2 * total // SEGMENTS, 256), LARGEST_SEGMENT, longest)
    long_enough = [y for y in series if len(y) >= size]
    result = [csd(y.T[:, None], y.T[None], 1 / dt, nperseg=size) for y in long_enough]
    density = np.average(
        [p for _, p in result], axis=0, weights=[len(y) for y in long_enough]
    )
    return result[0][0][1:-1], np.moveaxis(density, -1, 0)[1:-1]
