"""Figures of studies: what they compare, and that they say it right."""

import numpy as np
import pytest
import synthetic
import xarray as xr
from test_figures import stays_on_the_page, svg, words

from leastaction.figures.style import draw, finding, grid_of
from leastaction_papers.scorecard.looks import log_numbers
from leastaction_papers.scorecard.panel import MAIN, Panel
from leastaction_papers.scorecard.scores import errors_over_std
from leastaction_papers.stochastic_lagrangian.figures.sensor_study import percent_errors


def sensor_panel(level, channel="q", title="Oscillator", error=1e-3):
    config = synthetic.config() | {"title": title, "simulate": {}}
    if level:
        sensor = {"noise": {channel: level}, "channels": [channel]}
        config["simulate"]["sensor"] = sensor
    c = [[synthetic.STIFFNESS * (1 + error), 0.5, 0.0, 0.0]] * 4
    c[0] = [synthetic.STIFFNESS, 0.5, 1.0, 0.0]
    model = synthetic.model(c, sigma=[synthetic.SIGMA * (1 + 10 * error)] * 4)
    return Panel(f"{title}-{level}", config, {MAIN: model}, {})


@pytest.fixture
def sensors():
    return [
        *(sensor_panel(level, c) for level in (1e-4, 1e-2) for c in ("q", "qddot")),
        sensor_panel(1e-4, title="Pendulum"),
    ]


def test_errors_and_supports_stand_over_the_level_of_the_noise(sensors):
    figure = draw("sensor_study", sensors, {})
    assert len(figure.axes) == 6
    coefficient, volatility, support = figure.axes[:3]
    for axes, value in ((coefficient, 0.1), (volatility, 1.0)):
        points = [c.lines[0].get_ydata()[0] for c in axes.containers]
        # Two levels of noise of two kinds of sensors.
        assert points == pytest.approx([value] * 4)
        shown = [label.get_text() for label in axes.get_xticklabels()]
        assert shown == ["$10^{-4}$", "$10^{-2}$"]
        assert axes.get_xlim() == pytest.approx((0.5e-4, 3e-2))
    for line in support.lines:
        assert line.get_ydata() == pytest.approx(75.0)
    text = words(figure)
    assert "displacements alone" in text and "accelerations alone" in text


def test_the_study_of_sensors_states_how_often_terms_are_right_and_errors_as_stated(
    sensors,
):
    told = finding("sensor_study", sensors)
    assert "15 of 20 data sets (Oscillator 12 of 16, Pendulum 3 of 4)" in told
    # Errors of 0.0045, whose standard error is 0.01; σ is off by five of its own.
    assert "are 0.45 times their standard errors" in told
    assert "cover 20 of 40 true numbers (50.0 %)" in told


def test_damping_has_errors_of_its_own_beside_a_stiffness_that_hides_them(sensors):
    config = synthetic.config() | {"title": "Damped"}
    config["simulate"] = {"sensor": {"noise": {"q": 1e-2}, "channels": ["q"]}}
    config["system"]["parameters"]["c"] = {"value": 0.2, "unit": "N s/m"}
    config["system"]["dissipation"] = "c*xdot**2/2"
    config["library"]["dissipation"] = [{"terms": ["xdot**2"]}]
    one = ("replicate", "dissipation_term")
    found = {"coefficient_estimate": 0.055, "coefficient_std": 0.01, "support": 1}
    model = synthetic.model().assign_coords(dissipation_term=["xdot**2"])
    model = model.assign(
        {f"dissipation_{k}": (one, np.full((5, 1), v)) for k, v in found.items()}
    )
    panel = Panel("damped", config, {MAIN: model}, {})
    assert percent_errors(panel)["damping"] == pytest.approx(10.0)
    over = errors_over_std(model, panel.law)
    assert over[:, 0] == pytest.approx(0.0) and over[:, 1] == pytest.approx(0.5)
    figure = draw("sensor_study", [panel], {})
    svg(figure)
    assert stays_on_the_page(figure)
    damping = figure.axes[1]
    assert damping.get_ylabel() == "Error of damping (%)"
    assert damping.containers[0].lines[0].get_ydata() == pytest.approx([10.0])
    assert len(draw("sensor_study", sensors[:2], {}).axes) == 3


def test_short_logarithmic_axes_have_plain_numbers():
    figure, grid = grid_of({"width": 80, "dpi": 60}, 1, 2, row=40)
    for axes, top in zip(grid[0], (4.0, 4000.0), strict=True):
        axes.plot([0, 1], [0.9, top])
        log_numbers(axes.yaxis)
    figure.draw_without_rendering()
    short, long = (
        [t.get_text() for t in axes.get_yticklabels(which="both") if t.get_text()]
        for axes in grid[0]
    )
    assert {"1", "2"} <= set(short) and "5" not in long and "100" in long
    assert not any("times" in text for text in [*short, *long])


def test_a_study_without_noise_is_refused():
    with pytest.raises(ValueError, match="no panel has a noisy sensor"):
        draw("sensor_study", [sensor_panel(0.0)], {})


TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


def symmetry_panel(name, law, odds, gain):
    """Two fits, without and with noise, that differ in the odds of a rotation."""
    fit = ("replicate", "noise_mode", "noise_level")
    shape = (1, 1, len(odds))
    each = (*fit, "symmetry")
    beyond = np.where(np.array(odds) < 0, 2e-2, 1e-3)
    values = {"violation": beyond, "bound": 1e-2, "decided": 1.0}
    model = {
        f"symmetry_{k}": (each, np.broadcast_to(v, len(odds)).reshape(*shape, 1))
        for k, v in values.items()
    }
    model["symmetry_log_odds"] = each, np.reshape(odds, (*shape, 1))
    model["symmetry_offset"] = (*each, "dof"), np.zeros((*shape, 1, 2))
    turns = np.broadcast_to(TURN, (*shape, 1, 2, 2))
    model["symmetry_matrix"] = (*each, "dof", "dof_other"), turns
    levels = {"noise_level": np.arange(len(odds)) * 1e-2, "noise_mode": ["independent"]}
    states = np.random.default_rng(1).standard_normal((1, 60, 4))
    rollouts = {
        estimator: xr.Dataset(
            {
                "horizon_error": ((*fit, "start"), np.full((*shape, 3), error)),
                "state_point": (("replicate", "point", "state"), states),
            }
        )
        for estimator, error in ((MAIN, 1.0), ("free", gain))
    }
    units = {"unit": "m"}
    system = {"coordinates": {"x": units, "y": units}, "parameters": {}}
    system |= {"lagrangian": law, "inputs": {}}
    config = {"title": name, "system": system, "estimators": {}}
    return Panel(name, config, {MAIN: xr.Dataset(model, levels)}, rollouts)


def test_symmetries_state_what_decides_and_what_is_gained():
    central = "(xdot**2 + ydot**2)/2 - (x**2 + y**2)**2/4"
    other = "(xdot**2 + ydot**2)/2 - x**2/2 - y**4/4"
    panels = [
        symmetry_panel("round", central, [50.0, 1.0], gain=3.0),
        symmetry_panel("flat", other, [-50.0, 50.0], gain=0.5),
    ]
    words(draw("symmetry_study", panels, {}))
    told = finding("symmetry_study", panels)
    assert "3 of 4 fits are decisive: 2 of these identify exactly the true" in told
    assert "and 1 a false one" in told
    assert "1.8 times smaller in the median of 2 fits, and 0.5 times" in told
