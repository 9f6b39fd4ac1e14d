"""Gauge freedom: what no data can tell is found by algebra."""

import numpy as np
import pytest
import sympy as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from support import example

from leastaction.core.euler_lagrange import euler_lagrange
from leastaction.core.expressions import parse, symbol
from leastaction.core.gauge import exact_relations, gauge_freedom, representation
from leastaction.core.library import candidates

XY = ("x", "y")
x, y = symbol("x"), symbol("y")
xdot, ydot = symbol("xdot"), symbol("ydot")

POLYNOMIALS = st.dictionaries(
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
    st.integers(-5, 5).filter(bool),
    min_size=1,
    max_size=4,
).map(lambda c: sum(w * x**i * y**j for (i, j), w in c.items()))


def rate(f):
    """Total time derivative of F(q)."""
    return sp.diff(f, x) * xdot + sp.diff(f, y) * ydot


@given(POLYNOMIALS)
def test_total_time_derivatives_are_null(f):
    freedom = gauge_freedom([rate(f)], XY)
    assert freedom.status == ("null",)
    assert freedom.equivalent == ("0",)


@given(POLYNOMIALS, st.sampled_from([xdot**2, xdot * ydot, x * y, x**2 * ydot]))
def test_a_null_part_does_not_hide_a_candidate(f, term):
    """x² ẏ alone is a magnetic field, not a gauge."""
    assert gauge_freedom([term + rate(f)], XY).status == ("independent",)
    assert gauge_freedom([term, term + rate(f)], XY).status[1] == "duplicate"


@given(POLYNOMIALS, POLYNOMIALS)
def test_only_exact_linear_forms_are_null(f, g):
    """f ẋ + g ẏ is null if and only if it is closed, ∂f/∂y = ∂g/∂x."""
    closed = sp.expand(sp.diff(f, y) - sp.diff(g, x)) == 0
    status = gauge_freedom([f * xdot + g * ydot], XY).status[0]
    assert (status == "null") == closed


@given(POLYNOMIALS, st.fractions(-5, 5, max_denominator=7).filter(bool))
def test_multiples_are_duplicates_of_the_earlier_candidate(f, factor):
    assume(f.free_symbols)
    freedom = gauge_freedom([f, sp.Rational(factor) * f], XY)
    assert freedom.status == ("independent", "duplicate")
    assert sp.simplify(parse(freedom.equivalent[1], XY) - sp.Rational(factor) * f) == 0


def test_squares_of_sine_and_cosine_depend_on_each_other():
    """sin² + cos² = 1, so that sin² = −cos² up to a constant; cos 2x too."""
    terms = [sp.sin(x) ** 2, sp.cos(x) ** 2, sp.cos(2 * x), sp.cos(x)]
    freedom = gauge_freedom(terms, ("x",))
    assert freedom.status == ("independent", "duplicate", "duplicate", "independent")
    assert parse(freedom.equivalent[1], ("x",)) == -(sp.sin(x) ** 2)
    assert parse(freedom.equivalent[2], ("x",)) == -2 * sp.sin(x) ** 2


def test_a_combination_of_several_earlier_candidates_is_dependent():
    terms = [x**2, y**2, (x - y) ** 2, x * y]
    freedom = gauge_freedom(terms, XY)
    assert freedom.status == ("independent",) * 3 + ("dependent",)
    expected = (x**2 + y**2 - (x - y) ** 2) / 2
    assert sp.expand(parse(freedom.equivalent[3], XY) - expected) == 0


def test_the_order_decides_which_duplicate_is_kept():
    for terms in ([x**2, 2 * x**2], [2 * x**2, x**2]):
        assert gauge_freedom(terms, ("x",)).independent == [0]


@pytest.mark.parametrize(("name", "null"), [("harmonic", 6), ("duffing", 5)])
def test_null_candidates_of_the_paper(name, null):
    """1, ẋ, x ẋ, x² ẋ, x³ ẋ (and x⁴ ẋ) are null; nothing else is."""
    terms = candidates(example(name)["library"]["lagrangian"], ("x", "xdot"))
    status = gauge_freedom(terms, ("x",)).status
    found = {term for term, s in zip(terms, status, strict=True) if s == "null"}
    assert found == {sp.Integer(1), *(x**n * xdot for n in range(null - 1))}
    assert set(status) == {"null", "independent"}


def test_representation_is_modulo_total_derivatives():
    terms = [xdot**2, x**2, sp.cos(x)]
    lagrangian = 3 * xdot**2 - 7 * x**2 + x**5 * xdot + 4
    assert representation(lagrangian, terms, ("x",)) == {0: 3, 1: -7}
    assert representation(lagrangian + x**3, terms, ("x",)) is None


@given(POLYNOMIALS)
def test_a_rayleigh_function_of_the_coordinates_alone_has_no_force(f):
    freedom = gauge_freedom([x**2], XY, [f, xdot**2 + f, xdot**2])
    assert freedom.status == ("independent", "null", "independent", "duplicate")


@given(POLYNOMIALS)
def test_a_rayleigh_function_linear_in_the_velocity_is_a_potential(f):
    """D = f_x ẋ + f_y ẏ has the force of L = −f."""
    assume(f.free_symbols)
    freedom = gauge_freedom([f], XY, [rate(f), xdot * rate(f)])
    assert freedom.status == ("independent", "duplicate", "independent")
    assert sp.expand(parse(freedom.equivalent[1], XY) + f) == 0


def test_the_force_across_the_field_is_no_potential():
    """y ẋ − x ẏ: a circulatory force, which no Lagrangian in the library has."""
    terms = [xdot**2, x**2, y**2, x * y, x * ydot]
    assert gauge_freedom(terms, XY, [y * xdot - x * ydot]).status[-1] == "independent"


def test_a_combination_of_both_kinds_is_named_by_kind():
    freedom = gauge_freedom([x**2, x**3], ("x",), [xdot**2, 2 * xdot**2 + x * xdot])
    assert freedom.status[-1] == "dependent"
    assert freedom.equivalent[-1] == "2*xdot**2 and, in L, -x**2/2"


def test_candidates_of_the_damping_do_not_touch_those_of_the_lagrangian():
    terms = [x**2, xdot**2, x * xdot, 3 * x**2, x**2 + xdot**2]
    alone = gauge_freedom(terms, ("x",))
    both = gauge_freedom(terms, ("x",), [xdot**2, sp.Abs(xdot)])
    assert both.status[: len(terms)] == alone.status
    assert both.equivalent[: len(terms)] == alone.equivalent


RELATIONS = {
    "multiples": ([[x, sp.S(1)], [2 * x, sp.S(2)], [x, sp.S(0)]], {1: {0: 2}}),
    "nothing at all": ([[0 * x], [0 * x]], {0: {}, 1: {}}),
    "nothing among others": ([[0 * x], [x]], {0: {}}),
    "a sum": ([[x], [y], [3 * x - y / 2]], {2: {0: 3, 1: sp.Rational(-1, 2)}}),
    "equations apart": ([[x, 0 * x], [0 * x, x]], {}),
    "hyperbolic": (
        [[sp.sinh(x) ** 2], [sp.cosh(x) ** 2], [sp.Integer(1)]],
        {2: {0: -1, 1: 1}},
    ),
    "double angles": ([[sp.sin(2 * x)], [sp.sin(x) * sp.cos(x)]], {1: {0: 0.5}}),
    "roots": ([[sp.sqrt(x)], [x / sp.sqrt(x) + y - y]], {1: {0: 1}}),
    "irrational weights of roots": (
        [[x * sp.sqrt(x**2 + 1)], [sp.sqrt(2) * x * sp.sqrt(x**2 + 1)]],
        {1: {0: sp.sqrt(2)}},
    ),
    "roots of multiples": (
        [[sp.sqrt(x**2 + 1)], [sp.sqrt(8 * x**2 + 8)], [sp.sqrt(x**2 + 2)]],
        {1: {0: 2 * sp.sqrt(2)}},
    ),
    "reciprocals of multiples": (
        [[y / (x + 1)], [y / (3 * x + 3)], [y / (x + 1) ** 2], [y / (2 * x + 2) ** 2]],
        {1: {0: sp.Rational(1, 3)}, 3: {2: sp.Rational(1, 4)}},
    ),
    "powers that change": ([[x ** (y + 1)], [2 * x * x**y]], {1: {0: 2}}),
    "irrational weights": ([[x**2], [sp.sqrt(2) * x**2]], {1: {0: sp.sqrt(2)}}),
    "products": ([[x * (x + y)], [x**2], [x * y]], {2: {0: 1, 1: -1}}),
}


@pytest.mark.parametrize("name", RELATIONS)
def test_relations_are_those_of_independent_functions(name):
    """Computed or read from a file, with numbers for keys."""
    columns, expected = RELATIONS[name]
    for _ in range(2):
        result = exact_relations(columns)
        assert result.keys() == expected.keys()
        for column, parts in expected.items():
            assert result[column].keys() == parts.keys()
            for other, weight in parts.items():
                difference = sp.nsimplify(result[column][other]) - sp.nsimplify(weight)
                assert sp.simplify(difference) == 0


def test_a_reduction_gives_the_same_equations():
    """Coefficients R c of independent candidates have those of c."""
    terms = [xdot**2, x * xdot, x**2, 2 * x**2 + 3 * xdot**2, ydot**2, -(xdot**2)]
    freedom = gauge_freedom(terms, XY)
    assert freedom.status == (
        "independent",
        "null",
        "independent",
        "dependent",
        "independent",
        "duplicate",
    )
    assert freedom.independent == [0, 2, 4]
    expected = np.eye(6)
    expected[[1, 3, 5], [1, 3, 5]] = 0
    expected[[0, 2], 3], expected[0, 5] = [3, 2], -1
    np.testing.assert_array_equal(freedom.reduction, expected)
    assert not freedom.reduction.flags.writeable
    c = sp.Matrix([2, 3, 5, 7, 11, 13])
    both = (c, sp.Matrix(expected.astype(int).tolist()) * c)
    one, other = (
        euler_lagrange(sum(w * t for w, t in zip(each, terms, strict=True)), XY)
        for each in both
    )
    assert all(sp.expand(a - b) == 0 for a, b in zip(one, other, strict=True))
    part = freedom.part(slice(2, 4))
    assert part.status == ("independent", "dependent")
    assert part.equivalent == freedom.equivalent[2:4] and part.relations == {}
