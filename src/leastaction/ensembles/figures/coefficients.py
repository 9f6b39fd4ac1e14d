"""Coefficients: what was selected, with which value, of L and of the volatility."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from leastaction.report.looks import look, marked
from leastaction.report.panel import BASELINE, MAIN, Panel, panel_title
from leastaction.report.style import (
    MILLIMETRES_PER_INCH,
    POINTS_PER_INCH,
    RANGE,
    StyledFigure,
    fill_lines,
    key,
    legend_on_top,
    note,
    small,
    text_width,
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
MAJORITY = 0.5
# Share of the width of a figure that one of two columns has.
SHARE_OF_WIDTH = 0.38
# As many candidates as have room for their labels.
MOST_CANDIDATES = 26
MOST_VALUES = 8
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Candidate:
    """One candidate term with its estimates, one per replicate.

    `true` is NaN if the truth is outside the library; `given` fixes the scale of L. Of
    estimators with one model per node, `at_nodes` are the estimates at single nodes
    that select the term, and `node_share` is the share of nodes that do.
    """

    label: str
    unit: str
    true: float
    given: bool
    values: Mapping[str, np.ndarray]
    std: Mapping[str, np.ndarray]
    selected: Mapping[str, np.ndarray]
    at_nodes: Mapping[str, np.ndarray] = field(default_factory=dict)
    node_share: Mapping[str, float] = field(default_factory=dict)

    def share(self, estimator: str) -> float:
        """Share of replicates, or of nodes in all of them, that select it."""
        if estimator in self.node_share:
            return self.node_share[estimator]
        return float(self.selected[estimator].mean())

    def often(self, estimator: str) -> bool:
        """Whether `estimator` selects it in a majority of replicates, or nodes."""
        return self.share(estimator) >= MAJORITY

    @property
    def is_true(self) -> bool:
        """Whether the truth contains it."""
        return bool(np.isfinite(self.true)) and self.true != 0

    @property
    def shown(self) -> bool:
        """Whether it is true, or selected in a majority of replicates."""
        return self.is_true or any(self.often(name) for name in self.selected)

    def interval(self, estimator: str) -> tuple[float, float, float]:
        """Median and 5th and 95th percentile over replicates.

        With a single replicate, its value ± 1.645 standard errors. Mean and percentiles
        over nodes where every node has a model of its own.
        """
        values = self.at_nodes.get(estimator, np.empty(0))
        if len(values):
            low, high = np.percentile(values, [5, 95])
            return float(values.mean()), float(low), float(high)
        values = self.values[estimator]
        if len(values) > 1:
            low, middle, high = np.nanpercentile(values, [5, 50, 95])
            return float(middle), float(low), float(high)
        middle, half = float(values[0]), 1.645 * float(self.std[estimator][0])
        half = half if np.isfinite(half) else 0.0
        return middle, middle - half, middle + half


class Column:
    """Candidates of one function, mathtext `symbol`, beside each other.

    `head` and `values` are lines of what was searched and of the recommended values;
    all are `labelled` if some are left out, `crowded` if upright labels would touch.
    """

    def __init__(
        self, symbol: str, found: list[Candidate], functions: int | None, settings
    ):
        shown, left_out = selection(found)
        everything, width = len(shown) == len(found), axes_width(settings)
        count = f"{len(found)} candidates"
        if functions is not None:
            count = f"{len(found)} densities ({functions} functions over all nodes)"
        if any(candidate.at_nodes for candidate in found):
            left_out = [*left_out, f"{BASELINE}: mean and 5–95 % over nodes"]
        head = [f"${symbol}$: {count};", *(f"{note};" for note in left_out)]
        self.symbol, self.candidates = symbol, shown
        self.head = fill_lines([*head, exact_supports(found)], " ", width, settings)
        self.values = fill_lines(identified(shown), ",   ", width, settings)
        self.labelled = [i for i, c in enumerate(shown) if c.shown or not everything]
        step = width / len(shown)
        widths = [text_width(shown[i].label, settings) for i in self.labelled]
        self.crowded = any(
            (b - a) * step < (wide + next_wide) / 2 + 1.0
            for (a, b), (wide, next_wide) in zip(
                pairwise(self.labelled), pairwise(widths), strict=True
            )
        )
        # In mm, below the strip.
        self.label_height = max(widths) if self.crowded else 0.0


def coefficients(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Coefficients of L (left) and of S² (right) on a symmetric logarithmic scale.

    Medians with the 5–95 % range over replicates. Below each, how often every candidate
    is selected; only true terms and those selected in a majority are labelled. Of a
    large library only those columns are shown that matter, see :func:`selection`. For a
    field the published estimator has one model per node: mean and range are those over
    the nodes.

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
        + max(c.label_height for c in row)
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
            handles += marked([name], settings, RANGE, markersize=SIZES[name])
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
    bars = [[max(0.0, middle - low)], [max(0.0, high - middle)]]
    style = {"color": colour, "markerfacecolor": "white" if hollow else colour}
    style |= {"elinewidth": 0.9, "capsize": 1.8, "capthick": 0.7}
    style |= {"markersize": SIZES[name], "zorder": 4 if name == MAIN else 3}
    axes.errorbar(x, middle, bars, fmt=look(name).marker, **style)


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
    if column.crowded:
        strip.tick_params(axis="x", labelrotation=90)
    else:
        strip.tick_params(axis="x", pad=small(settings) + 3)
        for label in strip.get_xticklabels():
            label.set_verticalalignment("baseline")


def columns_of(panel: Panel, settings: Mapping) -> tuple[Column, Column]:
    """Columns of L with D, and of S²."""
    functions = [
        panel.truth.functions_over_nodes(panel.config["library"][of])
        if panel.is_field
        else None
        for of in ("lagrangian", "volatility")
    ]
    damping = of_dissipation(panel)
    of_motion = [*of_lagrangian(panel), *damping]
    return (
        Column("L, D" if damping else "L", of_motion, functions[0], settings),
        Column("S^2", of_volatility(panel), functions[1], settings),
    )


def axes_width(settings: Mapping) -> float:
    """Width of one column, mm."""
    return SHARE_OF_WIDTH * settings["width"]


def of_lagrangian(panel: Panel) -> list[Candidate]:
    """Candidates of L, in the order of the library."""
    models, truth = _estimators(panel), panel.coefficients_true
    terms, unit = models[MAIN]["term"].values, panel.lagrangian_unit
    found = []
    for term, status in zip(
        map(str, terms), models[MAIN]["status"].values, strict=True
    ):
        pieces = {name: model.sel(term=term) for name, model in models.items()}
        more = {"given": str(status) == "reference", **_of_nodes(pieces)}
        found.append(_candidate(panel, term, pieces, truth, unit, **more))
    return found


def of_dissipation(panel: Panel) -> list[Candidate]:
    """Candidates of the Rayleigh function D, in the order of the library."""
    models, truth = _estimators(panel), panel.dissipation_true
    terms = np.asarray(models[MAIN].get("dissipation_term", np.empty(0)))
    found = []
    for term in map(str, terms):
        pieces = {
            name: model.sel(dissipation_term=term)
            for name, model in models.items()
            if term in model["dissipation_term"].values
        }
        words = "dissipation_", " [$D$]"
        unit = panel.dissipation_unit
        found.append(_candidate(panel, term, pieces, truth, unit, *words))
    return found


def of_volatility(panel: Panel) -> list[Candidate]:
    """Candidates of (S Sᵀ)_aa, one block after another for a = 1 ... dof."""
    models = _estimators(panel)
    main = models[MAIN]
    terms = [str(term) for term in main["volatility_term"].values]
    found = []
    for a, dof in enumerate(main["dof"].values):
        truth = panel.squared_volatility_true(a, terms)
        owner = f" [{panel.label(str(dof))}]" if main.sizes["dof"] > 1 else ""
        unit, words = panel.squared_volatility_unit(a), ("volatility_", owner)
        for term in terms:
            pieces = {
                name: model.isel(dof=a).sel(volatility_term=term)
                for name, model in models.items()
            }
            found.append(_candidate(panel, term, pieces, truth, unit, *words))
    return found


def _estimators(panel: Panel) -> dict[str, xr.Dataset]:
    shown = [MAIN, BASELINE] if BASELINE in panel.models else [MAIN]
    return {name: panel.model(name) for name in shown}


def _candidate(
    panel: Panel,
    term: str,
    pieces,
    truth,
    unit,
    prefix="",
    owner="",
    given=False,
    **nodes,
) -> Candidate:
    """Candidate whose variables begin with `prefix` in the datasets `pieces`."""
    estimates = (
        {name: piece[prefix + variable].values for name, piece in pieces.items()}
        for variable in ("coefficient_estimate", "coefficient_std", "support")
    )
    label, unit = panel.label(term) + owner, panel.coefficient_unit(term, unit)
    return Candidate(label, unit, truth.get(term, np.nan), given, *estimates, **nodes)


def _of_nodes(pieces: Mapping[str, xr.Dataset]) -> dict[str, dict]:
    """What estimators with one model per node say of a term."""
    at_nodes, share = {}, {}
    for name, piece in pieces.items():
        if "node_support" in piece:
            chosen = piece["node_support"].values
            at_nodes[name] = piece["node_coefficient_estimate"].values[chosen > 0]
            has = np.isfinite(chosen)
            share[name] = float(chosen[has].mean()) if has.any() else 0.0
    return {"at_nodes": at_nodes, "node_share": share}


def selection(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[str]]:
    """Candidates that have room beside each other, and what is left out.

    All of up to `MOST_CANDIDATES`. Of a larger library those that are true or that the
    recommended estimator selects in some replicate; then, while there is room, those
    that the published one selects in a majority, the most frequent ones first.
    """
    if len(candidates) <= MOST_CANDIDATES:
        return list(candidates), []
    published = [
        c.share(BASELINE) if BASELINE in c.selected else 0.0 for c in candidates
    ]
    numbers = range(len(candidates))
    kept = {i for i, c in enumerate(candidates) if c.is_true or c.share(MAIN) > 0}
    often = [
        i
        for i in sorted(numbers, key=published.__getitem__, reverse=True)
        if i not in kept and published[i] >= MAJORITY
    ]
    kept |= set(often[: max(0, MOST_CANDIDATES - len(kept))])
    hidden = [i for i in numbers if i not in kept]
    never = sum(published[i] == 0 for i in hidden)
    mostly = len(set(often) - kept)
    seldom = len(hidden) - never - mostly
    notes = [
        text.format(f"{count} other" + ("s" if count != 1 else ""))
        for count, text in (
            (mostly, f"{BASELINE} also selects {{}}"),
            (seldom, f"{BASELINE} rarely selects {{}}"),
            (never, "{} never selected"),
        )
        if count
    ]
    return [candidates[i] for i in sorted(kept)], notes


def exact_supports(candidates: Sequence[Candidate]) -> str:
    """State in how many replicates exactly the true terms are selected."""
    if not all(np.isfinite(c.true) for c in candidates):
        return "the truth is not in the library"
    right = np.array([c.true != 0 for c in candidates])[:, None]
    counts = []
    for name in candidates[0].selected:
        chosen = np.array([c.selected[name] for c in candidates]).astype(bool)
        exact = (chosen == right).all(axis=0)
        counts.append(f"{name} {exact.sum()}/{len(exact)}")
    return "exact support: " + ", ".join(counts)


def identified(candidates: Sequence[Candidate]) -> list[str]:
    """State the values in words: no axis resolves a part in a thousand."""
    entries = []
    for candidate in candidates:
        if not candidate.often(MAIN):
            continue
        middle, low, high = candidate.interval(MAIN)
        if candidate.given:
            entries.append(f"{candidate.label}: {middle:g} (given)")
            continue
        # Two significant digits of the uncertainty.
        half = (high - low) / 2
        size = half if half > 0 else 1e-3 * abs(middle)
        digits = np.clip(1 - np.floor(np.log10(size)), 0, 12) if size > 0 else 0
        shown = (f"{v:.{int(digits)}f}" for v in (middle, low, high))
        value, first, last = (text.replace("-", MINUS) for text in shown)
        unit = "" if candidate.unit in ("", "1") else f" {candidate.unit}"
        entries.append(f"{candidate.label}: {value} [{first}, {last}]{unit}")
    if len(entries) > MOST_VALUES:
        rest = len(entries) - MOST_VALUES + 1
        entries = [*entries[: MOST_VALUES - 1], f"and {rest} more"]
    return entries
