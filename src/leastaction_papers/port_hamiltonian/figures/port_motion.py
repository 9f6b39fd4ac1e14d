"""Motion and energy of identified port-Hamiltonian equations."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from leastaction.figures.style import (
    double_logarithmic,
    grid_of,
    key,
    legend_on_top,
    time_axis,
)
from leastaction_papers.scorecard.looks import COMPONENTS, MARKERS, SIZE, colored
from leastaction_papers.scorecard.panel import MAIN, Panel, panel_title

# Errors below are round-off.
LEAST_ERROR = 1e-12
TRUE = {"linewidth": 1.4, "alpha": 0.5}


def port_motion(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """States of truth and recommended model in every scenario, and their difference.

    First replicate, finest time step.
    """
    rows = [
        (i, panel, scenario)
        for i, panel in enumerate(panels)
        for scenario in panel.rollout(MAIN)["scenario"].values
    ]
    figure, grid = grid_of(settings, len(rows), 2, row=44, rest=14)
    for (left, right), (i, panel, scenario) in zip(grid, rows, strict=True):
        rollout = panel.rollout(MAIN).isel(replicate=0).sel(scenario=scenario)
        time = rollout["time_forward"].values
        true, own = rollout["x_true"].values, rollout["x_estimate"].values
        for color, j in colored(range(true.shape[1])):
            left.plot(time, true[:, j], color=color, **TRUE)
            left.plot(time, own[:, j], "--", color=color, linewidth=0.9)
            error = np.maximum(np.abs(own[:, j] - true[:, j]), LEAST_ERROR)
            right.plot(time, error, color=color, linewidth=0.7)
        right.set_yscale("log")
        for axes in (left, right):
            time_axis(axes, time[np.isfinite(true[:, 0])])
        left.set_ylabel("States (SI units)")
        right.set_ylabel("|Error| (SI units)")
        title = f"{panel_title(panels, i)}, " if panels[1:] else ""
        left.set_title(f"{title}{scenario} input")
    legend_on_top(figure, motion_keys(panels, **TRUE))
    return figure


def motion_keys(panels: Sequence[Panel], **true) -> list[Line2D]:
    """Legend of the states of the largest system, of truths and of models."""
    states = max((panel.config["system"]["states"] for panel in panels), key=len)
    names = (f"${entry.get('label') or name}$" for name, entry in states.items())
    handles = [key(name, color) for color, name in colored(names)]
    identified = key("identified", "0.2", linestyle="--")
    return [*handles, key("true", "0.4", **true), identified]


def port_energy(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Stored energy along the motions, and the residual of its balance by time step.

    Left H of truth and recommended model, first replicate, by scenario. Right the
    largest residual of H(t) − H(0) − ∫yᵀu dt + ∫zᵀRz dt, median over the replicates,
    of every scenario and of the system that the model is coupled to; dashed, second
    order in the step.
    """
    figure, grid = grid_of(settings, len(panels), 2, row=57.2, rest=14)
    handles = []
    for i, ((left, right), panel) in enumerate(zip(grid, panels, strict=True)):
        rollout = panel.rollout(MAIN)
        time = rollout["time_forward"].values
        series = []
        for color, scenario in colored(rollout["scenario"].values):
            one = rollout.isel(replicate=0).sel(scenario=scenario)
            left.plot(time, one["hamiltonian_true"], color=color, alpha=0.5)
            model = one["hamiltonian_estimate"]
            left.plot(time, model, "--", color=color, linewidth=0.9)
            residual = rollout["balance_residual"].sel(scenario=scenario)
            series.append((f"{scenario} input", rollout["step"], residual))
        if "coupled_residual" in rollout:
            step, residual = rollout["step_coupled"], rollout["coupled_residual"]
            series.append(("coupled", step, residual))
        for k, (label, steps, residual) in enumerate(series):
            middle = np.median(residual.values, axis=0)
            style = {"marker": MARKERS[k], "color": COMPONENTS[k], "markersize": SIZE}
            right.plot(steps, middle, **style)
            second = middle[-1] * (steps / steps[-1]) ** 2
            right.plot(steps, second, "--", color="0.5", linewidth=0.6)
            if i == 0:
                handles.append(key(label, **style))
        double_logarithmic(right, rollout["step"].values, "Time step (s)")
        right.set_ylabel("Residual of the balance (J)")
        left.set_ylabel("$H$ (J)")
        time_axis(left, time)
        left.set_title(panel_title(panels, i))
    handles += [
        key("true", "0.4", alpha=0.5),
        key("identified; second order in the step", "0.4", linestyle="--"),
    ]
    legend_on_top(figure, handles, min(3, len(handles)))
    return figure
