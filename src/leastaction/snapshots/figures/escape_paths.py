"""Motions close to the separatrix, in the plane: Figure 7 of shadow integration."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leastaction.report.panel import Panel
from leastaction.report.style import StyledFigure
from leastaction.snapshots.figures._equipotentials import equipotentials, square
from leastaction.snapshots.figures._looks import shadow_look
from leastaction.snapshots.shadow_panel import Learned, chosen

SHOWN = ("published", "published_lgp", "published_gp_flow", "recommended")
HEIGHT = 58.0


def escape_paths(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Where models take a motion whose energy is just below that of the saddles.

    Dots: positions in coarse samples of time, from the start to the escape or to the
    last step. Line: the last 400 steps. Grey: lines of equal potential of the truth;
    black its separatrix. First replicate, lowest noise.

    Paper: Figure 7 draws every step as a line and stops at the escape of one draw; when
    that happens is a matter of round-off (:mod:`survival_study`).

    Raises
    ------
    ValueError
        If a panel lacks rollouts with `survival` and `potential`.
    """
    found = [passing(panel, SHOWN) for panel in panels]
    columns = max(map(len, found))
    figure = StyledFigure(settings, HEIGHT * len(panels))
    grid = figure.subplots(
        len(panels), columns, squeeze=False, sharex=True, sharey=True
    )
    for panel, row, each in zip(panels, grid, found, strict=True):
        for axes, one in zip(row, each, strict=False):
            equipotentials(axes, panel, one)
            _path(axes, one, settings)
            axes.set_title(f"{shadow_look(one.estimator).label}\n{fate(one)}")
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


def _path(axes: Axes, one: Learned, settings: Mapping) -> None:
    colour = shadow_look(one.estimator).color(settings)
    x, y = one.first["passage_q"].values.T
    axes.plot(x, y, ".", color=colour, markersize=0.9, markeredgewidth=0, zorder=2)
    x, y = one.first["passage_end"].values.T
    axes.plot(x, y, color=colour, linewidth=0.5, zorder=3)
