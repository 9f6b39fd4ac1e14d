"""What the figures of the studies share: groups of panels, ranges, and legends."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from leastaction.report import scores
from leastaction.report.panel import BASELINE, MAIN, Panel
from leastaction.report.recovery import wilson

COLOURS = {MAIN: "estimate_color", BASELINE: "published_color"}
MARKERS = {MAIN: "o", BASELINE: "D"}
# Less than any honest error: the floor of logarithmic axes, in per cent.
FAINTEST = 1e-6


def by_title(panels: Sequence[Panel]) -> dict[str, list[Panel]]:
    """Panels of the same system, in the order in which they are given."""
    groups: dict[str, list[Panel]] = {}
    for panel in panels:
        groups.setdefault(panel.title, []).append(panel)
    return groups


def percent_errors(panel: Panel, estimator: str) -> dict[str, np.ndarray]:
    """Errors in per cent of `coefficient` and `volatility`, one per replicate.

    Those of several degrees of freedom are their largest.

    Raises
    ------
    ValueError
        If the library cannot express the system.
    """
    truth = scores.truth_of(panel.config)
    if truth is None:
        raise ValueError(
            f"example {panel.example!r}: the library cannot express the system, so "
            "that its estimates have no error"
        )
    model = panel.model(estimator)
    return {
        "coefficient": 100 * scores.coefficient_error(model, truth),
        "volatility": 100 * scores.volatility_error(model, truth).max(axis=1),
    }


def exact_share(panel: Panel, estimator: str) -> float:
    """Share of replicates with exactly the true terms, in per cent."""
    truth = scores.truth_of(panel.config)
    return 100 * float(scores.exact_support(panel.model(estimator), truth).mean())


def range_bar(
    axes: Axes, x: float, values: np.ndarray, floor: float | None = None, **style
) -> list[float]:
    """Draw median and 5–95 % range of `values`; nothing if none is finite.

    Returns
    -------
    list of float
        The range, or an empty list.
    """
    values = values[np.isfinite(values)]
    if not values.size:
        return []
    low, middle, high = np.percentile(values, [5, 50, 95])
    if floor is not None:
        low, middle, high = (max(v, floor) for v in (low, middle, high))
    axes.errorbar(
        x,
        middle,
        yerr=[[middle - low], [high - middle]],
        **{"markersize": 4.0, "elinewidth": 0.9, "linestyle": "none"} | style,
    )
    return [float(low), float(high)]


def share_bars(axes: Axes, x: np.ndarray, hits: np.ndarray, count: int, **style):
    """Draw shares in per cent, with 95 % Wilson intervals where not all or none hit."""
    share = 100 * hits / count
    bounds = 100 * np.array([wilson(one, count) for one in hits]).T
    # All or none speak for themselves, and methods often agree there.
    mixed = (hits > 0) & (hits < count)
    below, above = np.clip([share - bounds[0], bounds[1] - share], 0, None) * mixed
    axes.errorbar(x, share, [below, above], elinewidth=0.5, clip_on=False, **style)


def estimator_handles(
    panels: Sequence[Panel], settings: Mapping, markers: Mapping = MARKERS
) -> list[Line2D]:
    """Legend of the estimators that some panel has; `markers` may be empty."""
    shown = [n for n in (MAIN, BASELINE) if any(n in p.models for p in panels)]
    return [
        Line2D(
            [],
            [],
            color=settings[COLOURS[name]],
            marker=markers.get(name, "none"),
            markersize=4.0,
            linewidth=0.9,
            label=f"{name} (median, 5–95 %)",
        )
        for name in shown
    ]
