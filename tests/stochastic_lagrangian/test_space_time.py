"""Maps of a field over space and time, and what else is published of a field."""

import io
import re
from copy import deepcopy

import numpy as np
import pytest
import xarray as xr
from field_support import model_of
from stages import validate

from leastaction.core.families import system_from_config
from leastaction.figures.style import draw, finding
from leastaction_papers.scorecard import tables
from leastaction_papers.scorecard.panel import Panel
from leastaction_papers.scorecard.scorecard import example_rows

CONFIG = {
    "title": "String",
    "section": "9",
    "system": {
        "field": {"name": "u", "unit": "m", "label": "w"},
        "domain": {"length": 1.0, "nodes": 9, "left": "fixed", "right": "fixed"},
        "parameters": {
            "mu": {"value": 2.0, "unit": "kg/m"},
            "c": {"value": 3.0, "unit": "m/s"},
            "sigma": {"value": 0.5, "unit": "m/s^1.5"},
        },
        "lagrangian": "mu*u_t**2/2 - mu*c**2*u_x**2/2",
        "volatility": "mu*sigma",
    },
    "simulate": {
        "method": "modal",
        "duration": 1.0,
        "initial_state": {"u": "sin(pi*x/length)", "u_t": 0},
    },
    "library": {
        "reference": "u_t**2/2",
        "lagrangian": [{"terms": ["u_t**2", "u_x**2", "u_xx**2"]}],
        "volatility": [{"terms": ["1", "u**2"]}],
    },
    "validate": {"lengths": 2, "trajectories": 10, "samples": 41},
    "publish": {
        "rows": [
            {
                "item": "Table 1",
                "quantity": "volatility over c^2",
                "unit": "s^0.5/m",
                "printed": 0.06,
                "corrected": 0.5 / 9,
                "ours": {"volatility": "u", "factor": 1 / 9},
                "target": {"relative_error": 0.1},
            },
            {
                "item": "Figure 1",
                "quantity": "candidates",
                "unit": "1",
                "printed": 28,
                "corrected": 28,
                "ours": {"library_size": "lagrangian"},
                "target": {"relative_error": 0.0},
            },
        ]
    },
}


@pytest.fixture(scope="module")
def panel():
    system = system_from_config(CONFIG["system"])
    coefficients = {"u_t**2": 0.5, "u_x**2": -4.5 * 1.001, "u_xx**2": 0.0}
    model = model_of(system, coefficients, 0.5, replicates=3)
    of_square = ("replicate", "dof", "volatility_term")
    square = np.tile([0.25, 0.0], (3, 1, 1))
    model = model.assign(
        status=("term", ["reference", "independent", "independent"]),
        volatility_coefficient_estimate=(of_square, square),
        volatility_coefficient_std=(of_square, 0.01 * square),
        volatility_support=(of_square, (square != 0).astype("int8")),
    ).assign_coords(volatility_term=["1", "u**2"])
    rollouts = [
        validate(
            system,
            model.isel(replicate=[i]),
            CONFIG["simulate"],
            CONFIG["validate"],
            CONFIG["library"],
            example="test",
            seed=1,
        )
        for i in range(3)
    ]
    rollout = xr.concat(rollouts, "replicate", combine_attrs="override")
    return Panel("string", CONFIG, {"recommended": model}, {"recommended": rollout})


def maps(figure):
    return [axes for axes in figure.axes if axes.images]


def test_four_maps_of_which_two_share_their_scale(panel):
    figure = draw("space_time", [panel, panel], {})
    assert len(maps(figure)) == 8
    truth, found, error, std = (axes.images[0] for axes in maps(figure)[:4])
    assert truth.norm.vmax == found.norm.vmax == -truth.norm.vmin
    assert error.norm.vmin == std.norm.vmin == 0
    shown = panel.rollout("recommended").isel(replicate=0)
    np.testing.assert_array_equal(truth.get_array(), shown["mean_true"].values.T)
    difference = np.abs(shown["mean_estimate"] - shown["mean_true"]).values.T
    np.testing.assert_array_equal(error.get_array(), difference)
    # Columns are times: the first one is the start, highest in the middle.
    assert np.argmax(truth.get_array()[:, 0]) == 4


def test_the_published_model_has_a_row_or_a_word(panel):
    found = panel.rollouts["recommended"]
    rollouts = {"recommended": found, "published": found}
    both = Panel("string", CONFIG, panel.models, rollouts)
    figure = draw("space_time", [both], {})
    first = [axes.images[0] for axes in maps(figure)[:4]]
    truth, *published = (axes.images[0] for axes in maps(figure)[4:])
    # One scale of colours for both estimators.
    scales = [(a.norm.vmin, a.norm.vmax) for a in published]
    assert scales == [(a.norm.vmin, a.norm.vmax) for a in first[1:]]
    assert truth.norm is published[-1].norm
    shown = found.isel(replicate=0)
    np.testing.assert_array_equal(truth.get_array(), shown["std_true"].values.T)
    lost = found.assign(
        mean_estimate=np.nan * found["mean_estimate"],
        mean_error_prediction=np.nan * found["mean_error_prediction"],
    )
    rollouts = {"recommended": found, "published": lost}
    both = Panel("string", CONFIG, panel.models, rollouts)
    assert len(maps(draw("space_time", [both], {}))) == 4
    assert "It diverges for the String." in finding("space_time", [both])


def test_axes_bars_and_the_end_of_training_are_labelled(panel):
    figure = draw("space_time", [panel], {})
    for axes in maps(figure):
        assert axes.get_xlabel() == "Time (s)"
        assert [line.get_xdata()[0] for line in axes.lines] == [1.0, 1.0]
    assert maps(figure)[0].get_ylabel() == "Position (m)"
    bars = [axes for axes in figure.axes if not axes.images]
    assert len(bars) == 3
    assert all(re.fullmatch(r"\(.*m.*\)", axes.get_xlabel()) for axes in bars)


@pytest.mark.parametrize("width", [160])
def test_nothing_leaves_the_page_and_bytes_repeat(panel, width):
    pages = []
    for _ in range(2):
        figure = draw("space_time", [panel], {"width": width, "dpi": 60})
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
        pages.append(buffer.getvalue())
        for axes in figure.axes:
            box, page = axes.get_tightbbox(), figure.bbox
            assert box.x0 >= page.x0 - 1 and box.x1 <= page.x1 + 1
            assert box.y0 >= page.y0 - 1 and box.y1 <= page.y1 + 1
    assert pages[0] == pages[1]


def test_a_diverged_model_still_makes_a_figure(panel):
    rollout = panel.rollout("recommended").copy()
    for name in ("mean_estimate", "std_estimate", "mean_error_prediction"):
        rollout[name] = np.nan * rollout[name]
    draw("space_time", [Panel("string", CONFIG, {}, {"recommended": rollout})], {})


def test_a_system_of_coordinates_has_no_map(panel):
    config = {**CONFIG, "system": {"coordinates": {}}}
    with pytest.raises(ValueError, match="'string' has no field"):
        draw("space_time", [Panel("string", config, {}, {})], {})


@pytest.mark.parametrize("name", ["coefficients", "hamiltonian"])
def test_the_other_figures_take_a_field(panel, name):
    assert draw(name, [panel], {}).axes


def test_labels_and_units_of_a_field(panel):
    assert panel.label("u_xx**2") == "$w_{xx}^{2}$"
    unit = panel.coefficient_unit("u_xx**2", panel.lagrangian_unit)
    assert unit == r"$\mathrm{m}^{4}\,\mathrm{s}^{-2}$"
    assert panel.law.volatility[0] == pytest.approx(0.5)
    assert panel.squared_volatility_true(0, ["1", "u**2"]) == {"1": 0.25, "u**2": 0.0}
    assert panel.coefficients_true["u_x**2"] == pytest.approx(-4.5)


def test_tables_write_the_equation_of_the_density(panel):
    names = ("lagrangian", "equation_of_motion", "hamiltonian")
    first, second, third = (tables.table(name, [panel]).rows for name in names)
    assert first.iloc[1]["Lagrangian density"] == "L = 0.5 u_t^2 - 4.5 u_x^2"
    assert second.iloc[1]["equation of motion"] == "u_tt = 9 u_xx + 0.5 W'"
    assert third.iloc[1]["Hamiltonian"] == "H = 0.5 u_t^2 + 4.5 u_x^2"


def test_the_scorecard_counts_and_scales(panel):
    rows = example_rows(
        "paper", Panel("string", deepcopy(CONFIG), panel.models, panel.rollouts)
    ).set_index("quantity")
    assert rows.loc["volatility over c^2", "ours_median"] == pytest.approx(0.5 / 9)
    # 9 nodes for u_t, 10 springs, 9 curvatures.
    assert rows.loc["candidates", "ours_median"] == 28
    assert rows.loc["exact supports", "ours_median"] == 3
