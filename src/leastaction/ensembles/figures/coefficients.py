"""Coefficients: what was selected, with which value, of L and of the volatility."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from leastaction.ensembles.figures._candidates import (
    Candidate,
    Column,
    axes_width,
    columns_of,
)
from leastaction.report.looks import look
from leastaction.report.panel import BASELINE, MAIN, Panel, panel_title
from leastaction.report.style import (
    MILLIMETRES_PER_INCH,
    POINTS_PER_INCH,
    RANGE,
    StyledFigure,
    key,
    legend_on_top,
    note,
    small,
)

# Heights in mm: of the values, of the strip below, of titles, ticks and gaps.
VALUES_HEIGHT = 38.0
STRIP_HEIGHT = 12.0
TITLES_HEIGHT = 19.0
LEGEND_HEIGHT = 9.0
LINE_SPACING = 1.3
MOST_TICKS = 7
SIZES = {MAIN: 4.0, BASELINE: 3.2}
# In mm: beside each other, so that equal estimates do not hide one another.
OFFSETS = {MAIN: 0.0, BASELINE: 1.3}
# In mm: candidates that are closer have no tick of their own, unless they are labelled.
CLOSEST_TICKS = 0.7
HALF_OF_TRUTH = 2.0
# No mark reaches beyond this share of the distance between two candidates.
WIDEST_MARK = 0.4


def coefficients(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Coefficients of L (left) and of S² (right) on a symmetric logarithmic scale.

    Medians with the 5–95 % range over replicates. Below each, how often every candidate
    is selected; only true terms and those selected in a majority are labelled. Of a
    large library only those columns are shown that matter, see
    :func:`~leastaction.ensembles.figures._candidates.selection`. For a field the
    published estimator has one model per node: mean and range are those over the nodes.

    Paper: Figure 1 (b) shows terms of a "potential" of the diffusion, without a
    constant. For additive noise S² is a constant, so the constant is a candidate here.
    """
    rows = [columns_of(panel, settings) for panel in panels]
    line = LINE_SPACING * small(settings)
    lines = [
        [max(len(c.head) for c in row), max(len(c.values) for c in row)] for row in rows
    ]
    height = LEGEND_HEIGHT + sum(
        VALUES_HEIGHT
        + STRIP_HEIGHT
        + TITLES_HEIGHT
        + sum(count) * line * (MILLIMETRES_PER_INCH / POINTS_PER_INCH)
        + max(c.label_height(settings) for c in row)
        for row, count in zip(rows, lines, strict=True)
    )
    figure = StyledFigure(settings, height)
    ratios = [VALUES_HEIGHT, STRIP_HEIGHT] * len(panels)
    grid = figure.subplots(2 * len(panels), 2, squeeze=False, height_ratios=ratios)
    for i, row in enumerate(rows):
        for j, column in enumerate(row):
            top, strip = grid[2 * i : 2 * i + 2, j]
            strip.sharex(top)
            top.tick_params(labelbottom=False)
            _values(top, column.candidates, settings)
            top.set_ylabel(f"Coefficient in ${column.symbol}$ (SI units)")
            _write(top, column.head, column.values, lines[i][1], settings)
            _frequencies(strip, column, settings)
        grid[2 * i, 0].set_title(panel_title(panels, i), pad=line * sum(lines[i]) + 10)
    figure.align_ylabels(grid)
    handles = [key("truth", settings["truth_color"], linewidth=1.6)]
    for name in (MAIN, BASELINE):
        if name == MAIN or any(name in panel.models for panel in panels):
            one, style = look(name), {"markersize": SIZES[name], "linewidth": 0.9}
            color = one.color(settings)
            handles.append(key(name + RANGE, color, one.marker, **style))
    hollow = {"markersize": SIZES[MAIN], "markerfacecolor": "white", "linewidth": 0}
    rejected = "given or mostly rejected"
    handles.append(key(rejected, settings["estimate_color"], "o", **hollow))
    legend_on_top(figure, handles)
    return figure


def _write(
    axes: Axes, head: list[str], values: list[str], lines: int, settings: Mapping
) -> None:
    """Write `head` in black and, under it, `values` in the colour of their marks."""
    size = small(settings)
    height = LINE_SPACING * size
    style = {"va": "bottom", "fontsize": size, "linespacing": LINE_SPACING}
    above, below = 6 + height * lines, 4 + height * (lines - len(values))
    note(axes, "\n".join(head), 0, 1, offset=(0, above), color="black", **style)
    style["color"] = settings["estimate_color"]
    note(axes, "\n".join(values), 0, 1, offset=(0, below), **style)


def _values(axes: Axes, candidates: Sequence[Candidate], settings: Mapping) -> None:
    shown = [(i, c) for i, c in enumerate(candidates) if c.shown]
    # In millimetres, so that marks are as large in a small library as in a large one.
    millimetre = len(candidates) / axes_width(settings)
    half = min(HALF_OF_TRUTH * millimetre, WIDEST_MARK)
    style = {"color": settings["truth_color"], "linewidth": 1.6, "zorder": 2}
    extremes = []
    for i, candidate in shown:
        if np.isfinite(candidate.true):
            y = [candidate.true] * 2
            axes.plot([i - half, i + half], y, solid_capstyle="butt", **style)
            extremes.append(candidate.true)
        for name in candidate.values:
            offset = min(OFFSETS[name] * millimetre, WIDEST_MARK)
            _mark(axes, i + offset, name, candidate, settings)
            extremes += candidate.interval(name)
    _scale(axes, np.array(extremes or [0.0]), [c.true for _, c in shown])
    axes.axhline(0, color="0.6", linewidth=0.6, zorder=0)


def _mark(
    axes: Axes, x: float, name: str, candidate: Candidate, settings: Mapping
) -> None:
    middle, low, high = candidate.interval(name)
    colour = look(name).color(settings)
    hollow = candidate.given or not candidate.often(name)
    axes.errorbar(
        x,
        middle,
        yerr=[[max(0.0, middle - low)], [max(0.0, high - middle)]],
        fmt=look(name).marker,
        markersize=SIZES[name],
        color=colour,
        markerfacecolor="white" if hollow else colour,
        elinewidth=0.9,
        capsize=1.8,
        capthick=0.7,
        zorder=4 if name == MAIN else 3,
    )


def _scale(axes: Axes, values: np.ndarray, truth: Sequence[float]) -> None:
    """Symmetric logarithm that is linear only below the smallest true coefficient."""
    sizes = np.abs([t for t in truth if np.isfinite(t) and t != 0])
    if not sizes.size:
        sizes = np.abs(values[values != 0]) if values.any() else np.ones(1)
    first = int(np.floor(np.log10(sizes.min()) + 1e-9))
    axes.set_yscale("symlog", linthresh=10.0**first, linscale=1.0)
    transform = axes.yaxis.get_transform()
    ends = np.array([min(values.min(), 0.0), max(values.max(), 0.0)])
    low, high = transform.transform(ends)
    margin = 0.08 * (high - low)
    ends = np.array([low - margin, high + margin])
    bottom, top = transform.inverted().transform(ends)
    axes.set_ylim(bottom, top)
    reach = [max(0.0, np.log10(max(abs(v), 1e-300)) - first + 1) for v in (bottom, top)]
    step = int(np.ceil(sum(reach) / MOST_TICKS))
    powers = 10.0 ** np.arange(first + step - 1, first + max(reach), step)
    ticks = np.concatenate([-powers[::-1], [0.0], powers])
    ticks = ticks[(ticks >= bottom) & (ticks <= top)]
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(_decade))


def _decade(value: float, _position: int) -> str:
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    power = round(np.log10(abs(value)))
    return f"${sign}1$" if power == 0 else f"${sign}10^{{{power}}}$"


def _frequencies(strip: Axes, column: Column, settings: Mapping) -> None:
    candidates = column.candidates
    names = list(candidates[0].selected)
    width = min(0.8 / len(names), 1.5 * len(candidates) / axes_width(settings))
    for j, name in enumerate(names):
        shares = [c.share(name) if name in c.selected else 0.0 for c in candidates]
        selected = np.flatnonzero(shares)
        x = selected + (j - (len(names) - 1) / 2) * width
        color = look(name).color(settings)
        strip.bar(x, 100 * np.take(shares, selected), width, color=color, linewidth=0)
    strip.set_ylabel("Selected\n(%)")
    strip.set_ylim(0, 105)
    strip.set_yticks([0, 100])
    strip.set_xlim(-0.8, len(candidates) - 0.2)
    strip.set_xticks(column.labelled, [candidates[i].label for i in column.labelled])
    if len(candidates) * CLOSEST_TICKS <= axes_width(settings):
        strip.set_xticks(range(len(candidates)), minor=True)
    strip.set_xlabel("Candidate term")
    if column.crowded(settings):
        strip.tick_params(axis="x", labelrotation=90)
    else:
        strip.tick_params(axis="x", pad=small(settings) + 3)
        for label in strip.get_xticklabels():
            label.set_verticalalignment("baseline")
