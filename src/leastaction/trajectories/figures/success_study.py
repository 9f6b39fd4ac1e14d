"""Up to which noise does each method find the right structure, and how well?"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from leastaction.report.panel import Panel, joined, panel_title
from leastaction.report.study import (
    level_axis,
    levels_of,
    mark_infinite,
    median_error,
    places,
    share_of_exact,
)
from leastaction.report.style import grid_of, key, legend_on_top
from leastaction.trajectories.figures._methods import MODES, in_order, look_of

DISTANCE_OF_METHODS = 0.07


def success_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Share of replicates with exactly the right structure against noise, by method.

    One column per system; a row for each mode of the noise, with 95 % Wilson intervals
    where some fail and some do not. Below it the median over replicates of the largest
    relative error of a true coefficient, wrong structures included. For a Lagrangian a
    missing term counts as 100 % and an extra term, which the row above shows, costs
    nothing; an implicit equation with any wrong term has no error: a median that is
    infinite for this reason stands at the upper edge, marked ∞.

    Raises
    ------
    ValueError
        If no panel has a sweep over noise.
    """
    panels = joined(panels)
    methods, levels = in_order(panels), levels_of(panels)
    if not levels:
        raise ValueError("success_study: no panel has a sweep over noise")
    modes = [m for m in MODES if any(m in _modes(panel) for panel in panels)]
    size, shared = (2 * len(modes), len(panels)), {"sharex": True, "sharey": "row"}
    figure, grid = grid_of(settings, *size, row=42, rest=14, **shared)
    for j, panel in enumerate(panels):
        for i, mode in enumerate(modes):
            top, bottom = grid[2 * i : 2 * i + 2, j]
            for k, method in enumerate(methods):
                found = panel.recoveries.get(method)
                if found is None or mode not in found["noise_mode"].values:
                    continue
                case = found.sel(noise_mode=mode)
                shift = DISTANCE_OF_METHODS * (k - (len(methods) - 1) / 2)
                x = np.array(places(case["noise_level"].values, levels)) + shift
                style = look_of(method).series(settings)
                share_of_exact(top, x, case, style)
                median_error(bottom, x, case, style)
            level_axis(bottom, levels)
        grid[0, j].set_title(panel_title(panels, j))
    for mode, top, bottom in zip(modes, grid[::2], grid[1::2], strict=True):
        top[0].set(ylabel=f"Right structure (%)\n{MODES[mode]}", ylim=(-6, 106))
        error = f"Worst coefficient error (%)\n{MODES[mode]}"
        bottom[0].set(ylabel=error, yscale="log")
        mark_infinite(bottom)
    for axes in grid[:-1].flat:
        axes.set_xlabel("")
    figure.align_ylabels(grid)
    looks = [look_of(method) for method in methods]
    handles = [key(one.label, **one.series(settings)) for one in looks]
    legend_on_top(figure, handles, 4)
    return figure


def _modes(panel: Panel) -> set[str]:
    return {
        str(mode) for r in panel.recoveries.values() for mode in r["noise_mode"].values
    }
