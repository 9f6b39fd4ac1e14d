"""Coefficients: what was selected, with which value, of L and of the volatility."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from leastaction.publish.panel import BASELINE, MAIN, Panel
from leastaction.publish.style import (
    MILLIMETRES_PER_INCH,
    SMALL,
    StyledFigure,
    legend_on_top,
    panel_letter,
)

ROW_HEIGHT = 62.0
LEGEND_HEIGHT = 9.0
MAJORITY = 0.5
MARKERS = {MAIN: "o", BASELINE: "D"}
COLOURS = {MAIN: "estimate_color", BASELINE: "published_color"}
# Beside each other, so that equal estimates do not hide one another.
OFFSETS = {MAIN: 0.0, BASELINE: 0.32}
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Candidate:
    """One candidate term with its estimates.

    Attributes
    ----------
    label, unit
        Mathtext of the term and of the unit of its coefficient.
    true
        True coefficient, NaN if the truth is outside the library.
    given
        Whether the coefficient was given to fix the scale of L.
    values, std, selected
        Estimates, standard errors and selection of each estimator, one per replicate.
    """

    label: str
    unit: str
    true: float
    given: bool
    values: Mapping[str, np.ndarray]
    std: Mapping[str, np.ndarray]
    selected: Mapping[str, np.ndarray]

    @property
    def shown(self) -> bool:
        """Whether it is true, or selected in a majority of replicates."""
        often = any(chosen.mean() >= MAJORITY for chosen in self.selected.values())
        return often or (np.isfinite(self.true) and self.true != 0)

    def interval(self, estimator: str) -> tuple[float, float, float]:
        """Median and 5th and 95th percentile over replicates.

        With a single replicate, its value ± 1.645 standard errors.
        """
        values = self.values[estimator]
        if len(values) > 1:
            low, middle, high = np.nanpercentile(values, [5, 50, 95])
            return float(middle), float(low), float(high)
        middle, half = float(values[0]), 1.645 * float(self.std[estimator][0])
        half = half if np.isfinite(half) else 0.0
        return middle, middle - half, middle + half


def coefficients(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Coefficients of L (left) and of S² (right) on a symmetric logarithmic scale.

    Medians with the 5–95 % range over replicates. Below each, how often every candidate
    is selected; only true terms and those selected in a majority are labelled.

    Paper: Figure 1 (b) shows terms of a "potential" of the diffusion, without a
    constant. For additive noise S² is a constant, so the constant is a candidate here.

    Raises
    ------
    ValueError
        If a panel has no model of the recommended estimator.
    """
    count = len(panels)
    figure = StyledFigure(settings, ROW_HEIGHT * count + LEGEND_HEIGHT)
    rows = figure.subfigures(count, 1, squeeze=False)[:, 0]
    for i, (panel, row) in enumerate(zip(panels, rows, strict=True)):
        grid = row.subplots(
            2, 2, squeeze=False, sharex="col", gridspec_kw={"height_ratios": [4, 1]}
        )
        left, right = _of_lagrangian(panel), _of_volatility(panel)
        letter = panel_letter(i)
        for j, (candidates, symbol) in enumerate(((left, "L"), (right, "S^2"))):
            top, strip = grid[:, j]
            _values(top, candidates, settings)
            top.set_ylabel(f"Coefficient in ${symbol}$ (SI units)")
            top.set_title(
                f"{letter} {panel.title}, ${symbol}$\n" + _summary(candidates),
                linespacing=1.4,
            )
            _frequencies(strip, candidates, settings)
        row.align_ylabels(grid[:, 0])
        row.align_ylabels(grid[:, 1])
    baseline = any(BASELINE in panel.models for panel in panels)
    legend_on_top(figure, _handles(settings, baseline))
    return figure


def _estimators(panel: Panel) -> dict[str, xr.Dataset]:
    found = {MAIN: panel.model(MAIN)}
    if BASELINE in panel.models:
        found[BASELINE] = panel.model(BASELINE)
    return found


def _of_lagrangian(panel: Panel) -> list[Candidate]:
    models = _estimators(panel)
    truth = panel.coefficients_true or {}
    main = models[MAIN]
    found = []
    for term, status in zip(main["term"].values, main["status"].values, strict=True):
        pieces = {name: model.sel(term=term) for name, model in models.items()}
        found.append(
            Candidate(
                label=panel.label(str(term)),
                unit=panel.coefficient_unit(str(term), panel.lagrangian_unit),
                true=truth.get(str(term), np.nan),
                given=str(status) == "reference",
                values=_read(pieces, "coefficient_estimate"),
                std=_read(pieces, "coefficient_std"),
                selected=_read(pieces, "support"),
            )
        )
    return found


def _of_volatility(panel: Panel) -> list[Candidate]:
    models = _estimators(panel)
    main = models[MAIN]
    terms = [str(term) for term in main["volatility_term"].values]
    found = []
    for a, dof in enumerate(main["dof"].values):
        truth = panel.squared_volatility_true(a, terms) or {}
        owner = f" [{panel.label(str(dof))}]" if main.sizes["dof"] > 1 else ""
        for term in terms:
            pieces = {
                name: model.isel(dof=a).sel(volatility_term=term)
                for name, model in models.items()
            }
            found.append(
                Candidate(
                    label=panel.label(term) + owner,
                    unit=panel.coefficient_unit(term, panel.squared_volatility_unit(a)),
                    true=truth.get(term, np.nan),
                    given=False,
                    values=_read(pieces, "volatility_coefficient_estimate"),
                    std=_read(pieces, "volatility_coefficient_std"),
                    selected=_read(pieces, "volatility_support"),
                )
            )
    return found


def _read(pieces: Mapping[str, xr.Dataset], variable: str) -> dict[str, np.ndarray]:
    return {name: piece[variable].values for name, piece in pieces.items()}


def _summary(candidates: Sequence[Candidate]) -> str:
    """Number of candidates, and in how many replicates the support is exact."""
    text = f"{len(candidates)} candidates; "
    if not all(np.isfinite(c.true) for c in candidates):
        return text + "the truth is not in the library"
    right = np.array([c.true != 0 for c in candidates])[:, None]
    counts = []
    for name in candidates[0].selected:
        chosen = np.array([c.selected[name] for c in candidates]).astype(bool)
        exact = (chosen == right).all(axis=0)
        counts.append(f"{name} {exact.sum()}/{len(exact)}")
    return text + "exact support: " + ", ".join(counts)


def _values(axes: Axes, candidates: Sequence[Candidate], settings: Mapping) -> None:
    shown = [(i, c) for i, c in enumerate(candidates) if c.shown]
    # A candidate is a fraction of a millimetre wide in a large library; the width of a
    # mark must not follow it.
    spread = max(1.0, len(candidates) / 25)
    extremes = []
    for i, candidate in shown:
        if np.isfinite(candidate.true):
            axes.plot(
                [i - 0.55 * spread, i + 0.55 * spread],
                [candidate.true] * 2,
                color=settings["truth_color"],
                linewidth=1.6,
                solid_capstyle="butt",
                zorder=2,
            )
            extremes.append(candidate.true)
        for name in candidate.values:
            middle, low, high = candidate.interval(name)
            _mark(axes, i + OFFSETS[name] * spread, name, candidate, settings)
            extremes += [middle, low, high]
    _scale(axes, np.array(extremes or [0.0]), [c.true for _, c in shown])
    axes.axhline(0, color="0.6", linewidth=0.6, zorder=0)
    for i, candidate in shown:
        if candidate.selected[MAIN].mean() >= MAJORITY:
            _annotate(axes, i, candidate, len(candidates), settings)


def _mark(
    axes: Axes, x: float, name: str, candidate: Candidate, settings: Mapping
) -> None:
    middle, low, high = candidate.interval(name)
    colour = settings[COLOURS[name]]
    open_marker = candidate.given or candidate.selected[name].mean() < MAJORITY
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
    linear = 10.0 ** np.floor(np.log10(sizes.min()) + 1e-9)
    axes.set_yscale("symlog", linthresh=linear, linscale=0.6)
    low, high = min(values.min(), 0.0), max(values.max(), 0.0)
    bottom = 5 * low if low < -linear else -1.2 * linear
    top = 5 * high if high > linear else 1.2 * linear
    axes.set_ylim(bottom, top)
    first = round(np.log10(linear))
    decades = int(np.ceil(np.log10(max(-bottom, top)))) - first + 1
    step = max(1, round(decades / 4))
    powers = 10.0 ** (first + np.arange(0, decades, step))
    ticks = np.concatenate([-powers[::-1], [0.0], powers])
    axes.yaxis.set_major_locator(FixedLocator(ticks[(ticks >= bottom) & (ticks <= top)]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(_decade))


def _decade(value: float, _position: int) -> str:
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    power = round(np.log10(abs(value)))
    return f"${sign}1$" if power == 0 else f"${sign}10^{{{power}}}$"


def _annotate(
    axes: Axes, i: int, candidate: Candidate, count: int, settings: Mapping
) -> None:
    """Write the value beside its mark: no axis resolves a part in a thousand."""
    middle, low, high = candidate.interval(MAIN)
    unit = "" if candidate.unit in ("", "1") else f" {candidate.unit}"
    if candidate.given:
        text = f"{middle:g} (given)"
    else:
        digits = _digits(middle, (high - low) / 2)
        value, first, last = (_number(v, digits) for v in (middle, low, high))
        text = f"{value}{unit}\n[{first}, {last}]"
    to_the_right = i <= count / 2
    above = middle > 0
    axes.annotate(
        text,
        (i, middle),
        xytext=(7 if to_the_right else -5, 1.5 if above else -1.5),
        textcoords="offset points",
        ha="left" if to_the_right else "right",
        va="bottom" if above else "top",
        fontsize=SMALL * settings["font_size"],
        linespacing=1.1,
        zorder=6,
    )


def _digits(value: float, half: float) -> int:
    """Decimals that show two significant digits of the uncertainty."""
    size = half if half > 0 else 1e-3 * abs(value)
    return int(np.clip(1 - np.floor(np.log10(size)), 0, 12)) if size > 0 else 0


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", MINUS)


def _frequencies(strip: Axes, candidates: Sequence[Candidate], settings: Mapping):
    names = list(candidates[0].selected)
    width = 0.8 / len(names)
    for j, name in enumerate(names):
        strip.bar(
            np.arange(len(candidates)) + (j - (len(names) - 1) / 2) * width,
            [100 * c.selected[name].mean() for c in candidates],
            width,
            color=settings[COLOURS[name]],
            linewidth=0,
        )
    strip.set_ylabel("Selected\n(%)")
    strip.set_ylim(0, 105)
    strip.set_yticks([0, 100])
    strip.set_xlim(-0.8, len(candidates) - 0.2)
    shown = [i for i, c in enumerate(candidates) if c.shown]
    strip.set_xticks(shown, [candidates[i].label for i in shown])
    strip.set_xticks(range(len(candidates)), minor=True)
    strip.set_xlabel("Candidate term")
    if _crowded(strip, shown, candidates, settings):
        strip.tick_params(axis="x", labelrotation=90)


def _crowded(strip: Axes, shown, candidates, settings: Mapping) -> bool:
    """Whether upright labels would touch: about four letters wide each, or more."""
    gap = min((b - a for a, b in pairwise(shown)), default=len(candidates))
    millimetres = 0.38 * settings["width"] * gap / len(candidates)
    longest = 9 if any("[" in candidates[i].label for i in shown) else 4
    letter = 0.5 * SMALL * settings["font_size"] / 72 * MILLIMETRES_PER_INCH
    return millimetres < longest * letter


def _handles(settings: Mapping, baseline: bool) -> list:
    handles = [
        Line2D(
            [], [], color=settings["truth_color"], linewidth=1.6, label="truth"
        ),
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
                label=f"{name}, median and 5–95 % range",
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
            label="given, or selected in a minority",
        )
    )
    return handles
