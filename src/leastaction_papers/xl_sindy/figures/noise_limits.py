"""How much noise each method manages: Figure 4 of xL-SINDy."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.figures.readable import listed
from leastaction.figures.style import StyledFigure, key, legend_on_top, small
from leastaction_papers.scorecard.looks import label_of_level, look
from leastaction_papers.scorecard.panel import BASELINE, MAIN, Panel, panel_title
from leastaction_papers.scorecard.readable import plain_scientific
from leastaction_papers.scorecard.recovery import NoiseLimit, largest_noise, shown_mode

# In mm.
HEIGHT_OF_METHOD, HEIGHT_OF_REST = 6.5, 40.0
# Modes of the noise: markers, and how far above or below the line of their method.
MARKS = {"independent": ("o", 0.14), "shared": ("s", -0.14)}
# Decades from the lowest level to the place of data without noise.
DECADES_TO_NO_NOISE = 0.8
ORDER = (MAIN, BASELINE, "sindy_pi", "lagrangian_sindy")
look_of = partial(look, labels={BASELINE: "xL-SINDy"})


def noise_limits(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Largest noise up to which every level has the right structure, by method.

    A level is managed if at least half of the replicates have exactly the true terms.
    The axis is −log10 σ as in the paper, with σ above it; data without noise stand at
    the left. A line begins at the lowest level that was done: below it nothing is
    known. Bars are the printed limits, dotted ones those of the authors' files where
    these contradict them. An arrow means that the sweep ends there; a cross, that not
    even the lowest level gives the right terms.

    Raises
    ------
    ValueError
        If no panel has a sweep over noise.
    """
    methods = in_order(panels)
    if not methods:
        raise ValueError("noise_limits: no panel has a sweep over noise")
    figure = StyledFigure(settings, HEIGHT_OF_METHOD * len(methods) + HEIGHT_OF_REST)
    grid = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    swept = (sweep["noise_level"] for p in panels for sweep in p.recoveries.values())
    levels = np.concatenate([sweep.values for sweep in swept])
    least = np.log10(levels[levels > 0].min()) - DECADES_TO_NO_NOISE
    for i, (panel, axes) in enumerate(zip(panels, grid, strict=True)):
        for y, method in enumerate(methods):
            _printed(axes, y, panel, method, settings)
            colour = look_of(method).color(settings)
            for mode, (marker, shift) in MARKS.items():
                case = _mode_of(panel, method, mode)
                if case is not None:
                    limit = largest_noise(case["exact"])
                    _limit(axes, y - shift, limit, least, marker, colour)
        _noise_axes(axes, least, settings)
        axes.set_title(panel_title(panels, i), pad=7)
    grid[0].set_yticks(range(len(methods)), [look_of(m).label for m in methods])
    grid[0].set_ylim(len(methods) - 0.5, -0.5)
    handles = [
        key(f"{mode} noise", "0.3", m, markersize=3.6, linewidth=0.7, **_face(m, "0.3"))
        for mode, (m, _) in MARKS.items()
    ]
    handles += [
        key("printed in the paper", settings["truth_color"], linewidth=1.6),
        key(
            "in the authors' files",
            settings["truth_color"],
            linestyle=":",
            linewidth=1.6,
        ),
        key("still right where the sweep ends", "0.3", r"$\rightarrow$", linewidth=0),
        key("wrong at the lowest level", "0.3", "x", linewidth=0, markersize=3.5),
    ]
    legend_on_top(figure, handles, 3)
    return figure


def finding(panels: Sequence[Panel]) -> str:
    """Who endures more noise, and the limits beside those of the paper."""
    limits_by_system = []
    for panel in panels:
        limits = [
            _beside_printed(panel, method)
            for method in (BASELINE, "sindy_pi")
            if method in panel.recoveries
        ]
        limits_by_system.append(f"{panel.title.lower()}: {', '.join(limits)}")
    ours = [_limit_text(panel, MAIN) for panel in panels if MAIN in panel.recoveries]
    return (
        f"{_compared(panels)}Largest noise with the right structure (xL-SINDy with the "
        "shared noise of the paper's code), in brackets the paper's, which for "
        "SINDy-PI are those of other data (table below): "
        f"{'; '.join(limits_by_system)}. The recommended estimator: {listed(ours)}."
    )


def _limit_text(panel: Panel, method: str) -> str:
    """Largest noise of the kind that stands for a method."""
    sweep = panel.recoveries[method]
    limit = largest_noise(sweep["exact"].sel(noise_mode=shown_mode(method, sweep)))
    if np.isnan(limit.level):
        return "none"
    return ("≥ " if limit.at_end else "") + _level_text(limit.level)


def _beside_printed(panel: Panel, method: str) -> str:
    text = f"{look_of(method).label} {_limit_text(panel, method)}"
    printed = [_level_text(float(r["printed"])) for r in panel.printed_limits(method)]
    return f"{text} ({listed(printed)})" if printed else text


def _level_text(level: float) -> str:
    return f"{level:g}" if level >= 1e-3 else plain_scientific(level, 1)


def _compared(panels: Sequence[Panel]) -> str:
    """In how many systems SINDy-PI endures less than xL-SINDy, of the same noise."""
    cases = [
        [_mode_of(panel, method, "independent") for method in (BASELINE, "sindy_pi")]
        for panel in panels
    ]
    pairs = [
        [np.nan_to_num(largest_noise(case["exact"]).level, nan=-1.0) for case in pair]
        for pair in cases
        if all(case is not None for case in pair)
    ]
    if not pairs:
        return ""
    fewer = sum(rival < ours for ours, rival in pairs)
    return (
        "On the same data, with independent noise, SINDy-PI endures less than xL-SINDy "
        f"in {fewer} of {len(pairs)} systems. "
    )


def _mode_of(panel: Panel, method: str, mode: str) -> xr.Dataset | None:
    """Recoveries of a method with one kind of noise; None if it was not done."""
    recovery = panel.recoveries.get(method)
    if recovery is None or mode not in recovery["noise_mode"].values:
        return None
    return recovery.sel(noise_mode=mode)


def _face(marker: str, colour: str) -> dict:
    return {"markerfacecolor": colour if marker == "o" else "white"}


def _limit(axes: Axes, y: float, limit: NoiseLimit, least: float, marker: str, colour):
    """A line from the lowest level done to the limit, log10 σ to the right."""
    start, x = (least if v == 0 else np.log10(v) for v in (limit.lowest, limit.level))
    if np.isnan(x):
        axes.plot(start, y, "x", color=colour, markersize=3.5, clip_on=False)
        return
    axes.plot([start, x], [y, y], color=colour, linewidth=0.7, zorder=2)
    style = {"color": colour, "markersize": 3.6, "zorder": 3} | _face(marker, colour)
    axes.plot(x, y, marker, clip_on=False, **style)
    if limit.at_end:
        arrow = {"arrowstyle": "->", "color": colour, "linewidth": 0.8}
        ends = (x + 1.25, y), (x + 0.2, y)
        axes.annotate("", *ends, arrowprops=arrow, annotation_clip=False)


def _printed(axes: Axes, y: float, panel: Panel, method: str, settings) -> None:
    """The printed limit; dashed beside it that of the authors' files, if another."""
    style = {"color": settings["truth_color"], "linewidth": 1.6, "zorder": 4}
    for row in panel.printed_limits(method):
        printed, released = float(row["printed"]), row.get("authors") or row["printed"]
        marks = {printed: "-", float(released): "-" if released == printed else ":"}
        for level, dashes in marks.items():
            x = np.log10(level)
            ends = [x, x], [y - 0.36, y + 0.36]
            axes.plot(*ends, dashes, solid_capstyle="butt", **style)


def _noise_axes(axes: Axes, least: float, settings: Mapping) -> None:
    axes.set_xlim(least - 0.3, 1.3)
    powers = [power for power in range(-20, 1, 2) if power > least + 1]
    axes.set_xticks([least, *powers], ["∞", *(f"{-p:d}" for p in powers)])
    axes.set_xlabel(r"$-\log_{10}\,\sigma_{\max}$ (1)")
    above = axes.secondary_xaxis("top")
    levels = ["$0$", *(label_of_level(10.0**p) for p in powers)]
    above.set_xticks([least, *powers], levels)
    above.tick_params(labelsize=small(settings), length=1.5, pad=1)
    above.set_xlabel(r"$\sigma_{\max}$ (SI units)", fontsize=small(settings))
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="0.92", linewidth=0.5)
    axes.set_axisbelow(True)


def in_order(panels: Sequence[Panel]) -> list[str]:
    """Estimators with a sweep over noise that some panel has."""
    estimators = {name for panel in panels for name in panel.recoveries}
    return [n for n in ORDER if n in estimators] + sorted(estimators - set(ORDER))
