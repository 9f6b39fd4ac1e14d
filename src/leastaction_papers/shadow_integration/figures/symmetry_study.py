"""Symmetries found from snapshots: what decides, and what imposing them gains."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from leastaction.core.symmetries import DECISIVE
from leastaction.figures.style import grid_of, key, legend_on_top
from leastaction_papers.scorecard.panel import MAIN, Panel
from leastaction_papers.shadow_integration.symmetry_rows import (
    decided,
    fits,
    fits_of,
    gains_of,
)

VERDICTS = {"found": "o", "undecided": "d", "not found": "x"}
HEIGHT, REST = 15, 26


def symmetry_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """What decides about the likeliest affine symmetry, and what imposing it gains.

    A row per system, in it a line per level of noise from above to below, a mark per
    replicate. Left: violation ν of the first generator; its bar ends where ν would be
    too large for a symmetry. Middle: logarithm of the odds of L with the symmetry
    against L without, beside the dashed odds that decide. Right: error of motions
    without symmetries over that with them.
    """
    figure, grid = grid_of(settings, 1, 3, row=HEIGHT * len(panels), rest=REST)
    violations, odds, right = grid[0]
    colours = {
        "found": settings["estimate_color"],
        "undecided": "0.6",
        "not found": settings["truth_color"],
    }
    for row, panel in enumerate(panels):
        model = panel.model(MAIN)
        levels = np.atleast_1d(model["noise_level"].values)
        place = row + np.tile(
            np.linspace(-0.3, 0.3, len(levels)), model.sizes["replicate"]
        )
        for y, (first, *_) in zip(place, fits(model), strict=True):
            style = {"color": colours[first.verdict]}
            mark = {"marker": VERDICTS[first.verdict], "markersize": 2.5, **style}
            bar = [first.violation, first.bound]
            violations.plot(bar, [y, y], linewidth=0.5, **style)
            violations.plot(first.violation, y, **mark)
            odds.plot(first.log_odds, y, **mark)
        gains, at = gains_of(panel)
        right.plot(gains, place[at], "o", color=colours["found"], markersize=2.5)
    odds.set_xscale("symlog", linthresh=10)
    odds.set_xticks([-1e4, -1e2, 0, 1e2, 1e4])
    for end in (-DECISIVE, DECISIVE):
        odds.axvline(end, color="0.3", linestyle="--", linewidth=0.7)
    for gain, style in ((1.0, "-"), (2.0, "--")):
        right.axvline(gain, color="0.3", linestyle=style, linewidth=0.7)
    violations.set_xlabel(r"Violation $\nu$ (1)")
    odds.set_xlabel("Log odds for the symmetry (1)")
    right.set_xlabel("Error without it / with it (1)")
    for axes in (violations, right):
        axes.set_xscale("log")
    for axes in grid[0]:
        axes.set_ylim(len(panels) - 0.5, -0.5)
        axes.set_yticks(range(len(panels)), [])
    violations.set_yticklabels([panel.title for panel in panels])
    marks = [
        key(name, colours[name], marker, linestyle="none", markersize=4)
        for name, marker in VERDICTS.items()
    ]
    legend_on_top(figure, marks)
    return figure


def finding(panels: Sequence[Panel]) -> str:
    """What the fits that decide find, and what is gained."""
    fits_made = sum(map(fits_of, panels))
    sure = [one for panel in panels for one in decided(panel)]
    right = sum(right for _, right in sure)
    false = sum(bool(symmetries) and not right for symmetries, right in sure)
    gains = np.concatenate([gains_of(panel)[0] for panel in panels])
    text = (
        f"{len(sure)} of {fits_made} fits are decisive: {right} of these identify "
        f"exactly the true symmetries, or none in a system without, and {false} a "
        "false one."
    )
    if gains.size:
        text += (
            f" An identified symmetry, once imposed, makes the error of motions "
            f"{np.median(gains):.2g} times smaller in the median of {gains.size} fits, "
            f"and {gains.min():.2g} times in the worst."
        )
    return text
