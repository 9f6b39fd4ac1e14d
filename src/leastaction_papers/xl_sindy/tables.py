"""Table I of xL-SINDy: the Lagrangian that is found at each level of noise."""

from collections.abc import Callable, Collection, Sequence
from functools import partial

import numpy as np
import pandas as pd
import sympy as sp

from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.core.library import canonical, compare
from leastaction_papers.scorecard import readable
from leastaction_papers.scorecard.panel import BASELINE, MAIN, Panel
from leastaction_papers.scorecard.recovery import (
    is_driven,
    law_of,
    shown_case,
    shown_mode,
    true_law,
)
from leastaction_papers.scorecard.tables import EXTRA, MISSING, Table
from leastaction_papers.xl_sindy.scores import PrintedLagrangian, printed_lagrangians

NOT_DONE = ["not done"]
LEVEL, SOURCE = "noise sigma", "source"
DECIMALS, MOST_DECIMALS = 3, 6
NOTE = (
    f"{EXTRA} marks a term that is not in the true Lagrangian, {MISSING} a true term "
    "that is missing, modulo scale, total time derivatives and trigonometric "
    "identities. Ours: first replicate; below it, in how many replicates the structure "
    "is right."
)

NOTE_OF_STRUCTURES = (
    "Data sets that give exactly the right structure. An implicit equation is right if "
    "its terms are those of one true relation."
)


def lagrangian_by_noise(panels: Sequence[Panel]) -> Table:
    """Lagrangians by printed noise level: printed, published, recommended.

    A column per system with one term per line. The published estimator has the noise of
    the paper's code, one number for all channels, the recommended one independent
    noise.
    """
    return _table(panels)


def lagrangian_by_every_noise(panels: Sequence[Panel]) -> Table:
    """As :func:`lagrangian_by_noise`, at every level of one of the two estimators.

    A row is left out if no panel has anything to show in it.
    """
    levels = {
        float(level)
        for panel in panels
        for estimator in (BASELINE, MAIN)
        if estimator in panel.models
        for level in panel.models[estimator]["noise_level"].values
    }
    return _table(panels, levels)


def structures_by_noise(panels: Sequence[Panel]) -> Table:
    """How many data sets give the right structure, by estimator and level of noise."""
    rows = []
    for title, panel in zip(_titles(panels), panels, strict=True):
        for estimator, recovery in panel.recoveries.items():
            exact = recovery["exact"].sel(noise_mode=shown_mode(estimator, recovery))
            hits, count = exact.sum("replicate"), exact.sizes["replicate"]
            shares = {
                float(hit["noise_level"]): f"{int(hit)} of {count}" for hit in hits
            }
            rows.append({"system": title, "estimator": estimator} | shares)
    levels = sorted({key for row in rows for key in row if isinstance(key, float)})
    frame = pd.DataFrame(rows, columns=["system", "estimator", *levels]).fillna("")
    heads = {level: f"{LEVEL} = {level:g}" for level in levels}
    return Table(frame.rename(columns=heads), NOTE_OF_STRUCTURES)


def _table(panels: Sequence[Panel], levels: Collection[float] = ()) -> Table:
    """Table at some levels, or at those that are printed."""
    printed = [printed_lagrangians(p.config, p.law) for p in panels]
    levels = levels or {one.level for each in printed for one in each}
    titles, rows = _titles(panels), []

    def add(sigma: str, source: str, cells: Sequence[list[str]]) -> None:
        rows.append([sigma, source, *map("\n".join, cells)])

    add("", "true", [_true(panel) for panel in panels])
    for level in sorted(levels):
        sigma = f"{level:g}"
        shown = [
            _printed(panel, next((one for one in each if one.level == level), None))
            for panel, each in zip(panels, printed, strict=True)
        ]
        if any(shown):
            add(sigma, "printed", shown)
        for estimator in (BASELINE, MAIN):
            cells = [_identified(panel, estimator, level) for panel in panels]
            if any(cell != NOT_DONE for cell in cells) or any(shown):
                add(sigma, _source(panels, estimator), cells)
    return Table(pd.DataFrame(rows, columns=[LEVEL, SOURCE, *titles]), NOTE)


def _titles(panels: Sequence[Panel]) -> list[str]:
    """Titles; examples of the same title have their names, too."""
    titles = [panel.title for panel in panels]
    return [
        title if titles.count(title) == 1 else f"{title} ({panel.example})"
        for title, panel in zip(titles, panels, strict=True)
    ]


def _source(panels: Sequence[Panel], estimator: str) -> str:
    """Name of an estimator with the mode of its noise."""
    models = [p.models[estimator] for p in panels if estimator in p.models]
    noise = f", {shown_mode(estimator, models[0])} noise" if models else ""
    return estimator + noise


def _text(panel: Panel) -> Callable[[sp.Expr], str]:
    """Text of a function in the names that a person writes."""
    names = readable.names_on_paper(panel.config["system"])
    return partial(readable.function_text, names=names)


def _true(panel: Panel) -> list[str]:
    """Terms of the system's own Lagrangian."""
    terms, text = panel.law.library.terms, _text(panel)
    c = panel.law.coefficients / panel.law.scale
    order = _kinetic_first(panel, np.flatnonzero(c))
    return _lines((c[i], np.nan, text(terms[i]), "") for i in order)


def _printed(panel: Panel, one: PrintedLagrangian | None) -> list[str]:
    if one is None:
        return []
    text = _text(panel)
    entries = [
        (c, np.nan, text(f), EXTRA if extra else "")
        for (c, f), extra in zip(one.terms, one.extra, strict=True)
    ]
    return _lines(entries) + [f"{MISSING} {text(f)}" for f in one.missing]


def _identified(panel: Panel, estimator: str, level: float) -> list[str]:
    """What an estimator found in the first replicate, and how often it is right."""
    model = panel.models.get(estimator)
    case = None if model is None else shown_case(estimator, model, level)
    if case is None:
        return NOT_DONE
    law, driven = panel.law, is_driven(panel.config)
    estimate = canonical(law_of(case, law)[0], law.library)
    true = canonical(true_law(law, driven), law.library)
    result = compare(estimate, true, law.library, fit_scale=not driven)
    std = law_of(case, law, "std")[0]
    names = [*map(_text(panel), (*law.library.terms, *law.library.dissipation))]
    extra, missing = (estimate != 0) & (true == 0), (estimate == 0) & (true != 0)
    order = _kinetic_first(panel, np.flatnonzero((estimate != 0) & ~extra))
    lines = _lines(
        (estimate[i], std[i], names[i], EXTRA if extra[i] else "")
        for i in (*order, *np.flatnonzero(extra))
    )
    lines += [f"{MISSING} {names[i]}" for i in np.flatnonzero(missing)]
    exact = shown_case(estimator, panel.recoveries[estimator], level)["exact"].values
    verdict = "right" if result.exact else "wrong"
    return [*lines, f"structure {verdict} ({int(exact.sum())}/{exact.size} right)"]


def _kinetic_first(panel: Panel, positions) -> list[int]:
    """Positions of candidates, those with velocities first."""
    library = panel.law.library
    terms = [*library.terms, *library.dissipation]
    rates = symbols(velocity_names(library.coordinates))
    order = {i: (i >= len(library.terms), not terms[i].has(*rates)) for i in positions}
    return sorted(order, key=order.get)


def _lines(entries) -> list[str]:
    """One line per (coefficient, standard error, function, mark)."""
    lines: list[str] = []
    for value, error, function, mark in entries:
        sign = "- " if value < 0 else "+ " if lines else ""
        lines.append(f"{mark} {sign}{number(abs(value), error)} {function}".strip())
    return lines


def number(value: float, error: float) -> str:
    """Three decimals, more where the standard error needs them."""
    if not error > 0 or not np.isfinite(error):
        return f"{value:.{DECIMALS}f}"
    decimals = max(DECIMALS, -int(np.floor(np.log10(error))))
    if decimals > MOST_DECIMALS:
        return f"({value:.{DECIMALS}f} ± {error:.0e})"
    return f"({value:.{decimals}f} ± {error:.{decimals}f})"
