"""Which candidates the figure of the coefficients shows, and with what room."""

import numpy as np
import pytest
from test_figures import ONE, panel, words

from leastaction.figures.style import draw
from leastaction_papers.scorecard.panel import BASELINE, MAIN, Panel
from leastaction_papers.stochastic_lagrangian.figures.coefficients import (
    MOST_TERMS,
    Candidate,
    of_dissipation,
    selection,
)


def candidate(number, true=0.0, main=0.0, published=0.0, **options):
    """A candidate that is selected in these shares of ten replicates."""

    def chosen(share):
        return (np.arange(10) < 10 * share).astype("int8")

    return Candidate(
        label=f"$D_{{{number}}}$",
        unit="",
        true=true,
        fixed=False,
        values={MAIN: np.ones(10), BASELINE: np.ones(10)},
        std={MAIN: np.ones(10), BASELINE: np.ones(10)},
        selected={MAIN: chosen(main), BASELINE: chosen(published)},
        **options,
    )


def counted(notes):
    """Numbers in the notes."""
    return [int(word) for note in notes for word in note.split() if word.isdigit()]


def test_what_is_never_selected_is_counted():
    everything = [candidate(i) for i in range(MOST_TERMS)]
    assert selection(everything) == ([], [f"{MOST_TERMS} others never selected"])


def test_true_and_selected_candidates_are_shown():
    found = [candidate(i) for i in range(50)]
    found[40] = candidate(40, true=-500.0)
    found[7] = candidate(7, main=0.1)
    found[9] = candidate(9, published=0.8)
    found[11] = candidate(11, published=0.2)
    shown, notes = selection(found)
    assert [c.label for c in shown] == ["$D_{7}$", "$D_{9}$", "$D_{40}$"]
    assert notes == ["published rarely selects 1 other", "46 others never selected"]


def test_published_fills_the_room_that_is_left_by_how_often_it_selects():
    found = [candidate(i, true=1.0, main=1.0) for i in range(5)]
    found += [candidate(i, published=0.5 + 0.01 * i) for i in range(5, 45)]
    shown, notes = selection(found)
    assert len(shown) == MOST_TERMS
    assert shown[:5] == found[:5]
    assert notes == [f"published also selects {45 - MOST_TERMS} others"]
    assert len(shown) + sum(counted(notes)) == len(found)


def test_many_true_candidates_are_all_shown():
    found = [candidate(i, true=1.0, main=1.0, published=1.0) for i in range(40)]
    shown, notes = selection(found)
    assert (shown, notes) == (found, [])


def test_without_a_baseline_there_is_no_sentence_of_it():
    found = [candidate(i) for i in range(30)]
    for c in found:
        del c.selected[BASELINE]
    assert selection(found) == ([], ["30 others never selected"])


def wide(terms):
    """ONE with more candidates."""
    library = {**ONE["library"], "lagrangian": [{"terms": terms}]}
    return {**ONE, "library": library}


POWERS = [f"x**{n}" for n in range(1, 13)]
MANY = [*POWERS, *(f"xdot**{n}" for n in range(1, 13))]


@pytest.mark.parametrize("terms", [["x**2", "xdot**2"], MANY])
def test_every_term_has_a_line_of_its_own(terms):
    figure = draw("coefficients", [panel(wide(terms))], {})
    values, shares, _, _ = figure.axes
    assert [label.get_text() for label in values.get_yticklabels()] == [
        "$X^{2}$",
        r"$\dot{X}^{2}$",
    ]
    bars = sorted((patch.get_y(), patch.get_height()) for patch in shares.patches)
    for (low, height), (next_low, _) in zip(bars, bars[1:], strict=False):
        assert low + height <= next_low + 1e-9
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in values.get_yticklabels()]
    assert boxes[0].y0 >= boxes[1].y1 - 1


def test_a_panel_grows_with_its_heading():
    one = draw("coefficients", [panel(wide(["x**2", "xdot**2"]))], {})
    many = panel(wide(POWERS + ["xdot**2"]))
    everything = np.ones_like(many.models[MAIN]["support"])
    model = many.models[MAIN].assign(support=(("replicate", "term"), everything))
    long = draw("coefficients", [Panel("one", many.config, {MAIN: model}, {})], {})
    assert long.get_figheight() > one.get_figheight() + 0.1
    # The room that one line has stays.
    heights = []
    for figure, lines in ((one, 2), (long, len(POWERS) + 1)):
        figure.draw_without_rendering()
        height = figure.axes[0].get_position().height * figure.get_figheight()
        heights.append(height / lines)
    assert heights[1] == pytest.approx(heights[0], rel=0.25)


def test_damping_stands_beside_the_lagrangian():
    found = panel(ONE)
    parameters = {**ONE["system"]["parameters"], "c": {"value": 3.0, "unit": "N s/m"}}
    config = {
        **ONE,
        "system": {
            **ONE["system"],
            "parameters": parameters,
            "dissipation": "c*xdot**2/2",
        },
        "library": {**ONE["library"], "dissipation": [{"terms": ["xdot**2"]}]},
    }
    of_damping = ("replicate", "dissipation_term")
    model = found.models[MAIN].assign(
        dissipation_coefficient_estimate=(of_damping, np.full((3, 1), 0.76)),
        dissipation_coefficient_std=(of_damping, np.full((3, 1), 0.01)),
        dissipation_support=(of_damping, np.ones((3, 1), "int8")),
    )
    model = model.assign_coords(dissipation_term=["xdot**2"])
    damped = Panel("one", config, {MAIN: model}, {})
    (drawn,) = of_dissipation(damped)
    assert drawn.true == pytest.approx(0.75)
    assert drawn.unit == r"$\mathrm{s}^{-1}$"
    text = words(draw("coefficients", [damped], {}))
    assert "$L, D$: 5 candidates" in text
    both = {MAIN: model, BASELINE: found.models[BASELINE].copy()}
    both[BASELINE]["dissipation_term"] = ("dissipation_term", np.array([], str))
    text = words(draw("coefficients", [Panel("one", config, both, {})], {}))
    assert "exact support: recommended 3/3, published 0/3" in text
    assert "[$D$]" in text


def test_of_models_at_nodes_mean_and_range_are_those_over_the_nodes():
    at_nodes = np.arange(101.0)
    found = candidate(
        1, main=1.0, at_nodes={BASELINE: at_nodes}, node_share={BASELINE: 0.4}
    )
    assert found.interval(BASELINE) == pytest.approx((50.0, 5.0, 95.0))
    assert found.interval(MAIN) == pytest.approx((1.0, 1.0, 1.0))
    assert not found.often(BASELINE)
    assert found.share(BASELINE) == 0.4
