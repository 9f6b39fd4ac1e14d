"""Candidates with truth and estimates, as the figure of the coefficients shows them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import xarray as xr

from leastaction.report.panel import BASELINE, MAIN, Panel
from leastaction.report.style import fill_lines, text_width

MAJORITY = 0.5
# Share of the width of a figure that one of two columns has.
SHARE_OF_WIDTH = 0.38
# As many candidates as have room for their labels.
MOST_CANDIDATES = 26
MOST_VALUES = 8
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
    at_nodes, node_share
        Estimates at single nodes that select the term, and the share of nodes that do,
        of the estimators that find one model per node.
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


def _candidate(label, unit, true, pieces: Mapping[str, xr.Dataset], prefix="", **more):
    """Candidate whose variables begin with `prefix` in the datasets `pieces`."""
    values, std, selected = (
        {name: piece[prefix + variable].values for name, piece in pieces.items()}
        for variable in ("coefficient_estimate", "coefficient_std", "support")
    )
    return Candidate(
        label, unit, true, more.pop("given", False), values, std, selected, **more
    )


def _estimators(panel: Panel) -> dict[str, xr.Dataset]:
    found = {MAIN: panel.model(MAIN)}
    if BASELINE in panel.models:
        found[BASELINE] = panel.model(BASELINE)
    return found


def of_lagrangian(panel: Panel) -> list[Candidate]:
    """Candidates of L, in the order of the library."""
    models, truth = _estimators(panel), panel.coefficients_true
    main = models[MAIN]
    found = []
    for term, status in zip(
        map(str, main["term"].values), main["status"].values, strict=True
    ):
        pieces = {name: model.sel(term=term) for name, model in models.items()}
        unit = panel.coefficient_unit(term, panel.lagrangian_unit)
        more = {"given": str(status) == "reference", **_of_nodes(pieces)}
        true = truth.get(term, np.nan)
        found.append(_candidate(panel.label(term), unit, true, pieces, **more))
    return found


def of_dissipation(panel: Panel) -> list[Candidate]:
    """Candidates of the Rayleigh function D, in the order of the library."""
    models, truth = _estimators(panel), panel.dissipation_true
    found = []
    for term in map(str, np.asarray(models[MAIN].get("dissipation_term", np.empty(0)))):
        pieces = {
            name: model.sel(dissipation_term=term)
            for name, model in models.items()
            if term in model["dissipation_term"].values
        }
        label = panel.label(term) + " [$D$]"
        unit = panel.coefficient_unit(term, panel.dissipation_unit)
        true = truth.get(term, np.nan)
        found.append(_candidate(label, unit, true, pieces, "dissipation_"))
    return found


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


def of_volatility(panel: Panel) -> list[Candidate]:
    """Candidates of (S Sᵀ)_aa, one block after another for a = 1 ... dof."""
    models = _estimators(panel)
    main = models[MAIN]
    terms = [str(term) for term in main["volatility_term"].values]
    found = []
    for a, dof in enumerate(main["dof"].values):
        truth = panel.squared_volatility_true(a, terms)
        owner = f" [{panel.label(str(dof))}]" if main.sizes["dof"] > 1 else ""
        for term in terms:
            pieces = {
                name: model.isel(dof=a).sel(volatility_term=term)
                for name, model in models.items()
            }
            label = panel.label(term) + owner
            unit = panel.coefficient_unit(term, panel.squared_volatility_unit(a))
            true = truth.get(term, np.nan)
            found.append(_candidate(label, unit, true, pieces, "volatility_"))
    return found


def selection(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[str]]:
    """Candidates that have room beside each other, and what is left out.

    All of up to `MOST_CANDIDATES`. Of a larger library those that are true or that the
    recommended estimator selects in some replicate; then, while there is room, those
    that the published one selects in a majority, the most frequent ones first.
    """
    if len(candidates) <= MOST_CANDIDATES:
        return list(candidates), []
    numbers = range(len(candidates))
    kept = {
        i for i in numbers if candidates[i].is_true or candidates[i].share(MAIN) > 0
    }

    def published(i: int) -> float:
        has = BASELINE in candidates[i].selected
        return candidates[i].share(BASELINE) if has else 0.0

    often = [
        i
        for i in sorted(numbers, key=published, reverse=True)
        if i not in kept
        and BASELINE in candidates[i].selected
        and candidates[i].often(BASELINE)
    ]
    kept |= set(often[: max(0, MOST_CANDIDATES - len(kept))])
    hidden = [i for i in numbers if i not in kept]
    never = sum(published(i) == 0 for i in hidden)
    mostly = len(set(often) - kept)
    seldom = len(hidden) - never - mostly
    notes = [
        text
        for count, text in (
            (mostly, f"{BASELINE} also selects {_others(mostly)}"),
            (seldom, f"{BASELINE} rarely selects {_others(seldom)}"),
            (never, f"{_others(never)} never selected"),
        )
        if count
    ]
    return [candidates[i] for i in sorted(kept)], notes


def _others(count: int) -> str:
    return f"{count} other" + ("s" if count != 1 else "")


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
        digits = _digits(middle, (high - low) / 2)
        value, first, last = (_number(v, digits) for v in (middle, low, high))
        unit = "" if candidate.unit in ("", "1") else f" {candidate.unit}"
        entries.append(f"{candidate.label}: {value} [{first}, {last}]{unit}")
    if len(entries) > MOST_VALUES:
        rest = len(entries) - MOST_VALUES + 1
        entries = [*entries[: MOST_VALUES - 1], f"and {rest} more"]
    return entries


def _digits(value: float, half: float) -> int:
    """Decimals that show two significant digits of the uncertainty."""
    size = half if half > 0 else 1e-3 * abs(value)
    return int(np.clip(1 - np.floor(np.log10(size)), 0, 12)) if size > 0 else 0


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", MINUS)


@dataclass(frozen=True)
class Column:
    """Candidates of one function beside each other.

    Attributes
    ----------
    symbol
        Mathtext of the function, without dollars.
    candidates
        Those that are shown.
    everything
        Whether these are all.
    head, values
        Lines of what was searched, and of the recommended values.
    """

    symbol: str
    candidates: list[Candidate]
    everything: bool
    head: list[str]
    values: list[str]

    @classmethod
    def of(
        cls, symbol: str, found: list[Candidate], functions: int | None, settings
    ) -> "Column":
        """Choose what is shown of the candidates `found`."""
        shown, left_out = selection(found)
        count = f"{len(found)} candidates"
        if functions is not None:
            count = f"{len(found)} densities ({functions} functions over all nodes)"
        if any(candidate.at_nodes for candidate in found):
            left_out = [*left_out, f"{BASELINE}: mean and 5–95 % over nodes"]
        counts = [f"${symbol}$: {count};", *(f"{note};" for note in left_out)]
        width = axes_width(settings)
        return cls(
            symbol,
            shown,
            len(shown) == len(found),
            fill_lines([*counts, exact_supports(found)], " ", width, settings),
            fill_lines(identified(shown), ",   ", width, settings),
        )

    @property
    def labelled(self) -> list[int]:
        """Positions of candidates with a label: all if some are left out."""
        return [
            i for i, c in enumerate(self.candidates) if c.shown or not self.everything
        ]

    def label_height(self, settings: Mapping) -> float:
        """Height in mm of the labels below the strip."""
        if not self.crowded(settings):
            return 0.0
        return max(
            text_width(self.candidates[i].label, settings) for i in self.labelled
        )

    def crowded(self, settings: Mapping) -> bool:
        """Whether labels that stand upright would touch."""
        shown = self.labelled
        step = axes_width(settings) / len(self.candidates)
        widths = [text_width(self.candidates[i].label, settings) for i in shown]
        return any(
            (b - a) * step < (wide + next_wide) / 2 + 1.0
            for (a, b), (wide, next_wide) in zip(
                pairwise(shown), pairwise(widths), strict=True
            )
        )


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
        Column.of("L, D" if damping else "L", of_motion, functions[0], settings),
        Column.of("S^2", of_volatility(panel), functions[1], settings),
    )


def axes_width(settings: Mapping) -> float:
    """Width of one column, mm."""
    return SHARE_OF_WIDTH * settings["width"]
