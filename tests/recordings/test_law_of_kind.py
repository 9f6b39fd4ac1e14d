"""The law of another kind than a motion: what its family says, once and in order."""

import json

import pytest
import xarray as xr

from leastaction.core.model import IdentifiedModel
from leastaction.core.own_data import Findings
from leastaction.recordings import law_of_kind
from leastaction.recordings.columns import CONTRADICTION
from leastaction.recordings.law_of_kind import LawOfKind

TERMS = [("q**2", "H", 2.0, 0.5, "J/m^2"), ("p**2", "H", 0.5, 0.0, "1/kg")]


def law(warnings=(), **stated):
    """A law whose family says so; its interval has 2 standard errors."""
    attrs = {"warnings": json.dumps(list(warnings)), "amounts": '["a lot", "little"]'}
    one = LawOfKind(xr.Dataset(), xr.Dataset(attrs=attrs), None, "a line")
    about = {"terms": TERMS, "interval_factor": 2.0} | stated
    one.__dict__ |= {"findings": Findings(**about), "learned": object()}
    return one


def test_the_verdict_is_that_of_refusals_and_reservations():
    assert law().verdict == "found"
    assert law(reservations=["r"]).verdict == "found, with reservations"
    assert law(refusals=["no"], reservations=["r"]).verdict == "no law found"


def test_sentences_have_their_order_and_come_once():
    contradiction = f"{CONTRADICTION} the units differ"
    about = {"refusals": ["no"], "reservations": ["r"], "notes": ["n"]}
    one = law(["plain", contradiction], **about)
    assert one.reservations == ["no", contradiction, "r"]
    assert one.warnings == ["plain", contradiction, "no", "r", "n"]


def test_terms_have_intervals_and_names():
    one = law()
    assert one.terms.low.tolist() == [1.0, 0.5] and one.terms.high[0] == 3.0
    assert one.terms.unit.tolist() == ["J/m^2", "1/kg"]
    assert one.coefficient("q**2") == one.coefficient("q**2", "H") == 2.0
    twice = law(terms=[*TERMS, ("q**2", "D", 7.0, 0.1, "")])
    assert twice.coefficient("q**2", "D") == 7.0
    for name, of in (("q**2", None), ("x", None), ("p**2", "D")):
        with pytest.raises(ValueError, match="term"):
            twice.coefficient(name, of)


def test_the_page_of_a_kind():
    one = law(about="H = ...", scale="scaled", undecided=["u"], predicted=["ahead"])
    parts = one._described()
    assert parts[0] == "## The law" and parts[1].startswith("| term | of | coef")
    assert parts[2:] == [
        *["```text", "H = ...", "```", "scaled"],
        *["## What the data cannot decide", "- u"],
    ]
    assert one._predicted() == ["ahead"]
    assert one._amounts() == ["training data: a lot", "held-out data: little"]
    assert law(terms=[])._described() == ["## The law"]


@pytest.mark.parametrize(
    ("learned", "stated", "units"),
    [
        (IdentifiedModel, "", ["L q", "D q", "S^2 1", ""]),
        (IdentifiedModel, "J", ["", "", "", "J"]),
        (object, "", ["", "", "", ""]),
    ],
)
def test_a_law_of_motion_has_the_units_of_its_terms(
    learned, stated, units, monkeypatch
):
    """Where its family states none; what is none of L, D and S² has no unit."""
    kinds = [("q", "L"), ("q", "D"), ("1", "S^2"), ("k", "H")]
    terms = [(term, of, 1.0, 0.1, "") for term, of in kinds]
    one = law(terms=[*terms[:-1], (*terms[-1][:-1], stated)])
    one.__dict__["learned"] = object.__new__(learned)

    def units_of(model, observations):
        assert model is one.learned and observations is one.observations
        return "{} {}".format

    monkeypatch.setattr(law_of_kind, "coefficient_units", units_of)
    assert one.terms.unit.tolist() == units
