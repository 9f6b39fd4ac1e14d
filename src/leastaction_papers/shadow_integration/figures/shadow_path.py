"""Motions of learned Lagrangians and their energies: Figures 3 and 4, mechanisms."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from leastaction.figures.readable import listed
from leastaction.figures.style import grid_of, key, legend_on_top, small
from leastaction_papers.scorecard.looks import time_axis
from leastaction_papers.scorecard.panel import Panel, panel_title
from leastaction_papers.scorecard.readable import plain_scientific, scientific
from leastaction_papers.shadow_integration.figures._shared import (
    dots,
    hamiltonian_label,
    largest_by_window,
    line_handles,
    line_style,
    look_of,
    name_axes,
    name_of,
    names_of,
    true_energy,
)
from leastaction_papers.shadow_integration.shadow_panel import Learned, chosen, learned

# Samples of the path on the left.
FIRST_SAMPLES = 60
# Errors are drawn as the largest of so many windows: a line of 2000 is a bar.
WINDOWS_OF_PATH = 200
# Smaller errors of a position are round-off.
LEAST_ERROR = 1e-9
SHOWN = ("published_lgp", "published_lgp_exact", "published", "recommended")
SIZE = 5.5
# Marks that may lie on each other: the last one is an open circle around the others.
SIZES = {"recommended": 9.0}
LARGEST_IN_LEGEND = 6
# Lines of the largest value in each of so many windows of time.
WINDOWS_OF_ENERGY = 40
# Stored energies that are drawn one by one: some periods of the motion.
FIRST_ENERGIES = 81
SHOWN_ENERGIES = ("published", "recommended")
ANY_ORDER = r"H^{[\![k]\!]}"


def shadow_path(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Path of the long rollout: left its beginning, right its error up to the end.

    One row per coordinate, first replicate, lowest noise. The error |q̂ − q| is the
    largest in each of 200 windows of time; a line that ends has failed there.
    """
    rows = [(i, name) for i, p in enumerate(panels) for name in p.truth.coordinates]
    models = [learned(panel) for panel in panels]
    figure, grid = grid_of(settings, len(rows), 2, row=38, rest=18)
    for (left, right), (i, name) in zip(grid, rows, strict=True):
        panel, label = panels[i], panels[i].label(name)
        unit = panel.coordinate_unit(name)
        _coordinate(left, right, models[i], name, settings)
        left.set_ylabel(f"{label} ({unit})")
        right.set_ylabel(f"Error of {label} ({unit})")
        if name == panel.truth.coordinates[0]:
            left.set_title(panel_title(panels, i))
            steps = [
                f"{look_of(one.estimator).label} after "
                f"{int(one.at_main('steps_done')[0])} steps"
                for one in models[i].values()
                if one.failed
            ]
            failures = "failed: " + ", ".join(steps) if steps else "none failed"
            right.set_title(failures, loc="right", fontsize=small(settings))
    figure.align_ylabels(grid[:, 0])
    figure.align_ylabels(grid[:, 1])
    names = names_of(models)
    legend_on_top(figure, line_handles(names, settings), min(5, len(names) + 1))
    return figure


def finding(panels: Sequence[Panel]) -> str:
    """Largest error of a position along the long rollout, and which motions failed."""
    errors = []
    for panel, one in ((p, one) for p in panels for one in learned(p).values()):
        unit = panel.coordinate_unit(panel.truth.coordinates[0])
        error = plain_scientific(float(one.at_main("position_error")[0]))
        text = f"{error} {unit} with {name_of(one)}"
        if one.failed:
            text += f", which fails after {int(one.at_main('steps_done')[0])} steps"
        errors.append(text)
    return f"Largest error of a position: {'; '.join(errors)}."


def _coordinate(left: Axes, right: Axes, models, name: str, settings: Mapping) -> None:
    beginning = slice(FIRST_SAMPLES)
    for one in models.values():
        case = one.first.sel(order=one.main, dof=name)
        time, truth, path = (case[k].values for k in ("time", "q_true", "q_estimate"))
        style = line_style(one, settings, linewidth=1.0, zorder=3)
        left.plot(time[beginning], path[beginning], **style)
        # All start at the same position.
        error = np.abs(path - truth)[1:]
        middle, largest = largest_by_window(time[1:], error, WINDOWS_OF_PATH)
        right.plot(middle, np.maximum(largest, LEAST_ERROR), **style)
    time, truth = time[beginning], truth[beginning]
    left.plot(time, truth, color=settings["truth_color"], linewidth=1.6)
    margin = 0.25 * np.ptp(truth) or 1.0
    left.set_ylim(truth.min() - margin, truth.max() + margin)
    right.set_yscale("log")
    time_axis(left, time)
    time_axis(right, case["time"].values)


def snapshots(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Left the first snapshots in phase space, right the true energy along the rollout.

    One row per coordinate; the energy stands beside the first. All motions start at the
    same state (■). Line and dots are the truth; velocities of the models follow from
    their momenta. The energy is the largest in each of 40 windows of time: single
    samples of a periodic motion beat with its period.
    """
    rows = [(i, a) for i, p in enumerate(panels) for a in range(p.truth.dof)]
    figure, grid = grid_of(settings, len(rows), 2, row=66, rest=14)
    for (left, right), (i, a) in zip(grid, rows, strict=True):
        panel, models = panels[i], chosen(panels[i], SHOWN)
        _phase_plane(left, panel, models, a, settings)
        if a == 0:
            true_energy(right, models, settings, WINDOWS_OF_ENERGY)
            left.set_title(panel_title(panels, i))
        else:
            right.axis("off")
    line = {"color": "black", "linewidth": 0.8}
    handles = [
        key("start, truth", marker="s", markersize=5, **line),
        key("snapshots, truth", marker=".", markersize=4, **line),
    ]
    for name in SHOWN:
        style = _open_mark(name, settings)
        style["markersize"] = min(LARGEST_IN_LEGEND, style["markersize"])
        style["linestyle"] = look_of(name).dashes
        handles.append(key(look_of(name).label, **style))
    legend_on_top(figure, handles, 6)
    return figure


def snapshots_finding(panels: Sequence[Panel]) -> str:
    """How far the first snapshots are missed, and how the true energy changes."""
    panel = panels[0]
    shown, name = chosen(panel, SHOWN), panel.truth.coordinates[0]
    unit = panel.config["system"]["coordinates"][name]["unit"]
    missed, changes, grow = [], [], []
    for one in shown:
        first, name = one.first, name_of(one)
        away = np.abs(first["state_snapshot"] - first["state_snapshot_true"])
        away = float(away.isel(state=slice(panel.truth.dof)).max())
        missed.append(f"{plain_scientific(away)} {unit} with {name}")
        energy = first["hamiltonian_estimate"].sel(order=one.main)
        change = np.abs(energy - first["hamiltonian_start_true"]).values
        changes.append(f"{plain_scientific(np.nanmax(change))} J with {name}")
        if _grows(change):
            grow.append(name)
    end = shown[0].first["time_energy"].values[-1]
    return (
        f"The first {shown[0].first.sizes['snapshot']} positions are missed by at most "
        f"{listed(missed)}. In {end:g} s the true energy changes by at most "
        f"{listed(changes)}; {_growth(grow, 'the change')}."
    )


def _grows(change: np.ndarray) -> bool:
    """Whether the largest of the last quarter exceeds that of the first by a tenth."""
    first, *_, last = (np.nanmax(part) for part in np.array_split(change, 4))
    return last > 1.1 * first


def _growth(grow: Sequence[str], what: str) -> str:
    return f"{what} grows with {listed(grow)}" if grow else f"{what} does not grow"


def _phase_plane(axes: Axes, panel: Panel, models: Sequence[Learned], a: int, settings):
    n = panel.truth.dof
    line, true = (
        models[0].first[name].values[:, [a, n + a]].T
        for name in ("state_line_true", "state_snapshot_true")
    )
    black = {"color": "black", "zorder": 2}
    axes.plot(*line, linewidth=0.8, **black)
    axes.plot(*true, marker=".", markersize=4, linestyle="none", **black)
    axes.plot(*true[:, 0], marker="s", markersize=6, linestyle="none", **black)
    for one in models:
        states = one.first["state_snapshot"].values[:, [a, n + a]].T
        axes.plot(*states, zorder=3, **_open_mark(one.estimator, settings))
    span = np.ptp(line, axis=1) * 0.12 + 1e-9
    ends = np.transpose([line.min(axis=1) - span, line.max(axis=1) + span])
    axes.set(xlim=ends[0], ylim=ends[1])
    name = panel.truth.coordinates[a]
    name_axes(axes, panel, name, f"{name}dot")


def _open_mark(estimator: str, settings: Mapping) -> dict:
    look = look_of(estimator)
    return {
        "color": look.color(settings),
        "marker": look.marker,
        "markersize": SIZES.get(estimator, SIZE),
        "markerfacecolor": "none",
        "markeredgewidth": 0.9,
        "linestyle": "none",
    }


def modified_energy(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """H^[k](t) − H^[k](0) along the long rollout, one column for each order k (Fig. 4).

    Line: its first samples; shaded: the band of the whole rollout. All energies are
    divided by the scale of the learned Lagrangian, which is known up to a factor. The
    width of each band stands above it, beside the width before the division.

    Paper: its bands of 1e-4 and 1e-6 are those of a learned Lagrangian as it is.
    """
    rows = [(i, one) for i, p in enumerate(panels) for one in chosen(p, SHOWN_ENERGIES)]
    columns = max(len(one.orders) for _, one in rows)
    figure, grid = grid_of(settings, len(rows), columns, row=46, rest=12)
    for row, (i, one) in zip(grid, rows, strict=True):
        for axes, order in zip(row, one.orders, strict=False):
            _modified(axes, one, order, settings)
        name = look_of(one.estimator).label
        title = f"{panel_title(panels, i)}, {name}" if len(panels) > 1 else name
        row[0].set_ylabel(rf"{title}: ${ANY_ORDER}(t) - {ANY_ORDER}(0)$ (J)")
    figure.align_ylabels(grid[:, 0])
    time = rows[0][1].first["time_energy"].values
    first, last = time[:FIRST_ENERGIES][-1], time[-1]
    handles = [
        key(f"the first {first:g} s", "0.3", ".", linewidth=0.8),
        Patch(facecolor="0.88", label=f"range in all of the {last:g} s"),
    ]
    legend_on_top(figure, handles)
    return figure


def modified_energy_finding(panels: Sequence[Panel]) -> str:
    """Width of the bands of H^[k], in J and in units of the learned L."""
    parts, grow = [], []
    for one in (one for panel in panels for one in chosen(panel, SHOWN_ENERGIES)):
        bands = one.first["energy_band"].sel(order=one.orders)
        learned = np.abs(bands * one.first["scale"].sel(order=one.orders)).values
        names = [f"H[[{order}]]" for order in one.orders]
        joules, units = (
            listed([plain_scientific(value) for value in values])
            for values in (bands.values, learned)
        )
        text = f"With {name_of(one)} {listed(names)} vary by {joules} J "
        text += f"({units} in units of the learned L)"
        if {0, 2} <= set(one.orders):
            ratio = float(bands.sel(order=0) / bands.sel(order=2))
            text += f", H[[2]] {ratio:.0f} times less than H[[0]]"
        parts.append(text)
        energies = one.first["hamiltonian_modified"].sel(order=one.orders).values
        if any(_grows(np.abs(values - values[0])) for values in energies):
            grow.append(name_of(one))
    return f"{'. '.join(parts)}. With time {_growth(grow, 'the range')}."


def _modified(axes: Axes, one: Learned, order: int, settings: Mapping) -> None:
    case = one.first.sel(order=order)
    values, time = case["hamiltonian_modified"].values, case["time_energy"].values
    style = dots(one, settings, 3.0) | {"linestyle": "-", "linewidth": 0.8}
    change, first = values - values[0], slice(FIRST_ENERGIES)
    if np.isfinite(change).any():
        axes.axhspan(np.nanmin(change), np.nanmax(change), color="0.88", zorder=0)
    axes.plot(time[first], change[first], **style)
    band, scale = float(case["energy_band"]), abs(float(case["scale"]))
    axes.set_title(hamiltonian_label(order))
    if np.isfinite(band):
        text = f"range {scientific(band)} J;\n"
        text += f"{scientific(band * scale)} in units of the learned $L$"
        axes.set_title(text, loc="right", fontsize=small(settings))
    time_axis(axes, time[first])
    axes.ticklabel_format(axis="y", scilimits=(-2, 3))
