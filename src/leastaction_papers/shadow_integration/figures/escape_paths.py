"""Motions close to the separatrix: when and where they escape, Figures 7 to 9.

A ValueError names the check of ``validate.shadow`` that a panel lacks.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from leastaction.figures.readable import listed
from leastaction.figures.style import DASHED, grid_of, key, legend_on_top, small
from leastaction_papers.scorecard.panel import MAIN, Panel
from leastaction_papers.scorecard.readable import plain_scientific, scientific
from leastaction_papers.scorecard.recovery import is_replica
from leastaction_papers.scorecard.verdict import reproduces
from leastaction_papers.shadow_integration.figures._shared import (
    dots,
    look_of,
    name_axes,
    name_of,
)
from leastaction_papers.shadow_integration.shadow_panel import Learned, chosen

SHOWN = ("published", "published_lgp", "published_gp_flow", "recommended")
SHOWN_CHANNELS, SHOWN_ORDER = ("published", "recommended"), 2
REASON = (
    "so that round-off decides when the motions of LSI and LGP escape; for "
    "GPFlow it is the sign of its drift (errata 109 and 110)"
)
# Levels of equal potential, in units of that of the separatrix.
LEVELS = (0.04, 0.16, 0.36, 0.64, 1.4, 2.0)
FORBIDDEN = "0.88"
TRUTH_DASHES = (0, (3, 2))
TRUE_CONTOURS = {"colors": "black", "linewidths": 0.6, "linestyles": [TRUTH_DASHES]}


def escape_paths(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Where models take a motion whose energy is just below that of the saddles.

    Dots: positions in coarse samples of time. Line: the last 400 steps. Grey: lines of
    equal true potential; black its separatrix. Above each how many of the starts, which
    differ by round-off, escape, and the paper's time. Drawn: the unperturbed start of
    the first replicate, lowest noise.

    Paper: Figure 7 draws every step as a line and stops at the escape of one draw; when
    that happens is a matter of round-off.
    """
    models = [passing(panel, SHOWN) for panel in panels]
    size = (len(panels), max(map(len, models)))
    figure, grid = grid_of(settings, *size, row=64, rest=6, sharex=True, sharey=True)
    for panel, row, each in zip(panels, grid, models, strict=True):
        for axes, one in zip(row, each, strict=False):
            _path(axes, panel, one, settings)
        for axes in row[1:]:
            axes.set_ylabel("")
        for axes in row[len(each) :]:
            axes.set_axis_off()
    steps = models[0][0].first.sizes["end"] - 1
    end = panels[0].config["simulate"]["time_step"] * steps
    handles = [
        _every(models[0][0], "position"),
        key(f"the last {end:g} s", "0.3", linewidth=0.7),
        key("separatrix of the truth", "black", linewidth=1.0),
        key("equal true potential", "0.78", linewidth=1.0),
    ]
    legend_on_top(figure, handles)
    return figure


def _every(one: Learned, what: str) -> Line2D:
    """Entry of a legend: dots, and how far they are apart."""
    step = float(np.diff(one.first["passage_time"].values[:2]).item())
    style = {"marker": ".", "linestyle": "none", "markersize": 3}
    return key(f"{what} every {step:g} s", "0.3", **style)


def finding(panels: Sequence[Panel]) -> str:
    """How long motions stay by estimator, and where the paper's single times lie."""
    models = [(panel, one) for panel in panels for one in passing(panel, SHOWN)]
    fates = [f"with {name_of(one)} {', '.join(fate(one))}" for _, one in models]
    text = f"A last bit decides, so that times are distributions: {'; '.join(fates)}."
    places = [
        f"{seconds(time)} of {name_of(one)} {_place(one, time)}"
        for panel, one in models
        for time in _printed_times(panel, one)
    ]
    if places:
        text += f" Of the paper's single times, {listed(places)}."
    lacking = [_lacking(one) for _, one in models if "saddle_margin_true" in one.first]
    if lacking:
        text += (
            f" The start lacks only {plain_scientific(lacking[0])} J to pass a saddle, "
            f"{REASON}."
        )
    return text


def _place(one: Learned, time: float) -> str:
    """Whether a printed time is one more draw of ours (verdict `reproduces`)."""
    if reproduces(time, one.first["survival_time"].values):
        return "is one more such draw"
    return "is not such a draw"


def _end(one: Learned) -> float:
    """When the unperturbed motion escaped or was stopped, s."""
    return float(one.first["survival_time"].values[0])


def _printed_times(panel: Panel, one: Learned) -> list[float]:
    """The paper's time of the escape, of its own recipes only."""
    return [
        float(row["printed"])
        for row in panel.printed
        if row["ours"].get("rollout") == "survival_time"
        and row["ours"].get("estimator") == one.estimator
        and is_replica(one.estimator)
    ]


def printed_time(panel: Panel, one: Learned) -> str:
    """The paper's time of the escape in brackets; empty if it prints none."""
    times = ", ".join(map(seconds, _printed_times(panel, one)))
    return f"(the paper: {times})" if times else ""


def passing(panel: Panel, estimators: Sequence[str]) -> list[Learned]:
    """Estimators of a panel, whose rollouts must have a passage to escape."""
    models = chosen(panel, estimators)
    for one in models:
        if "passage_q" not in one.rollout:
            raise ValueError(
                f"example {panel.example!r}: the rollout of {one.estimator!r} has no "
                "escapes; give it validate.shadow.survival"
            )
    return models


def fate(one: Learned) -> tuple[str, str]:
    """How many of the starts escaped, and the median of their times."""
    times = one.first["survival_time"].values
    stopped = one.first["survival_censored"].values > 0
    escaped, stop = int((~stopped).sum()), seconds(times.max())
    if not escaped:
        return f"none of {times.size} starts escapes", f"until {stop}"
    median = median_of_survival(times, stopped)
    about = f"over {stop}"
    if np.isfinite(median):
        about = f"about {seconds(float(f'{median:.1g}'))}"
    return f"{escaped} of {times.size} starts escape", f"median {about}"


def median_of_survival(times: np.ndarray, censored: np.ndarray) -> float:
    """Time by which half have escaped (Kaplan–Meier); infinite if they have not."""
    events, share = kaplan_meier(times, censored)
    fallen = events[share <= 0.5 + 1e-12]
    return float(fallen[0]) if fallen.size else np.inf


def seconds(time: float) -> str:
    """A time in whole seconds, thousands apart."""
    return f"{time:,.0f} s".replace(",", "\u2009")


def _on_grid(places: xr.DataArray, values: xr.DataArray) -> tuple[np.ndarray, ...]:
    """Sides x and y of a grid of positions, and values on it as a map (y, x)."""
    x, y = (np.unique(side) for side in places.values.T)
    return x, y, np.reshape(values.values, (x.size, y.size)).T


def _separatrix(panel: Panel) -> float:
    """Level of the separatrix above the lowest energy at rest, J."""
    return float(panel.config["validate"]["shadow"]["potential"]["below"])


def _levels(panel: Panel) -> list[float]:
    """Levels to draw without that of the separatrix, J."""
    return [share * _separatrix(panel) for share in LEVELS]


def _square(axes: Axes, panel: Panel) -> None:
    axes.set_aspect("equal")
    name_axes(axes, panel, *panel.truth.coordinates)


def _path(axes: Axes, panel: Panel, one: Learned, settings: Mapping) -> None:
    """Motion over lines of equal true potential, its separatrix in black."""
    grid = _on_grid(one.first["q_rest"], one.first["potential_true"])
    axes.contour(*grid, _levels(panel), colors="0.78", linewidths=0.5, zorder=1)
    border = [_separatrix(panel)]
    axes.contour(*grid, border, colors="black", linewidths=0.7, zorder=1)
    style = dots(one, settings, 0.9)
    axes.plot(*one.first["passage_q"].values.T, **style, zorder=2)
    end = one.first["passage_end"].values.T
    axes.plot(*end, color=style["color"], linewidth=0.5, zorder=3)
    lines = [look_of(one.estimator).label, *fate(one), printed_time(panel, one)]
    axes.set_title("\n".join(lines))
    _square(axes, panel)


def escape_energy(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """True energy along the motions of :func:`escape_paths` minus that of their start.

    One scale for all: linear about zero (grey), where what the start lacks to pass a
    saddle (dashed) is, logarithmic beyond. In coarse samples of time, with the slope of
    a line through them, of the unperturbed start. First replicate, lowest noise.
    """
    models = [one for panel in panels for one in passing(panel, SHOWN)]
    rows = -(-len(models) // 2)
    figure, grid = grid_of(settings, rows, 2, row=50, rest=8, sharey=True)
    for axes, one in zip(grid.flat, models, strict=False):
        _energy(axes, one, settings)
    for axes in grid.flat[len(models) :]:
        axes.set_axis_off()
    handles = [_every(models[0], "a sample")]
    lacking = [_lacking(one) for one in models if "saddle_margin_true" in one.first]
    if lacking:
        text = "what the start lacks to pass a saddle, "
        style = {"linewidth": 0.7, "linestyle": DASHED}
        handles.append(key(f"{text}{scientific(lacking[0])} J", "black", **style))
        handles.append(key("linear scale, logarithmic beyond", "0.9", linewidth=5))
        _one_scale(grid, lacking[0], models)
    legend_on_top(figure, handles)
    return figure


def escape_energy_finding(panels: Sequence[Panel]) -> str:
    """How far the energies go, and what that has to do with the escapes."""
    models = {name_of(one): one for panel in panels for one in passing(panel, SHOWN)}
    far = {}
    for name, one in models.items():
        inside = one.first["passage_time"].values < _end(one)
        change = np.abs(one.first["passage_energy"].values[inside])
        far[name] = float(np.nanmax(change))
    entries = [f"{plain_scientific(v)} J with {name}" for name, v in far.items()]
    most = f"by up to {listed(entries)}."
    drifts = []
    for name, one in models.items():
        drift = float(one.first["passage_drift"])
        stays = bool(one.first["survival_censored"].values[0])
        if drift < 0 and stays and drift * _end(one) < -_lacking(one):
            fall = plain_scientific(-drift)
            drifts.append(f"That of {name} falls at {fall} J/s, away from the saddles")
    text = f"Until the escape, or the end, the true energy changes {most}"
    return f"{text} {'; '.join(drifts)}." if drifts else text


def _lacking(one: Learned) -> float:
    return float(one.first["saddle_margin_true"].min())


def _linear_up_to(lacking: float) -> float:
    """Power of ten above what the start lacks to pass a saddle, J."""
    return 10.0 ** np.ceil(np.log10(lacking))


def _one_scale(grid: np.ndarray, lacking: float, models: Sequence[Learned]) -> None:
    """Linear about zero, then logarithmic; every second decade has a tick."""
    linear = _linear_up_to(lacking)
    largest = max(float(np.nanmax(np.abs(o.first["passage_energy"]))) for o in models)
    count = max(1 + np.ceil(np.log10(largest / linear) / 2), 1)
    decades = linear * 100.0 ** np.arange(count)
    for axes in grid.flat:
        axes.set_yscale("symlog", linthresh=linear)
        axes.set_yticks([*-decades[::-1], 0.0, *decades])
        axes.minorticks_off()
        axes.set_ylim(-decades[-1], decades[-1])


def _energy(axes: Axes, one: Learned, settings: Mapping) -> None:
    first, time = one.first, one.first["passage_time"].values
    axes.plot(time, first["passage_energy"].values, **dots(one, settings, 1.8))
    axes.set_title(look_of(one.estimator).label)
    drift = f"drift {scientific(float(first['passage_drift']))} W"
    axes.set_title(drift, loc="right", fontsize=small(settings))
    if "saddle_margin_true" in first:
        lacking, edge = _lacking(one), _linear_up_to(_lacking(one))
        axes.axhline(lacking, color="black", linewidth=0.7, linestyle=DASHED)
        axes.axhspan(-edge, edge, color="0.9", zorder=0)
    axes.axhline(0.0, color="0.6", linewidth=0.5, zorder=0)
    # Until the escape, which may be long before the last sample.
    axes.set_xlim(time[0], min(time[-1], float(first["survival_time"][0])))
    axes.set_xlabel("Time (s)")
    axes.set_ylabel("$H(t) - H(0)$ (J)")


def kaplan_meier(times: np.ndarray, censored: np.ndarray) -> tuple[np.ndarray, ...]:
    """Times of the events from 0 on, and the share of survivors just after each.

    Who is stopped (`censored`) counts until then.
    """
    from scipy.stats import CensoredData, ecdf  # a second to import

    survival = ecdf(CensoredData.right_censored(times, np.asarray(censored, bool))).sf
    fallen = np.diff(survival.probabilities, prepend=1.0) < 0
    events, share = survival.quantiles[fallen], survival.probabilities[fallen]
    return np.append(0.0, events), np.append(1.0, share)


def saddle_channels(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Energy at rest V^[k](q) = H^[k](q, 0) of LSI beside the true potential.

    k = 2 as in the paper, and the highest order for the recommended estimator. Left:
    its contour lines over those of the truth (dashed), shifted to the same mean inside
    the separatrix. Then a close-up of each saddle: grey is where the motion of the
    start has not enough energy to be, V^[k] > H^[k](start). A white channel from one
    side to the other is open. Dashed: the border of the true region. Printed: the
    margin, V^[k] at the saddle minus H^[k] of the start over the scale, and the true
    one. First replicate, lowest noise.
    """
    models = [(panel, one) for panel in panels for one in chosen(panel, SHOWN_CHANNELS)]
    for panel, one in models:
        if "near_estimate" not in one.rollout:
            raise ValueError(
                f"example {panel.example!r}: the rollout of {one.estimator!r} has no "
                "close-ups of saddles; give it validate.shadow.potential with saddles "
                "in two coordinates"
            )
    columns = 1 + max(one.rollout.sizes["saddle"] for _, one in models)
    figure, grid = grid_of(settings, len(models), columns, row=52, rest=12)
    handles = []
    for row, (panel, one) in zip(grid, models, strict=True):
        order, look = _order(one), look_of(one.estimator)
        case, colour = one.first.sel(order=order), look.color(settings)
        style_of_model = {"colors": colour, "linewidths": 0.9}
        drawn = sorted([*_levels(panel), _separatrix(panel)])
        for of, style in (("estimate", style_of_model), ("true", TRUE_CONTOURS)):
            potential = _on_grid(case["q_rest"], case[f"potential_{of}"])
            row[0].contour(*potential, levels=drawn, **style)
        error = scientific(float(case["potential_error"]))
        row[0].set_title(f"{look.label}\nerror inside ≤ {error} J")
        _square(row[0], panel)
        for i, axes in enumerate(row[1:]):
            _close_up(axes, panel, case.isel(saddle=i), style_of_model)
            at = panel.config["validate"]["shadow"]["potential"]["saddles"][i]
            place = ", ".join(f"{value:.3g}".replace("-", "\u2212") for value in at)
            margin = float(case["saddle_margin"][i])
            state = "closed" if margin > 0 else "open"
            text = f"saddle ({place}): {state}\n{_height(margin, scientific)} the start"
            axes.set_title(text, fontsize=small(settings))
        text = rf"$V^{{[\![{order}]\!]}}$, {look.label}"
        handles.append(key(text, colour, linewidth=0.9))
    text = f"truth, {_height(_lacking(models[0][1]), scientific)} the start"
    style = {"linewidth": 0.6, "linestyle": TRUTH_DASHES}
    forbidden = Patch(facecolor=FORBIDDEN, label="not enough energy")
    legend_on_top(figure, [*handles, key(text, "black", **style), forbidden])
    return figure


def saddle_channels_finding(panels: Sequence[Panel]) -> str:
    """How close the learned potentials are, and which channels they open."""
    parts = []
    for one in (one for panel in panels for one in chosen(panel, SHOWN_CHANNELS)):
        case = one.first.sel(order=_order(one))
        margins = case["saddle_margin"].values
        parts.append(
            f"V[[{_order(one)}]] of {name_of(one)} is within "
            f"{plain_scientific(float(case['potential_error']))} J of the true "
            f"potential inside the separatrix; {(margins <= 0).sum()} of "
            f"{margins.size} saddles are open to the motion (the lowest lies "
            f"{_height(margins.min(), plain_scientific)} the energy of the start)"
        )
    true = _height(_lacking(chosen(panels[0], SHOWN_CHANNELS)[0]), plain_scientific)
    return f"{'. '.join(parts)}. The true saddles lie {true} that."


def _height(margin: float, text: Callable[[float], str]) -> str:
    """How far a saddle lies above or below the energy of the start."""
    return f"{text(abs(margin))} J {'above' if margin > 0 else 'below'}"


def _order(one: Learned) -> int:
    ours = one.estimator == MAIN or SHOWN_ORDER not in one.orders
    return one.main if ours else SHOWN_ORDER


def _close_up(axes: Axes, panel: Panel, case: xr.Dataset, style: Mapping) -> None:
    x, y, near = _on_grid(case["near_offset"], case["near_estimate"])
    _, _, true = _on_grid(case["near_offset"], case["near_true"])
    if near.max() > 0:
        axes.contourf(x, y, near, levels=[0, near.max()], colors=[FORBIDDEN])
    axes.contour(x, y, near, levels=[0], **style)
    axes.contour(x, y, true, levels=[0], **TRUE_CONTOURS)
    axes.set_aspect("equal")
    puts = (axes.set_xlabel, axes.set_ylabel)
    for name, put in zip(panel.truth.coordinates, puts, strict=True):
        letter, unit = panel.label(name).strip("$"), panel.coordinate_unit(name)
        put(rf"${letter} - {letter}_\mathrm{{saddle}}$ ({unit})", labelpad=1)
    axes.ticklabel_format(style="sci", scilimits=(-2, 3))
    axes.locator_params(nbins=3)
