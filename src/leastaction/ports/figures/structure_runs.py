"""Free runs and energy of identified equations, with and without structure."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.ports.figures import COMPONENTS, state_label
from leastaction.ports.figures.port_structure import levels_of, name_levels
from leastaction.ports.structure_rows import BLIND, gains
from leastaction.report.panel import MAIN, Panel, panel_title
from leastaction.report.readable import listed, number_text, plain_scientific
from leastaction.report.style import grid_of, key, legend_on_top, range_bar, time_axis

LOOKS = {
    MAIN: ("with structure", "estimate_color", "o", -0.08),
    BLIND: ("same terms, no structure", "published_color", "D", 0.08),
}


def structure_runs(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Left and middle a free run under new and larger inputs, right errors by noise.

    First replicate and run at the largest noise: true states and those of the models.
    Right medians and 5–95 % ranges over the replicates; larger inputs hollow.
    """
    figure, grid = grid_of(settings, len(panels), 3, row=55, rest=20)
    states: list[str] = []
    for i, (panel, row) in enumerate(zip(panels, grid, strict=True)):
        rollout = panel.rollouts[MAIN].isel(noise_mode=0, noise_level=-1, replicate=0)
        for axes, scenario in zip(row, rollout["scenario"].values, strict=False):
            one = rollout.sel(scenario=scenario)
            time = one["time_forward"].values
            for k in range(one.sizes["state"]):
                color = COMPONENTS[k % len(COMPONENTS)]
                axes.plot(time, one["x_true"][:, k], color=color, alpha=0.4)
                axes.plot(
                    time, one["x_estimate"][:, k], "--", color=color, linewidth=0.8
                )
            time_axis(axes, time)
            axes.set_title(f"{scenario} inputs")
        names = [state_label(panel, str(name)) for name in rollout["state"].values]
        states = names if len(names) > len(states) else states
        row[0].set_ylabel(f"{panel_title(panels, i)}\nStates (SI units)")
        _errors(row[2], panel, settings)
    handles = [key(n, COMPONENTS[k % len(COMPONENTS)]) for k, n in enumerate(states)]
    handles += [
        key("true", "0.4", alpha=0.4),
        key("identified", "0.2", linestyle="--"),
    ]
    legend_on_top(figure, [*handles, *_keys(settings)], 4)
    return figure


def _keys(settings: Mapping) -> list:
    return [
        key(label, settings.get(color, color), marker, markersize=3.5)
        for label, color, marker, _ in LOOKS.values()
    ]


def _errors(axes: Axes, panel: Panel, settings: Mapping) -> None:
    """Errors of free runs over the noise."""
    for estimator in _present(panel):
        rollout = panel.rollouts[estimator].isel(noise_mode=0)
        for k, scenario in enumerate(rollout["scenario"].values):
            values = rollout["run_error"].sel(scenario=scenario).values
            _ranges(axes, values, estimator, settings, hollow=bool(k))
    name_levels(axes, levels_of(panel.rollouts[MAIN]))
    axes.set_yscale("log")
    axes.set_title("error of free runs")


def _present(panel: Panel) -> list[str]:
    return [name for name in LOOKS if name in panel.rollouts]


def _ranges(axes: Axes, values, estimator: str, settings, hollow=False) -> None:
    """Median and 5–95 % range by level of an array (replicate, level)."""
    _, color, marker, shift = LOOKS[estimator]
    color = settings.get(color, color)
    style = {"color": color, "marker": marker, "markersize": 3.0}
    style["markerfacecolor"] = "white" if hollow else color
    for k, of_level in enumerate(values.T):
        place = k + shift + (0.2 if hollow else -0.2)
        range_bar(axes, place, of_level, **style)


def finding(panels: Sequence[Panel]) -> str:
    """How much more accurate free runs are with structure than without."""
    said = []
    for panel in panels:
        if BLIND not in panel.rollouts:
            continue
        ours, blind = (
            panel.rollouts[name].isel(noise_mode=0, noise_level=-1)
            for name in (MAIN, BLIND)
        )
        told = ours["refused"].values == 0
        if not told.any():
            said.append(f"{panel.title} is refused")
            continue
        ratios = {k: np.median(v[told]) for k, v in gains(ours, blind).items()}
        new, larger, _ = ratios.values()
        text = f"{number_text(new, 2)} times smaller under new inputs and "
        text += f"{number_text(larger, 2)} times under larger ones"
        said.append(f"{panel.title}: {text}" if panels[1:] else text)
    if not said:
        return ""
    level = levels_of(panels[0].rollouts[MAIN])[-1]
    return (
        f"We find that at noise {level:g} of the rms errors of free runs are, beside "
        f"those of the same terms without structure, {listed(said)}."
    )


def structure_energy(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Balance of the true energy at states outside the data, over the noise.

    Left the rms of zᵀf + zᵀRz over that of zᵀRz, f the drift of a model, at states
    drawn from a box wider than the data; right the share of states at which f creates
    energy. Medians and 5–95 % ranges over the replicates.
    """
    figure, grid = grid_of(settings, len(panels), 2, row=55, rest=16)
    for i, (panel, (left, right)) in enumerate(zip(panels, grid, strict=True)):
        for estimator in _present(panel):
            rollout = panel.rollouts[estimator].isel(noise_mode=0)
            _ranges(left, rollout["energy_error"].values, estimator, settings)
            share = 100 * rollout["energy_created"].values
            _ranges(right, share, estimator, settings)
        levels = levels_of(panel.rollouts[MAIN])
        left.set_yscale("log")
        left.set_ylabel("Imbalance of the energy")
        right.set_ylabel("States that create energy (%)")
        right.set_ylim(-1, max(5, right.get_ylim()[1]))
        for axes in (left, right):
            name_levels(axes, levels)
        left.set_title(panel_title(panels, i))
    legend_on_top(figure, _keys(settings))
    return figure


def structure_energy_finding(panels: Sequence[Panel]) -> str:
    """How far the energy is out of balance, and whether any is created."""
    said = []
    for panel in panels:
        for estimator in _present(panel):
            rollout = panel.rollouts[estimator].isel(noise_mode=0, noise_level=-1)
            error = np.nanmedian(rollout["energy_error"].values)
            created = 100 * np.nanmax(rollout["energy_created"].values)
            said.append(
                f"{LOOKS[estimator][0]} {plain_scientific(error)}, with energy created "
                f"at up to {number_text(created, 2)} % of the states"
            )
    return f"We find at the largest noise an imbalance {listed(said)}."
