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
    label,
    largest_differences,
    paper_summary,
    papers_page,
    results_page,
    scorecard_page,
)
from leastaction.report.readable import duration
from leastaction.report.scorecard import _frame
from leastaction.report.templates import thumbnail

SETTINGS = {
    "title": "A. Author: A <b>title</b> & more",
    "number": 7,
    "year": 2020,
    "doi": "10.1/a<b",
    "summary": "What it does.",
    "figures": {"figure_3": {"shows": "response", "claim": "It falls."}},
    "drawings": {"figure_1": "the rig"},
    "tables": {"table_1": {"shows": "lagrangian", "caption": "Table 1: laws."}},
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
            row("recommended", "error", 0.5, printed=0.5, corrected=0.5),
            row("published", "error", 2.0, printed=0.5, corrected=0.5),
            row("published", "size", 3.0, printed=3.0, target="fact"),
            row("published", "time", 3.0, target=None),
            row("published", "added", 3.0),
            row("elsewhere", "error", 2.0, paper="q", printed=9.0),
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


def test_a_paper_counts_its_own_printed_numbers_only(summary):
    assert [v["estimator"] for v in summary["verdicts"]] == ["published", "recommended"]
    own, ours = summary["bars"].values()
    assert own["not-reproduced"] == 1 and sum(own.values()) == 1
    assert ours["meets"] == 1 and sum(ours.values()) == 1
    assert [m["quantity"] for m in summary["misses"]] == ["added"]


def test_page_and_documentation_say_the_same_counts(scorecard, summary):
    page = papers_page([summary], {"p/figures/figure_3": picture(20, 10)}, {})
    assert "<b>0 of 1</b> meet, 1 are not reproduced" in page
    assert "<b>1 of 1</b> meet" in page
    papers = {"p": SETTINGS}
    lines = results_page(scorecard, papers).splitlines()
    table = [
        [c.strip() for c in line.split("|")[1:-1]] for line in lines if "|" in line
    ]
    words = table[0][2:]
    told = {
        tuple(cells[:2]): cells[2:] for cells in table if len(cells) == len(table[0])
    }
    for side, counts in summary["bars"].items():
        given = told[label(SETTINGS), side]
        assert dict(zip(words, map(int, given), strict=True)) == counts


def test_the_scorecard_names_papers_and_opens_on_printed_numbers(scorecard):
    page = scorecard_page(scorecard, "All", {"q": {"title": "Z: z"}, "p": SETTINGS})
    assert page.index('<td class="paper">Z') < page.index("7 A. Author (2020)</td>")
    assert "<option selected>printed" in page
    assert "<option selected" not in scorecard_page(scorecard[3:4], "None printed")


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
    figure = "p/figures/figure_3"
    page = papers_page([summary], {figure: picture(20, 10)}, {figure: "It <rises>."})
    assert "7. A &lt;b&gt;title&lt;/b&gt; &amp; more" in page
    for text in (
        "<b>The paper:</b> It falls.",
        "<b>We find:</b> It &lt;rises&gt;.",
        "https://doi.org/10.1/a&lt;b",
        "A. Author (2020)",
        "Figure 1: not reproduced, a drawing",
        'href="p/tables/table_1.html">Table 1: laws.',
        "2.0 s",
    ):
        assert text in page
    assert "Not judged here" not in page
    assert "Not judged here" in papers_page([summary], {figure: picture(20, 10)}, {})
    assert "</script>" not in page[page.index("<main") : page.index("</main>")]


def test_every_line_suits_restructuredtext(summary):
    """A report refuses longer ones."""
    page = papers_page([summary], {"p/figures/figure_3": picture()}, {})
    assert max(map(len, page.splitlines())) < 10_000


def test_a_paper_without_scores_or_benchmarks_has_its_section(scorecard):
    empty = paper_summary("r", SETTINGS, scorecard, {})
    page = papers_page([empty], {"r/figures/figure_3": picture(20, 10)}, {})
    assert "benchmark files are gone" in page and "No number that the paper" in page


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


def test_a_thumbnail_keeps_its_saturated_colours():
    """A palette of the most frequent colours turned a thin red line into purple."""
    pixels = np.array(Image.open(BytesIO(picture(800, 400))))
    strong = {"red": (215, 0, 21), "blue": (31, 78, 160), "orange": (225, 140, 0)}
    for i, colour in enumerate(strong.values()):
        pixels[100 * i + 50 : 100 * i + 52, 200:260] = colour
    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG")
    small = Image.open(BytesIO(thumbnail(buffer.getvalue(), 800, 400_000)))
    kept = np.array(small.convert("RGB")).astype(int)
    for i, colour in enumerate(strong.values()):
        assert np.abs(kept[100 * i + 50, 230] - colour).max() < 25


def test_a_picture_that_cannot_be_small_enough_is_refused(rng):
    noise = Image.fromarray(rng.integers(0, 255, (100, 100, 3), dtype=np.uint8))
    buffer = BytesIO()
    noise.save(buffer, format="PNG")
    with pytest.raises(ValueError, match="make it narrower"):
        thumbnail(buffer.getvalue(), 100, 1_000)
