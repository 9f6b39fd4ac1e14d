"""How long learned motions stay inside the separatrix, as a censored distribution."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from leastaction.report.panel import Panel
from leastaction.report.study import by_title
from leastaction.report.style import grid_of, key, legend_on_top
from leastaction.snapshots.figures._shared import grid_lines, look_of
from leastaction.snapshots.figures.escape_paths import passing, seconds
from leastaction.snapshots.shadow_panel import ESTIMATORS, Learned


def survival_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Kaplan–Meier estimate of the share of motions that have not escaped by a time.

    Starts differ by round-off. Panels of the same system share axes; one with a single
    start is a line of its own. First replicate, lowest noise.

    Raises
    ------
    ValueError
        If a panel lacks rollouts with `survival`.
    """
    groups = by_title(panels)
    figure, grid = grid_of(settings, len(groups), 1, row=62, rest=16)
    handles = []
    for axes, (title, members) in zip(grid[:, 0], groups.items(), strict=True):
        found = [one for panel in members for one in passing(panel, ESTIMATORS)]
        handles += [_curve(axes, one, settings) for one in found]
        _finish(axes, found, title)
    legend_on_top(figure, handles, 2)
    return figure


def kaplan_meier(
    times: np.ndarray, censored: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Estimate the share of survivors (Kaplan and Meier 1958).

    .. math::  S(t) = \\prod_{t_i \\le t} (1 - d_i/n_i)

    with d_i events among the n_i at risk at t_i; who is stopped counts until then.

    Parameters
    ----------
    times
        Of the event or of the stop, shape (start,).
    censored
        Whether it was stopped.

    Returns
    -------
    times of the events, and S just after each; both begin with time 0, S = 1.
    """
    times, ended = np.asarray(times, float), ~np.asarray(censored, bool)
    events, share = np.unique(times[ended]), [1.0]
    for t in events:
        share.append(
            share[-1] * (1 - (ended & (times == t)).sum() / (times >= t).sum())
        )
    return np.concatenate([[0.0], events]), np.array(share)


def survival_quantile(times: np.ndarray, censored: np.ndarray, share: float) -> float:
    """Earliest time at which at most `share` survive; infinite if none was seen."""
    events, left = kaplan_meier(times, censored)
    below = left <= share + 1e-12
    return float(events[np.argmax(below)]) if below.any() else np.inf


def _curve(axes: Axes, one: Learned, settings: Mapping) -> Line2D:
    first = one.first
    times = first["survival_time"].values
    stopped = first["survival_censored"].values > 0
    events, share = kaplan_meier(times, stopped)
    look = look_of(one.estimator)
    style = {"color": look.color(settings), "linestyle": look.dashes}
    style["linewidth"] = 1.2 if times.size > 1 else 0.8
    end = times.max()
    x, y = np.append(events, end), np.append(share, share[-1])
    axes.step(np.maximum(x, 1e-9), 100 * y, where="post", **style)
    y = np.full(stopped.sum(), 100 * share[-1])
    ticks = {"color": style["color"], "markersize": 7, "clip_on": False}
    axes.plot(times[stopped], y, "|", **ticks)
    median = survival_quantile(times, stopped, 0.5)
    text = f"median {seconds(median) if np.isfinite(median) else '> ' + seconds(end)}"
    count = f"{times.size} starts" if times.size > 1 else "1 start"
    label = f"{look.label} ({count}): {(~stopped).sum()} escaped, {text}"
    return key(label, **style)


def _finish(axes: Axes, found: Sequence[Learned], title: str) -> None:
    times = np.concatenate([one.first["survival_time"].values for one in found])
    low = max(times[times > 0].min(), 1e-3 * times.max())
    axes.set_xscale("log")
    axes.set_xlim(0.5 * low, 1.3 * times.max())
    axes.set_ylim(-4, 104)
    axes.set_xlabel("Time (s)")
    axes.set_ylabel("Still inside (%)")
    axes.set_title(title)
    grid_lines(axes)
