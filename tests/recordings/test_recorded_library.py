"""Recommended candidates: lists written out, friction that falls, inputs that lack."""

import re

import numpy as np
import pytest
import sympy as sp

from leastaction.recordings.columns import Column, column
from leastaction.recordings.configuration import CHANNELS
from leastaction.recordings.recorded_library import (
    _waves,
    random_library,
    recommended_library,
    recorded_library,
    stribeck_losses,
)

FOUR = ["cos(a)", "sin(a)", "cos(2*a)", "sin(2*a)"]


def terms(library, part):
    (group,) = library[part]
    return group["terms"]


def powers(text, count=4):
    """|v| and its powers."""
    return [f"abs({text})", *(f"abs({text})**{p}" for p in range(2, count + 1))]


@pytest.mark.parametrize(
    ("kinds", "kinetic", "potential", "losses"),
    [
        (
            {"x": "length"},
            ["xdot**2", "xdot**2*x**1", "xdot**2*x**2"],
            ["x**1", "x**2", "x**3", "x**4"],
            [*powers("xdot"), "xdot*abs(xdot)", "x**2*xdot**2"],
        ),
        (
            {"a": "angle"},
            [
                "adot**2",
                *(f"adot**2*{w}" for w in FOUR),
                "adot**2*a**1",
                "adot**2*a**2",
            ],
            [*FOUR, "a**1", "a**2", "a**3", "a**4"],
            [*powers("adot"), "adot*abs(adot)", "a**2*adot**2"],
        ),
        (
            {"x": "length", "a": "angle"},
            [
                *(s := ["xdot**2", "xdot*adot", "adot**2"]),
                *(f"{t}*{w}" for w in FOUR for t in s),
                "adot**2*x**1",
                "adot**2*x**2",
            ],
            [
                *FOUR,
                "x*cos(a)",
                "x*sin(a)",
                *("x**1", "x**2", "x**3", "x**4", "a**1", "a**2"),
            ],
            [
                t
                for p in ("", "**2", "**3", "**4")
                for t in (f"abs(xdot){p}", f"abs(adot){p}")
            ],
        ),
        (
            {"x": "length", "y": "length"},
            ["xdot**2", "xdot*ydot", "ydot**2"],
            [
                *(f"{n}**{k}" for n in "xy" for k in range(1, 5)),
                *(f"(x - y)**{k}" for k in (2, 3, 4)),
            ],
            [
                *(
                    t
                    for p in ("", "**2", "**3", "**4")
                    for t in (f"abs(xdot){p}", f"abs(ydot){p}")
                ),
                *powers("xdot - ydot"),
            ],
        ),
    ],
)
def test_recommended_candidates(kinds, kinetic, potential, losses):
    library = recommended_library(kinds)
    assert terms(library, "lagrangian") == [*kinetic, *potential]
    assert terms(library, "dissipation") == losses
    assert library["reference"] == f"{kinetic[0]}/2"


def test_angles_couple_by_their_differences():
    library = recommended_library({"a": "angle", "b": "angle"})
    both = terms(library, "lagrangian")
    assert {"adot*bdot*cos(a - b)", "cos(a + b)", "(a - b)**2"} <= {*both}
    assert not {"(a - b)**3", "a**3", "cos(3*a)", "adot**2*a**1"} & {*both}
    assert "abs(adot - bdot)**4" in terms(library, "dissipation")
    # Of three joints relative losses are dry and viscous.
    library = recommended_library(dict.fromkeys("abc", "angle"))
    relative = {t for t in terms(library, "dissipation") if " - " in t}
    pairs = ("adot - bdot", "adot - cdot", "bdot - cdot")
    assert relative == {t for pair in pairs for t in powers(pair, 2)}


@pytest.mark.parametrize(("count", "most"), [(1, 2), (2, 2), (2, 3), (3, 1)])
def test_waves_are_half_of_all_whole_numbers(count, most):
    """Each once, up to its sign: those at a point of no relation are all unlike."""
    names = ["a", "b", "c"][:count]
    grid = np.stack(np.meshgrid(*[np.arange(-most, most + 1)] * count), -1)
    size = np.abs(grid.reshape(-1, count)).sum(axis=1)
    expected = 2 * (((size > 0) & (size <= most)).sum() // 2)
    waves = _waves(names, most)
    assert len(waves) == len({*waves}) == expected
    at = dict(zip(names, (0.3, 0.7618, 1.4142), strict=False))
    values = [float(sp.sympify(w).subs(at)) for w in waves]
    assert len({round(v, 9) for v in values}) == expected
    assert waves[:2] == ["cos(a)", "sin(a)"] and _waves([]) == []


def test_waves_begin_with_the_slowest():
    order = ["a", "b", "2*a", "a + b", "a - b", "2*b"]
    assert _waves(["a", "b"]) == [f"{f}({k})" for k in order for f in ("cos", "sin")]


def test_candidates_of_a_random_motion():
    library = random_library({"x": "length", "y": "length", "a": "angle"})
    potential = [
        t
        for t in terms(
            recommended_library({"x": "length", "y": "length", "a": "angle"}),
            "lagrangian",
        )
        if "dot" not in t
    ]
    squares = ["xdot**2", "ydot**2", "adot**2"]
    assert terms(library, "lagrangian") == [*squares, *potential]
    assert terms(library, "dissipation") == [
        *squares,
        *("xdot**4", "ydot**4", "adot**4"),
        *("abs(xdot)", "abs(ydot)", "abs(adot)"),
        "(xdot - ydot)**2",
    ]
    assert library["reference"] == "xdot**2/2" and library["inertia"] == "diagonal"


@pytest.mark.parametrize(
    ("low", "high", "scales"),
    [
        (0.01, 0.1, [0.01, 0.02, 0.05, 0.1]),
        (0.03, 0.06, [0.05]),
        (0.5, 30, [0.5, 1, 2, 5, 10, 20]),
        (1e3, 1e3, [1000]),
        (1e-3, 2e-3, [0.001, 0.002]),
        (2.0000001, 5, [5]),
    ],
)
def test_scales_of_falling_friction_are_one_two_five(low, high, scales):
    losses = stribeck_losses({"xdot": [low, high]}, ["x"])
    v = sp.Symbol("xdot", positive=True)
    assert len(losses) == len(scales)
    for loss, scale in zip(losses, scales, strict=True):
        text = loss.replace("abs", "Abs")
        force = sp.diff(sp.sympify(text, {"xdot": v}), v)
        for at in (0.0, 0.7 * scale, 3.0 * scale):
            assert float(force.subs(v, at)) == pytest.approx(np.exp(-at / scale))


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ({"x": [1, 2]}, "x is no velocity; these are xdot"),
        ({"xdot": [0, 2]}, "range 0 to 2; give a smallest"),
        ({"xdot": [3, 2]}, "range 3 to 2; give a smallest"),
        ({"xdot": [3, 4]}, "range 3 to 4, which holds none"),
    ],
)
def test_a_range_of_velocities_that_is_none(ranges, message):
    with pytest.raises(ValueError, match=message):
        stribeck_losses(ranges, ["x"])


def chosen(extra=None, inputs=None, excitation="none", units=("m",), input_unit="N"):
    """Library and problems of coordinates x, y with such units and inputs."""
    names = ["x", "y"][: len(units)]
    channels = {key: {} for key in CHANNELS} | {
        "q": {n: column(n, {"unit": u}, n) for n, u in zip(names, units, strict=True)},
        "input": {
            n: Column("u", n, unit=input_unit, set_value=input_unit == "m")
            for n in inputs or {}
        },
    }
    stated = {n: {"offset": 0.0} | entry for n, entry in (inputs or {}).items()}
    example = {"library": extra or {}, "excitation": excitation}
    return recorded_library(example | {"import": {"inputs": stated}}, channels)


BARE = {"lagrangian": [{"terms": ["xdot**2", "x**4"]}]}


@pytest.mark.parametrize(
    ("inputs", "input_unit", "added"),
    [
        ({}, "N", []),
        ({"x": {}}, "N", []),
        ({"x": {"offset": "unknown"}}, "N", ["x"]),
        ({"x": {"gain": 2.0}}, "m", ["x**2"]),
        ({"x": {"offset": "unknown", "gain": 2.0}}, "m", ["x", "x**2"]),
    ],
)
def test_what_an_input_needs_is_a_candidate(inputs, input_unit, added):
    library, problems = chosen(BARE, inputs, input_unit=input_unit)
    more = [{"terms": added}] if added else []
    assert library["lagrangian"] == BARE["lagrangian"] + more and problems == []
    # The recommended ones have it.
    library, _ = chosen({}, inputs, input_unit=input_unit)
    assert library == recommended_library({"x": "length"})


def test_terms_beside_the_recommended_ones():
    also = {"lagrangian": ["x**6"], "stribeck": {"xdot": [0.01, 0.02]}}
    library, problems = chosen({"also": also})
    plain = recommended_library({"x": "length"})
    assert library["lagrangian"] == [*plain["lagrangian"], {"terms": ["x**6"]}]
    falling = stribeck_losses(also["stribeck"], ["x"])
    assert library["dissipation"] == [*plain["dissipation"], {"terms": falling}]
    assert problems == [] and "also" not in library
    also = {"dissipation": ["xdot**6"], "stribeck": {"xdot": [0.01, 0.02]}}
    library, _ = chosen({"also": also})
    assert library["dissipation"][1:] == [{"terms": ["xdot**6", *falling]}]
    assert chosen({}, excitation="random")[0] == random_library({"x": "length"})


@pytest.mark.parametrize(
    ("extra", "inputs", "excitation", "words"),
    [
        ({"lagrangian": [{"terms": ["xdot**2", "x +"]}]}, {}, "none", "library: "),
        ({"also": {"stribeck": {"x": [1, 2]}}}, {}, "none", "library: stribeck"),
        (
            {"lagrangian": [{"terms": ["xdot**2", "ydot**2", "(x + y)**2"]}]},
            {},
            "none",
            "library.lagrangian: .*check import.coordinates",
        ),
        ({}, {"x": {"gain": "unknown"}}, "none", "x.gain: .*nothing sets"),
        ({}, {"y": {"gain": "shared"}}, "none", "y.gain: it is shared, but nothing"),
        (
            {"reference": "xdot**2"},
            {"x": {"gain": "unknown"}, "y": {"gain": 2.0}},
            "none",
            "there are 2 inputs",
        ),
        (
            {"reference": "xdot**2"},
            {"x": {"gain": "shared"}, "y": {"gain": 2.0}},
            "none",
            "there are 2 inputs",
        ),
        (
            {"reference": "xdot**2"},
            {"x": {"gain": "unknown"}, "y": {"gain": "unknown"}},
            "none",
            "there are 2 inputs",
        ),
        ({}, {"x": {"time_constant": 0.1}}, "random", "x.time_constant: the law"),
        ({}, {"x": {"time_constant": 0.1}}, "none", None),
        ({}, {"x": {"time_constant": None}}, "random", None),
        ({"reference": "xdot**2"}, {"x": {"gain": "unknown"}}, "none", None),
        (
            {"reference": "xdot**2"},
            {"x": {"gain": "shared"}, "y": {"gain": "shared"}},
            "none",
            None,
        ),
        ({}, {"x": {"gain": 2.0}, "y": {"gain": 3.0}}, "none", None),
    ],
)
def test_what_no_data_determine_is_a_problem(extra, inputs, excitation, words):
    units = ("m", "rad")
    _, problems = chosen(extra, inputs, excitation, units)
    assert len(problems) == (words is not None)
    if words:
        assert re.search(words, problems[0])
