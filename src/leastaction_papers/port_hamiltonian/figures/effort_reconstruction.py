"""Identified efforts and their errors along time.

Zaspel and Günther, Figures 4, 5, 7 and 8.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from leastaction.core.estimate import NORMAL_QUANTILE
from leastaction.core.expressions import parse
from leastaction.core.families import declared_units
from leastaction.core.units import dimension_of
from leastaction.core.units import unit as unit_of
from leastaction.figures.readable import listed
from leastaction.figures.style import grid_of, key, legend_on_top, note, small
from leastaction_papers.scorecard.looks import SIZE, time_axis
from leastaction_papers.scorecard.panel import BASELINE, Panel, panel_title
from leastaction_papers.scorecard.readable import plain_scientific, unit_label

# Training samples from all times, or from early ones alone.
ALL, EARLY = "all", "early"
# An effort below is zero but for round-off.
ROUND_OFF_OF_EFFORT = 1e-12
SHADE = "0.9"
THICK = {"linewidth": 3.2, "alpha": 0.4}
NO_BAND = "no band: its variance is lost in round-off"


@dataclass(frozen=True)
class Effort:
    """One effort along the recorded path, of the first replicate."""

    name: str  # as in the paper, z_1
    unit: str  # in mathtext
    time: np.ndarray
    true: np.ndarray
    estimate: np.ndarray
    band: np.ndarray  # half width of the 95 % posterior band
    chosen: np.ndarray  # places of the training samples

    @property
    def error(self) -> np.ndarray:
        """Identified minus true."""
        return self.estimate - self.true

    @property
    def plain(self) -> str:
        """Its name in plain text, z1."""
        return self.name.strip("$").replace("_{", "").removesuffix("}")

    @property
    def has_band(self) -> bool:
        """Whether most variances are more than round-off, which is cut off at zero."""
        return bool(np.median(self.band) > 0)


def effort_reconstruction(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Efforts of a fit to samples of all times, and their errors.

    Left true and identified efforts of the first replicate with its training samples,
    right the error with the 95 % posterior band. The truth is that of the recorded
    states.
    """
    return _along_time(panels, settings, ALL)


def effort_extrapolation(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """As :func:`effort_reconstruction`, with training samples of early times alone.

    The shaded times have none.
    """
    return _along_time(panels, settings, EARLY)


def _along_time(panels: Sequence[Panel], settings: Mapping, pool: str) -> Figure:
    efforts = [list(_efforts(panel, pool)) for panel in panels]
    rows = [(i, e) for i, group in enumerate(efforts) for e in group]
    figure, grid = grid_of(settings, len(rows), 2, row=27, rest=12)
    for (left, right), (i, effort) in zip(grid, rows, strict=True):
        _draw_effort(left, effort, settings)
        _draw_error(right, effort, settings)
        for axes in (left, right):
            time_axis(axes, effort.time)
            if effort is not efforts[i][-1]:
                axes.set_xlabel("")
                axes.tick_params(labelbottom=False)
            if pool == EARLY:
                late = (_until(panels[i], effort.time), effort.time[-1])
                axes.axvspan(*late, color=SHADE, linewidth=0, zorder=0)
        if effort is efforts[i][0]:
            left.set_title(f"{panel_title(panels, i)}: effort")
            right.set_title("identified minus true")
    handles = [
        key("true", settings["truth_color"], **THICK),
        key("identified, as published", settings["estimate_color"], linewidth=0.8),
        key("training samples", "0.1", "x", linestyle="none", markersize=SIZE),
        key("95 % posterior band", settings["band_color"], linewidth=5),
    ]
    if pool == EARLY:
        handles.append(Patch(color=SHADE, label="no training samples"))
    legend_on_top(figure, handles)
    return figure


def _draw_effort(axes: Axes, effort: Effort, settings: Mapping) -> None:
    color = settings["estimate_color"]
    axes.plot(effort.time, effort.true, color=settings["truth_color"], **THICK)
    axes.plot(effort.time, effort.estimate, color=color, linewidth=0.8)
    chosen = effort.time[effort.chosen], effort.estimate[effort.chosen]
    axes.plot(*chosen, "x", color="0.1", markersize=3)
    axes.set_ylabel(f"{effort.name} ({effort.unit})")
    if np.abs(effort.true).max() < ROUND_OFF_OF_EFFORT:
        axes.set_ylim(-1.0, 1.0)


def _draw_error(axes: Axes, effort: Effort, settings: Mapping) -> None:
    color = settings["estimate_color"]
    if effort.has_band:
        band, filled = (-effort.band, effort.band), settings["band_color"]
        axes.fill_between(effort.time, *band, color=filled, linewidth=0)
    else:
        note(axes, NO_BAND, 0.02, 0.86, fontsize=small(settings))
        axes.margins(y=0.4)
    axes.plot(effort.time, effort.error, color=color, linewidth=0.7)
    axes.ticklabel_format(axis="y", scilimits=(-2, 2))
    axes.set_ylabel(f"Error ({effort.unit})")


def _efforts(panel: Panel, pool: str) -> Iterator[Effort]:
    rollout = panel.rollout(BASELINE).isel(replicate=0)
    rollout = rollout.isel(pool_shown=list(rollout["pool_shown"].values).index(pool))
    for j, unit in enumerate(_units(panel)):
        one = rollout.isel(effort=j)
        yield Effort(
            f"$z_{{{j + 1}}}$",
            unit,
            rollout["time"].values,
            one["effort_true"].values,
            one["effort_estimate"].values,
            NORMAL_QUANTILE * one["effort_std"].values,
            rollout["training_sample"].values,
        )


def _units(panel: Panel) -> list[str]:
    """Unit of every effort, from its formula; equal ones under one name."""
    system = panel.config["system"]
    declared = {name: unit_of(text) for name, text in declared_units(system).items()}
    units: list = []
    for formula in system["efforts"]:
        one = dimension_of(parse(str(formula), tuple(declared)), declared)
        same = (known for known in units if (1 * one).is_compatible_with(known))
        units.append(next((u for u in same if (1 * one).to(u).magnitude == 1), one))
    return [unit_label(one) for one in units]


def _until(panel: Panel, time: np.ndarray) -> float:
    early = panel.config["simulate"]["training"].get("early")
    return float(early["until"]) if early else float(time[-1])


def finding(panels: Sequence[Panel]) -> str:
    """Errors beside the ranges of the efforts, and what the bands hold."""
    (panel,) = panels
    efforts = list(_efforts(panel, ALL))
    rms = [f"{plain_scientific(_rms(e.error))} ({e.plain})" for e in _moving(efforts)]
    worst, held = _largest(efforts), _held(efforts)
    return f"{worst}; in the root mean square {listed(rms)}. {held}"


def effort_extrapolation_finding(panels: Sequence[Panel]) -> str:
    """Errors at the times without training samples, beside those before."""
    (panel,) = panels
    efforts = list(_efforts(panel, EARLY))
    until = _until(panel, efforts[0].time)
    late = efforts[0].time > until
    rms = [
        f"{plain_scientific(_rms(e.error[late]))} and "
        f"{plain_scientific(_rms(e.error[~late]))} ({e.plain})"
        for e in _moving(efforts)
    ]
    return (
        f"Root mean square errors from {until:g} s on, without training samples, and "
        f"before: {', '.join(rms)}. {_largest(efforts)}. {_held(efforts)}"
    )


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _moving(efforts: Sequence[Effort]) -> list[Effort]:
    """Efforts that are not zero at all times."""
    return [e for e in efforts if np.ptp(e.true) > ROUND_OFF_OF_EFFORT]


def _largest(efforts: Sequence[Effort]) -> str:
    """The worst error, relative to the range of its effort."""
    moving = _moving(efforts)
    shares = [np.abs(e.error).max() / np.ptp(e.true) for e in moving]
    worst = int(np.argmax(shares))
    return (
        f"No error is larger than {100 * shares[worst]:.2g} % of the range of its "
        f"effort ({moving[worst].plain})"
    )


def _held(efforts: Sequence[Effort]) -> str:
    """Shares of the times at which the bands hold the errors."""
    shares = [
        f"{100 * np.mean(np.abs(e.error) <= e.band):.0f} % ({e.plain})"
        for e in efforts
        if e.has_band
    ]
    lost = [e.plain for e in efforts if not e.has_band]
    return (
        "The 95 % bands, which leave out the error of the time discretisation, hold "
        f"the error at {listed(shares)} of the times"
        + (f"; {listed(lost)} has none, lost in round-off." if lost else ".")
    )
