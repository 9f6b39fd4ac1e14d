"""The parser accepts arithmetic over declared names, and nothing else."""

import builtins
import signal
import time

import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from leastaction.core.expressions import (
    ExpressionError,
    check_name,
    function_depth,
    names_in,
    parse,
    symbol,
    terms_written_out,
    to_code,
    to_text,
)

NAMES = ("x", "xdot", "k")
x, k = symbol("x"), symbol("k")

HOSTILE = [
    "__import__('os').system('true')",
    "().__class__.__bases__[0].__subclasses__()",
    "x.__class__",
    "x.real",
    "x[0]",
    "lambda: x",
    "(lambda: x)()",
    "[x for x in (1, 2)]",
    "{x: x}",
    "(x, x)",
    "f'{x}'",
    "'x'",
    "b'x'",
    "(x := 1)",
    "x := 1",
    "x = 1",
    "x if x else k",
    "x and k",
    "x < k",
    "not x",
    "~x",
    "x // 2",
    "x % 2",
    "x @ k",
    "x << 2",
    "x; k",
    "import os",
    "exec('1')",
    "eval('1')",
    "open('/etc/passwd')",
    "sin",
    "sin()",
    "sin(x, x)",
    "sin(*x)",
    "sin(x=x)",
    "sin(x)(x)",
    "pi()",
    "yield x",
    "await x",
    "None",
    "True",
    "...",
    "1j",
    "",
    " ",
    "# x",
    "x\x00",
    "q",
    "2**2**2**2**2**2",
    "9**9**9**9",
    "x**1000",
    "x**exp(exp(1e30))",
    "asin(sin(exp(exp(60))))",
    "1/(exp(exp(1e30)) - 2)",
    "1e999",
    "1e31",
    "9" * 41,
    "9" * 4999,
    "1/0",
    "x/(k - k)",
    "0**-1",
    "tan(pi/2)",
    "log(0)",
    "sqrt(-1)",
    "log(-1)",
    "-" * 4000 + "x",
    "(" * 199 + "x" + ")" * 199 + "(",
    "sin(" * 70 + "x" + ")" * 70,
    "\uff58",
    "x + é",
    "x − k",
    "\ud800",
]


@pytest.fixture
def deadline():
    """End a parser that hangs, so that the test fails instead."""

    def too_late(*_):
        pytest.fail("the parser takes longer than two seconds")

    before = signal.signal(signal.SIGALRM, too_late)
    signal.alarm(2)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("text", HOSTILE, ids=[ascii(t[:30]) for t in HOSTILE])
def test_hostile_text_is_refused_at_once(text, deadline):
    start = time.perf_counter()
    with pytest.raises(ExpressionError):
        parse(text, NAMES)
    assert time.perf_counter() - start < 1.0


def test_very_long_text_is_refused_before_it_is_parsed():
    text = "x" + " + x" * 250_000
    start = time.perf_counter()
    with pytest.raises(ExpressionError, match=f"{len(text)} characters"):
        parse(text, NAMES)
    assert time.perf_counter() - start < 0.1


PIECES = st.sampled_from(
    [
        *["x", "xdot", "k", "pi", "y", "_", "sin", "exp", "sqrt", "abs", "log", "tan"],
        *["0", "1", "2", "60", "61", "0.5", "1e30", "1e-30", "1j", "99999999999999"],
        *["(", ")", "[", "]", "{", "}", ",", ":", ":=", "=", "==", ".", ";", "'", '"'],
        *[
            "+",
            "-",
            "*",
            "**",
            "/",
            "//",
            "%",
            "@",
            "~",
            "|",
            "&",
            "<",
            "\\",
            "#",
            "\n",
        ],
        *[" ", "lambda", "if", "else", "for", "in", "not", "and", "await", "é", "\x00"],
    ]
)
FUZZ = st.one_of(
    st.text(max_size=40),
    st.lists(PIECES, max_size=14).map("".join),
    st.recursive(
        st.sampled_from(["x", "k", "2", "0", "-3", "1e30", "60", "0.1", "pi"]),
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "**"]), inner).map(
                lambda t: f"({t[0]}){t[1]}({t[2]})"
            ),
            st.tuples(
                st.sampled_from(["sin", "asin", "exp", "log", "sqrt", "sign", "tanh"]),
                inner,
            ).map(lambda t: f"{t[0]}({t[1]})"),
        ),
        max_leaves=6,
    ),
)


@given(FUZZ)
def test_any_text_is_parsed_or_refused_and_never_executed(text):
    """No other exception, no call of anything dangerous, only declared symbols."""
    called = []
    saved = {name: getattr(builtins, name) for name in ("eval", "exec", "open")}
    for name in saved:
        setattr(builtins, name, lambda *a, name=name, **kw: called.append(name))
    try:
        result = parse(text, NAMES)
    except ExpressionError as error:
        assert 0 <= error.position <= len(error.text) + 1
        return
    finally:
        for name, function in saved.items():
            setattr(builtins, name, function)
    assert isinstance(result, sp.Expr)
    assert {s.name for s in result.free_symbols} <= set(NAMES)
    assert not called


@given(
    st.recursive(
        st.one_of(
            st.sampled_from([(n, symbol(n)) for n in NAMES]),
            st.integers(0, 20).map(lambda i: (str(i), sp.Integer(i))),
        ),
        lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(
            lambda t: (
                f"({t[0][0]} {t[1]} {t[2][0]})",
                {"+": sp.Add, "-": lambda a, b: a - b, "*": sp.Mul}[t[1]](
                    t[0][1], t[2][1]
                ),
            )
        ),
        max_leaves=12,
    )
)
def test_arithmetic_means_what_it_says(pair):
    text, meaning = pair
    assert sp.expand(parse(text, NAMES) - meaning) == 0


@given(st.decimals(-1000, 1000, places=6, allow_nan=False))
def test_decimals_are_exact(number):
    assert parse(f"{number:f}", ()) == sp.Rational(*number.as_integer_ratio())


@pytest.mark.parametrize("text", ["0.1", "1e-3", "2.50", "1.5e2"])
def test_a_number_reads_the_same_from_yaml_as_number_or_text(text):
    assert parse(float(text), ()) == parse(text, ()) == sp.Rational(text)


def test_operators_bind_as_in_mathematics():
    assert parse("-x**2", NAMES) == -(x**2)
    assert parse("x**2**3", NAMES) == x**8
    assert parse("x/k/2", NAMES) == x / (2 * k)
    assert parse("x - k - x", NAMES) == -k


@pytest.mark.parametrize("function", ["sin", "cos", "exp", "tanh", "sign", "sqrt"])
def test_functions_are_the_functions_of_that_name(function):
    assert parse(f"{function}(x)", NAMES) == getattr(sp, function)(x)


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("x + oops*k", "oops"),
        ("x**2 + sine(k)", "sine"),
        ("k*x + x.real", "x.real"),
        ("k + (1, 2)", "(1, 2)"),
        ("k + sin(x % 2)", "x % 2"),
        ("(k +\n x + oops)", "oops"),
        ("k*x**2 + k**99", "k**99"),
        ("k + x/0", "x/0"),
        ("k + 'é' + x", "é"),
    ],
)
def test_the_message_points_at_the_culprit(text, culprit):
    with pytest.raises(ExpressionError) as caught:
        parse(text, NAMES)
    assert caught.value.position == text.index(culprit)
    shown, pointer = str(caught.value).splitlines()[-2:]
    assert shown[pointer.index("^") :].startswith(culprit.split("\n")[0])


def test_a_misspelt_name_gets_a_suggestion():
    with pytest.raises(ExpressionError, match="did you mean 'xdot'"):
        parse("xdott", NAMES)


@pytest.mark.parametrize("name", ["x", "theta_1", "K2", "xddot"])
def test_plain_names_are_usable(name):
    check_name(name)
    assert parse(name, [name]) == symbol(name)


@pytest.mark.parametrize(
    "name", ["", "1x", "x y", "_x", "θ", "sin", "pi", "lambda", "x.y", "x\n", 3, None]
)
def test_names_that_could_not_stand_in_an_expression_are_refused(name):
    with pytest.raises(ValueError, match=r"quantity|reserved"):
        check_name(name)


TEN = "10**50"


@pytest.mark.parametrize(
    ("inside", "beyond", "words"),
    [
        ("x".ljust(5000), "x".ljust(5001), "has 5001 characters; at most 5000 are"),
        ("-" * 60 + "x", "-" * 61 + "x", "nested deeper than 60 levels"),
        ("sin(" * 8 + "x" + ")" * 8, "sin(" * 9 + "x" + ")" * 9, "beyond 8 levels"),
        ("x**60", "x**61", "exponent larger than 60"),
        ("x**-60", "x**-61", "exponent larger than 60"),
        ("(x**30)**2", "(x**31)**2", "exponent larger than 60"),
        ("x**30*x**30", "x**30*x**31", "exponent larger than 60"),
        ("x**30/x**-30", "x**30/x**-31", "exponent larger than 60"),
        ("1." + "0" * 38, "1." + "0" * 39, "a number of more than 40 digits"),
        ("1e30", "1.1e30", "a number outside 1e-30"),
        ("1e-30 + 0*x", "9e-31", "a number outside 1e-30"),
        ("(x + k + xdot)**30", "(x + k + xdot)**31", "a power with more than 500"),
        ("(x + k + xdot)**-30", "(x + k + xdot)**-31", "a power with more than 500"),
        ("(x + 1)**20*(k + 1)**22", "(x + 1)**20*(k + 1)**23", "product with more"),
        (f"{TEN}*{TEN}", f"{TEN}*{TEN}*2", r"a number larger than 1e\+100"),
        ("1000**33", "10000**50", r"a number larger than 1e\+100"),
        ("1000**33", "10000**51", "a power with more than 300 digits"),
        (f"(({TEN}*10**49 + 1)/({TEN}*{TEN} + 3))**0.5", "2**301", "300 digits"),
        ("atan2(x, k)", "atan2(x)", "atan2 takes 2 arguments, not 1"),
        ("sin(x)", "sin(x, k)", "sin takes 1 arguments, not 2"),
        ("x + (k - 1)", "x - (k // 1)", r"only \+ - \* / \*\* are operators"),
        ("x/k", "x/(k - k)", "division by zero"),
    ],
)
def test_limits_are_those_of_the_messages(inside, beyond, words):
    assert parse(inside, NAMES).free_symbols <= {x, k, symbol("xdot")}
    with pytest.raises(ExpressionError, match=words):
        parse(beyond, NAMES)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("x +* k", 3),
        ("(k +\n x +* k)", 9),
        ("x\0", 0),
        ("x + " * 30 + "oops" + " + x" * 30, 120),
    ],
)
def test_a_message_shows_what_is_around_the_culprit(text, position):
    with pytest.raises(ExpressionError) as caught:
        parse(text, NAMES)
    assert caught.value.position == position
    first, shown, pointer = str(caught.value).splitlines()
    assert first.endswith(f"(at character {position + 1})")
    around = text[max(0, position - 60) : position + 60].replace("\n", " ")
    assert shown == f"    {around}"
    assert pointer.index("^") == 4 + min(position, 60)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("x**2", "((v_x)*(v_x))"),
        ("x**8", "(" + "*".join(["(v_x)"] * 8) + ")"),
        ("x**9", "v_x**9"),
        ("(x + 1)**3", "((v_x + 1)*(v_x + 1)*(v_x + 1))"),
        ("1/x", "1/v_x"),
        ("abs(x)", "abs(v_x)"),
        ("sign(x)", "np.sign(v_x)"),
        ("x/3", f"(({1 / 3!r}))*v_x"),
        ("sin(k)", "math.sin(v_k)"),
        ("7", "7"),
    ],
)
def test_code_of_a_kernel_has_products_for_small_powers(text, code):
    (written,) = to_code([parse(text, NAMES)], lambda name: f"v_{name}")
    assert written == code


def test_a_second_derivative_of_a_modulus_vanishes_in_a_kernel():
    second = sp.diff(sp.Abs(x), x, 2)
    (written,) = to_code([second], lambda name: "2.0")
    assert written == "2*0.0"


@pytest.mark.parametrize(
    ("text", "terms", "depth"),
    [
        ("x", 1, 0),
        ("x + k + 1", 3, 0),
        ("(x + k + 1)**2", 6, 0),
        ("(x + 1)*(k + 1)", 4, 0),
        ("(x + 1)**-2", 1, 0),
        ("(x + 1)**0.5", 1, 0),
        ("sin(x)**2", 3, 1),
        ("exp(x)*cos(k)", 2, 1),
        ("exp(sin(x) + cos(tan(x)))", 1, 3),
    ],
)
def test_terms_written_out_are_counted(text, terms, depth):
    expression = parse(text, NAMES)
    assert (terms_written_out(expression), function_depth(expression)) == (terms, depth)


def test_a_text_is_read_back_and_its_names_are_listed():
    one = parse("abs(x)*k**2/3 - atan2(x, k)", NAMES)
    assert "abs(x)" in to_text(one) and parse(to_text(one), NAMES) == one
    assert names_in("1e3*x + pi*sin(k_1) - x*y2") == ["x", "k_1", "y2"]
    assert names_in(2.5) == []
