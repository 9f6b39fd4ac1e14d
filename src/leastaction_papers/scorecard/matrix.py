"""Methods by systems: what every estimator reaches on every example, table and plot."""

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from leastaction.core.contracts import SWEEP
from leastaction.figures.style import StyledFigure, key, legend_on_top, style
from leastaction_papers.scorecard.looks import OTHER, Look, look
from leastaction_papers.scorecard.recovery import BASELINE, MAIN

# Dimensions whose every entry is a fit.
SWEPT = ("replicate", "fit", *SWEEP)

COLUMNS = (
    "system",
    "example",
    "method",
    "estimator",
    "structure",
    "coefficient_error",
    "rollout_error",
    "rollout_error_of",
    "seconds",
)
# Stands in the patterns below for the case of a sweep that is compared.
CASE = "(, sigma = {level}, (?P<mode>independent|shared) noise)?"
STRUCTURE = "(exact supports|right structure)" + CASE
COEFFICIENT = (
    "(relative error of the coefficients, rms|largest relative error of a coefficient"
    "|relative error of the (lagrangian|dissipation|noise strength).*, rms)" + CASE
)
ROLLOUT = (
    "(relative error of the mean path, prediction window"
    "|relative error of the acceleration along the true path"
    "|largest error of a position up to .* starts"
    "|total variation distance of the densities of .*"
    "|error of .* over .*, unseen input, .*)" + CASE
)
# In mm.
HEIGHT_OF_SYSTEM, HEIGHT_OF_REST = 5.2, 26.0
DISTANCE_OF_MARKS = 0.11
# Estimators with a mark of their own.
NAMED = (MAIN, BASELINE, "sindy_pi", "lagrangian_sindy")
UNNAMED = Look("another recipe of the paper, or a baseline", OTHER.colour, "x")
PARTS = (
    ("structure", "Right structure (%)", 100.0, False),
    ("coefficient_error", "Coefficient error (%)", 100.0, True),
    ("rollout_error", "Rollout error (own units)", 1.0, True),
    ("seconds", "Time of a fit (s)", 1.0, True),
)


def matrix(
    named: Sequence[Mapping],
    sizes: Sequence[Mapping[str, int]],
    seconds: Sequence[float],
    scores: Mapping[tuple[str, str], pd.DataFrame],
) -> pd.DataFrame:
    """One row per estimator of an example, columns `COLUMNS`.

    Parameters
    ----------
    named
        `paper`, `example`, `estimator`, `system` and `method` of each row, and the
        `noise_level` at which it is compared if it is a sweep.
    sizes, seconds
        Dimensions of its models; time of differentiate, assemble and identify, on one
        core, start-up included.
    scores
        Scores of each example by (paper, example).

    Returns
    -------
    DataFrame
        `structure` is the share of replicates with exactly the true terms,
        `coefficient_error` the largest median over the coefficients, `rollout_error`
        the median of what `rollout_error_of` names, `seconds` those of one fit; NaN
        where an estimator has no such number.
    """
    rows = []
    for entry, size, spent in zip(named, sizes, seconds, strict=True):
        frame = scores[entry["paper"], entry["example"]]
        scored = frame[frame["estimator"] == entry["estimator"]]
        level = entry["noise_level"]
        structure = _chosen(scored, STRUCTURE, level)
        number = structure["unit"].str.removeprefix("of ").astype(float)
        share = structure["ours_median"] / number
        error = _chosen(scored, COEFFICIENT, level)["ours_median"]
        rollout = _chosen(scored, ROLLOUT, level)
        rows.append(
            {
                "system": entry["system"],
                "example": f"{entry['paper']}/{entry['example']}",
                "method": entry["method"].replace("_", " "),
                "estimator": entry["estimator"],
                "structure": share.max(),
                "coefficient_error": error.max(),
                "rollout_error": rollout["ours_median"].max(),
                "rollout_error_of": _words(rollout),
                "seconds": spent / math.prod(size.get(name, 1) for name in SWEPT),
            }
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _chosen(frame: pd.DataFrame, pattern: str, level: float) -> pd.DataFrame:
    """Rows that fit, at the level compared; independent noise if there is any."""
    fitting = re.compile(pattern.format(level=re.escape(f"{level:g}")))
    matches = frame["quantity"].map(fitting.fullmatch)
    matching = matches.notna()
    modes = matches[matching].map(lambda match: match["mode"] or "independent")
    rows = frame[matching & (frame["item"] == "added")]
    modes = modes[rows.index]
    return rows[modes == "independent"] if (modes == "independent").any() else rows


def _words(rows: pd.DataFrame) -> str:
    """What the rollout error is of."""
    if not len(rows):
        return ""
    first = rows.iloc[0]
    name = first["quantity"].partition(", sigma")[0]
    name = name.removeprefix("relative error of the ").removeprefix("largest error of ")
    return name if first["unit"] == "1" else f"{name} ({first['unit']})"


def method_matrix(frame: pd.DataFrame, settings: Mapping) -> Figure:
    """Dot plot of a :func:`matrix`.

    One line per system, one mark per estimator, one column per measure.
    """
    with style(settings) as complete:
        return _drawn(frame, complete)


def _drawn(frame: pd.DataFrame, settings: Mapping) -> Figure:
    systems = list(dict.fromkeys(zip(frame["system"], frame["example"], strict=True)))
    figure = StyledFigure(settings, HEIGHT_OF_SYSTEM * len(systems) + HEIGHT_OF_REST)
    grid = figure.subplots(1, len(PARTS), sharey=True)
    for axes, (name, label, factor, logarithmic) in zip(grid, PARTS, strict=True):
        if logarithmic:
            axes.set_xscale("log")
            axes.xaxis.set_minor_formatter(NullFormatter())
        for y, (_, example) in enumerate(systems):
            rows = frame[frame["example"] == example]
            _marks(axes, y, rows, factor * rows[name], settings)
        axes.set_xlabel(label)
        axes.grid(axis="both", color="0.92", linewidth=0.5)
        axes.set_axisbelow(True)
        axes.tick_params(axis="y", length=0)
    for axes in grid[1:]:
        low, high = np.log10(axes.get_xlim())
        axes.set_xlim(10 ** np.floor(low), 10 ** np.ceil(high))
    grid[0].set_xlim(-6, 106)
    grid[0].set_yticks(range(len(systems)), [title for title, _ in systems])
    grid[0].set_ylim(len(systems) - 0.4, -0.6)
    legend_on_top(figure, _handles(frame, settings))
    return figure


def _look(estimator: str) -> Look:
    return look(estimator) if estimator in NAMED else UNNAMED


def _marks(axes: Axes, y: int, rows: pd.DataFrame, values, settings) -> None:
    count = len(rows)
    for i, (estimator, value) in enumerate(zip(rows["estimator"], values, strict=True)):
        if np.isfinite(value):
            one, shift = _look(estimator), DISTANCE_OF_MARKS * (i - (count - 1) / 2)
            style = {"color": one.color(settings), "markersize": 3}
            axes.plot(value, y + shift, one.marker, **style)


def _handles(frame: pd.DataFrame, settings: Mapping) -> list:
    drawn = [_look(estimator) for estimator in dict.fromkeys(frame["estimator"])]
    order = [one for one in (*map(look, NAMED), UNNAMED) if one in drawn]
    return [
        key(one.label, one.color(settings), one.marker, linewidth=0, markersize=3)
        for one in order
    ]
