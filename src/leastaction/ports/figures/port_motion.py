"""Motion and energy of identified port-Hamiltonian equations."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, ScalarFormatter

from leastaction.ports.figures._looks import COMPONENTS, handle
from leastaction.report.panel import MAIN, Panel, panel_title
from leastaction.report.style import StyledFigure, legend_on_top

ROW_HEIGHT = 44.0
REST_HEIGHT = 14.0
LEAST = 1e-12
MARKERS = ("o", "s", "^", "D")


def port_motion(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """States of truth and recommended model in every scenario, and their difference.

    First replicate, finest time step.

    Raises
    ------
    ValueError
        If a panel has no rollout of the recommended estimator.
    """
    rows = [
        (panel, scenario)
        for panel in panels
        for scenario in panel.rollout(MAIN)["scenario"].values
    ]
    figure = StyledFigure(settings, ROW_HEIGHT * len(rows) + REST_HEIGHT)
    grid = figure.subplots(len(rows), 2, squeeze=False)
    states: list[str] = []
    for (left, right), (panel, scenario) in zip(grid, rows, strict=True):
        rollout = panel.rollout(MAIN).isel(replicate=0).sel(scenario=scenario)
        time = rollout["time_forward"].values
        true, own = rollout["x_true"].values, rollout["x_estimate"].values
        names = [_label(panel, name) for name in rollout["state"].values]
        states = names if len(names) > len(states) else states
        for j in range(len(names)):
            color = COMPONENTS[j]
            left.plot(time, true[:, j], color=color, linewidth=1.4, alpha=0.5)
            left.plot(time, own[:, j], "--", color=color, linewidth=0.9)
            error = np.maximum(np.abs(own[:, j] - true[:, j]), LEAST)
            right.plot(time, error, color=color, linewidth=0.7)
        right.set_yscale("log")
        for axes in (left, right):
            axes.set_xlim(time[0], time[np.isfinite(true[:, 0])][-1])
            axes.set_xlabel("Time (s)")
        left.set_ylabel("States (SI units)")
        right.set_ylabel("|Error| (SI units)")
        title = f"{panel_title(panels, panels.index(panel))}, " if panels[1:] else ""
        left.set_title(f"{title}{scenario} input")
    handles = [handle(name, COMPONENTS[j]) for j, name in enumerate(states)]
    handles += [
        handle("true", "0.4", linewidth=1.4, alpha=0.5),
        handle("identified", "0.2", linestyle="--"),
    ]
    legend_on_top(figure, handles, len(handles))
    return figure


def port_energy(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Stored energy along the motions, and the residual of its balance by time step.

    Left H of truth and recommended model, first replicate, by scenario. Right the
    largest residual of H(t) − H(0) − ∫yᵀu dt + ∫zᵀRz dt, median over the replicates,
    of every scenario and of the system that the model is coupled to; dashed, second
    order in the step.

    Raises
    ------
    ValueError
        If a panel has no rollout of the recommended estimator.
    """
    figure = StyledFigure(settings, 1.3 * ROW_HEIGHT * len(panels) + REST_HEIGHT)
    grid = figure.subplots(len(panels), 2, squeeze=False)
    handles = []
    for i, ((left, right), panel) in enumerate(zip(grid, panels, strict=True)):
        rollout = panel.rollout(MAIN)
        time = rollout["time_forward"].values
        series = []
        for k, scenario in enumerate(rollout["scenario"].values):
            one = rollout.isel(replicate=0).sel(scenario=scenario)
            left.plot(time, one["hamiltonian_true"], color=COMPONENTS[k], alpha=0.5)
            left.plot(
                time,
                one["hamiltonian_estimate"],
                "--",
                color=COMPONENTS[k],
                linewidth=0.9,
            )
            residual = rollout["balance_residual"].sel(scenario=scenario)
            series.append((f"{scenario} input", rollout["step"], residual))
        if "coupled_residual" in rollout:
            step, residual = rollout["step_coupled"], rollout["coupled_residual"]
            series.append(("coupled", step, residual))
        for k, (label, steps, residual) in enumerate(series):
            middle = np.median(residual.values, axis=0)
            right.plot(
                steps, middle, color=COMPONENTS[k], marker=MARKERS[k], markersize=3.5
            )
            right.plot(
                steps,
                middle[-1] * (steps / steps[-1]) ** 2,
                "--",
                color="0.5",
                linewidth=0.6,
            )
            if i == 0:
                handles.append(handle(label, COMPONENTS[k], MARKERS[k]))
        right.set_xscale("log")
        right.set_yscale("log")
        right.set_xticks(rollout["step"].values)
        right.xaxis.set_major_formatter(ScalarFormatter())
        right.xaxis.set_minor_locator(NullLocator())
        right.set_xlabel("Time step (s)")
        right.set_ylabel("Residual of the balance (J)")
        left.set_xlabel("Time (s)")
        left.set_ylabel("$H$ (J)")
        left.set_xlim(time[0], time[-1])
        left.set_title(panel_title(panels, i))
    handles += [
        handle("true", "0.4", alpha=0.5),
        handle("identified; second order in the step", "0.4", linestyle="--"),
    ]
    legend_on_top(figure, handles, min(3, len(handles)))
    return figure


def _label(panel: Panel, state: str) -> str:
    entry = panel.config["system"]["states"][state]
    return f"${entry.get('label') or state}$"
