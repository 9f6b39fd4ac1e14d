"""Level sets of learned Hamiltonians in the phase plane: Figures 5 and 6.

Ober-Blöbaum and Offen, section 3.1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from leastaction.report.panel import Panel
from leastaction.report.readable import scientific
from leastaction.report.style import SMALL, StyledFigure, legend_on_top
from leastaction.snapshots.figures._looks import (
    hamiltonian_label,
    rows_of,
    shadow_look,
)
from leastaction.snapshots.shadow_panel import chosen, learned

ROW_HEIGHT = 56.0
REST_HEIGHT = 8.0
# Contours through so many points of the positive half of the axis of positions.
CONTOURS = 6
# The box is drawn on a finer grid than it was evaluated on.
FINE = 121


@dataclass(frozen=True)
class LevelSets:
    """One Hamiltonian in the box.

    Attributes
    ----------
    title, note
        What it is; its misalignment.
    values
        Shape (position, velocity).
    color
        Of its contours.
    """

    title: str
    note: str
    values: np.ndarray
    color: str


def governing_hamiltonian(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Level sets of the Hamiltonians that govern numerical motions (Figure 5).

    H^[2] of the published estimators, which follows from their Lagrangians by backward
    error analysis, and the highest order of the recommended one. The published motions
    have these level sets; those of a Lagrangian that is not a shadow contain the error
    of the integrator.

    Raises
    ------
    ValueError
        If there is not one panel alone, of one degree of freedom, or it has no rollout
        of a learned Lagrangian.
    """
    wanted = [
        ("published", 2),
        ("published_lgp", 2),
        ("published_lgp_exact", 2),
        ("recommended", 4),
    ]
    return _draw(panels, wanted, False, settings, 2)


def identified_hamiltonian(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Level sets of H by LGPExact, as identified and as it moves (Figure 6).

    H of its Lagrangian itself, H^[2] that its integration conserves, and H^[2] that the
    integration of the true Lagrangian conserves.

    Raises
    ------
    ValueError
        As :func:`governing_hamiltonian`.
    """
    wanted = [("published_lgp_exact", 0), ("published_lgp_exact", 2)]
    return _draw(panels, wanted, True, settings, 3)


def _draw(panels, wanted, integrated: bool, settings: Mapping, columns: int) -> Figure:
    if len(panels) != 1 or panels[0].truth.dof != 1:
        given = ", ".join(f"{p.example} ({p.truth.dof})" for p in panels)
        raise ValueError(
            "level sets of a Hamiltonian need one example with one degree of freedom, "
            f"not {given}; name it in papers.<paper>.figures.<figure>.examples"
        )
    panel = panels[0]
    axis, true = _grid(panel)
    shown = _level_sets(panel, wanted, integrated, true.shape, settings)
    rows = rows_of(shown, columns)
    figure = StyledFigure(settings, ROW_HEIGHT * rows + REST_HEIGHT)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axes, one in zip(grid.flat, shown, strict=False):
        _contours(axes, axis, true, one, settings)
    for axes in grid.flat[len(shown) :]:
        axes.axis("off")
    name = panel.truth.coordinates[0]
    for axes in grid[-1]:
        axes.set_xlabel(f"{panel.label(name)} ({panel.coordinate_unit(name)})")
    name = f"{name}dot"
    for axes in grid[:, 0]:
        axes.set_ylabel(f"{panel.label(name)} ({panel.coordinate_unit(name)})")
    legend_on_top(figure, _handles(settings))
    return figure


def _grid(panel: Panel) -> tuple[list[np.ndarray], np.ndarray]:
    """Positions and velocities of the box, and the true H, (position, velocity)."""
    first = next(iter(learned(panel).values())).rollout
    points = first["state_point"].values
    axis = [np.unique(points[:, 0]), np.unique(points[:, 1])]
    shape = tuple(a.size for a in axis)
    return axis, first["hamiltonian_point_true"].values.reshape(shape)


def _level_sets(panel, wanted, integrated: bool, shape, settings) -> list[LevelSets]:
    there = {one.estimator: one for one in chosen(panel, [name for name, _ in wanted])}
    shown = []
    for estimator, order in wanted:
        one = there.get(estimator)
        if one is None or order not in one.orders:
            continue
        case, look = one.first.sel(order=order), shadow_look(estimator)
        # A Lagrangian learned from accelerations is that of the motion itself.
        does = "governs" if one.shadow or order else "identified"
        shown.append(
            LevelSets(
                f"{look.label}, {hamiltonian_label(order)}"
                + ("" if one.shadow else f" ({does})"),
                rf"$\nu$ = {scientific(float(case['misalignment']))}",
                case["hamiltonian_point"].values.reshape(shape) / float(case["scale"]),
                look.color(settings),
            )
        )
    if integrated:
        first = next(iter(there.values())).first.sel(order=2)
        shown.append(
            LevelSets(
                f"true $L$, {hamiltonian_label(2)} (governs)",
                rf"$\nu$ = {scientific(float(first['misalignment_integrated']))}",
                first["hamiltonian_point_integrated"].values.reshape(shape),
                settings["truth_color"],
            )
        )
    return shown


def _contours(axes: Axes, axis, true, one: LevelSets, settings: Mapping) -> None:
    """Contours of H^[k], and dotted those of H through the same states of rest."""
    from scipy.interpolate import RectBivariateSpline  # half a second to import

    fine = [np.linspace(side[0], side[-1], FINE) for side in axis]
    through = np.linspace(0, axis[0][-1], CONTOURS + 2)[1:-1]
    for values, style in (
        (one.values, {"colors": [one.color], "linestyles": "-", "linewidths": 1.0}),
        (true, {"colors": ["black"], "linestyles": "dotted", "linewidths": 1.0}),
    ):
        surface = RectBivariateSpline(*axis, values)
        levels = np.unique(surface(through, 0.0).ravel())
        axes.contour(*fine, surface(*fine).T, levels=levels, **style)
    axes.plot(through, 0 * through, ".", color="black", markersize=3.5)
    axes.set_title(one.title)
    axes.set_title(one.note, loc="right", fontsize=SMALL * settings["font_size"])


def _handles(settings: Mapping) -> list:
    black = {"color": "black"}
    return [
        Line2D([], [], color="0.3", linewidth=1.0, label="of the title"),
        Line2D([], [], linestyle="dotted", label="of the true $H$", **black),
        Line2D([], [], marker=".", linestyle="none", label="common points", **black),
    ]
