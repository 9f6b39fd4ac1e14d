"""Figures of sweeps over noise: what they compare, and that they say it right."""

import copy
import re
import warnings

import numpy as np
import pytest
import xarray as xr
from synthetic_sweep import PENDULUM, swept
from test_figures import words

from leastaction.figures.style import draw, finding
from leastaction_papers.scorecard.panel import BASELINE, MAIN, Panel
from leastaction_papers.scorecard.recovery import shown_case, shown_mode

LEVELS = (0.0, 1e-3, 2e-2, 1e-1)
ROWS = [
    {"printed": 0.06, "ours": {"largest_noise": BASELINE, "noise_mode": "shared"}},
    {"printed": 8, "ours": {"largest_noise": BASELINE, "over": "sindy_pi"}},
]


def a_rollout(offset=0.0, levels=(1e-3, 2e-2), modes=("independent", "shared")):
    time = np.linspace(0, 10, 101)
    true = np.cos(time)[None, None, :, None]
    case = (1, len(modes), len(levels), 1, time.size)
    each = ("replicate", "noise_mode", "noise_level", "trajectory", "time")
    return xr.Dataset(
        {
            "q_true": (("replicate", "trajectory", "time", "dof"), true),
            "q_estimate": ((*each, "dof"), np.zeros((*case, 1)) + true[0] + offset),
        },
        coords={
            "replicate": [0],
            "noise_mode": list(modes),
            "noise_level": list(levels),
            "time": time,
            "dof": ["th"],
        },
        attrs={"training_duration": 5.0},
    )


def two_panels():
    return [panel(rows=ROWS), panel("xl/other", rows=ROWS)]


def panel(example="xl/pendulum", rows=()):
    config = copy.deepcopy(PENDULUM)
    config["publish"] = {"rows": list(rows)}

    def wrong(level):
        return 0.75 if level > 0.01 else 0.0

    options = {"levels": LEVELS, "with_std": False}
    models = {
        MAIN: swept(config, levels=LEVELS),
        BASELINE: swept(config, wrong=wrong, **options),
        "sindy_pi": swept(config, wrong=lambda level: 1.0, **options),
    }
    rollouts = {MAIN: a_rollout(), BASELINE: a_rollout(0.1), "sindy_pi": a_rollout(0.3)}
    return Panel(example, config, models, rollouts)


@pytest.mark.parametrize("name", ["trajectories", "noise_limits"])
def test_axes_have_units_and_nothing_is_clipped(name):
    figure = draw(name, two_panels(), {"width": 160})
    assert len(figure.legends) == 1
    shown = [axes for axes in figure.axes if axes.axison]
    for axes in shown:
        label = axes.get_ylabel()
        assert not label or re.search(r"\(.+\)", label), label
        label = axes.get_xlabel()
        assert not label or re.search(r"\(.+\)", label), label
    assert any(axes.get_xlabel() for axes in shown)
    figure.draw_without_rendering()
    box = figure.bbox.padded(1)
    for item in [*figure.legends, *(axes.title for axes in shown)]:
        extent = item.get_window_extent()
        assert box.x0 <= extent.x0
        assert extent.x1 <= box.x1


def test_without_a_sweep_there_is_nothing_to_draw():
    with pytest.raises(ValueError, match="no "):
        draw("noise_limits", [Panel("empty", copy.deepcopy(PENDULUM), {}, {})], {})


def test_a_line_of_limits_begins_at_the_lowest_level_done():
    shown = panel(rows=ROWS)
    late = shown.recoveries["sindy_pi"].isel(noise_level=[2, 3])
    shown.recoveries["sindy_pi"] = late.assign(exact=late["exact"] | True)
    shown.recoveries["other"] = late
    axes = draw("noise_limits", [shown], {}).axes[0]
    starts = {line.get_xdata()[0] for line in axes.lines if len(line.get_xdata()) == 2}
    crosses = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "x"]
    lowest = np.log10(2e-2)
    assert lowest in starts
    assert crosses == [lowest, lowest]  # in both modes, and not at zero


def test_a_constant_coordinate_has_limits_around_it():
    shown = panel()
    for rollout in shown.rollouts.values():
        rollout["q_true"][:] = 2.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = draw("trajectories", [shown], {})
    low, high = figure.axes[0].get_ylim()
    assert low < 2.0 < high


def test_methods_have_names_of_their_papers_in_the_legend():
    text = words(draw("noise_limits", [panel(rows=ROWS)], {}))
    for name in ("recommended", "xL-SINDy", "SINDy-PI"):
        assert name in text


def test_a_ratio_is_no_limit():
    shown = panel(rows=ROWS)
    assert [row["printed"] for row in shown.printed_limits(BASELINE)] == [0.06]
    assert shown.printed_limits(MAIN) == []


def test_the_published_method_has_the_noise_of_its_paper():
    model = swept(PENDULUM, levels=LEVELS)
    assert shown_mode(BASELINE, model) == "shared"
    assert shown_mode(MAIN, model) == "independent"
    one_mode = model.sel(noise_mode=["independent"])
    assert shown_mode(BASELINE, one_mode) == "independent"
    assert shown_case(MAIN, model, 0.02)["noise_level"].item() == 0.02
    assert shown_case(MAIN, model, 0.03) is None


def test_training_and_validation_are_told_apart_in_every_panel():
    figure = draw("trajectories", [panel()], {})
    assert len(figure.axes) == 2
    text = words(figure)
    assert text.count("training") == text.count("validation") == 2
    assert r"$\sigma = 2\times10^{-2}$" in text


def test_findings_count_where_the_rival_is_worse():
    said = finding("noise_limits", two_panels())
    assert "xL-SINDy 0.001 (0.06), SINDy-PI none" in said
    assert "SINDy-PI endures less than xL-SINDy in 2 of 2 systems" in said
    assert "The recommended estimator: ≥ 0.1 and ≥ 0.1." in said
    said = finding("trajectories", two_panels())
    assert "With noise of σ = 0.02 the first coordinate" in said
    assert "further off than xL-SINDy in 2 of 2 systems" in said


def test_a_method_without_a_motion_is_named():
    shown = panel()
    shown.rollouts["sindy_pi"]["q_estimate"][..., -1, :] = np.nan
    figure = draw("trajectories", [shown], {})
    assert "no motion of SINDy-PI" in words(figure)
    assert "no motion" not in words(draw("trajectories", [panel()], {}))
