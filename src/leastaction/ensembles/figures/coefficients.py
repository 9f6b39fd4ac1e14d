"""Coefficients: what was selected, with which value, of L and of the volatility."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from leastaction.ensembles.figures._candidate import Candidate
from leastaction.ensembles.figures._column import Column, axes_width, columns_of
from leastaction.report.panel import BASELINE, MAIN, Panel, panel_title
from leastaction.report.style import SMALL, StyledFigure, legend_on_top

# Heights in mm: of the values, of the strip below, of titles, ticks and gaps.
VALUES_HEIGHT = 38.0
STRIP_HEIGHT = 12.0
REST_HEIGHT = 19.0
LEGEND_HEIGHT = 9.0
LINE = 1.3
MOST_TICKS = 7
MARKERS = {MAIN: "o", BASELINE: "D"}
COLOURS = {MAIN: "estimate_color", BASELINE: "published_color"}
# In mm: beside each other, so that equal estimates do not hide one another.
OFFSETS = {MAIN: 0.0, BASELINE: 1.3}
MILLIMETRES_PER_POINT = 25.4 / 72
# In mm: candidates that are closer have no tick of their own, unless they are labelled.
CLOSEST = 0.7
TRUTH_HALF = 2.0
# No mark reaches beyond this share of the distance between two candidates.
WIDEST = 0.4


def coefficients(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Coefficients of L (left) and of S² (right) on a symmetric logarithmic scale.

    Medians with the 5–95 % range over replicates. Below each, how often every candidate
    is selected; only true terms and those selected in a majority are labelled. Of a
    large library only those columns are shown that matter, see
    :func:`~leastaction.ensembles.figures._heading.selection`. For a field the published
    estimator has one model per node: mean and range are those over the nodes.

    Paper: Figure 1 (b) shows terms of a "potential" of the diffusion, without a
    constant. For additive noise S² is a constant, so the constant is a candidate here.

    Raises
    ------
    ValueError
        If a panel has no model of the recommended estimator.
    """
    rows = [columns_of(panel, settings) for panel in panels]
    small = LINE * SMALL * settings["font_size"]
    lines = [
        [max(len(c.head) for c in row), max(len(c.values) for c in row)] for row in rows
    ]
    height = LEGEND_HEIGHT + sum(
        VALUES_HEIGHT
        + STRIP_HEIGHT
        + REST_HEIGHT
        + sum(count) * small * MILLIMETRES_PER_POINT
        + max(c.label_height(settings) for c in row)
        for row, count in zip(rows, lines, strict=True)
    )
    figure = StyledFigure(settings, height)
    grid = figure.subplots(
        2 * len(panels),
        2,
        squeeze=False,
        gridspec_kw={"height_ratios": [VALUES_HEIGHT, STRIP_HEIGHT] * len(panels)},
    )
    for i, row in enumerate(rows):
        for j, column in enumerate(row):
            top, strip = grid[2 * i : 2 * i + 2, j]
            strip.sharex(top)
            top.tick_params(labelbottom=False)
            _values(top, column.candidates, settings)
            top.set_ylabel(f"Coefficient in ${column.symbol}$ (SI units)")
            _write(top, column.head, column.values, lines[i][1], settings)
            _frequencies(strip, column, settings)
        grid[2 * i, 0].set_title(panel_title(panels, i), pad=small * sum(lines[i]) + 10)
    figure.align_ylabels(grid)
    baseline = any(BASELINE in panel.models for panel in panels)
    legend_on_top(figure, _handles(settings, baseline))
    return figure


def _write(
    axes: Axes, head: list[str], values: list[str], lines: int, settings: Mapping
) -> None:
    """Write `head` in black and, under it, `values` in the colour of their marks."""
    size = SMALL * settings["font_size"]
    height = LINE * size
    blocks = (
        (head, 6 + height * lines, "black"),
        (values, 4 + height * (lines - len(values)), settings["estimate_color"]),
    )
    for text, offset, colour in blocks:
        axes.annotate(
            "\n".join(text),
            (0, 1),
            xycoords="axes fraction",
            xytext=(0, offset),
            textcoords="offset points",
            va="bottom",
            fontsize=size,
            linespacing=LINE,
            color=colour,
        )


def _values(axes: Axes, candidates: Sequence[Candidate], settings: Mapping) -> None:
    shown = [(i, c) for i, c in enumerate(candidates) if c.shown]
    # In millimetres, so that marks are as large in a small library as in a large one.
    millimetre = len(candidates) / axes_width(settings)
    half = min(TRUTH_HALF * millimetre, WIDEST)
    extremes = []
    for i, candidate in shown:
        if np.isfinite(candidate.true):
            axes.plot(
                [i - half, i + half],
                [candidate.true] * 2,
                color=settings["truth_color"],
                linewidth=1.6,
                solid_capstyle="butt",
                zorder=2,
            )
            extremes.append(candidate.true)
        for name in candidate.values:
            middle, low, high = candidate.interval(name)
            offset = min(OFFSETS[name] * millimetre, WIDEST)
            _mark(axes, i + offset, name, candidate, settings)
            extremes += [middle, low, high]
    _scale(axes, np.array(extremes or [0.0]), [c.true for _, c in shown])
    axes.axhline(0, color="0.6", linewidth=0.6, zorder=0)


def _mark(
    axes: Axes, x: float, name: str, candidate: Candidate, settings: Mapping
) -> None:
    middle, low, high = candidate.interval(name)
    colour = settings[COLOURS[name]]
    open_marker = candidate.given or not candidate.often(name)
    axes.errorbar(
        x,
        middle,
        yerr=[[max(0.0, middle - low)], [max(0.0, high - middle)]],
        fmt=MARKERS[name],
        markersize=4.0 if name == MAIN else 3.2,
        color=colour,
        markerfacecolor="white" if open_marker else colour,
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
    low, high = transform.transform(
        np.array([min(values.min(), 0.0), max(values.max(), 0.0)])
    )
    margin = 0.08 * (high - low)
    bottom, top = transform.inverted().transform(
        np.array([low - margin, high + margin])
    )
    axes.set_ylim(bottom, top)
    reach = [max(0.0, np.log10(max(abs(v), 1e-300)) - first + 1) for v in (bottom, top)]
    step = int(np.ceil(sum(reach) / MOST_TICKS))
    powers = 10.0 ** np.arange(first + step - 1, first + max(reach), step)
    ticks = np.concatenate([-powers[::-1], [0.0], powers])
    axes.yaxis.set_major_locator(
        FixedLocator(ticks[(ticks >= bottom) & (ticks <= top)])
    )
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
        strip.bar(
            selected + (j - (len(names) - 1) / 2) * width,
            100 * np.take(shares, selected),
            width,
            color=settings[COLOURS[name]],
            linewidth=0,
        )
    strip.set_ylabel("Selected\n(%)")
    strip.set_ylim(0, 105)
    strip.set_yticks([0, 100])
    strip.set_xlim(-0.8, len(candidates) - 0.2)
    strip.set_xticks(column.labelled, [candidates[i].label for i in column.labelled])
    if len(candidates) * CLOSEST <= axes_width(settings):
        strip.set_xticks(range(len(candidates)), minor=True)
    strip.set_xlabel("Candidate term")
    if column.crowded(settings):
        strip.tick_params(axis="x", labelrotation=90)
    else:
        strip.tick_params(axis="x", pad=SMALL * settings["font_size"] + 3)
        for label in strip.get_xticklabels():
            label.set_verticalalignment("baseline")


def _handles(settings: Mapping, baseline: bool) -> list:
    handles = [
        Line2D([], [], color=settings["truth_color"], linewidth=1.6, label="truth"),
    ]
    for name in (MAIN, BASELINE) if baseline else (MAIN,):
        handles.append(
            Line2D(
                [],
                [],
                color=settings[COLOURS[name]],
                marker=MARKERS[name],
                markersize=4.0 if name == MAIN else 3.2,
                linewidth=0.9,
                label=f"{name} (median, 5–95 %)",
            )
        )
    handles.append(
        Line2D(
            [],
            [],
            color=settings["estimate_color"],
            marker="o",
            markersize=4.0,
            markerfacecolor="white",
            linewidth=0,
            label="given or mostly rejected",
        )
    )
    return handles
