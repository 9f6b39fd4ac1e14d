"""Modified Lagrangians as formulas, beside what the paper prints."""

import pytest
import sympy as sp

from leastaction.core.expressions import parse, symbol
from leastaction_papers.scorecard.panel import Panel
from leastaction_papers.scorecard.tables import render
from leastaction_papers.shadow_integration.tables import (
    modified_lagrangian,
    modified_lagrangians,
)

SYSTEM = {
    "coordinates": {"th": {"unit": "rad"}},
    "parameters": {"m": {"value": 1.0, "unit": "kg m^2"}},
    "lagrangian": "m*thdot**2/2 + cos(th)",
}
MIDPOINT = {"item": "Example 4.1", "rule": "midpoint", "kind": "modified", "order": 2}
PRINTED = "((L_10 - L_11*v)**2/L_02 - L_20*v**2)/24"


def made(formula=PRINTED, **system):
    publish = {"formulas": [MIDPOINT | {"printed": formula}]}
    config = {"title": "Pendulum", "system": SYSTEM | system, "publish": publish}
    return modified_lagrangians([Panel("pendulum", config, {}, {})])


@pytest.fixture(scope="module")
def table():
    return made()


@pytest.fixture(scope="module")
def right(table):
    return table.rows


def row(frame, **where):
    for column, value in where.items():
        frame = frame[frame[column] == value]
    return frame.squeeze()


def test_what_is_printed_is_what_the_rule_gives(right):
    for lagrangian in ("any L(q, v)", "Pendulum"):
        found = row(right, Lagrangian=lagrangian, where="Example 4.1")
        assert found["verdict"] == "equal"
    assert (right["verdict"] == "not printed").sum() == 14


def test_a_slip_is_shown_by_its_difference():
    frame = made(PRINTED.replace("- L_20", "+ L_20")).rows
    found = row(frame, Lagrangian="any L(q, v)", where="Example 4.1")
    assert found["verdict"] == "differs by -L_20 v^2/12"


def test_formula_of_the_system_is_that_of_its_own_expression(right):
    found = row(right, Lagrangian="Pendulum", rule="midpoint", of="L_mod", term="h^2")
    th, v, m, h = map(symbol, ("th", "thdot", "m", "h"))
    lagrangian = m * v**2 / 2 + sp.cos(th)
    direct = sp.expand(modified_lagrangian(lagrangian, ["th"])).coeff(h, 2)
    shown = found["generated"].replace("th'", "thdot").replace("^", "**")
    shown = shown.replace(" + ", "+").replace(" - ", "-").replace(" ", "*")
    assert sp.simplify(parse(shown, ["th", "thdot", "m"]) - direct) == 0


def test_every_format_holds_the_formula(table):
    for kind in ("csv", "md", "tex", "html"):
        text = render(table, kind)
        assert "5760" in text
        assert ("symbolic" in text) == (kind != "csv")


def test_several_coordinates_are_refused():
    coordinates = {"th": {"unit": "rad"}, "x": {"unit": "rad"}}
    with pytest.raises(ValueError, match="one coordinate"):
        made(coordinates=coordinates, lagrangian="thdot**2/2 + xdot**2/2")
