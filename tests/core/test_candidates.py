"""Candidates: the sizes that the paper prints, and each function once."""

import math

import pytest
import sympy as sp
from support import example

from leastaction.core.expressions import ExpressionError, parse
from leastaction.core.library import candidates

NAMES = ("x", "xdot")


@pytest.mark.parametrize(
    ("name", "lagrangian", "volatility"),
    [("harmonic", 25, 12), ("pendulum", 25, 12), ("duffing", 15, 12)],
)
def test_libraries_of_the_paper_have_the_printed_sizes(name, lagrangian, volatility):
    library = example(name)["library"]
    (coordinate,) = example(name)["system"]["coordinates"]
    names = (coordinate, f"{coordinate}dot")
    assert len(candidates(library["lagrangian"], names)) == lagrangian
    assert len(candidates(library["volatility"], names)) == volatility


@pytest.mark.parametrize("degree", [0, 1, 3, 5])
@pytest.mark.parametrize("names", [("x",), ("x", "xdot"), ("x", "y", "z")])
def test_all_monomials_up_to_the_degree_once_each_by_degree(names, degree):
    terms = candidates([{"polynomial": {"of": names, "degree": degree}}], names)
    symbols = [parse(n, names) for n in names]
    degrees = [sp.Poly(term, *symbols).total_degree() for term in terms]
    assert len(set(terms)) == len(terms) == math.comb(len(names) + degree, degree)
    assert degrees == sorted(degrees)
    assert max(degrees) == degree


@pytest.mark.parametrize(
    ("name", "coordinates", "count"),
    [
        ("single", ["th"], 12),
        ("cart", ["th", "x"], 55),
        ("double", ["th1", "th2"], 89),
        ("spherical", ["th", "phi"], 59),
    ],
)
def test_libraries_of_xl_sindy_have_the_printed_sizes(name, coordinates, count):
    library = example(name, "xl_sindy")["library"]
    names = [*coordinates, *(f"{c}dot" for c in coordinates)]
    assert len(candidates(library["lagrangian"], names)) == count


def test_a_product_pairs_every_entry():
    recipe = [
        {
            "product": [
                {"polynomial": {"of": ["x"], "degree": 2, "lowest": 1}},
                {"terms": ["xdot", "xdot**2"]},
            ]
        }
    ]
    wanted = ["x*xdot", "x*xdot**2", "x**2*xdot", "x**2*xdot**2"]
    assert candidates(recipe, NAMES) == tuple(parse(t, NAMES) for t in wanted)


def test_exclude_takes_earlier_candidates_away():
    recipe = [{"polynomial": {"of": NAMES, "degree": 2}}, {"exclude": ["x*xdot", "1"]}]
    left = candidates(recipe, NAMES)
    assert len(left) == 4
    assert parse("x*xdot", NAMES) not in left


def test_what_is_excluded_must_be_there():
    with pytest.raises(ValueError, match="not among the candidates"):
        candidates([{"exclude": ["x"]}], NAMES)


def test_a_candidate_may_not_stand_twice():
    recipe = [{"polynomial": {"of": NAMES, "degree": 2}}, {"terms": ["x*x"]}]
    with pytest.raises(ValueError, match="a candidate already"):
        candidates(recipe, NAMES)


def test_an_unknown_name_is_refused():
    with pytest.raises(ExpressionError, match="unknown name 'y'"):
        candidates([{"terms": ["y**2"]}], NAMES)


def test_candidates_read_back_from_their_text():
    terms = candidates(example("harmonic")["library"]["lagrangian"], NAMES)
    assert tuple(parse(str(term), NAMES) for term in terms) == terms


@pytest.mark.parametrize("kind", ["every", "pooled"])
def test_entries_of_fields_are_refused_elsewhere(kind):
    with pytest.raises(ValueError, match=f"{kind}: only the library of a field"):
        candidates([{kind: ["x**2"]}], NAMES)
