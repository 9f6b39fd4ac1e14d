"""Compiled kernels compute what the expressions say, and are made once."""

import itertools
import os
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from support import OSCILLATOR_LIBRARY

from leastaction.core.compiled import evaluator, fill, local
from leastaction.core.expressions import parse, symbol
from leastaction.core.library import Library
from leastaction.core.runge_kutta import Motion
from leastaction.core.system import System
from leastaction.ensembles.strong_taylor import integrator
from leastaction.trajectories.library_equations import library_equations

x, v = symbol("x"), symbol("xdot")


def exactly(expressions, q, qdot):
    """Values by SymPy itself, one substitution at a time: slow, and independent."""
    return np.array(
        [
            [float(sp.N(sp.sympify(e).subs({x: a, v: b}))) for e in expressions]
            for a, b in zip(q, qdot, strict=True)
        ]
    )


def states(rng, n):
    return rng.normal(size=(n, 1)), rng.normal(size=(n, 1))


def test_evaluator_equals_sympy_on_the_whole_library_and_its_derivatives(rng):
    library = Library.from_config(OSCILLATOR_LIBRARY, ["x"])
    first = [*library.momenta[0], *library.forces[0]]
    second = [sp.diff(e, s) for e in first for s in (x, v)]
    expressions = [*library.terms, *first, *second]
    q, qdot = states(rng, 6)
    by_numpy = sp.lambdify((x, v), expressions, "numpy", cse=False)
    expected = np.array(
        [by_numpy(a, b) for a, b in zip(q[:, 0], qdot[:, 0], strict=True)]
    )
    found = evaluator(expressions, ["x"])(q, qdot)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        found[:2], exactly(expressions, q[:2, 0], qdot[:2, 0]), rtol=1e-12, atol=1e-12
    )


def test_accelerations_are_arguments_of_what_holds_them(rng):
    a = symbol("xddot")
    q, qdot = states(rng, 5)
    qddot = rng.normal(size=q.shape)
    values = evaluator([x * a, v], ["x"])(q, qdot, qddot=qddot)
    np.testing.assert_allclose(values, np.hstack([q * qddot, qdot]), rtol=1e-15)


def test_products_left_unevaluated_are_not_taken_for_sums(rng):
    """SymPy's cse takes an unevaluated x*x for 2*x; the kernel must not."""
    products = [
        sp.Mul(*factors, evaluate=False)
        for degree in (2, 3, 4)
        for factors in itertools.combinations_with_replacement((x, v), degree)
    ]
    expressions = [*products, 2 * x, 2 * v, 2 * x * v, x + v, 3 * x, x**2 * v]
    q, qdot = states(rng, 4)
    np.testing.assert_allclose(
        evaluator(expressions, ["x"])(q, qdot),
        exactly(expressions, q[:, 0], qdot[:, 0]),
        rtol=1e-12,
    )


@pytest.mark.parametrize(
    "text",
    [
        "x**8",
        "x**9",
        "1/(1 + x**2)",
        "(1 + x**2)**-3",
        "(1 + x**2)**(3/2)",
        "sqrt(1 + xdot**2)",
        "exp(-x**2)",
        "abs(x)*sign(xdot)",
        "log(2 + sin(x))",
        "atan(x) + tanh(xdot) + cosh(x)/3",
        "0.1*x + 1/3",
        "(1 + x**2)**sin(xdot)",
        "pi*x",
    ],
)
def test_every_function_prints_right(text, rng):
    expression = parse(text, ["x", "xdot"])
    q, qdot = states(rng, 5)
    np.testing.assert_allclose(
        evaluator([expression], ["x"])(q, qdot),
        exactly([expression], q[:, 0], qdot[:, 0]),
        rtol=1e-12,
    )


def test_second_derivatives_of_absolute_values_compile(rng):
    """d²(x |x| x)/dx² holds a delta function, which is zero off the origin."""
    drag = parse("x**2*abs(x)", ["x"])
    q, qdot = states(rng, 5)
    found = evaluator([sp.diff(drag, x, 2)], ["x"])(q, qdot)
    np.testing.assert_allclose(found, 6 * np.abs(q), rtol=1e-12)


def test_parameters_are_given_at_run_time(rng):
    run = evaluator([symbol("a") * x + symbol("b") * v], ["x"], ["a", "b"])
    q, qdot = states(rng, 3)
    np.testing.assert_allclose(run(q, qdot, (2.0, -1.0)), 2 * q - qdot)
    np.testing.assert_allclose(run(q, qdot, (0.0, 3.0)), 3 * qdot)


def test_coordinates_are_not_confused(rng):
    names = ["a", "b"]
    q, qdot = rng.normal(size=(3, 2)), rng.normal(size=(3, 2))
    expressions = [symbol(n) for n in ("b", "adot", "bdot", "a")]
    expected = np.column_stack([q[:, 1], qdot, q[:, 0]])
    np.testing.assert_array_equal(evaluator(expressions, names)(q, qdot), expected)


def test_any_name_of_a_coordinate_will_do(rng):
    """Also that of something in the kernels."""
    names = ["q", "values", "parameters", "n", "range", "math", "np", "shared_0", "out"]
    energies = [f"{name}dot**2/2 + evaluate*cos({name})" for name in names]
    written = {
        "coordinates": {name: {} for name in names},
        "parameters": {"evaluate": {"value": 2.0}},
        "lagrangian": " + ".join(energies),
    }
    system = System.from_config(written)
    q, qdot = rng.normal(size=(2, 3, len(names)))
    found = evaluator(system.acceleration, names, ["evaluate"])(q, qdot, [2.0])
    np.testing.assert_allclose(found, -2.0 * np.sin(q))
    motion = Motion(names, system.acceleration, {"evaluate": 2.0})
    _, acceleration = motion.integrate([*q[0], *qdot[0]], 2, 0.1)
    np.testing.assert_allclose(acceleration[0], found[0])
    start, normals = np.concatenate([q[0], qdot[0]]), np.zeros((2, 4, 0))
    np.testing.assert_allclose(integrator(system)(start, normals, 0.1)[0], start)
    terms = ["qdot**2", *(f"cos({name})" for name in names)]
    library = {"reference": "qdot**2", "lagrangian": [{"terms": terms}]}
    equations = library_equations(Library.from_config(library, names))
    columns, _ = equations.columns(q, qdot, np.zeros_like(q))
    expected = np.einsum("na,ak->nak", np.sin(q), np.eye(len(names)))
    np.testing.assert_allclose(columns[:, :, 1:], expected)


def test_blocks_keep_the_indentation_of_their_mark():
    template = "if a:\n    {body}\n{tail}\n"
    text = fill(template, {"body": "b = 1\nc = 2", "tail": ""})
    assert text == "if a:\n    b = 1\n    c = 2\npass\n"


PROGRAM = """
import numpy as np, sympy as sp
from leastaction.core.compiled import evaluator
from leastaction.core.expressions import symbol
x = symbol("x")
run = evaluator([x**3 + sp.sin(x)], ["x"])
print(repr(float(run(np.array([[0.5]]), np.array([[0.0]]))[0, 0])))
"""


def start(cache):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "LEASTACTION_CACHE": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def contents(folder: Path):
    return {
        str(p.relative_to(folder)): (p.stat().st_mtime_ns, p.stat().st_ino)
        for p in folder.rglob("*")
        if p.is_file()
    }


@pytest.fixture(scope="module")
def raced(tmp_path_factory):
    """A cache that two processes filled at once, and what each of them printed."""
    cache = tmp_path_factory.mktemp("raced") / "new"
    racers = [start(cache) for _ in range(2)]
    outcomes = [racer.communicate(timeout=60) for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0], outcomes
    assert outcomes[0][0] == outcomes[1][0]
    return cache, outcomes[0][0]


@pytest.fixture
def filled(raced, tmp_path):
    """A copy of that cache."""
    cache, expected = raced
    return shutil.copytree(cache, tmp_path / "cache"), expected


def test_two_processes_race_on_an_empty_cache_and_a_third_writes_nothing(filled):
    cache, expected = filled
    assert float(expected) == pytest.approx(0.5**3 + np.sin(0.5), rel=1e-14)
    before = contents(cache)
    assert any(name.endswith(".nbi") for name in before)
    assert not [name for name in before if name.endswith(".part")]
    third = start(cache)
    assert third.communicate(timeout=60)[0] == expected
    assert contents(cache) == before
    for source in cache.rglob("kernel_*.py"):
        source.unlink()
    fourth = start(cache)
    assert fourth.communicate(timeout=60)[0] == expected
    after = contents(cache)
    assert after.keys() == before.keys()
    compiled = {name for name in before if name.endswith((".nbi", ".nbc"))}
    assert all(after[name] == before[name] for name in compiled)


def test_another_text_is_not_run_nor_a_cache_of_others(filled):
    cache, expected = filled
    (text,) = cache.rglob("*.py")
    good = text.read_bytes()
    text.write_bytes(good.replace(b"sin", b"cos"))
    os.utime(text, (0, 0))
    py_compile.compile(str(text), doraise=True)
    assert start(cache).communicate(timeout=60)[0] == expected
    assert text.read_bytes() == good
    cache.chmod(0o777)
    before = contents(cache)
    computed, warned = start(cache).communicate(timeout=60)
    assert computed == expected and "others can write to it" in warned
    assert contents(cache) == before


@pytest.mark.parametrize("name", ["x = 0\nimport os\ny", "x.y", "", "__import__"])
def test_no_name_becomes_code(name):
    for make in (local, symbol):
        with pytest.raises(ValueError, match="cannot name"):
            make(name)
