"""Symmetries found from snapshots: what decides, and what imposing them gains."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.report.panel import MAIN, Panel
from leastaction.report.style import grid_of, key, legend_on_top
from leastaction.snapshots.symmetry_rows import fits, gains_of, resolution_of

VERDICTS = {"found": "o", "undecided": "d", "not found": "x"}
HEIGHT, REST = 15, 26


def symmetry_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Left the violation of the nearest affine symmetry, right what imposing gains.

    A row per system, in it a line per level of noise from above to below. Left: each
    replicate at the violation ν of its first generator; its bar ends where ν would be
    too large for a symmetry. A symmetry is found if the bar ends left of the dashed
    line. Right: error of motions without symmetries over that with them.
    """
    figure, grid = grid_of(settings, 1, 2, row=HEIGHT * len(panels), rest=REST)
    left, right = grid[0]
    colours = {
        "found": settings["estimate_color"],
        "undecided": "0.6",
        "not found": settings["truth_color"],
    }
    for row, panel in enumerate(panels):
        model = panel.model(MAIN)
        levels = np.atleast_1d(model["noise_level"].values)
        found = list(fits(model))
        place = row + np.tile(
            np.linspace(-0.3, 0.3, len(levels)), model.sizes["replicate"]
        )
        for y, each in zip(place, found, strict=True):
            _fit(left, y, each[0], colours)
        gains, at = gains_of(panel)
        right.plot(gains, place[at], "o", color=colours["found"], markersize=2.5)
    left.axvline(resolution_of(panels[0]), color="0.3", linestyle="--")
    for gain, style in ((1.0, "-"), (2.0, "--")):
        right.axvline(gain, color="0.3", linestyle=style, linewidth=0.7)
    left.set_xlabel(r"Violation $\nu$ of the nearest affine symmetry (1)")
    right.set_xlabel("Error without over error with the symmetry (1)")
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_ylim(len(panels) - 0.5, -0.5)
        axes.set_yticks(range(len(panels)))
    left.set_yticklabels([panel.title for panel in panels])
    right.set_yticklabels([])
    legend_on_top(
        figure,
        [
            key(name, colours[name], marker, linestyle="none", markersize=4)
            for name, marker in VERDICTS.items()
        ],
    )
    return figure


def _fit(axes: Axes, y: float, symmetry, colours: Mapping) -> None:
    """One replicate at one level of noise."""
    style = {"color": colours[symmetry.verdict]}
    mark = VERDICTS[symmetry.verdict]
    axes.plot([symmetry.violation, symmetry.bound], [y, y], linewidth=0.5, **style)
    axes.plot(symmetry.violation, y, mark, markersize=2.5, **style)
