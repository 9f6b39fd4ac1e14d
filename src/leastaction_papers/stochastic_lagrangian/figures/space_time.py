"""Response of a field: maps over space and time, truth beside identified models."""

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure, SubFigure

from leastaction.figures.style import StyledFigure, small
from leastaction_papers.scorecard.looks import time_axis
from leastaction_papers.scorecard.panel import BASELINE, MAIN, Panel, panel_title
from leastaction_papers.scorecard.readable import divergence, extremes, mean_path_errors

# In mm.
HEIGHT_OF_ROW, HEIGHT_OF_REST = 54.0, 6.0
SIGNED, POSITIVE = "RdBu_r", "viridis"
# Per cent of the values that a scale of colours holds.
HELD_BY_SCALE = 99.5


def space_time(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Ensemble mean of truth and model, their difference, and the scatter.

    Four maps per panel, time along x and position along y, of the first replicate:
    E[u] of the truth, E[û] of the recommended model, |E[û] − E[u]|, and the standard
    deviation of û. A second row has those of the published model, with the true
    standard deviation in place of the true mean; where it diverges, the title says so
    instead. What is alike has one scale of colours in both rows. The line marks the end
    of training.

    Raises
    ------
    ValueError
        If a panel is no field, or has no rollout of the recommended estimator.
    """
    for panel in panels:
        if not panel.is_field:
            raise ValueError(f"space_time: example {panel.example!r} has no field")
    shown = [(i, name) for i, p in enumerate(panels) for name in _estimators(p)]
    figure = StyledFigure(settings, HEIGHT_OF_ROW * len(shown) + HEIGHT_OF_REST)
    rows = figure.subfigures(len(shown), 1, squeeze=False)[:, 0]
    for row, (i, name) in zip(rows, shown, strict=True):
        panel, rollout = panels[i], panels[i].rollout(name)
        title = f"{panel_title(panels, i)}, {name}; {mean_path_errors(rollout)}"
        published = panel.rollouts.get(BASELINE, rollout)
        if not _finite(published):
            title += f"\n({BASELINE}: diverges, not drawn)"
        row.suptitle(title, x=0.01, ha="left", fontsize=settings["font_size"])
        letter = panel.label(panel.truth.field).strip("$")
        shown_here = [panel.rollouts[one] for one in _estimators(panel)]
        _row(row, rollout, _maps(rollout, letter, name, _scales(shown_here)), settings)
        for axes in row.axes[4:]:
            unit = panel.coordinate_unit(panel.truth.field)
            axes.set_xlabel(f"({unit})", fontsize=small(settings))
    return figure


def finding(panels: Sequence[Panel]) -> str:
    """How far mean and spread are off, by estimator, over the fields."""
    parts = []
    for name in (MAIN, BASELINE):
        shown = {p.title: p.rollouts[name] for p in panels if name in p.rollouts}
        if shown:
            training, prediction, spread = (
                {title: float(np.median(r[of])) for title, r in shown.items()}
                for of in ("mean_error_training", "mean_error_prediction", "std_error")
            )
            parts.append(
                f"The mean field of the {name} model is off by {extremes(training)} in "
                f"training and by {extremes(prediction)} beyond; its standard "
                f"deviation by {extremes(spread)}.{divergence(prediction)}"
            )
    errors = "Errors are medians over the replicates, those of means over the rms"
    return " ".join([*parts, f"{errors} of the field."])


def _finite(rollout: xr.Dataset) -> bool:
    """Whether the mean of the first replicate is finite at all times."""
    return bool(np.isfinite(rollout["mean_estimate"].values[0]).all())


def _estimators(panel: Panel) -> list[str]:
    drawn = BASELINE in panel.rollouts and _finite(panel.rollouts[BASELINE])
    return [MAIN, BASELINE] if drawn else [MAIN]


def _row(row: SubFigure, rollout: xr.Dataset, maps: Sequence, settings) -> None:
    """Four maps; neighbours of the same scale share their bar."""
    grid = row.subplots(1, 4, sharex=True, sharey=True)
    for axes, (heading, values, norm, colours) in zip(grid, maps, strict=True):
        _draw(axes, rollout, values, norm, colours)
        axes.set_title(heading, fontsize=small(settings))
    grid[0].set_ylabel("Position (m)")
    for _, group in groupby(range(4), lambda i: id(maps[i][2])):
        owners = list(group)
        _, _, norm, colours = maps[owners[0]]
        bar = row.colorbar(
            ScalarMappable(norm, colours),
            ax=[grid[i] for i in owners],
            orientation="horizontal",
            aspect=18 * len(owners),
            pad=0.03,
            extend="max" if norm.vmin == 0 else "both",
        )
        bar.outline.set_linewidth(0.5)
        bar.locator.set_params(nbins=3 * len(owners))


def _scales(rollouts: Sequence[xr.Dataset]) -> dict[str, Normalize]:
    """Scales of mean, error of the mean and standard deviation, the same for all."""
    first = [rollout.isel(replicate=0) for rollout in rollouts]
    errors = [np.abs(r["mean_estimate"].values - r["mean_true"].values) for r in first]
    return {
        "mean": _scale(first[0]["mean_true"].values, symmetric=True),
        "error": max(map(_scale, errors), key=lambda norm: norm.vmax),
        "std": _scale(first[0]["std_true"].values),
    }


def _maps(rollout: xr.Dataset, letter: str, name: str, scales) -> list[tuple]:
    """(heading, map of shape (time, node), scale, colours) of the four panels."""
    shown = rollout.isel(replicate=0)
    truth, estimate = shown["mean_true"].values, shown["mean_estimate"].values
    mean, error, std = (scales[of] for of in ("mean", "error", "std"))
    model = name.capitalize()
    if name == MAIN:
        first = f"Truth, $\\mathrm{{E}}[{letter}]$", truth, mean, SIGNED
    else:
        true = shown["std_true"].values
        first = f"Truth, std of ${letter}$", true, std, POSITIVE
    return [
        first,
        (f"{model}, $\\mathrm{{E}}[\\hat{{{letter}}}]$", estimate, mean, SIGNED),
        ("Absolute error of the mean", np.abs(estimate - truth), error, POSITIVE),
        (
            f"{model}, std of $\\hat{{{letter}}}$",
            shown["std_estimate"].values,
            std,
            POSITIVE,
        ),
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
