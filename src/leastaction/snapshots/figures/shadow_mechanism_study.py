"""Systems with a Lagrangian that is not separable, and a symmetry that is imposed."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.report.panel import Panel
from leastaction.report.readable import scientific
from leastaction.report.style import SMALL, StyledFigure, legend_on_top
from leastaction.snapshots.figures._energy_lines import true_energy
from leastaction.snapshots.figures._looks import line_handles, shadow_look
from leastaction.snapshots.shadow_panel import Learned, learned

ROW_HEIGHT = 52.0
LEGEND_HEIGHT = 10.0
# Smaller changes are round-off.
LEAST = 1e-16


def shadow_mechanism_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Two axes per system: errors of many starts, or what a symmetry conserves.

    With the check `horizon`: left the largest error of a position of each start,
    sorted; right the true energy along the long rollout. With a cyclic coordinate of
    the truth: left |p − p(0)| of the momentum p of the true L in the states of the
    model, printed above the range of the discrete momentum over the scale of the
    learned Lagrangian, right the energy. First replicate, lowest noise.

    Raises
    ------
    ValueError
        If a panel has no rollout of a learned Lagrangian, or neither check.
    """
    found = [learned(panel) for panel in panels]
    figure = StyledFigure(settings, ROW_HEIGHT * len(panels) + LEGEND_HEIGHT)
    grid = figure.subplots(len(panels), 2, squeeze=False)
    for i, (panel, each, (left, right)) in enumerate(
        zip(panels, found, grid, strict=True)
    ):
        letter = chr(ord("a") + i)
        cyclic = cyclic_coordinates(panel)
        if cyclic:
            _momentum(left, panel, each, cyclic[0], settings)
        else:
            _starts(left, panel, each, settings)
        left.set_title(f"({letter}) {panel.title}")
        true_energy(right, each.values(), settings)
        right.set_title(_masses(each), fontsize=SMALL * settings["font_size"])
    names = list(dict.fromkeys(name for each in found for name in each))
    legend_on_top(figure, line_handles(names, settings, truth=False))
    return figure


def cyclic_coordinates(panel: Panel) -> list[str]:
    """Coordinates that the true Lagrangian does not depend on."""
    system = panel.truth
    return [
        name
        for name, q in zip(system.coordinates, system.q, strict=True)
        if not system.lagrangian.has(q)
    ]


def _starts(axes: Axes, panel: Panel, each: Mapping[str, Learned], settings) -> None:
    texts = []
    for one in each.values():
        if "horizon_error" not in one.rollout:
            raise ValueError(
                f"example {panel.example!r}: no start of many; give it "
                "validate.shadow.horizon, or a cyclic coordinate"
            )
        errors = one.first["horizon_error"].values
        failed = int(np.isnan(errors).sum())
        done = np.sort(errors[np.isfinite(errors)])
        look = shadow_look(one.estimator)
        axes.plot(
            done,
            np.arange(1, done.size + 1),
            color=look.color(settings),
            linestyle="none",
            marker=look.marker,
            markersize=3.4,
        )
        if done.size:
            median = np.median(done)
            axes.axvline(median, color=look.color(settings), linewidth=0.8)
            texts.append(
                f"median {scientific(median)}, {failed} of {errors.size} failed"
            )
    axes.set_title(
        "\n".join(texts), loc="right", fontsize=SMALL * settings["font_size"]
    )
    units = {panel.coordinate_unit(name) for name in panel.truth.coordinates}
    step = panel.config["simulate"]["time_step"]
    end = step * panel.config["validate"]["shadow"]["horizon"]["steps"]
    axes.set_xscale("log")
    axes.set_xlabel(f"Largest error up to {end:g} s ({', '.join(sorted(units))})")
    axes.set_ylabel("Starts")


def _momentum(axes: Axes, panel, each: Mapping[str, Learned], name: str, settings):
    """|p − p(0)| of a cyclic coordinate along the motion; above, the discrete one."""
    texts = []
    for one in each.values():
        first = one.first.sel(order=one.main, dof=name)
        values = first["momentum_physical"].values
        time = first["time_energy"].values
        look = shadow_look(one.estimator)
        axes.plot(
            time[1:],
            np.maximum(np.abs(values - values[0])[1:], LEAST),
            color=look.color(settings),
            linestyle="none",
            marker=".",
            markersize=2.4,
            markeredgewidth=0,
        )
        axes.set_xlim(time[0], time[-1])
        change = abs(float(first["momentum_range"]) / float(first["scale"]))
        texts.append(f"{look.label}: discrete momentum within {scientific(change)}")
        if one.failed:
            texts[-1] += f", failed at step {int(first['steps_done']) + 1}"
    axes.set_title(
        "\n".join(texts), loc="right", fontsize=SMALL * settings["font_size"]
    )
    letter = panel.label(name).strip("$")
    axes.set_yscale("log")
    axes.set_xlabel("Time (s)")
    axes.set_ylabel(f"$|p_{{{letter}}} - p_{{{letter}}}(0)|$ (J s)")


def _masses(each: Mapping[str, Learned]) -> str:
    """Mass matrix over its first entry, identified and true."""
    one = list(each.values())[-1]
    if "mass" not in one.rollout:
        return ""
    first = one.first
    texts = []
    for values in (first["mass"].sel(order=one.main).values, first["mass_true"].values):
        ratios = np.round(values / values[0, 0], 4) + 0.0
        rows = [", ".join(f"{v:.4f}" for v in row) for row in ratios]
        texts.append("[" + "; ".join(rows) + "]")
    return f"$M/M_{{11}}$ = {texts[0]}\ntrue {texts[1]}"
