"""Figures and table of Lagrangians that were learned from snapshots."""

import io

import numpy as np
import pytest
from synthetic_shadow import box, config, model, panel, rollout

from leastaction.core.families import system_from_config
from leastaction.figures.style import draw, finding
from leastaction_papers.scorecard import example_figures
from leastaction_papers.scorecard.tables import render, table
from leastaction_papers.shadow_integration.figures._shared import largest_by_window

OF_EXAMPLE = example_figures()["snapshots"]
OF_PAPER = ("snapshots", "modified_energy")
OF_PLANE = ("governing_hamiltonian", "identified_hamiltonian")
# Figures need fewer pixels in a test.
COARSE = {"dpi": 50}


def written(figure) -> str:
    """Every text of a figure."""
    return " ".join(
        text.get_text()
        for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))
    )


@pytest.mark.parametrize("kind", [*OF_EXAMPLE, *OF_PAPER, *OF_PLANE])
def test_a_figure_is_written(kind):
    file = io.BytesIO()
    draw(kind, [panel()], COARSE).savefig(file, format="png")
    assert file.tell() > 1000


@pytest.mark.parametrize("kind", [*OF_EXAMPLE, *OF_PAPER])
def test_a_motion_that_failed_is_drawn_as_far_as_it_went(kind):
    rollouts = {"recommended": rollout(done=7)}
    draw(kind, [panel({"recommended": model()}, rollouts)], COARSE)


def test_a_failure_is_written_beside_the_path():
    rollouts = {"recommended": rollout(done=7)}
    figure = draw("shadow_path", [panel({"recommended": model()}, rollouts)], COARSE)
    assert "recommended after 7 steps" in written(figure)
    assert "none failed" in written(draw("shadow_path", [panel()], COARSE))


def test_the_finding_names_the_motion_that_failed():
    rollouts = {"recommended": rollout(done=7)}
    said = finding("shadow_path", [panel({"recommended": model()}, rollouts)])
    assert said.endswith("recommended estimator, which fails after 7 steps.")
    assert "fails" not in finding("shadow_path", [panel()])


def test_level_sets_do_not_see_a_monotone_map():
    """H is known up to one, and up to a factor that may be negative."""
    _, true = box()
    values = np.exp(2 * true) - 5
    rollouts = {"recommended": rollout(values=values, scale=-0.1)}
    figure = draw(
        "governing_hamiltonian", [panel({"recommended": model()}, rollouts)], COARSE
    )
    found, expected = (
        [p.vertices for p in c.get_paths()] for c in figure.axes[0].collections[:2]
    )
    assert len(found) == len(expected) == 6
    for path, other in zip(found, expected, strict=True):
        distance = np.linalg.norm(path[:, None] - other[None], axis=-1).min(axis=1)
        assert distance.max() < 0.03


def test_bands_are_shown_in_joules_and_as_learned():
    rollouts = {"recommended": rollout(scale=-0.5)}
    figure = draw(
        "modified_energy", [panel({"recommended": model()}, rollouts)], COARSE
    )
    text = written(figure)
    assert r"range $2.0\times10^{-4}$ J" in text
    assert r"$1.0\times10^{-4}$ in units of the learned $L$" in text


@pytest.mark.parametrize("kind", OF_PLANE)
def test_level_sets_of_two_coordinates_are_refused(kind):
    system = {
        "coordinates": {"x": {"unit": "m"}, "y": {"unit": "m"}},
        "parameters": {},
        "lagrangian": "(xdot**2 + ydot**2)/2",
    }
    assert system_from_config(system).dof == 2
    with pytest.raises(ValueError, match=r"pendulum \(2\); name it in papers"):
        draw(kind, [panel(example=config() | {"system": system})], {})


def test_a_figure_without_its_estimators_names_those_it_shows():
    one = panel({"network": model()}, {"network": rollout()})
    with pytest.raises(ValueError, match="has the estimators network, but"):
        draw("snapshots", [one], {})


def test_the_largest_of_a_window_passes_over_what_is_missing():
    middle, largest = largest_by_window(
        np.arange(6.0), np.array([1.0, np.nan, 3.0, 2.0, np.nan, np.nan]), 3
    )
    np.testing.assert_array_equal(middle, [0.5, 2.5, 4.5])
    np.testing.assert_array_equal(largest, [1.0, 3.0, np.nan])


ROWS = [
    {
        "item": "3.1",
        "quantity": "nu",
        "unit": "1",
        "printed": 0.01,
        "corrected": 0.0104,
        "ours": {"estimator": "published", "rollout": "misalignment", "order": 2},
    }
]


def test_the_table_has_printed_numbers_beside_ours():
    found = table("identification", [panel(example=config(rows=ROWS))])
    frame = found.rows
    by_name = frame.set_index("estimator")
    assert "published_gp_flow" not in by_name.index
    row = by_name.loc["published"]
    assert (row["nu of H^[[2]]"], row["nu of H^[[2]], printed"]) == (
        "0.0001",
        "0.01 (0.0104)",
    )
    assert by_name.loc["recommended", "nu of H^[[2]], printed"] == ""
    assert by_name.loc["true Lagrangian, integrated", "nu of H^[[2]]"] == "0.0112"
    assert "nu of H^[[4]], printed" not in frame
    for kind in ("csv", "md", "tex", "html"):
        assert "0.0104" in render(found, kind)


def test_findings_follow_the_results():
    """Bands of the synthetic rollouts do not grow; an energy that does is named."""
    assert "grow" in finding("snapshots", [panel()])
    assert "the range does not grow" in finding("modified_energy", [panel()])
    found = rollout()
    energy = found["hamiltonian_modified"]
    found["hamiltonian_modified"] = energy * (1 + found["time_energy"])
    one = panel({"recommended": model()}, {"recommended": found})
    said = finding("modified_energy", [one])
    assert "the range grows with the recommended estimator" in said
    assert "H[[0]], H[[2]] and H[[4]] vary by" in said


def test_findings_state_the_misalignment():
    assert "1.0·10⁻⁴ for LGP" in finding("governing_hamiltonian", [panel()])
    off = {"published_lgp_exact": rollout((1e-5, 0.12, 0.12))}
    one = panel({"published_lgp_exact": model(0)}, off)
    said = finding("identified_hamiltonian", [one])
    assert "the integrator alone does not explain" in said
    off = {"published_lgp_exact": rollout((1e-5, 0.0112, 0.0112))}
    one = panel({"published_lgp_exact": model(0)}, off)
    assert "is the error of the integrator" in finding("identified_hamiltonian", [one])
