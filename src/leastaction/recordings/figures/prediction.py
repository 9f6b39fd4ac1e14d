"""What a law leaves of a recording: predicted paths, and residuals."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from leastaction.figures.panel import MAIN, Panel
from leastaction.figures.readable import percent_text
from leastaction.figures.style import grid_of, key, legend_on_top, small
from leastaction.recordings.contracts import shown_units

MOST_TRAJECTORIES, MOST_CHANNELS = 4, 6


def prediction(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Held-out trajectories, the free run of the law, and their difference.

    One row per trajectory and coordinate (of many, some), with the 95 % band; the
    part that fixed the initial state is grey.
    """
    rollout = panels[0].rollout(MAIN)
    names, units, factors = shown_units(rollout)
    count = min(rollout.sizes["trajectory"], MOST_TRAJECTORIES)
    some = np.linspace(0, len(names) - 1, min(len(names), MOST_CHANNELS)).round()
    rows = [(k, int(a)) for k in range(count) for a in some]
    shape = {"sharex": "row", "width_ratios": [1.7, 1]}
    figure, grid = grid_of(settings, len(rows), 2, row=34, rest=16, **shape)
    number = rollout["path_trajectory"].values
    red = {"color": settings["truth_color"]}
    blue = {"color": settings["estimate_color"], "linestyle": (0, (4, 2))}
    for (left, right), (k, a) in zip(grid, rows, strict=True):
        mine = number == k
        time = rollout["path_time"].values[mine]
        measured, predicted, band = (
            rollout[n].values[0][mine, a] / factors[a]
            for n in ("q_measured", "q_estimate", "q_band")
        )
        unit = "" if units[a] == "1" else f" {units[a]}"
        in_unit = f" ({units[a]})" if unit else ""
        for axes, level, low, high in (
            (left, predicted, np.nanmin(measured), np.nanmax(measured)),
            (right, 0 * predicted, *_extent(measured - predicted, band)),
        ):
            axes.axvspan(0, rollout.attrs["start"], color="0.92", linewidth=0)
            style = {"color": settings["band_color"], "linewidth": 0}
            axes.fill_between(time, level - band, level + band, **style)
            margin = 0.12 * (high - low) or 1.0
            axes.set_ylim(low - margin, high + margin)
        left.plot(time, measured, linewidth=1.4, **red)
        left.plot(time, predicted, linewidth=1.0, **blue)
        right.plot(time, measured - predicted, linewidth=0.7, **red)
        left.set_xlim(time[0], time[-1])
        left.set_ylabel(f"{names[a]}{in_unit}")
        right.set_ylabel(f"error{in_unit}")
        share = rollout["rms_error"].values[0, k, a]
        rms = share * rollout["half_range"].values[k, a] / factors[a]
        left.set_title(
            f"Trajectory {rollout['label'].values[k]}: rms error {rms:.3g}{unit}, "
            f"{percent_text(share)} of half the range",
            fontsize=small(settings),
            parse_math=False,
        )
    for axes in grid[-1]:
        axes.set_xlabel(rollout.attrs.get("along", "Time (s)"))
    figure.align_ylabels(grid[:, 0])
    handles = [
        key("measured", linewidth=1.4, **red),
        key("predicted", **blue),
        Patch(color=settings["band_color"], label="95 % band"),
    ]
    if rollout.attrs["start"] > 0:
        handles.append(Patch(color="0.92", label="initial state fitted here"))
    legend_on_top(figure, handles)
    return figure


def _extent(error: np.ndarray, band: np.ndarray) -> tuple[float, float]:
    """Symmetric limits that show the error, and the band unless it is far wider."""
    known = error[np.isfinite(error)]
    size = np.abs(known).max(initial=0.0)
    wide = np.nan_to_num(band, posinf=0.0).max(initial=0.0)
    size = max(size, min(wide, 3 * size)) or 1.0
    return -size, size


def residuals(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Measured minus fitted, over windows of three main periods.

    One row per coordinate. Left over time, all trajectories; in the middle the spectrum
    with that of white noise of the sensor; right the histogram with the normal
    distribution of the same width. A line at the main frequency or its harmonics, or a
    residual far above the noise, is what the law misses.
    """
    rollout, model = panels[0].rollout(MAIN), panels[0].model(MAIN)
    names, units, factors = shown_units(rollout)
    size = {"row": 46, "rest": 16, "width_ratios": [1.5, 1.2, 0.9]}
    figure, grid = grid_of(settings, len(names), 3, **size)
    number = rollout["path_trajectory"].values
    time = rollout["path_time"].values
    dt = float(np.median(np.diff(time[number == 0])))
    blue = {"color": settings["estimate_color"]}
    noise, period = model["noise_level"].values[0], float(model["period"].values[0])
    for a, (row, name) in enumerate(zip(grid, names, strict=True)):
        unit = units[a]
        values = rollout["residual"].values[0][:, a] / factors[a]
        for k in range(rollout.sizes["trajectory"]):
            mine = number == k
            row[0].plot(time[mine], values[mine], linewidth=0.6, alpha=0.6, **blue)
        row[0].axhline(0, color="black", linewidth=0.5)
        row[0].set_ylabel(f"residual of {name} ({unit})")
        level = noise[a] / factors[a]
        _spectrum(row[1], values, number, dt, level, period, settings)
        row[1].set_ylabel(f"density ({unit}²/Hz)")
        finite = values[np.isfinite(values)]
        width = finite.std()
        row[2].hist(finite, "auto", density=True, color=settings["band_color"])
        x = np.linspace(-4 * width, 4 * width, 200)
        normal = np.exp(-((x / width) ** 2) / 2) / width / np.sqrt(2 * np.pi)
        row[2].plot(x, normal, color="black", linewidth=0.8)
        row[2].set_yticks([])
        row[2].locator_params(axis="x", nbins=4)
        row[2].set_xlabel(f"residual ({unit})")
    for axes, text in zip(grid[-1], ("Time (s)", "Frequency (Hz)"), strict=False):
        axes.set_xlabel(text)
    handles = [
        key("measured minus fitted", **blue),
        key("noise of the sensor", settings["truth_color"], linestyle="--"),
        key("main frequency", "0.6", linestyle=":"),
        key("normal distribution", "black"),
    ]
    legend_on_top(figure, handles)
    return figure


def _spectrum(axes, values, number, dt, noise, period, settings: Mapping) -> None:
    from scipy.signal import welch

    series = [np.nan_to_num(values[number == k]) for k in np.unique(number)]
    # Ten half overlapping segments, whose mean scatters by about a third.
    size = min(2 * len(y) // 11 for y in series)
    size = max(size, min(8, *map(len, series)))
    total = 0.0
    for y in series:
        frequency, density = welch(y, 1 / dt, nperseg=size)
        total = total + density / len(series)
    blue = {"color": settings["estimate_color"]}
    axes.loglog(frequency[1:], total[1:], linewidth=0.8, **blue)
    white = {"color": settings["truth_color"], "linestyle": "--"}
    axes.axhline(2 * noise**2 * dt, linewidth=0.8, **white)
    axes.axvline(1 / period, color="0.6", linestyle=":", linewidth=0.9)
