"""Motions close to the separatrix, and when they escape: Figures 7 and 8."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from leastaction.report.panel import Panel
from leastaction.report.readable import scientific
from leastaction.report.study import by_title
from leastaction.report.style import DASHED, grid_of, key, legend_on_top, small
from leastaction.snapshots.figures._shared import (
    grid_lines,
    levels,
    look_of,
    on_grid,
    separatrix,
    square,
)
from leastaction.snapshots.shadow_panel import ESTIMATORS, Learned, chosen

SHOWN = ("published", "published_lgp", "published_gp_flow", "recommended")


def escape_paths(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Where models take a motion whose energy is just below that of the saddles.

    Dots: positions in coarse samples of time, from the start to the escape or to the
    last step. Line: the last 400 steps. Grey: lines of equal potential of the truth;
    black its separatrix. First replicate, lowest noise.

    Paper: Figure 7 draws every step as a line and stops at the escape of one draw; when
    that happens is a matter of round-off (:func:`survival_study`).

    Raises
    ------
    ValueError
        If a panel lacks rollouts with `survival` and `potential`.
    """
    found = [passing(panel, SHOWN) for panel in panels]
    size = (len(panels), max(map(len, found)))
    figure, grid = grid_of(settings, *size, row=58, sharex=True, sharey=True)
    for panel, row, each in zip(panels, grid, found, strict=True):
        for axes, one in zip(row, each, strict=False):
            _equipotentials(axes, panel, one)
            _path(axes, one, settings)
            axes.set_title(f"{look_of(one.estimator).label}\n{fate(one)}")
            square(axes, panel)
        for axes in row[1:]:
            axes.set_ylabel("")
        for axes in row[len(each) :]:
            axes.set_axis_off()
    return figure


def passing(panel: Panel, wanted: Sequence[str]) -> list[Learned]:
    """Estimators whose rollouts have a passage to escape.

    Raises
    ------
    ValueError
        If one has none.
    """
    found = chosen(panel, wanted)
    for one in found:
        if "passage_q" not in one.rollout:
            raise ValueError(
                f"example {panel.example!r}: the rollout of {one.estimator!r} has no "
                "escapes; give it validate.shadow.survival"
            )
    return found


def fate(one: Learned) -> str:
    """When the unperturbed motion escaped, or how long it stayed."""
    time = seconds(float(one.first["survival_time"].values[0]))
    if one.first["survival_censored"].values[0]:
        return f"inside until {time}"
    return f"escapes at {time}"


def seconds(time: float) -> str:
    """A time in whole seconds, thousands apart."""
    return f"{time:,.0f} s".replace(",", "\u2009")


def _equipotentials(axes: Axes, panel: Panel, one: Learned) -> None:
    """Thin lines of equal true potential, and its separatrix in black."""
    grid = on_grid(one.first, one.first["potential_true"].values)
    axes.contour(*grid, levels(panel), colors="0.78", linewidths=0.5, zorder=1)
    border = [separatrix(panel)]
    axes.contour(*grid, border, colors="black", linewidths=0.7, zorder=1)


def _path(axes: Axes, one: Learned, settings: Mapping) -> None:
    colour = look_of(one.estimator).color(settings)
    x, y = one.first["passage_q"].values.T
    axes.plot(x, y, ".", color=colour, markersize=0.9, markeredgewidth=0, zorder=2)
    x, y = one.first["passage_end"].values.T
    axes.plot(x, y, color=colour, linewidth=0.5, zorder=3)


def escape_energy(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """True energy along the motions of :func:`escape_paths` minus that of their start.

    Each on its own scale, in coarse samples of time, with the slope of a line through
    them. Dashed: how much energy the start lacks to pass a saddle. First replicate,
    lowest noise.

    Raises
    ------
    ValueError
        If a panel lacks rollouts with `survival`.
    """
    found = [one for panel in panels for one in passing(panel, SHOWN)]
    figure, grid = grid_of(settings, -(-len(found) // 2), 2, row=46, rest=8)
    for axes, one in zip(grid.flat, found, strict=False):
        _energy(axes, one, settings)
    for axes in grid.flat[len(found) :]:
        axes.set_axis_off()
    lacking = [_lacking(one) for one in found if "saddle_margin_true" in one.first]
    if lacking:
        text = "energy that the start lacks to pass a saddle, "
        style = {"linewidth": 0.7, "linestyle": DASHED}
        legend_on_top(
            figure, [key(f"{text}{scientific(lacking[0])} J", "black", **style)]
        )
    return figure


def _lacking(one: Learned) -> float:
    return float(one.first["saddle_margin_true"].min())


def _energy(axes: Axes, one: Learned, settings: Mapping) -> None:
    first, look = one.first, look_of(one.estimator)
    time, energy = first["passage_time"].values, first["passage_energy"].values
    style = {"color": look.color(settings), "markersize": 1.8, "markeredgewidth": 0}
    axes.plot(time, energy, ".", **style)
    axes.set_title(f"{look.label}: {fate(one)}")
    drift = f"drift {scientific(float(first['passage_drift']))} W"
    axes.set_title(drift, loc="right", fontsize=small(settings))
    if "saddle_margin_true" in first:
        axes.axhline(_lacking(one), color="black", linewidth=0.7, linestyle=DASHED)
    axes.axhline(0.0, color="0.6", linewidth=0.5, zorder=0)
    # Until the escape, which may be long before the last sample.
    axes.set_xlim(time[0], min(time[-1], float(first["survival_time"][0])))
    axes.set_xlabel("Time (s)")
    axes.set_ylabel("$H(t) - H(0)$ (J)")
    axes.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))


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
        handles += [_survival(axes, one, settings) for one in found]
        _survival_axes(axes, found, title)
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


def _survival(axes: Axes, one: Learned, settings: Mapping) -> Line2D:
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


def _survival_axes(axes: Axes, found: Sequence[Learned], title: str) -> None:
    times = np.concatenate([one.first["survival_time"].values for one in found])
    low = max(times[times > 0].min(), 1e-3 * times.max())
    axes.set_xscale("log")
    axes.set_xlim(0.5 * low, 1.3 * times.max())
    axes.set_ylim(-4, 104)
    axes.set_xlabel("Time (s)")
    axes.set_ylabel("Still inside (%)")
    axes.set_title(title)
    grid_lines(axes)
