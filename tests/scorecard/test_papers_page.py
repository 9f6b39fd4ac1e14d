"""Laws of the pages: they count as the scorecard does; causes; small pictures."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from leastaction_papers.scorecard.case import make_row
from leastaction_papers.scorecard.pages import (
    index_page,
    label,
    paper_summary,
    results_page,
    scorecard_page,
)
from leastaction_papers.scorecard.scorecard import _frame, numbers_of, scorecard
from leastaction_papers.scorecard.templates import thumbnail

SETTINGS = {
    "title": "A. Author: A <b>title</b> & more",
    "number": 7,
    "year": 2020,
    "doi": "10.1/a<b",
    "summary": "What it does.",
    "holds": "",
    "claims": [
        {"claim": "It is <small>.", "number": "one: Table 1, error"},
        {"claim": "not here", "number": "one: Table 1, gone"},
    ],
    "figures": {"figure_3": {"shows": "response", "claim": "It falls."}},
    "drawings": {"figure_1": "the rig"},
    "tables": {"table_1": {"shows": "lagrangian", "caption": "Table 1: laws."}},
    "examples": ["one"],
}
FIGURE = "p/figures/figure_3"


def row(estimator, quantity, ours, example="one", paper="p", **more):
    head = {"paper": paper, "example": example, "estimator": estimator}
    given = {"target": {"maximum": 1.0}} | more
    return make_row(head, "Table 1", quantity, "1", (ours, np.nan, np.nan), 1, **given)


@pytest.fixture
def table():
    made = [
        row("recommended", "error", 0.5, printed=0.5, corrected=0.5),
        row("published", "error", 2.0, printed=0.5, corrected=0.5, authors=0.75),
        row("published", "size", 3.0, printed=3.0, target="fact"),
        row("recommended", "added", 3.0),
        row("elsewhere", "error", 2.0, paper="q", printed=9.0),
    ]
    frame = _frame(made)
    return scorecard([frame.assign(number=numbers_of(frame, "one"))])


@pytest.fixture
def summary(table):
    return paper_summary("p", SETTINGS, table)


def picture(width=2000, height=1000):
    gradient = np.linspace(0, 255, width * height * 3).reshape(height, width, 3)
    buffer = BytesIO()
    Image.fromarray(gradient.astype(np.uint8)).save(buffer, format="PNG")
    return buffer.getvalue()


def test_a_paper_counts_its_own_printed_numbers_only(summary):
    own, ours = summary["bars"].values()
    assert own["not-reproduced"] == 1 and sum(own.values()) == 1
    assert ours == {"keeps-our-limit": 1, "misses": 0}


def test_a_claim_has_its_number_and_a_number_that_is_missed_its_cause(summary):
    (line,) = summary["lines"]
    shown = line["printed"], line["authors"], line["recipe"], line["ours"], line["why"]
    assert shown == ("0.5", "0.75", "2", "0.5", "unknown")
    assert [n["cause"] for n in summary["causes"]] == ["we do not know why"]


def test_page_and_documentation_have_the_same_counts(table, summary):
    page = index_page([summary], {FIGURE: picture(20, 10)}, {})
    assert ">1 not reproduced<" in page and ">1 keeps our limit<" in page
    lines = results_page(table, {"p": SETTINGS}).splitlines()
    cells = [
        [c.strip() for c in line.split("|")[1:-1]] for line in lines if "|" in line
    ]
    told = {tuple(c[:2]): c[2:] for c in cells if len(c) == len(cells[0])}
    for side, counts in summary["bars"].items():
        given = dict(zip(cells[0][2:], told[label(SETTINGS), side], strict=True))
        kept = sum(map(int, given.values())) - int(given["misses"])
        given |= {"keeps-our-limit": kept}
        assert all(int(given[word]) == number for word, number in counts.items())
    assert "beside 1 of 1 printed numbers" in results_page(table[table["paper"] == "p"])


def test_tables_of_the_documentation_have_no_padding(table):
    assert "  |" not in results_page(table, {"p": SETTINGS})


def test_the_scorecard_names_papers_and_opens_on_printed_numbers(table):
    page = scorecard_page(table, {"q": {"title": "Z: z"}, "p": SETTINGS})
    assert page.index('<td class="paper">Z') < page.index("7 A. Author (2020)</td>")
    assert "<option selected>recipe" in page
    assert 'id="p/one: Table 1, error"' in page


def test_the_page_escapes_and_names_what_it_shows(summary):
    page = index_page([summary], {FIGURE: picture(20, 10)}, {FIGURE: "It <rises>."})
    assert "7. A &lt;b&gt;title&lt;/b&gt; &amp; more" in page
    for text in (
        "It is &lt;small&gt;.",
        'href="scorecard.html#p/one%3A%20Table%201%2C%20error"',
        "<b>The paper:</b> It falls.",
        "<b>We find:</b> It &lt;rises&gt;.",
        "https://doi.org/10.1/a&lt;b",
        "A. Author (2020)",
        "Figure 1, a drawing (the rig), is not reproduced",
        'href="p/tables/table_1.html">Table 1',
        'href="../config/examples/p/one.yaml"',
    ):
        assert text in page
    assert "Not judged here" not in page
    assert "Not judged here" in index_page([summary], {FIGURE: picture(20, 10)}, {})
    assert "</script>" not in page[page.index("<main") : page.index("</main>")]


def test_every_line_suits_restructuredtext(summary):
    """A report refuses longer ones."""
    page = index_page([summary], {FIGURE: picture()}, {})
    assert max(map(len, page.splitlines())) < 10_000


def test_a_paper_without_scores_has_its_section(table):
    empty = paper_summary("r", SETTINGS, table)
    page = index_page([empty], {"r/figures/figure_3": picture(20, 10)}, {})
    assert "No number that the paper" in page


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


def test_a_picture_becomes_narrower_and_is_refused_where_that_is_not_enough(rng):
    noise = Image.fromarray(rng.integers(0, 255, (280, 280, 3), dtype=np.uint8))
    buffer = BytesIO()
    noise.save(buffer, format="PNG")
    small = thumbnail(buffer.getvalue(), 280, 37_000)
    assert len(small) <= 37_000
    assert 200 <= Image.open(BytesIO(small)).width < 280
    with pytest.raises(ValueError, match="make it simpler"):
        thumbnail(buffer.getvalue(), 280, 1_000)
