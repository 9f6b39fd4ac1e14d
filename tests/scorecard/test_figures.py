import io
import re
import sys
from types import ModuleType

import numpy as np
import pytest
import xarray as xr
from matplotlib import rc_context

from leastaction.core import families
from leastaction.core.library import Library
from leastaction.core.settings import Style
from leastaction.core.system import System
from leastaction.core.units import unit
from leastaction.figures.style import StyledFigure, draw, finding
from leastaction_papers.scorecard.panel import Panel
from leastaction_papers.scorecard.readable import unit_label

ONE = {
    "title": "One mass",
    "system": {
        "coordinates": {"x": {"unit": "m", "label": "X"}},
        "parameters": {
            "m": {"value": 2.0, "unit": "kg"},
            "k": {"value": 600.0, "unit": "N/m"},
            "sigma": {"value": 3.0, "unit": "N s^0.5"},
        },
        "lagrangian": "m*xdot**2/2 - k*x**2/2",
        "volatility": {"x": "sigma"},
    },
    "library": {
        "reference": "xdot**2/2",
        "lagrangian": [{"terms": ["x", "x**2", "xdot**2", "sin(x)"]}],
    },
}
TWO = {
    "title": "Two masses",
    "system": {
        "coordinates": {"u": {"unit": "m"}, "v": {"unit": "m"}},
        "parameters": {"k": {"value": 40.0, "unit": "N/m"}},
        "lagrangian": "(udot**2 + vdot**2)/2 - k*u**2/2 - k*(u - v)**2/2",
        "volatility": {"u": "0.1", "v": "0.2*v"},
    },
    "library": {
        "reference": "udot**2/2",
        "lagrangian": [{"terms": ["udot**2", "vdot**2", "u**2", "(u - v)**2", "v**4"]}],
    },
}
OF_COORDINATES = ("coefficients", "response", "hamiltonian")
VOLATILITY_TERMS = {
    "One mass": ["1", "x", "x*abs(x)"],
    "Two masses": ["1", "u", "v**2"],
}


def panel(config, replicates=3, estimators=("recommended", "published")):
    system = System.from_config(config["system"])
    library = Library.from_config(config["library"], system.coordinates)
    truth, _ = library.projection(system)
    bare = Panel(config["title"], config, {}, {})
    terms = VOLATILITY_TERMS[config["title"]]
    square = [
        list(bare.squared_volatility_true(a, terms).values()) for a in range(system.dof)
    ]
    wobble = 1 + 1e-3 * np.arange(replicates)
    squares, of_dof = ("dof", "volatility_term"), ("dof",)
    values = {
        "coefficient_estimate": (("term",), truth),
        "coefficient_std": (("term",), np.full(truth.size, 0.1)),
        "support": (("term",), (truth != 0).astype("int8")),
        "volatility_coefficient_estimate": (squares, square),
        "volatility_coefficient_std": (squares, np.full_like(square, 0.1)),
        "volatility_support": (squares, np.not_equal(square, 0).astype("int8")),
        "volatility_estimate": (of_dof, np.ones(system.dof)),
        "volatility_of_lagrangian": (of_dof, np.full(system.dof, 1.03)),
    }
    model = xr.Dataset(
        {name: (dims, np.asarray(value)) for name, (dims, value) in values.items()},
        coords={
            "term": library.names,
            "volatility_term": terms,
            "dof": list(system.coordinates),
        },
    ).expand_dims(replicate=np.arange(replicates))
    for name in model:
        if name.endswith("estimate"):
            model[name] = model[name] * xr.DataArray(wobble, dims="replicate")
    model["status"] = "term", np.array(library.status, dtype=object)
    rollout = a_rollout(system, replicates)
    return Panel(
        config["title"],
        config,
        dict.fromkeys(estimators, model),
        dict.fromkeys(estimators, rollout),
    )


def a_rollout(system, replicates):
    time = np.linspace(0.0, 4.0, 41)
    names = [str(s) for s in system.state]
    path = np.cos(3 * time)[None, :, None] * np.ones((replicates, 1, len(names)))
    energy = np.tile(5.0 + time, (replicates, 1))
    state, along = ("replicate", "time", "state"), ("replicate", "time")
    data = {}
    for end in ("true", "estimate"):
        data[f"mean_{end}"] = (state, path)
        data[f"std_{end}"] = (state, 0.1 + 0 * path)
        data[f"hamiltonian_{end}"] = (along, energy)
        data[f"hamiltonian_of_mean_{end}"] = (along, 10.0 - energy)
    same = not system.evaluated(system.energy_growth).free_symbols
    data["hamiltonian_growth"] = (along, energy if same else np.nan * energy)
    data["std_error"] = ("replicate", np.full(replicates, 0.03))
    for window in ("training", "prediction"):
        data[f"mean_error_{window}"] = ("replicate", np.full(replicates, 0.0123))
    data["diverged"] = ("replicate", np.zeros(replicates, int))
    return xr.Dataset(
        data,
        coords={"replicate": np.arange(replicates), "time": time, "state": names},
        attrs={"training_duration": 1.0},
    )


def svg(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def words(figure):
    """All text of a figure."""
    return "\n".join(
        t.get_text() for t in figure.findobj(lambda a: hasattr(a, "get_text"))
    )


@pytest.mark.parametrize("name", OF_COORDINATES)
def test_every_axis_has_a_quantity_and_a_unit(name):
    figure = draw(name, [panel(ONE), panel(TWO)], {})
    assert figure.legends
    for axes in figure.axes:
        # The figure of the coefficients has one line per term.
        assert name == "coefficients" or re.search(r"\(.+\)", axes.get_ylabel())
    lowest = [a for a in figure.axes if a.get_xlabel()]
    for axes in lowest:
        assert re.search(r"\(.+\)", axes.get_xlabel())
    unlabelled = [a for a in figure.axes if not a.get_xlabel()]
    for axes in unlabelled:
        # It stands on an axis that is labelled and moves with it.
        siblings = axes.get_shared_x_axes().get_siblings(axes)
        assert any(s.get_xlabel() for s in siblings)


@pytest.mark.parametrize("name", OF_COORDINATES)
def test_the_same_data_give_the_same_bytes(name):
    assert svg(draw(name, [panel(ONE)], {})) == svg(draw(name, [panel(ONE)], {}))


def stays_on_the_page(figure):
    """Whether nothing of a drawn figure lies outside of it."""
    page = figure.bbox
    boxes = [one.get_tightbbox() for one in (*figure.axes, *figure.legends)]
    return all(
        box.x0 >= page.x0 - 1
        and box.x1 <= page.x1 + 1
        and box.y0 >= page.y0 - 1
        and box.y1 <= page.y1 + 1
        for box in boxes
    )


@pytest.mark.parametrize("name", OF_COORDINATES)
def test_nothing_is_drawn_outside_the_page(name):
    figure = draw(name, [panel(ONE, 20), panel(TWO, 20)], {"width": 160})
    svg(figure)
    assert stays_on_the_page(figure)


def test_the_response_has_displacement_and_velocity_of_every_coordinate():
    axes = draw("response", [panel(ONE), panel(TWO)], {}).axes
    assert len(axes) == 6
    labels = [a.get_ylabel() for a in axes[:2]]
    assert labels[0].startswith("$X$ (") and labels[1].startswith(r"$\dot{X}$ (")
    per_second = r"\mathrm{s}^{-1}"
    assert per_second in labels[1] and per_second not in labels[0]


def test_truth_is_shown_in_the_scale_of_the_identified_lagrangian():
    found = panel(ONE)
    assert found.coefficients_true["x**2"] == pytest.approx(-150.0)
    square = found.squared_volatility_true(0, VOLATILITY_TERMS["One mass"])
    assert square == {"1": pytest.approx(2.25), "x": 0.0, "x*abs(x)": 0.0}
    assert found.squared_volatility_true(0, ["x"]) == {}


def test_a_wrong_support_is_not_counted_as_exact():
    found = panel(ONE)
    support = found.models["published"]["support"].copy()
    support[0, found.library.names.index("sin(x)")] = 1
    published = found.models["published"].assign(support=support)
    models = {"recommended": found.models["recommended"], "published": published}
    figure = draw("coefficients", [Panel("one", ONE, models, {})], {})
    assert "exact support: recommended 3/3, published 2/3" in words(figure)


def test_growth_by_ito_is_left_out_where_it_depends_on_the_state():
    with_line = draw("hamiltonian", [panel(ONE)], {}).axes[0]
    without = draw("hamiltonian", [panel(TWO)], {}).axes[0]
    assert len(with_line.lines) == len(without.lines) + 1


def test_one_replicate_and_no_baseline_are_enough():
    alone = panel(ONE, replicates=1, estimators=("recommended",))
    for name in OF_COORDINATES:
        assert "published" not in words(draw(name, [alone], {}))


def test_a_diverged_model_still_makes_a_figure():
    found = panel(ONE)
    nothing = xr.full_like(found.rollouts["recommended"]["mean_estimate"], np.nan)
    rollout = found.rollouts["recommended"].assign(
        mean_estimate=nothing,
        mean_error_prediction=("replicate", np.full(3, np.nan)),
    )
    diverged = Panel("one", ONE, {}, {"recommended": rollout})
    assert "prediction not finite" in words(draw("response", [diverged], {}))


@pytest.mark.parametrize(
    ("name", "panels", "settings", "message"),
    [
        (
            "coeficients",
            [None],
            {},
            "unknown figure 'coeficients'; known: .* coefficients,",
        ),
        ("response", [], {}, "no panels"),
        ("response", [None], {"widht": 90}, "widht"),
        ("response", [None], {"width": 85}, "greater than or equal to 160"),
        ("response", [Panel("one", ONE, {}, {})], {}, "'one': no rollout of estimator"),
    ],
)
def test_a_wrong_request_is_explained(name, panels, settings, message):
    with pytest.raises(ValueError, match=message):
        draw(name, panels, settings)


def test_units_are_written_with_exponents():
    assert unit_label(unit("m^2") / unit("s") ** 2) == (
        r"$\mathrm{m}^{2}\,\mathrm{s}^{-2}$"
    )
    assert unit_label(unit("rad") / unit("s")) == r"$\mathrm{s}^{-1}$"
    assert unit_label(unit("1")) == "1"


def test_the_size_is_the_printed_size():
    figure = StyledFigure({"width": 127.0, "dpi": 100}, 50.8)
    assert tuple(figure.get_size_inches()) == pytest.approx((5.0, 2.0))


@pytest.mark.parametrize("engine", ["autolayout", "constrained_layout.use"])
def test_settings_of_the_user_do_not_change_the_layout(engine):
    def drawn():
        figure = StyledFigure(Style().plain(), 60.0)
        for axes in figure.subplots(1, 2):
            axes.set_ylabel("a label")
        files = [io.BytesIO() for _ in range(2)]
        for file in files:
            figure.savefig(file, format="png")
        return [file.getvalue() for file in files]

    usual = drawn()
    with rc_context({f"figure.{engine}": True}):
        assert drawn() == usual
    assert usual[0] == usual[1]


def test_findings_stand_beside_the_figure(monkeypatch):
    module = ModuleType("a_family.figures.swing")
    module.finding = lambda panels: f"{len(panels)} panels"
    module.twist_finding = lambda panels: "it twists"
    monkeypatch.setitem(sys.modules, module.__name__, module)
    names = dict.fromkeys(("swing", "twist", "silent"), module.__name__)
    monkeypatch.setattr(families, "figures", lambda: names)
    assert finding("swing", [None, None]) == "2 panels"
    assert finding("twist", []) == "it twists"
    assert finding("silent", []) == ""


def test_findings_name_what_is_best_and_worst():
    one, two = panel(ONE), panel(TWO)
    spread = two.rollouts["published"].assign(
        mean_error_prediction=("replicate", np.full(3, np.nan)),
        std_error=("replicate", np.full(3, 20.0)),
    )
    two = Panel("two", TWO, two.models, {**two.rollouts, "published": spread})
    said = finding("response", [one, two])
    assert "published model is off by 1.2 % (One mass); over" in said
    assert "It diverges for the Two masses." in said
    assert "over 1000 % (Two masses)" in said
    said = finding("coefficients", [one])
    assert "recommended estimator selects exactly the true terms of L and of" in said
    energy = finding("hamiltonian", [one])
    assert "recommended model, relative to its size, is 0.0 % (One mass)" in energy
    assert "mean path, which the paper plots, falls (One mass)" in energy
