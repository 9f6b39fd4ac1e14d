"""Fields learned from snapshots: errors of unseen motions over time."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.figures.style import grid_of, key, legend_on_top, small
from leastaction_papers.scorecard.looks import look, time_axis
from leastaction_papers.scorecard.panel import MAIN, Panel, panel_title
from leastaction_papers.scorecard.readable import number_text
from leastaction_papers.shadow_integration.shadow_panel import errors_at, learned_at

ESTIMATORS = (MAIN, "second_order", "spectral", "finite_differences")
HEIGHT, REST = 48.0, 14.0
DIGITS = 2


def levels_of(rollout: xr.Dataset) -> list[float | None]:
    """Levels of noise of a rollout; None alone if it has no sweep."""
    swept = "noise_level" in rollout.dims
    return list(map(float, rollout["noise_level"].values)) if swept else [None]


def rollouts(panel: Panel, level: float | None) -> dict[str, xr.Dataset]:
    """Rollouts of the estimators of an example at a level of noise, all replicates."""
    others = sorted(panel.rollouts.keys() - set(ESTIMATORS))
    models = {
        name: learned_at(name, panel.model(name), panel.rollout(name), level)
        for name in (*ESTIMATORS, *others)
        if name in panel.rollouts
    }
    return {name: one.rollout for name, one in models.items() if one}


def noise_text(panel: Panel, level: float | None) -> str:
    """Words about a level of noise."""
    unit = panel.config["system"]["field"]["unit"]
    return f"noise {level:g} {unit}" if level else "no noise"


def field_errors(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Error of unseen motions over time, a column per level of noise.

    Root mean square over positions and motions over that of the motions; lines are
    medians over the replicates, bands their 5–95 % range.
    """
    levels = [levels_of(panel.rollout(MAIN)) for panel in panels]
    columns = max(map(len, levels))
    shared = {"sharey": "row", "sharex": "row"}
    figure, grid = grid_of(settings, len(panels), columns, HEIGHT, REST, **shared)
    drawn: dict[str, None] = {}
    for i, (panel, row) in enumerate(zip(panels, grid, strict=True)):
        for axes, level in zip(row, levels[i], strict=False):
            for name, rollout in rollouts(panel, level).items():
                drawn[name] = None
                _error_lines(axes, name, rollout, settings)
            axes.set_title(noise_text(panel, level), fontsize=small(settings))
            axes.set_yscale("log")
        row[0].set_ylabel(f"{panel_title(panels, i)}\nError over rms (1)")
    looks = map(look, drawn)
    lines = [key(o.label, o.color(settings), linestyle=o.dashes) for o in looks]
    legend_on_top(figure, lines)
    return figure


def _error_lines(axes: Axes, name: str, rollout: xr.Dataset, settings: Mapping) -> None:
    error = rollout["error"].values
    time = rollout.attrs["time_step"] * np.arange(error.shape[1])
    with np.errstate(all="ignore"):
        low, middle, high = np.nanpercentile(error[:, 2:], [5, 50, 95], axis=0)
    style = {"color": look(name).color(settings)}
    axes.plot(time[2:], middle, linestyle=look(name).dashes, **style)
    axes.fill_between(time[2:], low, high, alpha=0.15, linewidth=0, **style)
    time_axis(axes, time)


def finding(panels: Sequence[Panel]) -> str:
    """Errors at the end without and with noise, beside the baselines."""
    parts = []
    for panel in panels:
        levels = levels_of(panel.rollout(MAIN))
        for level in dict.fromkeys((levels[0], levels[-1])):
            at_end = []
            for name, rollout in rollouts(panel, level).items():
                middle = float(np.median(errors_at(rollout, -1)))
                finite = np.isfinite(middle)
                error = number_text(middle, DIGITS) if finite else "no motion"
                at_end.append(f"{error} ({look(name).label})")
            noise = noise_text(panel, level)
            parts.append(f"{panel.title}, {noise}: {', '.join(at_end)} at the end.")
    return " ".join(parts)
