"""Laws of the page of all papers: it counts as the scorecard does; small pictures."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from leastaction.report.case import make_row
from leastaction.report.pages import (
    IN_ALL,
    PER_EXAMPLE,
    cost,
    kept,
    largest_differences,
    paper_summary,
    papers_page,
)
from leastaction.report.readable import duration
from leastaction.report.scorecard import _frame
from leastaction.report.thumbnail import thumbnail

SETTINGS = {
    "title": "A. Author: A <b>title</b> & more",
    "summary": "What it does.",
    "figures": {"figure_3": {"shows": "response", "claim": "It falls."}},
    "tables": {"table_1": {"shows": "lagrangian"}},
    "examples": {"one": {"title": "One", "section": "2", "settings": {"simulate": 1}}},
}


def row(estimator, quantity, ours, example="one", paper="p", **more):
    head = {"paper": paper, "example": example, "estimator": estimator}
    given = {"target": {"maximum": 1.0}} | more
    return make_row(head, "Table 1", quantity, "1", (ours, np.nan, np.nan), 1, **given)


@pytest.fixture
def scorecard():
    return _frame(
        [
            row("recommended", "error", 0.5, printed=0.5),
            row("published", "error", 2.0, printed=0.5),
            row("published", "time", 3.0, target=None),
            row("recommended", "time", 3.0),
            row("elsewhere", "error", 2.0, paper="q", printed=0.5),
        ]
    )


@pytest.fixture
def summary(scorecard):
    return paper_summary("p", SETTINGS, scorecard, {"logs/p/one/simulate.tsv": 2.0})


def picture(width=2000, height=1000):
    gradient = np.linspace(0, 255, width * height * 3).reshape(height, width, 3)
    buffer = BytesIO()
    Image.fromarray(gradient.astype(np.uint8)).save(buffer, format="PNG")
    return buffer.getvalue()


def test_a_paper_counts_its_own_rows_only(summary):
    assert [v["estimator"] for v in summary["verdicts"]] == ["published", "recommended"]
    published, recommended = summary["verdicts"]
    assert (published["not-reproduced"], published["meets"]) == (1, 0)
    assert published["no target"] == 0  # what no paper prints is counted apart
    assert (recommended["misses"], recommended["meets"]) == (0, 1)
    assert kept(summary["verdicts"]) == (1, 2)
    assert [m["estimator"] for m in summary["misses"]] == ["recommended"]


def test_the_worst_printed_numbers_come_first_and_are_few():
    rows = [
        row("published", f"number {i}", 1.0, example, printed=1.0 + i, corrected=1.0)
        for example in "abcdefg"
        for i in range(4)
    ]
    found = largest_differences(_frame(rows))
    assert len(found) == IN_ALL
    examples = [entry["example"] for entry in found]
    assert max(map(examples.count, examples)) == PER_EXAMPLE
    assert {entry["quantity"] for entry in found} <= {"number 3", "number 2"}
    assert all(entry["ours"][1] == {"value": "", "verdict": ""} for entry in found)


def test_time_is_summed_by_stage_and_blocks_belong_to_theirs():
    found = cost(
        {
            "p/one/simulate.1_of_2.tsv": 2.0,
            "p/one/simulate.2_of_2.tsv": 4.0,
            "p/one/published/identify.tsv": 1.0,
            "p/plot_paper_figure_3.tsv": 5.0,
        }
    )
    assert found["stages"]["simulate"] == 6 and found["stages"]["identify"] == 1
    assert found["stages"]["publish"] == 5
    assert found["wall"] == 12


def test_the_page_escapes_and_names_what_it_shows(summary):
    page = papers_page([summary], {"p/figures/figure_3": picture(20, 10)})
    assert "A &lt;b&gt;title&lt;/b&gt; &amp; more" in page
    for text in ("It falls.", "1 of 2", 'href="p/tables/table_1.html"', "2.0 s"):
        assert text in page
    assert "</script>" not in page[page.index("<main") : page.index("</main>")]
    assert max(map(len, page.splitlines())) < 10_000


def test_every_line_suits_restructuredtext(summary):
    """A report refuses longer ones."""
    page = papers_page([summary], {"p/figures/figure_3": picture()})
    assert max(map(len, page.splitlines())) < 10_000


def test_a_paper_without_scores_or_benchmarks_has_its_section(scorecard):
    empty = paper_summary("r", SETTINGS, scorecard, {})
    page = papers_page([empty], {"r/figures/figure_3": picture(20, 10)})
    assert "benchmark files are gone" in page and "0 of 0" in page


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.96, "10 s"), (59.7, "1 min 0 s"), (3725, "1 h 2 min")],
)
def test_a_time_reads_well(seconds, text):
    assert duration(seconds) == text


def test_a_thumbnail_keeps_its_width_its_limit_and_its_proportions():
    small = thumbnail(picture(), 640, 60_000)
    assert len(small) <= 60_000
    assert Image.open(BytesIO(small)).size == (640, 320)
    assert Image.open(BytesIO(thumbnail(picture(20, 10), 640, 60_000))).size == (20, 10)


def test_a_picture_that_cannot_be_small_enough_is_refused(rng):
    noise = Image.fromarray(rng.integers(0, 255, (400, 400, 3), dtype=np.uint8))
    buffer = BytesIO()
    noise.save(buffer, format="PNG")
    with pytest.raises(ValueError, match="make it narrower"):
        thumbnail(buffer.getvalue(), 400, 10_000)
