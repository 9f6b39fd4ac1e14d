"""What the figures of studies share: groups of panels, ranges, shares, noise levels."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from leastaction.figures.style import RANGE, note
from leastaction_papers.scorecard import scores
from leastaction_papers.scorecard.looks import marked
from leastaction_papers.scorecard.panel import BASELINE, MAIN, Panel
from leastaction_papers.scorecard.recovery import wilson

# Less than any honest error: the floor of logarithmic axes.
LEAST_PERCENT = 1e-6
# Factor that parts the largest finite median from the upper edge.
ROOM_BELOW_INFINITY = 30.0
INFINITE = "infinite"


def by_title(panels: Sequence[Panel]) -> dict[str, list[Panel]]:
    """Panels of the same system, in the order in which they are given."""
    groups: dict[str, list[Panel]] = {}
    for panel in panels:
        groups.setdefault(panel.title, []).append(panel)
    return groups


def percent_errors(panel: Panel, estimator: str) -> dict[str, np.ndarray]:
    """Errors in per cent of `coefficient` and `volatility`, one per replicate.

    Those of several degrees of freedom are their largest. Of a damped system there is
    `damping`, too.
    """
    model, law = panel.model(estimator), panel.law
    errors = {"coefficient": scores.coefficients(model, law).error}
    if law.dissipation.any():
        errors["damping"] = scores.dissipation(model, law).error
    errors["volatility"] = scores.volatilities(model, law).errors.max(axis=1)
    return {name: 100 * error for name, error in errors.items()}


def exact_share(panel: Panel, estimator: str) -> float:
    """Share of replicates with exactly the true terms, in per cent."""
    return 100 * scores.exact_support(panel.model(estimator), panel.law).mean()


def share_bars(axes: Axes, x: np.ndarray, hits: np.ndarray, count, **style):
    """Draw shares in per cent, with 95 % Wilson intervals where not all or none hit."""
    count = np.broadcast_to(count, hits.shape)
    share = 100 * hits / count
    each = zip(hits, count, strict=True)
    bounds = 100 * np.array([wilson(*one) for one in each]).reshape(-1, 2).T
    # All or none speak for themselves, and methods often agree there.
    mixed = (hits > 0) & (hits < count)
    below, above = np.clip([share - bounds[0], bounds[1] - share], 0, None) * mixed
    axes.errorbar(x, share, [below, above], elinewidth=0.5, clip_on=False, **style)


def estimator_handles(
    panels: Sequence[Panel], settings: Mapping, **style
) -> list[Line2D]:
    """Legend of the recommended and the published estimator, if some panel has them."""
    shown = [n for n in (MAIN, BASELINE) if any(n in p.models for p in panels)]
    return marked(shown, settings, RANGE, **style)


def label_of_level(level: float) -> str:
    """Mathtext of a noise level: ``0``, ``10^{-3}``, ``2\\times10^{-2}``."""
    if level == 0:
        return "$0$"
    mantissa, _, power = f"{level:.15e}".partition("e")
    mantissa = float(mantissa)
    ten = f"10^{{{int(power)}}}"
    return f"${ten}$" if mantissa == 1 else f"${mantissa:g}\\times{ten}$"


def level_text(level: float) -> str:
    """Mathtext ``sigma = level``."""
    return rf"$\sigma = {label_of_level(level).strip('$')}$"


def levels_of(panels: Sequence[Panel]) -> list[float]:
    """Noise levels of all estimators of some panels."""
    found = {
        float(level)
        for panel in panels
        for recovery in panel.recoveries.values()
        for level in recovery["noise_level"].values
    }
    return sorted(found)


def places(levels: Sequence[float], among: Sequence[float]) -> list[int]:
    """Positions of some `levels` on an axis of the levels `among`."""
    return [list(among).index(float(level)) for level in levels]


def level_axis(axes: Axes, levels: Sequence[float], text: str | None = None) -> None:
    """Label zero, powers of ten and the last level; the others have a small tick."""
    named = [i for i, level in enumerate(levels) if _is_named(level, levels)]
    axes.set_xlim(-0.6, len(levels) - 0.4)
    axes.set_xticks(range(len(levels)), minor=True)
    axes.set_xticks(named, [_short(levels[i]) for i in named])
    axes.set_xlabel(r"Noise $\sigma$ (SI units)" if text is None else text)


def _is_named(level: float, levels: Sequence[float]) -> bool:
    if len(levels) <= 6 or level in (0, levels[-1]):
        return True
    power = np.log10(level)
    return abs(power - round(power)) < 1e-9 and (power >= -3 or level == levels[0])


def _short(level: float) -> str:
    return f"{level:g}" if level >= 0.01 else label_of_level(level)


def share_of_exact(axes: Axes, x: np.ndarray, case: xr.Dataset, style: Mapping) -> None:
    """Share of replicates with exactly the right structure, one mode of a recovery."""
    exact = case["exact"].transpose("replicate", "noise_level").values
    share_bars(axes, x, exact.sum(axis=0), len(exact), **style)


def median_error(axes: Axes, x: np.ndarray, case: xr.Dataset, style: Mapping) -> None:
    """Median of the largest error of a coefficient; infinite ones at the upper edge."""
    error = case["worst_error"].transpose("replicate", "noise_level").values
    if np.isnan(error).all():
        return
    middle = np.maximum(100 * np.median(error, axis=0), LEAST_PERCENT)
    axes.plot(x, np.where(np.isfinite(middle), middle, np.nan), **style)
    beyond = np.isinf(middle)
    if beyond.any():
        at_edge = {"transform": axes.get_xaxis_transform(), "clip_on": False}
        edge = np.ones(beyond.sum())
        lone = {"linestyle": "none", "gid": INFINITE}
        axes.plot(x[beyond], edge, **dict(style) | at_edge | lone)


def mark_infinite(row: Sequence[Axes]) -> None:
    """Room below the upper edge, and its sign, where a median is infinite."""
    if any(line.get_gid() == INFINITE for axes in row for line in axes.lines):
        low, high = row[0].get_ylim()
        row[0].set_ylim(low, high * ROOM_BELOW_INFINITY)
        note(row[0], r"$\infty$", 0, 1, offset=(-4, 0), ha="right", va="center")
