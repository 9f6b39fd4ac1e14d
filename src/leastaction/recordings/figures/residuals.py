"""What a law leaves of recordings: residuals over time, their spectrum, histogram."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from leastaction.report.style import StyledFigure, legend_on_top, style

ROW_HEIGHT = 46.0
REST_HEIGHT = 16.0
BINS = 41


def residuals(rollout: xr.Dataset, model: xr.Dataset, settings: Mapping) -> Figure:
    """Measured less fitted, over windows of three main periods.

    One row per coordinate. Left over time, all trajectories; in the middle the spectrum
    with that of white noise of the sensor; right the histogram with the normal
    distribution of the same width. A line at the main frequency or its harmonics, or a
    residual far above the noise, is what the law misses.

    Parameters
    ----------
    rollout
        Contract ``measured_rollout``.
    model
        One replicate, contract ``model``.
    settings
        See :func:`leastaction.report.style.complete`.
    """
    with style(settings) as complete:
        return _drawn(rollout, model, complete)


def _drawn(rollout: xr.Dataset, model: xr.Dataset, settings: Mapping) -> Figure:
    names = [str(n) for n in rollout["dof"].values]
    figure = StyledFigure(settings, ROW_HEIGHT * len(names) + REST_HEIGHT)
    grid = figure.subplots(len(names), 3, squeeze=False, width_ratios=[1.5, 1.2, 0.9])
    number = rollout["path_trajectory"].values
    time = rollout["path_time"].values
    dt = float(np.median(np.diff(time[number == 0])))
    colours = [settings["estimate_color"], settings["published_color"], "0.45"]
    noise = model["noise_level"].values[0]
    for a, (row, name) in enumerate(zip(grid, names, strict=True)):
        unit = str(rollout["coordinate_unit"].values[a])
        values = rollout["residual"].values[0][:, a]
        for k in range(rollout.sizes["trajectory"]):
            mine = number == k
            row[0].plot(time[mine], values[mine], color=colours[k % 3], linewidth=0.6)
        row[0].axhline(0, color="black", linewidth=0.5)
        row[0].set_ylabel(f"residual of {name} ({unit})")
        period = float(model["period"].values[0])
        _spectrum(row[1], values, number, dt, noise[a], unit, period, settings)
        found = values[np.isfinite(values)]
        width = found.std()
        row[2].hist(found, BINS, density=True, color=settings["band_color"])
        x = np.linspace(-4 * width, 4 * width, 200)
        row[2].plot(
            x,
            np.exp(-((x / width) ** 2) / 2) / width / np.sqrt(2 * np.pi),
            color="black",
            linewidth=0.8,
        )
        row[2].set_yticks([])
        row[2].locator_params(axis="x", nbins=4)
        row[2].set_xlabel(f"residual ({unit})")
    for axes, text in zip(grid[-1], ("Time (s)", "Frequency (Hz)"), strict=False):
        axes.set_xlabel(text)
    legend_on_top(
        figure,
        [
            Line2D([], [], color=colours[0], label="measured less fitted"),
            Line2D(
                [],
                [],
                color=settings["truth_color"],
                ls="--",
                label="noise of the sensor",
            ),
            Line2D([], [], color="0.6", ls=":", label="main frequency"),
            Line2D([], [], color="black", label="normal distribution"),
        ],
    )
    return figure


def _spectrum(axes, values, number, dt, noise, unit, period, settings) -> None:
    from scipy.signal import welch

    series = [values[number == k] for k in np.unique(number)]
    series = [np.nan_to_num(y) for y in series]
    size = min(map(len, series))
    total = 0.0
    for y in series:
        frequency, density = welch(y, 1 / dt, nperseg=min(size, 2048))
        total = total + density / len(series)
    axes.loglog(
        frequency[1:], total[1:], color=settings["estimate_color"], linewidth=0.8
    )
    axes.axhline(
        2 * noise**2 * dt, color=settings["truth_color"], linestyle="--", linewidth=0.8
    )
    axes.axvline(1 / period, color="0.6", linestyle=":", linewidth=0.9)
    axes.set_ylabel(f"density ({unit}²/Hz)")
