"""Coefficients: what was selected, with which value, of L and of the volatility."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from leastaction.figures.style import (
    MILLIMETRES_PER_INCH,
    POINTS_PER_INCH,
    RANGE,
    StyledFigure,
    key,
    legend_on_top,
    note,
    small,
)
from leastaction_papers.scorecard import scores
from leastaction_papers.scorecard.looks import fill_lines, look, marked
from leastaction_papers.scorecard.panel import BASELINE, MAIN, Panel, panel_title
from leastaction_papers.scorecard.readable import extremes

# Heights in mm: of one term, of titles, ticks and gaps, of the legend.
ROW_HEIGHT = 3.6
TITLES_HEIGHT = 14.5
LEGEND_HEIGHT = 12.0
LINE_SPACING = 1.3
MOST_TICKS = 6
SIZES = {MAIN: 4.0, BASELINE: 3.2}
# Of the distance between two terms, so that equal estimates do not hide one another.
OFFSETS = {MAIN: -0.14, BASELINE: 0.2}
HALF_OF_TRUTH = 0.42
BAR_HEIGHT = 0.34
MAJORITY = 0.5
# Share of the width of a figure that the text above one of two columns has.
SHARE_OF_WIDTH = 0.43
# Width of the coefficients over that of the shares of selection.
WIDTH_RATIO = 3.2
MOST_TERMS = 8


@dataclass(frozen=True)
class Candidate:
    """One candidate term with its estimates, one per replicate.

    `true` is NaN if the truth is outside the library; `fixed` sets the scale of L. Of
    estimators with one model per node, `at_nodes` are the estimates at single nodes
    that select the term, and `node_share` is the share of nodes that do.
    """

    label: str
    unit: str
    true: float
    fixed: bool
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
    """Candidates of one function, mathtext `symbol`, below each other.

    `head` are lines of what was searched.
    """

    def __init__(
        self, symbol: str, terms: list[Candidate], functions: int | None, settings
    ):
        shown, left_out = selection(terms)
        width = SHARE_OF_WIDTH * settings["width"]
        count = f"{len(terms)} candidates"
        if functions is not None:
            count = f"{len(terms)} densities ({functions} functions over all nodes)"
        if any(candidate.at_nodes for candidate in terms):
            left_out = [*left_out, f"{BASELINE}: mean and 5–95 % over nodes"]
        head = [f"${symbol}$: {count};", *(f"{note};" for note in left_out)]
        self.symbol, self.candidates = symbol, shown
        self.head = fill_lines([*head, exact_supports(terms)], " ", width, settings)


def coefficients(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Coefficients of L (left) and of S² (right) on a symmetric logarithmic scale.

    One line per term that is true or selected, see :func:`selection`: the median with
    its 5–95 % range over replicates, and how often it is selected. For a field the
    published estimator has one model per node; mean and range are those over the nodes.

    Paper: Figure 1 (b) shows terms of a "potential" of the diffusion, without a
    constant. For additive noise S² is a constant, so the constant is a candidate here.
    """
    rows = [columns_of(panel, settings) for panel in panels]
    line = LINE_SPACING * small(settings)
    lines = [max(len(column.head) for column in row) for row in rows]
    heights = [
        ROW_HEIGHT * max(2, *(len(column.candidates) for column in row)) for row in rows
    ]
    text = line * sum(lines)
    height = sum(heights) + TITLES_HEIGHT * len(rows) + LEGEND_HEIGHT
    height += text * (MILLIMETRES_PER_INCH / POINTS_PER_INCH)
    figure = StyledFigure(settings, height)
    shape = {"height_ratios": heights, "width_ratios": [WIDTH_RATIO, 1] * 2}
    grid = figure.subplots(len(panels), 4, squeeze=False, **shape)
    for i, row in enumerate(rows):
        for j, column in enumerate(row):
            values, shares = grid[i, 2 * j : 2 * j + 2]
            _values(values, column.candidates, settings)
            values.set_xlabel(f"Coefficient in ${column.symbol}$ (SI units)")
            style = {"color": "black", "va": "bottom", "fontsize": small(settings)}
            # It reaches over the axes beside; the padding of the title keeps its room.
            style |= {"linespacing": LINE_SPACING, "in_layout": False}
            note(values, "\n".join(column.head), 0, 1, offset=(0, 5), **style)
            _frequencies(shares, column.candidates, settings)
            for axes in (values, shares):
                axes.set_ylim(heights[i] / ROW_HEIGHT - 0.45, -0.55)
        grid[i, 0].set_title(panel_title(panels, i), pad=line * lines[i] + 8)
    handles = [key("truth", settings["truth_color"], linewidth=1.6)]
    for name in (MAIN, BASELINE):
        if name == MAIN or any(name in panel.models for panel in panels):
            handles += marked([name], settings, RANGE, markersize=SIZES[name])
    hollow = {"markersize": SIZES[MAIN], "markerfacecolor": "white", "linewidth": 0}
    for text, marker in (("given", "s"), ("mostly rejected", "o")):
        handles.append(key(text, settings["estimate_color"], marker, **hollow))
    legend_on_top(figure, handles, 3)
    return figure


def finding(panels: Sequence[Panel]) -> str:
    """How often exactly the true terms are selected, and errors of coefficients."""
    parts = []
    for name in (MAIN, BASELINE):
        known = [p for p in panels if name in p.models and p.known_law is not None]
        symbols_of: dict[str, list[str]] = {}
        for symbol, of in (("L", of_lagrangian), ("S²", of_volatility)):
            counts = {panel.title: exact_counts(of(panel))[name] for panel in known}
            symbols_of.setdefault(_count_text(counts), []).append(symbol)
        parts += [
            f"The {name} estimator selects exactly the true terms of "
            f"{' and of '.join(symbols)} in {text}."
            for text, symbols in symbols_of.items()
            if known
        ]
        errors = {
            panel.title: float(
                np.median(scores.coefficients(panel.models[name], panel.law).error)
            )
            for panel in known
            if panel.law.terms
        }
        if errors:
            parts.append(
                "Its coefficients of the true terms of L are off by "
                f"{extremes(errors)}, median over the replicates."
            )
    return " ".join(parts)


def _count_text(counts: Mapping[str, tuple[int, int]]) -> str:
    if all(exact == every for exact, every in counts.values()):
        return "every replicate of every system"
    if not any(exact for exact, _ in counts.values()):
        return "no replicate of any system"
    listed = (
        f"{exact} of {every} replicates ({n})" for n, (exact, every) in counts.items()
    )
    return ", ".join(listed)


def _values(axes: Axes, candidates: Sequence[Candidate], settings: Mapping) -> None:
    style = {"color": settings["truth_color"], "linewidth": 1.6, "zorder": 2}
    reached = []
    for i, candidate in enumerate(candidates):
        if np.isfinite(candidate.true):
            y = [i - HALF_OF_TRUTH, i + HALF_OF_TRUTH]
            axes.plot([candidate.true] * 2, y, solid_capstyle="butt", **style)
            reached.append(candidate.true)
        for name in candidate.values:
            _mark(axes, i + OFFSETS[name], name, candidate, settings)
            reached += candidate.interval(name)
    _scale(axes, np.array(reached or [0.0]), [c.true for c in candidates])
    axes.axvline(0, color="0.6", linewidth=0.6, zorder=0)
    axes.set_yticks(range(len(candidates)), [c.label for c in candidates])
    axes.tick_params(axis="y", length=0)


def _mark(
    axes: Axes, y: float, name: str, candidate: Candidate, settings: Mapping
) -> None:
    middle, low, high = candidate.interval(name)
    colour = look(name).color(settings)
    hollow = candidate.fixed or not candidate.often(name)
    bars = [[max(0.0, middle - low)], [max(0.0, high - middle)]]
    style = {"color": colour, "markerfacecolor": "white" if hollow else colour}
    style |= {"elinewidth": 0.9, "capsize": 1.8, "capthick": 0.7}
    style |= {"markersize": SIZES[name], "zorder": 4 if name == MAIN else 3}
    marker = "s" if candidate.fixed else look(name).marker
    axes.errorbar(middle, y, xerr=bars, fmt=marker, **style)


def _scale(axes: Axes, values: np.ndarray, truth: Sequence[float]) -> None:
    """Symmetric logarithm that is linear only below the smallest true coefficient."""
    sizes = np.abs([t for t in truth if np.isfinite(t) and t != 0])
    if not sizes.size:
        sizes = np.abs(values[values != 0]) if values.any() else np.ones(1)
    first = int(np.floor(np.log10(sizes.min()) + 1e-9))
    axes.set_xscale("symlog", linthresh=10.0**first, linscale=1.0)
    transform = axes.xaxis.get_transform()
    ends = np.array([min(values.min(), 0.0), max(values.max(), 0.0)])
    low, high = transform.transform(ends)
    margin = 0.08 * (high - low)
    ends = np.array([low - margin, high + margin])
    left, right = transform.inverted().transform(ends)
    axes.set_xlim(left, right)
    reach = [max(0.0, np.log10(max(abs(v), 1e-300)) - first + 1) for v in (left, right)]
    step = int(np.ceil(sum(reach) / MOST_TICKS))
    powers = 10.0 ** np.arange(first + step - 1, first + max(reach), step)
    ticks = np.concatenate([-powers[::-1], [0.0], powers])
    ticks = ticks[(ticks >= left) & (ticks <= right)]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(_decade))


def _decade(value: float, _position: int) -> str:
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    power = round(np.log10(abs(value)))
    return f"${sign}1$" if power == 0 else f"${sign}10^{{{power}}}$"


def _frequencies(
    axes: Axes, candidates: Sequence[Candidate], settings: Mapping
) -> None:
    for i, candidate in enumerate(candidates):
        for j, name in enumerate(candidate.selected):
            y = i + (j - (len(candidate.selected) - 1) / 2) * BAR_HEIGHT
            style = {"color": look(name).color(settings), "linewidth": 0}
            axes.barh(y, 100 * candidate.share(name), BAR_HEIGHT, **style)
    axes.set(xlabel="Selected (%)", xlim=(0, 105), xticks=[0, 50, 100], yticks=[])


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


def of_lagrangian(panel: Panel) -> list[Candidate]:
    """Candidates of L, in the order of the library."""
    truth, unit = panel.coefficients_true, panel.lagrangian_unit
    return _candidates(panel, _estimators(panel), "", truth, unit)


def of_dissipation(panel: Panel) -> list[Candidate]:
    """Candidates of the Rayleigh function D, in the order of the library."""
    truth, unit = panel.dissipation_true, panel.dissipation_unit
    models = _estimators(panel)
    return _candidates(panel, models, "dissipation_", truth, unit, " [$D$]")


def of_volatility(panel: Panel) -> list[Candidate]:
    """Candidates of (S Sᵀ)_aa, one block after another for a = 1 ... dof."""
    models = _estimators(panel)
    terms = [str(term) for term in models[MAIN]["volatility_term"].values]
    names = models[MAIN]["dof"].values
    candidates = []
    for a, dof in enumerate(names):
        of_dof = {name: model.isel(dof=a) for name, model in models.items()}
        truth = panel.squared_volatility_true(a, terms)
        owner = f" [{panel.label(str(dof))}]" if len(names) > 1 else ""
        unit = panel.squared_volatility_unit(a)
        candidates += _candidates(panel, of_dof, "volatility_", truth, unit, owner)
    return candidates


def _estimators(panel: Panel) -> dict[str, xr.Dataset]:
    shown = [MAIN, BASELINE] if BASELINE in panel.models else [MAIN]
    return {name: panel.model(name) for name in shown}


def _candidates(panel, models, prefix, truth, unit, owner="") -> list[Candidate]:
    """Candidates whose variables, and dimension, begin with `prefix` in `models`."""
    dim, candidates = f"{prefix}term", []
    for term in map(str, models[MAIN].get(dim, xr.DataArray([])).values):
        pieces = {
            name: model.sel({dim: term})
            for name, model in models.items()
            if term in model[dim].values
        }
        estimates = (
            {name: piece[prefix + variable].values for name, piece in pieces.items()}
            for variable in ("coefficient_estimate", "coefficient_std", "support")
        )
        fixed, nodes = False, {}
        if not prefix:
            fixed = str(pieces[MAIN]["status"].values) == "reference"
            nodes = _of_nodes(pieces)
        label, size = panel.label(term) + owner, panel.coefficient_unit(term, unit)
        true = truth.get(term, np.nan)
        candidates.append(Candidate(label, size, true, fixed, *estimates, **nodes))
    return candidates


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
    """Candidates that are shown, and what is left out.

    Those that are true or fixed, or that the recommended estimator selects in some
    replicate; then, up to `MOST_TERMS`, those that the published one selects in a
    majority, the most frequent ones first.
    """
    published = [
        c.share(BASELINE) if BASELINE in c.selected else 0.0 for c in candidates
    ]
    numbers = range(len(candidates))
    shown = {
        i for i, c in enumerate(candidates) if c.is_true or c.fixed or c.share(MAIN) > 0
    }
    often = [
        i
        for i in sorted(numbers, key=published.__getitem__, reverse=True)
        if i not in shown and published[i] >= MAJORITY
    ]
    shown |= set(often[: max(0, MOST_TERMS - len(shown))])
    hidden = [i for i in numbers if i not in shown]
    never = sum(published[i] == 0 for i in hidden)
    mostly = len(set(often) - shown)
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
    return [candidates[i] for i in sorted(shown)], notes


def exact_supports(candidates: Sequence[Candidate]) -> str:
    """State in how many replicates exactly the true terms are selected."""
    if not all(np.isfinite(c.true) for c in candidates):
        return "the truth is not in the library"
    counts = exact_counts(candidates).items()
    listed = (f"{name} {exact}/{every}" for name, (exact, every) in counts)
    return "exact support: " + ", ".join(listed)


def exact_counts(candidates: Sequence[Candidate]) -> dict[str, tuple[int, int]]:
    """By estimator, replicates with exactly the true terms, and all replicates.

    An estimator that does not know a candidate, such as damping, does not select it.
    """
    right = np.array([c.is_true for c in candidates])[:, None]
    counts = {}
    for name in candidates[0].selected:
        none = np.zeros_like(candidates[0].selected[name])
        chosen = [c.selected.get(name, none) for c in candidates]
        exact = (np.array(chosen).astype(bool) == right).all(axis=0)
        counts[name] = int(exact.sum()), len(exact)
    return counts
