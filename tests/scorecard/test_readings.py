"""Laws of one verdict per printed number: faithful readings first, no number twice."""

import numpy as np
import pytest

from leastaction_papers.scorecard.case import make_row
from leastaction_papers.scorecard.scorecard import (
    OURS,
    RECIPE,
    _frame,
    judged,
    numbers_of,
)
from leastaction_papers.scorecard.verdict import OTHER_SETTING

WORDS = {"meets": 1.0, "not-reproduced": 2.0}


def row(word, estimator="published", example="one", value=None, **more):
    head = {"paper": "p", "example": example, "estimator": estimator}
    target = {"relative_error": 0.01}
    summary = WORDS[word], WORDS[word], WORDS[word]
    about = {"target": target, "printed": 1.0, "corrected": 1.0} | more
    quantity = about.pop("quantity", "stiffness")
    made = make_row(head, "Table 1", quantity, "1", summary, 1, **about)
    assert made["verdict"] == word
    setting = "" if value is None else "λ"
    return made | {"setting": setting, "setting_value": value or np.nan}


def only(*rows):
    frame = _frame(list(rows))
    found = judged(frame.assign(number=numbers_of(frame, "one")))
    carries = found[found["stands_for"] == RECIPE]
    assert len(carries) == 1
    return carries.iloc[0]


def swept(word, value):
    return row(word, f"published_threshold_{value}", value=value)


def test_the_text_comes_before_what_was_released_and_both_before_a_setting():
    text, released = row("meets"), row("meets", example="one-as_released")
    for rows in ([text, released, swept("meets", 5)], [swept("meets", 5), text]):
        assert only(*rows)["example"] == "one"
    lost = row("not-reproduced")
    found = only(swept("meets", 5), released, lost)
    assert (found["example"], found["verdict"]) == ("one-as_released", "meets")


def test_a_number_that_comes_with_another_setting_names_its_range():
    readings = [swept("meets", v) for v in (500, 600, 700)]
    readings += [swept("not-reproduced", v) for v in (400, 800)]
    found = only(row("not-reproduced"), *readings)
    assert found["verdict"] == OTHER_SETTING
    assert found["cause"].startswith("with λ 500 … 700, not stated")
    assert found["cause"].endswith("tried: λ 400 … 800")


def test_failed_attempts_are_reported():
    found = only(row("not-reproduced"), swept("not-reproduced", 4.0))
    assert (found["estimator"], found["verdict"]) == ("published", "not-reproduced")
    assert found["cause"] == "we do not know why; tried: λ 4"


@pytest.mark.parametrize("mode", ["shared", "independent"])
def test_kinds_of_noise_do_not_make_two_numbers(mode):
    frame = judged_two(f"stiffness, {mode} noise")
    assert frame["number"].nunique() == 1
    assert sorted(frame["stands_for"]) == [OURS, RECIPE]


def judged_two(quantity):
    ours = row("meets", "recommended", quantity="stiffness, independent noise")
    frame = _frame([ours, row("meets", quantity=quantity)])
    return judged(frame.assign(number=numbers_of(frame, "one")))


def test_what_no_paper_prints_has_no_number():
    rows = [
        row("meets", printed=np.nan, note="ours"),
        row("meets") | {"item": "notebook"},
        row("meets") | {"target": "fact"},
    ]
    frame = _frame(rows)
    assert set(numbers_of(frame, "one")) == {""}
    assert set(judged(frame)["stands_for"]) == {""}


def test_a_recipe_that_gives_the_corrected_number_shows_the_misprint():
    """Its draws scatter more than our limit, and hold the truth and not the print."""
    draws = np.array([1.96, 2.0, 2.05, 1.98, 2.02])
    head = {"paper": "p", "example": "one", "estimator": "published"}
    about = {"target": {"relative_error": 0.01}, "printed": 4.001, "corrected": 2.0}
    summary = (2.0, 1.96, 2.05)
    for errata, word in (([46], "paper-errs"), ([], "not-reproduced")):
        given = about | {"draws": draws, "errata": errata}
        assert make_row(head, "4.5", "c", "1", summary, 5, **given)["verdict"] == word
    off = about | {"draws": draws + 0.3, "errata": [46]}
    found = make_row(head, "4.5", "c", "1", summary, 5, **off)
    assert found["verdict"] == "not-reproduced"
