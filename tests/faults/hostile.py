"""What somebody may write into a configuration: strategies for fuzzing.

Texts that would run something, write somewhere, never end or exhaust the memory if they
were evaluated, among texts that are nearly right.
"""

import copy
from pathlib import Path

import yaml
from hypothesis import strategies as st

ROOT = Path(__file__).parents[2]
NAMES = ("x", "xdot", "m", "k")
# Would leave this file in the working folder.
CANARY = "executed_by_a_configuration"

CODE = [
    f"__import__('os').system('touch {CANARY}')",
    f"open('{CANARY}', 'w')",
    f'exec(\'open("{CANARY}", "w")\')',
    "().__class__.__bases__[0].__subclasses__()",
    "x.__class__",
    "(lambda: x)()",
    "[x for x in (1, 2)]",
    "x if x else m",
    "(y := 3)",
    "f'{x}'",
    "x[0]",
    "x and m",
    "sin(*x)",
    "sin(x=1)",
    "sin(sin)",
    "pi()",
    "lambda x: x",
    "await x",
    "yield",
    "x == 1",
    "~x",
    "not x",
    "x @ m",
    "x // m",
    "x % m",
    "x << 9999999",
    "...",
    "1j",
    "'x'",
    "b'x'",
    "True",
    "None",
    "nan",
    "oo",
    "zoo",
    "E",
    "x!",
    "`ls`",
    "$(ls)",
    "{x}",
    "import os",
    "x;m",
    "x #",
    "x\\\n+m",
    "\0",
    "ｘ",
    "x\u202e",
    "²",
]
GREEDY = [
    "9**9**9**9",
    "2**2**2**2**2**2",
    "(x+m)**60",
    "(x+xdot+m+k)**(-60)",
    "((x+m)**9+k)**9",
    "((x+m)**9)**9",
    "x**(x**(x**x))",
    "exp(exp(exp(exp(9))))",
    "exp(700)**60",
    "x**0.123456789",
    "10**10**10",
    "1e999",
    "1" * 50,
    "0x" + "f" * 30,
    "1_0",
    "1e-320",
    "sqrt(-1)",
    "log(0)",
    "log(-1)",
    "1/0",
    "x/0",
    "tan(pi/2)",
    "asin(2)",
    "acos(x**2 + 2)",
    "0**0",
    "0**(-1)",
    "0**x",
    "(-8)**(1/3)",
    "(-1)**x",
    "abs(" * 70 + "x" + ")" * 70,
    "sin(" * 50 + "x" + ")" * 50,
    "(" * 100 + "x" + ")" * 100,
    "-" * 100 + "x",
    "-" * 4000 + "x",
    "x" + "**2" * 50,
    "x" + "+x" * 2000,
    "x" + "*(x+1)" * 300,
    "+".join(f"sin({i}*x)" for i in range(300)),
    "*".join(f"(x+{i})" for i in range(200)),
    "/".join(["(x+m)"] * 400),
    "sin(cos(x))**20*exp(x*m)**20",
    "x" * 1_000_000,
    "(" * 1_000_000,
    "x+" * 500_000,
    "1" * 1_000_000,
]
FINE = ["x", "m*xdot**2/2", "k*x**2/2", "sin(x)", "1", "0.5", "pi", "exp(-x)", "abs(x)"]
ATOMS = st.sampled_from(CODE + GREEDY + FINE)


def _joined(inner):
    operators = st.sampled_from(["+", "-", "*", "/", "**", ",", " ", "(", ")", "."])
    functions = st.sampled_from(["sin", "exp", "log", "sqrt", "abs", "eval", ""])
    return st.one_of(
        st.tuples(inner, operators, inner).map("".join),
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(
            lambda t: f"({t[0]}){t[1]}({t[2]})"
        ),
        st.tuples(inner, st.integers(-99, 99)).map(lambda t: f"({t[0]})**({t[1]})"),
        st.tuples(functions, inner).map(lambda t: f"{t[0]}({t[1]})"),
    )


EXPRESSIONS = st.one_of(
    ATOMS,
    st.recursive(st.sampled_from(FINE + GREEDY[:24] + CODE), _joined, max_leaves=12),
    st.text(alphabet="xmk0123456789.e+-*/() ,_", max_size=60),
    st.text(max_size=60),
)

PLACES = [
    "../../evil",
    "/etc/evil",
    "..",
    ".",
    "",
    "a/b",
    "a\nb",
    "$HOME",
    "~",
    "{paper}",
]
SCALARS = st.one_of(
    EXPRESSIONS,
    st.sampled_from(PLACES),
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**9, 10**18, 10**400, -1, 0, 2**63]),
    st.floats(),
    st.sampled_from([1e-300, 1e300, 1e-12, float("nan"), float("inf")]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from([*PLACES, "method", "x", "terms"]), inner),
    ),
    max_leaves=6,
)

# Light ones, of every kind of data: what they are checked for takes little time.
BASES = [
    yaml.safe_load((ROOT / "config" / "examples" / path).read_text())
    for path in (
        "stochastic_lagrangian/harmonic.yaml",
        "stochastic_lagrangian/wave.yaml",
        "xl_sindy/single.yaml",
        "shadow_integration/pendulum.yaml",
        "fokker_planck/linear_additive.yaml",
    )
]


def _places(data, path=()):
    """Path of every value inside `data`."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in pairs:
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from _places(value, (*path, key))


@st.composite
def examples(draw):
    """An example in which one to three places are spoilt."""
    example = copy.deepcopy(draw(st.sampled_from(BASES)))
    for _ in range(draw(st.integers(1, 3))):
        *path, last = draw(st.sampled_from(list(_places(example))))
        place = example
        for key in path:
            place = place[key]
        kind = draw(st.sampled_from(["replace", "replace", "remove", "rename", "add"]))
        if kind == "replace":
            place[last] = draw(VALUES)
        elif kind == "remove" or isinstance(place, list):
            del place[last]
        elif kind == "rename":
            place[draw(st.sampled_from([*PLACES, "x", "__init__"]))] = place.pop(last)
        else:
            place[draw(st.text(max_size=8))] = draw(VALUES)
    return example
