"""Laws of the page beyond the papers: every limit with its verdict, no other row."""

import numpy as np
import pytest
from test_papers_page import picture

from leastaction_papers.scorecard.case import ADDED, make_row
from leastaction_papers.scorecard.pages import beyond_document, beyond_page, section
from leastaction_papers.scorecard.scorecard import _frame, scorecard

PAPER = {"title": "A. Author: A title", "number": 7, "year": 2020}
STUDY = {
    "question": "Is x**2 <b>kept</b>?",
    "caption": "Errors by noise.",
    "finding": "It is.",
    "picture": picture(20, 10),
}


def row(example, quantity, ours, target, estimator="recommended", **more):
    head = {"paper": "beyond_p", "example": example, "estimator": estimator}
    return make_row(head, ADDED, quantity, "1", ours, 10, target=target, **more)


@pytest.fixture
def told():
    limit = {"maximum": 1e-2}
    rows = [
        row("one", "error", (5e-3, 1e-3, 9e-3), limit),
        row("one", "cost", (5.0, np.nan, np.nan), None),
        row("two", "error", (5e-3, 1e-3, 2e-2), limit, note="one start fails"),
        row("two", "error", (0.3, np.nan, np.nan), None, "rival"),
        row("two", "count", (9.0, np.nan, np.nan), {"minimum": 8.0}),
    ]
    return section("beyond_p", PAPER, {"noise": STUDY}, scorecard([_frame(rows)]))


def test_every_limit_has_a_verdict_and_the_rest_is_left_out(told):
    shown = [(r["quantity"], r["example"], r["verdict"]) for r in told["rows"]]
    assert shown == [
        ("count", "two", "meets"),
        ("error", "one", "meets"),
        ("error", "two", "misses"),
    ]
    assert told["kept"] == 2
    assert told["heading"] == "Beyond paper 7 A. Author (2020)"
    assert told["rows"][2]["ours"] == "0.005 (0.001 … 0.02)"
    assert [r["others"] for r in told["rows"]] == ["", "", "rival 0.3"]


def test_the_page_has_every_limit_and_the_documentation_those_that_are_missed(told):
    html, markdown = beyond_page([told]), beyond_document([told])
    for text in (html, markdown):
        assert "2 of 3 rows are within their limit" in text
        assert "It is." in text and "one start fails" in text
        assert "<b>kept</b>" not in text and "cost" not in text
    assert ">count" in html and ">error" in html
    assert "| count" not in markdown and markdown.count("| error") == 1


def test_only_laws_that_are_written_have_a_link(told):
    assert beyond_page([told]).count("/law.md") == 3
    assert "/law.md" not in beyond_page([told | {"folder": "p"}])
    everything = told["rows"][0] | {"example": "all"}
    assert "/law.md" not in beyond_page([told | {"rows": [everything]}])


def test_a_folder_beyond_no_known_paper_goes_by_its_name():
    told = section("beyond_mine", {}, {}, scorecard([]))
    assert told["heading"] == "beyond_mine" and told["rows"] == []
    assert "beyond_mine" in beyond_page([told])
