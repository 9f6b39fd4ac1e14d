"""Legends, energies along motions and maps that the figures of snapshots share."""

from collections.abc import Iterable, Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from leastaction.figures.style import key
from leastaction_papers.scorecard.looks import Look, look, time_axis
from leastaction_papers.scorecard.panel import BASELINE, MAIN, Panel
from leastaction_papers.shadow_integration.shadow_panel import Learned

NAMES = {BASELINE: "LSI, published"}
# Smaller deviations of the energy, in J, are round-off.
LEAST_ENERGY = 1e-10


def look_of(estimator: str) -> Look:
    """Look of an estimator."""
    return look(estimator, NAMES)


def name_of(one: Learned) -> str:
    """Name of an estimator in a sentence."""
    if one.estimator == MAIN:
        return "the recommended estimator"
    return look_of(one.estimator).label.removesuffix(", published")


def hamiltonian_label(order: int) -> str:
    """Mathtext of H^[k]."""
    return rf"$H^{{[\![{order}]\!]}}$"


def line_style(one: Learned, settings: Mapping, **more) -> dict:
    """Colour and dashes of the line of an estimator."""
    look = look_of(one.estimator)
    return {"color": look.color(settings), "linestyle": look.dashes, **more}


def dots(one: Learned, settings: Mapping, size: float) -> dict:
    """Style of small dots in the colour of an estimator."""
    style = {"marker": ".", "markersize": size, "markeredgewidth": 0}
    return line_style(one, settings, **style) | {"linestyle": "none"}


def line_handles(estimators: Iterable[str], settings: Mapping) -> list[Line2D]:
    """Legend of lines: the truth, then one per estimator."""
    handles = [key("truth", settings["truth_color"], linewidth=1.6)]
    for one in map(look_of, estimators):
        style = {"linestyle": one.dashes, "linewidth": 1.1}
        handles.append(key(one.label, one.color(settings), **style))
    return handles


def names_of(models: Iterable[Mapping[str, Learned]]) -> list[str]:
    """Estimators that some panel has."""
    return list(dict.fromkeys(name for each in models for name in each))


def true_energy(
    axes: Axes, models: Iterable[Learned], settings: Mapping, windows: int
) -> None:
    """|H − H(0)| of the true H along each motion of the first replicate, J.

    Lines of the largest in each of so many windows of time.
    """
    for one in models:
        case = one.first.sel(order=one.main)
        time = case["time_energy"].values
        # The model's own energy of the start would hide an error of its velocity.
        start = case["hamiltonian_start_true"]
        change = np.abs(case["hamiltonian_estimate"] - start).values
        style = line_style(one, settings, linewidth=1.0)
        middle, change = largest_by_window(time, change, windows)
        axes.plot(middle, np.maximum(change, LEAST_ENERGY), **style)
        time_axis(axes, time)
    axes.set_yscale("log")
    length = (time[-1] - time[0]) / windows
    axes.set_ylabel(f"$|H(t) - H(0)|$, largest in {length:.3g} s (J)")


def largest_by_window(time, values, windows: int) -> tuple[np.ndarray, np.ndarray]:
    """Middle of each of so many windows of time, and the largest value in it.

    NaN where no value of a window is finite.
    """
    parts = np.array_split(np.arange(len(time)), min(windows, len(time)))
    finite = np.where(np.isfinite(values), values, np.nan)
    largest = np.array([np.fmax.reduce(finite[part]) for part in parts])
    return np.array([time[part].mean() for part in parts]), largest


def name_axes(axes: Axes, panel: Panel, x: str, y: str) -> None:
    """Label the axes with two coordinates or velocities and their units."""
    axes.set_xlabel(f"{panel.label(x)} ({panel.coordinate_unit(x)})")
    axes.set_ylabel(f"{panel.label(y)} ({panel.coordinate_unit(y)})")
