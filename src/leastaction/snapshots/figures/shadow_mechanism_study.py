"""Systems with a Lagrangian that is not separable, and a symmetry that is imposed."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.report.panel import Panel, lettered
from leastaction.report.readable import scientific
from leastaction.report.style import grid_of, legend_on_top, small, time_axis
from leastaction.snapshots.figures._shared import (
    dots,
    line_handles,
    look_of,
    names_of,
    true_energy,
)
from leastaction.snapshots.shadow_panel import Learned, cyclic_coordinates, learned

# Smaller changes of a momentum are round-off.
LEAST_MOMENTUM = 1e-16


def shadow_mechanism_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Two axes per system: errors of many starts, or what a symmetry conserves.

    With the check `horizon`: left the largest error of a position of each start,
    sorted; right the true energy along the long rollout. With a cyclic coordinate of
    the truth: left |p − p(0)| of the momentum p of the true L in the states of the
    model, printed above the range of the discrete momentum over the scale of the
    learned Lagrangian, right the energy. First replicate, lowest noise.
    """
    found = [learned(panel) for panel in panels]
    figure, grid = grid_of(settings, len(panels), 2, row=52, rest=10)
    for i, (panel, each, (left, right)) in enumerate(
        zip(panels, found, grid, strict=True)
    ):
        cyclic = cyclic_coordinates(panel.truth)
        if cyclic:
            texts = _momentum(left, panel, each, cyclic[0], settings)
        else:
            texts = _starts(left, panel, each, settings)
        above = {"loc": "right", "fontsize": small(settings)}
        left.set_title("\n".join(texts), **above)
        left.set_title(lettered(panel.title, i))
        true_energy(right, each.values(), settings)
        right.set_title(_masses(each), fontsize=small(settings))
    legend_on_top(figure, line_handles(names_of(found), settings, truth=False))
    return figure


def _starts(axes: Axes, panel: Panel, each, settings: Mapping) -> list[str]:
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
        look, colour = look_of(one.estimator), look_of(one.estimator).color(settings)
        style = {"linestyle": "none", "marker": look.marker, "markersize": 3.4}
        axes.plot(done, np.arange(1, done.size + 1), color=colour, **style)
        if done.size:
            median = np.median(done)
            axes.axvline(median, color=colour, linewidth=0.8)
            count = f"{failed} of {errors.size} failed"
            texts.append(f"median {scientific(median)}, {count}")
    units = {panel.coordinate_unit(name) for name in panel.truth.coordinates}
    step = panel.config["simulate"]["time_step"]
    end = step * panel.config["validate"]["shadow"]["horizon"]["steps"]
    axes.set_xscale("log")
    axes.set_xlabel(f"Largest error up to {end:g} s ({', '.join(sorted(units))})")
    axes.set_ylabel("Starts")
    return texts


def _momentum(axes: Axes, panel, each, name: str, settings: Mapping) -> list[str]:
    """|p − p(0)| of a cyclic coordinate along the motion; above, the discrete one."""
    texts = []
    for one in each.values():
        first = one.first.sel(order=one.main, dof=name)
        values = first["momentum_physical"].values
        time, change = first["time_energy"].values, np.abs(values - values[0])[1:]
        change = np.maximum(change, LEAST_MOMENTUM)
        axes.plot(time[1:], change, **dots(one, settings, 2.4))
        time_axis(axes, time)
        change = abs(float(first["momentum_range"]) / float(first["scale"]))
        label = look_of(one.estimator).label
        texts.append(f"{label}: discrete momentum within {scientific(change)}")
        if one.failed:
            texts[-1] += f", failed at step {int(first['steps_done']) + 1}"
    letter = panel.label(name).strip("$")
    axes.set_yscale("log")
    axes.set_ylabel(f"$|p_{{{letter}}} - p_{{{letter}}}(0)|$ (J s)")
    return texts


def _masses(each: Mapping[str, Learned]) -> str:
    """Mass matrix over its first entry, identified and true."""
    one = list(each.values())[-1]
    if "mass" not in one.rollout:
        return ""
    case = one.first.sel(order=one.main)

    def text(name):
        ratios = np.round(case[name].values / case[name].values[0, 0], 4) + 0.0
        rows = [", ".join(f"{v:.4f}" for v in row) for row in ratios]
        return "[" + "; ".join(rows) + "]"

    return f"$M/M_{{11}}$ = {text('mass')}\ntrue {text('mass_true')}"
