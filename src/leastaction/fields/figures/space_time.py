"""Response of a field: maps over space and time, truth beside the identified model."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from leastaction.report.panel import MAIN, Panel, panel_title
from leastaction.report.readable import mean_path_errors
from leastaction.report.style import StyledFigure, small, time_axis

# In mm.
HEIGHT_OF_PANEL, HEIGHT_OF_REST = 58.0, 6.0
SIGNED, POSITIVE = "RdBu_r", "viridis"
# Per cent of the values that a scale of colours holds.
HELD_BY_SCALE = 99.5


def space_time(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Ensemble mean of truth and model, their difference, and the scatter.

    Four maps per panel, time along x and position along y, of the first replicate:
    E[u] of the truth, E[û] of the identified model on the same scale, |E[û] − E[u]|,
    and the standard deviation of û. The line marks the end of training.

    Raises
    ------
    ValueError
        If a panel is no field, or has no rollout of the recommended estimator.
    """
    for panel in panels:
        if not panel.is_field:
            raise ValueError(f"space_time: example {panel.example!r} has no field")
    figure = StyledFigure(settings, HEIGHT_OF_PANEL * len(panels) + HEIGHT_OF_REST)
    rows = figure.subfigures(len(panels), 1, squeeze=False)[:, 0]
    for i, (panel, row) in enumerate(zip(panels, rows, strict=True)):
        rollout = panel.rollout(MAIN)
        name = panel.truth.field
        unit = panel.coordinate_unit(name)
        title = f"{panel_title(panels, i)}; {mean_path_errors(rollout)}"
        row.suptitle(title, x=0.01, ha="left", fontsize=settings["font_size"])
        grid = row.subplots(1, 4, sharex=True, sharey=True)
        maps = _maps(rollout, panel.label(name).strip("$"))
        for axes, (heading, values, norm, colours) in zip(grid, maps, strict=True):
            _draw(axes, rollout, values, norm, colours)
            axes.set_title(heading, fontsize=small(settings))
        # Truth and model share their bar, as they share their scale.
        for owners in (slice(0, 2), slice(2, 3), slice(3, 4)):
            _, _, norm, colours = maps[owners][0]
            bar = row.colorbar(
                ScalarMappable(norm, colours),
                ax=list(grid[owners]),
                orientation="horizontal",
                aspect=18 * len(maps[owners]),
                pad=0.03,
                extend="max" if norm.vmin == 0 else "both",
            )
            bar.set_label(f"({unit})", fontsize=small(settings))
            bar.outline.set_linewidth(0.5)
            bar.locator.set_params(nbins=3 * len(maps[owners]))
        grid[0].set_ylabel("Position (m)")
    return figure


def _maps(rollout: xr.Dataset, letter: str) -> list[tuple]:
    """(heading, map of shape (time, node), scale, colours) of the four panels."""
    shown = rollout.isel(replicate=0)
    truth, found = shown["mean_true"].values, shown["mean_estimate"].values
    signed = _scale(truth, symmetric=True)
    error = np.abs(found - truth)
    std = shown["std_estimate"].values
    scatter = f"Model, standard deviation of $\\hat{{{letter}}}$"
    return [
        (f"Truth, $\\mathrm{{E}}[{letter}]$", truth, signed, SIGNED),
        (f"Model, $\\mathrm{{E}}[\\hat{{{letter}}}]$", found, signed, SIGNED),
        ("Absolute error of the mean", error, _scale(error), POSITIVE),
        (scatter, std, _scale(std), POSITIVE),
    ]


def _scale(values: np.ndarray, symmetric: bool = False) -> Normalize:
    """Colour scale that holds all but the largest few values."""
    finite = np.abs(values[np.isfinite(values)])
    top = float(np.percentile(finite, HELD_BY_SCALE)) if finite.size else 1.0
    top = top or 1.0
    return Normalize(-top if symmetric else 0.0, top)


def _draw(axes: Axes, rollout: xr.Dataset, values, norm, colours: str) -> None:
    time, node = rollout["time"].values, rollout["node"].values
    half = (node[1] - node[0]) / 2
    axes.imshow(
        values.T,
        origin="lower",
        aspect="auto",
        extent=(time[0], time[-1], node[0] - half, node[-1] + half),
        norm=norm,
        cmap=colours,
        interpolation="nearest",
        rasterized=True,
    )
    time_axis(axes, time)
    end = rollout.attrs["training_duration"]
    axes.axvline(end, color="white", linewidth=1.8)
    axes.axvline(end, color="black", linewidth=0.8)
