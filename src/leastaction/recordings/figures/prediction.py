"""Measured against predicted: trajectories that the law has not seen."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from leastaction.report.style import SMALL, StyledFigure, legend_on_top, style

ROW_HEIGHT = 34.0
REST_HEIGHT = 16.0
MOST_TRAJECTORIES = 4


def prediction(rollout: xr.Dataset, settings: Mapping) -> Figure:
    """Held-out trajectories, the free run of the law, and their difference.

    One row per trajectory and coordinate, with the 95 % band of the coefficients; the
    part that fixed the initial state is grey.

    Parameters
    ----------
    rollout
        Contract ``measured_rollout``.
    settings
        See :func:`leastaction.report.style.complete`.
    """
    with style(settings) as complete:
        return _drawn(rollout, complete)


def _drawn(rollout: xr.Dataset, settings: Mapping) -> Figure:
    names = [str(n) for n in rollout["dof"].values]
    count = min(rollout.sizes["trajectory"], MOST_TRAJECTORIES)
    rows = [(k, a) for k in range(count) for a in range(len(names))]
    figure = StyledFigure(settings, ROW_HEIGHT * len(rows) + REST_HEIGHT)
    grid = figure.subplots(
        len(rows), 2, squeeze=False, sharex="row", width_ratios=[1.7, 1]
    )
    number = rollout["path_trajectory"].values
    for line, (k, a) in zip(grid, rows, strict=True):
        mine = number == k
        time = rollout["path_time"].values[mine]
        measured, found, band = (
            rollout[n].values[0][mine, a]
            for n in ("q_measured", "q_estimate", "q_band")
        )
        unit = str(rollout["coordinate_unit"].values[a])
        for axes, level, low, high in (
            (line[0], found, np.nanmin(measured), np.nanmax(measured)),
            (line[1], 0 * found, *_extent(measured - found, band)),
        ):
            axes.axvspan(0, rollout.attrs["start"], color="0.92", linewidth=0)
            axes.fill_between(
                time,
                level - band,
                level + band,
                color=settings["band_color"],
                linewidth=0,
            )
            margin = 0.12 * (high - low) or 1.0
            axes.set_ylim(low - margin, high + margin)
        line[0].plot(time, measured, color=settings["truth_color"], linewidth=1.4)
        line[0].plot(
            time,
            found,
            color=settings["estimate_color"],
            linestyle=(0, (4, 2)),
            linewidth=1.0,
        )
        line[1].plot(
            time, measured - found, color=settings["truth_color"], linewidth=0.7
        )
        line[0].set_xlim(time[0], time[-1])
        line[0].set_ylabel(f"{names[a]} ({unit})")
        line[1].set_ylabel(f"error ({unit})")
        line[0].set_title(
            f"Trajectory {rollout['label'].values[k]}: rms error "
            f"{100 * rollout['rms_error'].values[0, k, a]:.2g} %, largest "
            f"{100 * rollout['maximum_error'].values[0, k, a]:.2g} % of half the range",
            fontsize=SMALL * settings["font_size"],
        )
    for axes in grid[-1]:
        axes.set_xlabel("Time (s)")
    figure.align_ylabels(grid[:, 0])
    legend_on_top(
        figure,
        [
            Line2D(
                [], [], color=settings["truth_color"], linewidth=1.4, label="measured"
            ),
            Line2D(
                [],
                [],
                color=settings["estimate_color"],
                linestyle=(0, (4, 2)),
                label="predicted",
            ),
            Patch(color=settings["band_color"], label="95 % band"),
            Patch(color="0.92", label="fixes the initial state"),
        ],
    )
    return figure


def _extent(error: np.ndarray, band: np.ndarray) -> tuple[float, float]:
    """Symmetric limits that show the error, and the band unless it is far wider."""
    known = error[np.isfinite(error)]
    size = np.abs(known).max(initial=0.0)
    wide = np.nan_to_num(band, posinf=0.0).max(initial=0.0)
    size = max(size, min(wide, 3 * size)) or 1.0
    return -size, size
