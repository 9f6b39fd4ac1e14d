"""Library: scale fixed by the reference, and the truth recovered by projection."""

import numpy as np
import pytest
import sympy as sp
from support import OSCILLATOR_LIBRARY, example, system

from leastaction.core.euler_lagrange import euler_lagrange
from leastaction.core.library import (
    Damper,
    Library,
    _count,
    candidates,
    compare,
    dampers,
    staying,
)
from leastaction.core.system import System


@pytest.fixture(scope="module")
def library():
    return Library.from_config(OSCILLATOR_LIBRARY, ["x"])


@pytest.mark.parametrize("seed", range(4))
def test_projection_recovers_any_combination_up_to_scale(library, seed):
    """Null candidates leave no trace, because they do nothing."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(-20, 20, len(library.terms))
    numbers[rng.random(numbers.size) < 0.5] = 0
    numbers[library.reference] = rng.integers(1, 9)
    lagrangian = sum(
        (
            sp.Rational(int(c), 4) * t
            for c, t in zip(numbers, library.terms, strict=True)
        ),
        sp.Integer(0),
    )
    truth = System(coordinates=("x",), parameters={}, lagrangian=lagrangian)
    coefficients, scale = library.projection(truth)
    visible = np.array([s in ("reference", "independent") for s in library.status])
    np.testing.assert_allclose(
        coefficients, np.where(visible, scale * numbers / 4, 0.0), atol=1e-12
    )
    assert coefficients[library.reference] == library.reference_coefficient


def test_the_projection_has_the_equations_of_the_system(library):
    truth = system("m*xdot**2/2 - k*x**2/2", parameters={"m": 2.5, "k": 7.0})
    coefficients, scale = library.projection(truth)
    lagrangian = sum(
        sp.nsimplify(c) * t for c, t in zip(coefficients, library.terms, strict=True)
    )
    (found,) = euler_lagrange(lagrangian, ("x",))
    (expected,) = euler_lagrange(truth.evaluated(truth.lagrangian), ("x",))
    assert scale == pytest.approx(1 / 2.5)
    difference = sp.Poly(found - expected / 2.5, *sp.symbols("x xddot", real=True))
    assert max(abs(float(c)) for c in difference.coeffs()) < 1e-12


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("harmonic", {"x**2": -500.0}),
        ("duffing", {"x**2": -500.0, "x**4": -1250.0}),
        ("pendulum", {"cos(theta)": 9.81}),
    ],
)
def test_truths_of_the_paper_lie_in_their_libraries(name, expected):
    config = example(name)
    truth = System.from_config(config["system"])
    terms = Library.from_config(config["library"], truth.coordinates)
    coefficients, scale = terms.projection(truth)
    found = {
        n: c
        for i, (n, c) in enumerate(zip(terms.names, coefficients, strict=True))
        if c != 0 and i != terms.reference
    }
    assert found == pytest.approx(expected)
    assert scale == pytest.approx(1.0)


def test_a_system_outside_the_span_has_no_projection(library):
    assert library.projection(system("xdot**2/2 - x**8")) is None
    assert library.projection(system("xdot**2/2 - exp(x)")) is None


def test_a_reference_must_be_a_multiple_of_a_candidate():
    config = {"reference": "xdot**2/2", "lagrangian": [{"terms": ["x**2", "xdot**4"]}]}
    with pytest.raises(ValueError, match="not a multiple of a candidate"):
        Library.from_config(config, ["x"])


def test_a_reference_that_algebra_removes_is_refused():
    terms = {"terms": ["x**2", "xdot**2", "3*xdot**2 + x*xdot"]}
    config = {"reference": "3*xdot**2 + x*xdot", "lagrangian": [terms]}
    with pytest.raises(ValueError, match="duplicate in this library"):
        _ = Library.from_config(config, ["x"]).status


def test_momenta_and_forces_are_the_derivatives(library):
    x, v = sp.Symbol("x", real=True), sp.Symbol("xdot", real=True)
    for i, term in enumerate(library.terms):
        assert library.momenta[0][i] == sp.diff(term, v)
        assert library.forces[0][i] == sp.diff(term, x)


PAIR = [
    {"terms": ["x1dot**2", "x2dot**2", "x1**2", "x2**2", "(x2 - x1)**2"]},
    {"terms": ["(x2dot - x1dot)**2", "x1dot**3", "cos(x2dot)", "x1**2*x1dot**2"]},
]
BOTH = "x1dot**2/2 + x2dot**2/2"


def pair(inertia, reference="x1dot**2/2"):
    config = {"reference": reference, "inertia": inertia, "lagrangian": PAIR}
    return Library.from_config(config, ["x1", "x2"])


@pytest.mark.parametrize(
    ("inertia", "inertial"),
    [
        ("free", []),
        ("constant", ["x1dot**3", "cos(x2dot)", "x1**2*x1dot**2"]),
        (
            "diagonal",
            ["(-x1dot + x2dot)**2", "x1dot**3", "cos(x2dot)", "x1**2*x1dot**2"],
        ),
    ],
)
def test_inertia_leaves_out_what_contradicts_it(inertia, inertial):
    library = pair(inertia)
    found = [
        n for n, s in zip(library.names, library.status, strict=True) if s == "inertial"
    ]
    assert sorted(found) == sorted(inertial)


def test_given_inertia_leaves_no_candidate_with_accelerations():
    library = pair("given", BOTH)
    for i, term in zip(library.columns, library.column_terms, strict=True):
        accelerations = [
            e.has(*sp.symbols("x1ddot x2ddot", real=True))
            for e in euler_lagrange(term, library.coordinates)
        ]
        assert any(accelerations) == (i == library.reference)


def test_s_equivalent_lagrangians_are_shut_out():
    """M' = f(M⁻¹K) has the same equations of motion; only one metric is diagonal."""
    truth = system(
        "(x1dot**2 + x2dot**2)/2 - 3*x1**2 - 3*(x2 - x1)**2", ("x1", "x2"), {}
    )
    other = system(
        # M' = K and K' = K M⁻¹ K
        "6*x1dot**2 - 6*x1dot*x2dot + 3*x2dot**2"
        " - (180*x1**2 - 216*x1*x2 + 72*x2**2)/2",
        ("x1", "x2"),
        {},
    )
    assert sp.simplify(truth.acceleration - other.acceleration) == sp.zeros(2, 1)
    free = Library.from_config(
        {
            "reference": "x1dot**2/2",
            "lagrangian": [
                {"terms": ["x1dot**2", "x2dot**2", "x1dot*x2dot"]},
                {"terms": ["x1**2", "x2**2", "x1*x2"]},
            ],
        },
        ["x1", "x2"],
    )
    assert free.projection(truth) is not None
    assert free.projection(other) is not None
    assert pair("diagonal").projection(truth) is not None
    assert pair("diagonal").projection(other) is None


def test_a_reference_of_several_terms_fixes_them_all():
    library = pair("given", BOTH)
    np.testing.assert_array_equal(np.flatnonzero(library.fixed), [0, 1])
    equal = system("(x1dot**2 + x2dot**2) - x1**2", ("x1", "x2"), {})
    unequal = system("(x1dot**2 + 2*x2dot**2) - x1**2", ("x1", "x2"), {})
    coefficients, scale = library.projection(equal)
    assert scale == pytest.approx(0.5)
    assert coefficients[:3] == pytest.approx([0.5, 0.5, -0.5])
    assert library.projection(unequal) is None


def test_a_part_of_the_reference_that_is_no_candidate_is_refused():
    with pytest.raises(ValueError, match="is not a multiple of a candidate"):
        pair("given", "x1dot**2/2 + x1dot*x2dot")


DAMPED = {
    "reference": "xdot**2/2",
    "lagrangian": [{"terms": ["xdot**2", "x**2"]}],
    "dissipation": [{"terms": ["xdot**2", "abs(xdot)", "xdot**4"]}],
}


def test_columns_of_the_damping_have_its_force_and_no_momentum():
    library = Library.from_config(DAMPED, ["x"])
    v = sp.Symbol("xdot", real=True)
    assert library.momenta[0][2:] == [0, 0, 0]
    assert library.forces[0][2:] == [-2 * v, -sp.sign(v), -4 * v**3]


def test_damping_is_projected_in_the_scale_of_the_lagrangian():
    library = Library.from_config(DAMPED, ["x"])
    truth = system(
        "m*xdot**2/2 - x**2",
        parameters={"m": 4.0, "c": 3.0},
        dissipation="c*xdot**2/2 + 2*xdot**4 + x**2",
    )
    _, scale = library.projection(truth)
    assert library.damping(truth, scale) == pytest.approx([3 / 8, 0.0, 0.5])
    beyond = system("xdot**2/2", dissipation="xdot**6")
    assert library.damping(beyond, 1.0) is None
    bare = Library.from_config({**DAMPED, "dissipation": []}, ["x"])
    assert bare.damping(system("xdot**2/2 - x**2"), 1.0).size == 0
    assert bare.damping(truth, scale) is None


def test_laws_are_compared_up_to_scale_and_round_off():
    """c/c_true is r = (2, 2.2): k = Σ r / Σ r² = 0.4751, errors k r − 1."""
    library = Library.from_config(DAMPED, ["x"])
    truth = np.array([0.5, -2.0, 0.0, 0.0, 0.0])
    c = np.array([1.0, -4.4, 0.0, 3.0, 4.3e-9])
    found = compare(c, truth, library)
    scale = (2 + 2.2) / (2**2 + 2.2**2)
    assert found.scale == pytest.approx(scale)
    np.testing.assert_allclose(found.error, [2 * scale - 1, 2.2 * scale - 1])
    assert found.worst == pytest.approx(1 - 2 * scale)
    assert not found.exact and found.missing == () and found.extra == ("abs(xdot)",)
    assert found.terms == ("xdot**2", "x**2")
    assert str(found).split("\n") == [
        "wrong terms",
        "  too many  abs(xdot)",
        f"  {100 * (2 * scale - 1):+.3g} %  xdot**2",
        f"  {100 * (2.2 * scale - 1):+.3g} %  x**2",
    ]
    kept = compare(c + [0, 0, 0, 0, 1e-9], truth, library, fit_scale=False)
    assert kept.extra == ("abs(xdot)", "xdot**4") and kept.scale == 1.0
    np.testing.assert_allclose(kept.error, [1.0, 1.2])
    damped = compare(truth, truth + [0, 0, 3.0, 0, 0], library)
    assert damped.missing == ("xdot**2",) and damped.terms[-1] == "D: xdot**2"
    np.testing.assert_allclose(damped.error, [0, 0, -1])
    assert str(damped).split("\n")[1] == "  missing  xdot**2"
    exact = compare(3 * truth, truth, library)
    assert exact.exact and str(exact).startswith("right terms\n")
    nothing = compare(np.zeros(5), truth, library)
    assert nothing.scale == 1.0 and nothing.worst == 1.0
    assert compare(truth, np.zeros(5), library).worst == 0.0


def test_candidates_are_counted_before_they_are_made():
    """Of degree d in n variables (n + d choose d); functions, products, terms."""
    names = ("x", "y", "xdot", "ydot")
    many = {"polynomial": {"of": [*names], "degree": 12}}  # 1820
    functions = {"functions": {"apply": ["sin", "cos", "exp"], "to": ["x", "y"]}}
    product = {"product": [functions, {"terms": ["x", "y", "xdot"]}]}  # 18
    words = {"terms": [f"{k}*x*ydot**3" for k in range(2, 158)]}
    for over in (0, 1):
        terms = {"terms": words["terms"] + ["x*xdot"] * over}
        recipe = [many, functions, product, terms]
        if over:
            with pytest.raises(ValueError, match="2001 candidates; at most 2000"):
                candidates(recipe, names)
        else:
            assert sum(map(_count, recipe)) == 2000


def test_entries_of_a_recipe_are_expanded_in_their_order():
    x, v = sp.Symbol("x", real=True), sp.Symbol("xdot", real=True)
    recipe = [
        {"polynomial": {"of": ["x", "xdot"], "degree": 2, "lowest": 1}},
        {"product": [{"terms": ["x", "xdot"]}, {"terms": ["sin(x)", "cos(x)"]}]},
        {"functions": {"apply": ["sin", "exp"], "to": ["x", "xdot"]}},
        {"exclude": ["xdot*x", "exp(x)"]},
    ]
    found = candidates(recipe, ("x", "xdot"))
    sin, cos, exp = sp.sin, sp.cos, sp.exp
    expected = (x, v, x**2, v**2, x * sin(x), x * cos(x), v * sin(x), v * cos(x))
    assert found == (*expected, sin(x), sin(v), exp(v))
    with pytest.raises(ValueError, match=r"exclude: 'x\*\*3' is not among"):
        candidates([{"terms": ["x"]}, {"exclude": ["x**3"]}], ("x",))
    with pytest.raises(ValueError, match=r"terms: x is a candidate already"):
        candidates([{"terms": ["x", "x"]}], ("x",))
    with pytest.raises(ValueError, match="pooled: only the library of a field"):
        candidates([{"pooled": ["x"]}], ("x",))


def test_a_reference_may_have_other_coefficients():
    config = {"reference": "x1dot**2/2 + 3*x2dot**2", "lagrangian": PAIR}
    library = Library.from_config(config, ["x1", "x2"])
    assert library.references == ((0, 0.5), (1, 3.0)) and library.reference == 0
    assert library.reference_coefficient == 0.5
    v1, v2 = sp.symbols("x1dot x2dot", real=True)
    place = library.columns.index(0)
    assert sp.expand(library.column_terms[place] - v1**2 - 6 * v2**2) == 0
    assert library.columns == sorted(library.columns) and 1 not in library.columns
    library.check_references()
    terms = ["x1dot**2", "x1dot*x2dot", "x2dot**2", "(x1dot - x2dot)**2"]
    later = {"reference": terms[-1], "lagrangian": [{"terms": terms}]}
    with pytest.raises(ValueError, match="is dependent in this library; list it earl"):
        Library.from_config(later, ["x1", "x2"]).check_references()


def test_a_damper_has_the_springs_of_its_coordinates():
    terms = {
        "reference": "adot**2/2",
        "lagrangian": [
            {"terms": ["adot**2", "bdot**2", "a**2", "a*b", "cos(a)", "a*bdot"]}
        ],
        "dissipation": [
            {
                "terms": [
                    "adot**2",
                    "3*(bdot - adot)**2",
                    "abs(adot)",
                    "a**2*adot**2",
                    "bdot**4",
                    "bdot**2",
                ]
            }
        ],
    }
    known = dampers(Library.from_config(terms, ["a", "b"]))
    assert known == [
        Damper(6, frozenset([0]), frozenset([2, 4])),
        Damper(7, frozenset([0, 1]), frozenset([3])),
        Damper(11, frozenset([1]), frozenset()),
    ]
    assert staying(known, [3]) == [7] and staying(known, []) == [6, 11]
    assert staying(known, [4]) == [6, 11] and staying(known, [2, 3]) == [6, 7]
    assert known[0].at({6: 1, 4: 0}) == Damper(1, frozenset([0]), frozenset([0]))
