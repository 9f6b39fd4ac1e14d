"""Figures, table and rows of identified port-Hamiltonian models."""

import io
from functools import lru_cache

import numpy as np
import pytest
import yaml
from port_support import identified, rollout, small
from project import ROOT

from leastaction.figures.style import draw, finding
from leastaction_papers.port_hamiltonian.figures.effort_reconstruction import _units
from leastaction_papers.port_hamiltonian.figures.learning_curves import NEGLIGIBLE
from leastaction_papers.port_hamiltonian.scores import curves
from leastaction_papers.scorecard import example_figures
from leastaction_papers.scorecard.looks import colored
from leastaction_papers.scorecard.panel import Panel
from leastaction_papers.scorecard.readable import plain_scientific
from leastaction_papers.scorecard.scorecard import example_rows
from leastaction_papers.scorecard.tables import render, table

COARSE = {"dpi": 50}
OF_EXAMPLE = example_figures()["port_recordings"]
OF_PAPER = ("learning_curves", "effort_reconstruction", "effort_extrapolation")


@lru_cache
def panel(name="electrical_network"):
    """Every published estimator stands for the one with high-order data."""
    config = small(name) | {"publish": {}}
    made = {
        estimator: "recommended"
        if estimator == "recommended"
        else "published_high_order"
        for estimator in config["estimators"]
    }
    models = {key: identified(name, estimator) for key, estimator in made.items()}
    rollouts = {key: rollout(name, estimator) for key, estimator in made.items()}
    return Panel(name, config, models, rollouts)


def test_no_two_states_of_an_example_share_a_colour():
    paths = (ROOT / "config" / "examples").glob("*port_hamiltonian/*.yaml")
    systems = [yaml.safe_load(path.read_text())["system"] for path in paths]
    most = max(len(system["states"]) for system in systems)
    assert len({color for color, _ in colored(range(most))}) == most > 5


@pytest.mark.parametrize("kind", [*OF_EXAMPLE, *OF_PAPER, "derivative_influence"])
def test_a_figure_is_written(kind):
    file = io.BytesIO()
    draw(kind, [panel()], COARSE).savefig(file, format="png")
    assert file.tell() > 1000


@pytest.mark.parametrize("kind", OF_EXAMPLE)
def test_two_systems_share_a_figure(kind):
    draw(kind, [panel(), panel("constrained_pendulum")], COARSE)


def test_findings_have_the_numbers_of_the_figures():
    one = panel()
    sizes, errors = curves(one.rollout("published"), "transformed_rmse")
    last = plain_scientific(errors[:, -1, 0].mean())
    for name in ("learning_curves", "derivative_influence"):
        told = finding(name, [one])
        assert f" to {last}, reached with" in told
    along = finding("effort_reconstruction", [one])
    assert "% of the range of its effort" in along and "of the times" in along
    assert "without training samples" in finding("effort_extrapolation", [one])


def test_negligible_errors_are_hollow_marks_at_the_lower_edge():
    one = panel("constrained_pendulum")
    left, right = draw("learning_curves", [one], COARSE).axes
    _, errors = curves(one.rollout("published"), "transformed_rmse")
    assert (errors[:, :, 4] < NEGLIGIBLE).all()
    for axes in (left, right):
        edge, _ = axes.get_ylim()
        hollow = [x for x in axes.lines if x.get_markerfacecolor() == "white"]
        assert hollow and all((x.get_ydata() == edge).all() for x in hollow)


def test_efforts_have_the_units_of_their_formulas():
    assert _units(panel()) == [r"$\mathrm{V}$", r"$\mathrm{V}$", r"$\mathrm{A}$"]
    assert _units(panel("constrained_pendulum"))[:2] == [r"$\mathrm{N}$"] * 2


def test_the_table_has_a_row_for_every_training_set():
    found = table("effort_errors", [panel()])
    frame = found.rows
    assert len(frame) == 2 * len(panel().rollouts)
    assert "published_subset" in render(found, "md")


def rows(**publish):
    one = panel()
    config = one.config | {"publish": publish}
    return example_rows("paper", Panel(one.example, config, one.models, one.rollouts))


def entry(**changes):
    return {
        "estimator": "recommended",
        "quantity": "error",
        "rollout": "effort_rmse",
        "at": {"size": 16, "effort": "z_2"},
        "unit": "V",
        "target": {"maximum": 1e-6},
    } | changes


def test_a_limit_is_judged_on_the_number_it_names():
    found = rows(targets={"efforts": [entry(), entry(target={"maximum": 1e-30})]})
    assert found["verdict"].tolist() == ["meets", "misses"]
    truth = panel().rollouts["recommended"]["effort_rmse"].values[0, 1, 1]
    assert np.allclose(found["ours_median"], truth)


def test_a_printed_level_off_the_corrected_one_is_inaccurate():
    printed = {
        "item": "Figure 3",
        "quantity": "error",
        "unit": "V",
        "printed": 1e-2,
        "corrected": 1e-3,
        "ours": {
            "estimator": "recommended",
            "rollout": "effort_rmse",
            "at": {"size": 16, "effort": "z_2"},
        },
        "target": {"maximum": 1e-6},
    }
    assert rows(rows=[printed])["verdict"].tolist() == ["inaccurate"]


def test_what_has_no_motion_has_no_number_that_meets():
    lost = entry(estimator="published", rollout="forward_error", at={"state": "x1"})
    assert rows(targets={"efforts": [lost]})["verdict"].tolist() == ["misses"]


def test_an_example_that_publishes_nothing_has_its_errors():
    frame = example_rows("mine", panel())
    own = frame[frame["estimator"] == "recommended"]
    _, errors = curves(panel().rollout("recommended"), "transformed_rmse")
    found = own["quantity"].str.startswith("error of (J - R) z")
    six_digits = [float(f"{x:.6g}") for x in np.median(errors[:, -1], 0)]
    np.testing.assert_allclose(own["ours_median"][found], six_digits)
    assert own["quantity"].str.contains("error of x1 over .*, unseen input").any()
    assert (own["verdict"] == "").all()
