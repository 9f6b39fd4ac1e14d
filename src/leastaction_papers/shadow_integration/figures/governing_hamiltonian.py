"""Level sets of learned Hamiltonians in the phase plane: Figures 5 and 6.

Ober-Blöbaum and Offen, section 3.1. One example with one degree of freedom has such a
plane; anything else is a ValueError.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.figures.readable import listed
from leastaction.figures.style import grid_of, key, legend_on_top, small
from leastaction_papers.scorecard.panel import Panel
from leastaction_papers.scorecard.readable import plain_scientific, scientific
from leastaction_papers.shadow_integration.figures._shared import (
    hamiltonian_label,
    look_of,
    name_axes,
    name_of,
)
from leastaction_papers.shadow_integration.shadow_panel import Learned, chosen, learned

# Contours through so many points of the positive half of the axis of positions.
CONTOURS = 6
# Estimators and orders of Figure 5.
GOVERNING = (
    ("published", 2),
    ("published_lgp", 2),
    ("published_lgp_exact", 2),
    ("recommended", 4),
)
# The box is drawn on a finer grid than it was evaluated on.
POINTS_OF_FINE_GRID = 121


def governing_hamiltonian(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Level sets of the Hamiltonians that govern numerical motions (Figure 5).

    H^[2] of the published estimators, which follows from their Lagrangians by backward
    error analysis, and the highest order of the recommended one. The published motions
    have these level sets; those of a Lagrangian that is not a shadow contain the error
    of the integrator.
    """
    return _draw(panels, GOVERNING, False, settings, 2)


def identified_hamiltonian(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Level sets of H by LGPExact, as identified and as it moves (Figure 6).

    H of its Lagrangian itself, H^[2] that its integration conserves, and that of the
    true Lagrangian.
    """
    pairs = [("published_lgp_exact", 0), ("published_lgp_exact", 2)]
    return _draw(panels, pairs, True, settings, 3)


def finding(panels: Sequence[Panel]) -> str:
    """Misalignment of what governs the motions of Figure 5."""
    laws = {one.estimator: one for one in chosen(panels[0], [n for n, _ in GOVERNING])}
    sines = [
        f"{_angle(laws[name], order)} for {name_of(laws[name])}"
        for name, order in GOVERNING
        if name in laws and order in laws[name].orders
    ]
    return (
        "The gradient of the energy that governs the numerical motion is turned from "
        f"that of the true H by a mean sine ν of {listed(sines)}; with ν = 0 the level "
        "sets would be the same."
    )


def identified_hamiltonian_finding(panels: Sequence[Panel]) -> str:
    """Misalignment of LGPExact as identified and as it moves, and of the true L."""
    (one,) = chosen(panels[0], ["published_lgp_exact"])
    true = float(one.first["misalignment_integrated"].sel(order=2))
    moves = float(one.first["misalignment"].sel(order=2))
    text = (
        "By the mean sine of the angle between gradients, the H that LGPExact "
        f"identifies is off by {_angle(one, 0)}, and the energy that its motion "
        f"follows by {_angle(one, 2)}. With the true Lagrangian the same integrator "
        f"and step are off by {plain_scientific(true)}: "
    )
    if moves < 2 * true:
        return text + "the difference is the error of the integrator."
    return text + "the integrator alone does not explain the difference."


def _angle(one: Learned, order: int) -> str:
    return plain_scientific(float(one.first["misalignment"].sel(order=order)))


def _draw(panels, pairs, integrated: bool, settings: Mapping, columns: int) -> Figure:
    if len(panels) != 1 or panels[0].truth.dof != 1:
        systems = ", ".join(f"{p.example} ({p.truth.dof})" for p in panels)
        raise ValueError(
            "level sets of a Hamiltonian need one example with one degree of freedom, "
            f"not {systems}; name it in papers.<paper>.figures.<figure>.examples"
        )
    panel = panels[0]
    first = next(iter(learned(panel).values())).rollout
    axis = [np.unique(side) for side in first["state_point"].values.T]
    shape = tuple(side.size for side in axis)
    true = first["hamiltonian_point_true"].values.reshape(shape)
    shown = _level_sets(panel, pairs, integrated, shape, settings)
    size = (-(-len(shown) // columns), columns)
    figure, grid = grid_of(settings, *size, row=56, rest=8, sharex=True, sharey=True)
    for axes, one in zip(grid.flat, shown, strict=False):
        _contours(axes, axis, true, one, settings)
    for axes in grid.flat[len(shown) :]:
        axes.axis("off")
    (name,) = panel.truth.coordinates
    for axes in grid.flat:
        name_axes(axes, panel, name, f"{name}dot")
        axes.label_outer()
    handles = [
        key("level sets of the energy in the title", "0.3", linewidth=1.0),
        key("level sets of the true $H$", "black", linestyle="dotted"),
        key("states at rest that both pass", "black", ".", linestyle="none"),
    ]
    legend_on_top(figure, handles)
    return figure


def _level_sets(panel, pairs, integrated: bool, shape, settings) -> list[tuple]:
    """Title, note, values (position, velocity) and colour of every Hamiltonian."""
    laws = {one.estimator: one for one in chosen(panel, [name for name, _ in pairs])}
    shown = []
    for estimator, order in pairs:
        one = laws.get(estimator)
        if one is None or order not in one.orders:
            continue
        case, look = one.first.sel(order=order), look_of(estimator)
        does = " of its motion" if order else " identified"
        title = f"{look.label}, {hamiltonian_label(order)}{does}"
        text = rf"$\nu$ = {scientific(float(case['misalignment']))}"
        values = case["hamiltonian_point"].values.reshape(shape) / float(case["scale"])
        shown.append((title, text, values, look.color(settings)))
    if integrated:
        first = next(iter(laws.values())).first.sel(order=2)
        title = f"true $L$, {hamiltonian_label(2)} of its motion"
        text = rf"$\nu$ = {scientific(float(first['misalignment_integrated']))}"
        values = first["hamiltonian_point_integrated"].values.reshape(shape)
        shown.append((title, text, values, settings["truth_color"]))
    return shown


def _contours(axes: Axes, axis, true, one: tuple, settings: Mapping) -> None:
    """Contours of H^[k], and dotted those of H through the same states of rest."""
    from scipy.interpolate import RectBivariateSpline  # half a second to import

    title, text, identified, shade = one
    fine = [np.linspace(side[0], side[-1], POINTS_OF_FINE_GRID) for side in axis]
    through = np.linspace(0, axis[0][-1], CONTOURS + 2)[1:-1]
    for values, colour, dashes in ((identified, shade, "-"), (true, "black", "dotted")):
        surface = RectBivariateSpline(*axis, values)
        style = {"colors": [colour], "linestyles": dashes, "linewidths": 1.0}
        style["levels"] = np.unique(surface(through, 0.0).ravel())
        axes.contour(*fine, surface(*fine).T, **style)
    axes.plot(through, 0 * through, ".", color="black", markersize=3.5)
    axes.set_title(title)
    axes.set_title(text, loc="right", fontsize=small(settings))
