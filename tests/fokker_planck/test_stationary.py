"""Laws of what is published about stationary densities."""

import numpy as np
import pytest
import xarray as xr
from density_support import LIBRARY, drawn, exact, identified, simulation
from stages import validate

from leastaction.core.families import system_from_config
from leastaction.figures.style import draw, finding
from leastaction_papers.fokker_planck.stationary_parameters import (
    parameters,
    true_coefficients,
)
from leastaction_papers.scorecard import tables
from leastaction_papers.scorecard.panel import Panel
from leastaction_papers.scorecard.scorecard import example_rows

SYSTEM = {
    "coordinates": {"x": {"unit": "m", "label": ""}},
    "parameters": {
        name: {"value": value, "unit": unit}
        for name, value, unit in (
            ("m", 2.0, "kg"),
            ("k", 2.0, "N/m"),
            ("c", 1.0, "N s/m"),
            ("a", 2.0, "N s^0.5"),
        )
    },
    "lagrangian": "m*xdot**2/2 - k*x**2/2",
    "dissipation": "c*xdot**2/2",
    "volatility": {"x": "a"},
}
K, C = "lagrangian: -x**2/2", "dissipation: xdot**2/2"
LEVELS = {"volatility": [0.2, 0.6, 1.0], "coefficients": {"-x**2/2": 1.0}}
UNKNOWN = {**LIBRARY, "known": {"lagrangian": {"-x**2/2": 1.0}}}


def config(library=LIBRARY, **publish):
    return {
        "title": "Oscillator",
        "section": "4.1",
        "system": SYSTEM,
        "library": library,
        "simulate": simulation(),
        "validate": {"lengths": 1, "trajectories": 4},
        "publish": publish,
    }


def gathered(models):
    varying = [n for n, v in models[0].data_vars.items() if "replicate" in v.dims]
    numbered = [m[varying].assign_coords(replicate=[i]) for i, m in enumerate(models)]
    constant = models[0].drop_vars([*varying, "replicate"])
    return constant.assign(xr.concat(numbered, "replicate").data_vars)


@pytest.fixture(scope="module")
def panel():
    rng = np.random.default_rng(0)
    data = [drawn(rng, 300_000) for _ in range(3)]
    models = {
        name: gathered([identified(d, name, level_set=LEVELS) for d in data])
        for name in ("published", "recommended")
    }
    return Panel("linear", config(), models, rollouts(models, LIBRARY))


def rollouts(models, library):
    system = system_from_config(SYSTEM)
    return {
        name: validate(
            system,
            model.isel(replicate=[0]),
            simulation(duration=50.0),
            {"lengths": 1, "trajectories": 4},
            {},
            example="t",
            seed=1,
        )
        for name, model in models.items()
    }


def test_the_truth_is_that_of_the_system_in_the_scale_of_the_reference(panel):
    """m = 2: k/m = 1, c/m = ½, (a/m)² = 1."""
    found = true_coefficients(panel.config)[1]
    np.testing.assert_allclose(found, [1, 1, 0.5, 1], rtol=1e-10)


def test_a_system_outside_of_the_library_has_no_truth(panel):
    other = {**SYSTEM, "dissipation": "c*xdot**4/4"}

    found = true_coefficients({**panel.config, "system": other})[1]
    assert np.isnan(found).all()


def test_parameters_are_the_unknown_ones_and_strengths_are_roots(panel):
    found = parameters(panel.config, panel.models["recommended"])
    assert [p.label for p in found] == [K, C]
    free = {
        **LIBRARY,
        "known": {"lagrangian": {"-x**2/2": 1}, "dissipation": {"xdot**2/2": 0.5}},
    }
    (strength,) = parameters(config(free), identified(exact(), "recommended", free))
    assert strength.label == "noise strength of x: 1"
    assert strength.truth == pytest.approx(1)
    assert strength.values[0] == pytest.approx(1, rel=1e-4)
    model = identified(exact(), "recommended", free)
    square = float(model["volatility_coefficient_std"][0, 0, 0])
    assert strength.std[0] == pytest.approx(square / 2, rel=1e-3)


def test_rows_judge_the_recommended_estimator(panel):
    limits = {"parameter_std": {K: 1.0, C: 1e-9}}
    printed = [
        {
            "item": "4.1.1",
            "quantity": "error of c",
            "unit": "%",
            "printed": -1.169,
            "ours": {"parameter_percent": C},
            "target": {"between": [-50, 50]},
        },
        {
            "item": "4.1.2",
            "quantity": "largest error",
            "unit": "%",
            "printed": 2.81,
            "ours": {"level_set": True},
        },
    ]
    rows = example_rows(
        "p",
        Panel(
            "linear", config(targets=limits, rows=printed), panel.models, panel.rollouts
        ),
    ).set_index(["estimator", "quantity"])
    error = "relative error of the {}, rms".format
    assert rows.loc[("recommended", error(K)), "verdict"] == "meets"
    assert rows.loc[("recommended", error(C)), "verdict"] == "misses"
    assert rows.loc[("published", error(C)), "verdict"] == ""
    assert rows.loc[("published", "error of c"), "verdict"] == "meets"
    exact_level = 100 * np.abs(
        panel.models["published"]["level_dissipation_estimate"].values
        / (np.square(LEVELS["volatility"]) / 2)
        - 1
    ).max(axis=1)
    assert rows.loc[("published", "largest error"), "ours_median"] == pytest.approx(
        np.median(exact_level)
    )


def test_refusals_are_counted_and_have_no_error():
    model = gathered([identified(exact(), "recommended", UNKNOWN) for _ in range(2)])
    rows = example_rows("p", Panel("x", config(UNKNOWN), {"recommended": model}, {}))
    assert list(rows["quantity"]) == [
        "replicates that refuse damping and noise together"
    ]
    assert rows["verdict"][0] == "meets"


def test_the_table_has_one_row_per_estimator_and_parameter(panel):
    table = tables.table("stationary_errors", [panel]).rows
    assert len(table) == 4
    assert set(table["parameter"]) == {K, C}
    error = (
        panel.models["published"]["dissipation_coefficient_estimate"].values / 0.5 - 1
    )
    row = table[(table["estimator"] == "published") & (table["parameter"] == C)]
    assert row["rms error (%)"].item() == pytest.approx(
        100 * np.sqrt(np.mean(error**2))
    )


def test_the_error_of_the_damping_is_that_of_the_central_differences():
    """Without noise of counting, in 50 x 50 cells (erratum 119)."""
    model = identified(exact(), "published")
    k, c = parameters(config(), model)
    assert round(100 * c.error[0], 2) == -1.26
    assert round(100 * k.error[0], 3) == -0.003


@pytest.mark.parametrize(
    "figure",
    [
        "density_surface",
        "objective_independent",
        "objective_dependent",
        "level_set",
    ],
)
def test_figures_show_truth_and_estimates(panel, figure):
    drawn_figure = draw(figure, [panel], {"dpi": 50})
    assert drawn_figure.axes


def test_findings_have_the_numbers_of_the_figures(panel):
    (error,) = parameters(panel.config, panel.model("published"))[0].error[:1]
    shown = f"({100 * error:+.2f} %)".replace("-", "−")
    assert shown in finding("objective_independent", [panel])
    model = panel.model("published")
    a, c = model["level_volatility"][0], model["level_dissipation_estimate"][0]
    worst = float(100 * abs(2 * c / a**2 - 1).max())
    assert "published is off by" in finding("level_set", [panel])
    assert f"{worst:.2g} % at worst" in finding("level_set", [panel])
    assert "off c = a²/2" in finding("objective_dependent", [panel])
    assert "50 × 50 cells" in finding("density_surface", [panel])
