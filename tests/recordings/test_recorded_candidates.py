"""Candidates of a recording: which, their prices and motions."""

from dataclasses import dataclass

import numpy as np
import pytest
import xarray as xr
from sympy import lambdify

from leastaction.core.euler_lagrange import symbols
from leastaction.core.expressions import parse
from leastaction.core.library import Library
from leastaction.recordings import candidates as candidates_module
from leastaction.recordings.candidates import (
    distinct_forces,
    feeding_losses,
    one_two_five,
    oscillators,
    prices,
    sliding_equations,
    smooth_friction,
    touched,
)
from leastaction.recordings.recorded_library import (
    random_library,
    recommended_library,
    stribeck_losses,
)
from leastaction.recordings.recorded_problem import friction

INERTIAS = {
    "x": "xdot**2 xdot**2*x**1 xdot**2*x**2",
    "a": "adot**2 adot**2*cos(a) adot**2*sin(a) adot**2*cos(2*a) adot**2*sin(2*a)"
    " adot**2*a**1 adot**2*a**2",
    "x y": "xdot**2 xdot*ydot ydot**2",
    "x y z": "xdot**2 xdot*ydot xdot*zdot ydot**2 ydot*zdot zdot**2",
}
POTENTIALS = {
    "x": "x**1 x**2 x**3 x**4",
    "a": "cos(a) sin(a) cos(2*a) sin(2*a) a**1 a**2 a**3 a**4",
    "x y": "x**1 x**2 x**3 x**4 y**1 y**2 y**3 y**4 (x-y)**2 (x-y)**3 (x-y)**4",
    "a b": "a**1 a**2 b**1 b**2 (a-b)**2 cos(a) sin(a) cos(b) sin(b)"
    " cos(2*a) sin(2*a) cos(2*b) sin(2*b) cos(a+b) sin(a+b) cos(a-b) sin(a-b)",
    "x a": "x**1 x**2 x**3 x**4 a**1 a**2 cos(a) sin(a) cos(2*a) sin(2*a)"
    " x*cos(a) x*sin(a)",
}
# For each coordinate, for each pair of a kind; powers of |v|.
LOSSES = {"x": (4, 0), "a": (4, 0), "x y": (4, 4), "x a": (4, 0), "x y z": (4, 2)}


def kinds_of(names: str) -> dict[str, str]:
    return {n: "angle" if n in "abc" else "length" for n in names.split()}


def entries(library, part):
    return {term.replace(" ", "") for term in library[part][0]["terms"]}


@pytest.mark.parametrize("names", INERTIAS | POTENTIALS)
def test_candidates_of_the_lagrangian_are_those_of_the_kinds(names):
    """A length and an angle of x and y, a and b: polynomials and harmonics up to 2."""
    library = recommended_library(kinds_of(names))
    terms = entries(library, "lagrangian")
    assert library["reference"] == f"{names[0]}dot**2/2"
    inertias = {term for term in terms if "dot" in term}
    if names in INERTIAS:
        assert inertias == {*INERTIAS[names].split()}
    if names in POTENTIALS:
        assert terms - inertias == {*POTENTIALS[names].split()}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_harmonics_are_the_integer_points_of_a_small_diamond(count):
    """Of 0 < |k| ≤ 2 in n dimensions there are 2n + 2n², two of each up to its sign."""
    names = ["a", "b", "c"][:count]
    terms = entries(recommended_library(kinds_of(" ".join(names))), "lagrangian")
    waves = {t for t in terms if t.startswith(("cos", "sin"))}
    squares = count * (count + 1) // 2
    assert len(waves) == 2 * count + 2 * count**2
    assert sum("dot" in t and ("cos" in t or "sin" in t) for t in terms) == (
        squares * len(waves)
    )


@pytest.mark.parametrize(("names", "powers"), LOSSES.items())
def test_losses_are_powers_of_velocities_and_of_relative_ones(names, powers):
    kinds, several = kinds_of(names), names.split()
    wanted = {f"abs({n}dot)**{p}" for n in several for p in range(1, powers[0] + 1)}
    wanted |= {
        f"abs({a}dot-{b}dot)**{p}"
        for i, a in enumerate(several)
        for b in several[i + 1 :]
        for p in range(1, powers[1] + 1)
    }
    if len(several) == 1:
        wanted |= {f"{names}dot*abs({names}dot)", f"{names}**2*{names}dot**2"}
    losses = entries(recommended_library(kinds), "dissipation")
    assert losses == {term.replace("**1", "") for term in wanted}


def test_a_random_motion_has_constant_inertias_and_losses_of_its_kind():
    library = random_library(kinds_of("x y a"))
    terms = entries(library, "lagrangian")
    assert {t for t in terms if "dot" in t} == {"xdot**2", "ydot**2", "adot**2"}
    assert terms >= {"x**4", "cos(a)", "(x-y)**2"}
    assert entries(library, "dissipation") == {
        *("xdot**2", "ydot**2", "adot**2", "xdot**4", "ydot**4", "adot**4"),
        *("abs(xdot)", "abs(ydot)", "abs(adot)", "(xdot-ydot)**2"),
    }


@pytest.mark.parametrize(
    ("low", "high", "scales"),
    [
        (0.01, 0.02, ["0.01", "0.02"]),
        (0.04, 0.06, ["0.05"]),
        (1, 1, ["1"]),
        (3, 30, ["5", "10", "20"]),
        (0.5000000001, 1.9999999999, ["0.5", "1", "2"]),
        (0.5, 1 - 1e-10, ["0.5", "1"]),
        (1 + 1e-10, 2, ["1", "2"]),
        (0.11, 0.19, "none of 1, 2, 5 times a power of ten"),
        (2, 1, "above zero"),
        (0, 1, "above zero"),
    ],
)
def test_scales_of_stribeck_friction_are_those_of_the_range(low, high, scales):
    if isinstance(scales, str):
        with pytest.raises(ValueError, match=scales):
            stribeck_losses({"xdot": [low, high]}, ["x"])
        return
    losses = stribeck_losses({"xdot": [low, high]}, ["x"])
    assert losses == [f"{v}*(1 - exp(-abs(xdot)/{v}))" for v in scales]


def test_the_double_of_an_angle_costs_more_than_the_angle():
    """Over a part of a turn each imitates the other, in inertia and potential alike."""
    names = ["cos(b)", "cos(2*b)", "adot*bdot*cos(b)", "adot*bdot*cos(2*b)"]
    library = Library.from_config(
        {"reference": "adot**2", "lagrangian": [{"terms": ["adot**2", *names]}]},
        ["a", "b"],
    )
    price = dict(zip(library.names, prices(library, np.arange(5)), strict=True))
    assert [price[name] for name in names] == [1.0, 1.25, 2.0, 2.5]


def test_stribeck_friction_falls_with_the_velocity():
    """To 1/e at its velocity scale, and it turns around without a jump."""
    v = symbols(["xdot"])[0]
    (text,) = stribeck_losses({"xdot": [0.04, 0.06]}, ["x"])
    smooth = smooth_friction(parse(text, ["x", "xdot"]), 1e-4)
    force = lambdify(v, smooth.diff(v))
    assert force(0.05) == pytest.approx(np.exp(-1), rel=1e-3)
    assert force(-0.05) == -force(0.05) and force(0) == 0


NAMES = ("x", "a", "xdot", "adot")
OF_L = "xdot**2", "adot**2*x", "x**2", "cos(a)", "cos(2*a)", "a**2", "x*sin(a)"
OF_D = "xdot**2", "abs(adot)", "abs(adot)**3", "xdot**2*x", "adot*abs(adot)", "adot**4"


def library_of(lagrangian=OF_L, dissipation=OF_D):
    def parsed(terms):
        return tuple(parse(term, NAMES) for term in terms)

    losses = parsed(dissipation)
    return Library(("x", "a"), parsed(lagrangian), (), dissipation=losses)


def test_a_term_that_imitates_or_is_complex_costs_more():
    found = prices(library_of(), np.arange(13))
    expected = [1, 2, 1, 1, 1.25, 1.25, 1, 1, 1, 2, 2, 1, 2]
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(prices(library_of(), np.array([4, 9])), [1.25, 2])
    # Without a sine or cosine of it a coordinate is no angle.
    plain = library_of(("xdot**2", "a**2"), ())
    np.testing.assert_allclose(prices(plain, np.arange(2)), 1)


def test_losses_that_are_even_feed_energy_if_negative():
    found = feeding_losses(library_of(), np.arange(13))
    assert found.tolist() == [False] * 7 + [True, True, True, True, False, True]
    assert feeding_losses(library_of(), np.array([0, 11, 12])).tolist() == [
        False,
        False,
        True,
    ]


def test_coordinates_of_a_term_are_bits():
    found = touched(library_of(), np.arange(13))
    assert found.tolist() == [1, 3, 1, 2, 2, 2, 3, 1, 2, 2, 1, 2, 2]


def test_the_simplest_oscillators_of_each_coordinate():
    assert oscillators(library_of(), np.arange(13)) == [0, 2, 3]
    assert oscillators(library_of(), np.array([2, 0, 12])) == [0, 1]
    plain = library_of(("adot**2", "a**2", "cos(x)"), ("adot**2",))
    assert oscillators(plain, np.arange(4)) == [0, 1, 2]


def test_viscous_and_dry_friction_are_simple_losses():
    found = friction(library_of(), np.arange(13))
    assert found == [7, 8]
    losses = "(xdot - adot)**2", "abs(xdot - adot)", "x**2", "exp(-abs(xdot))"
    assert friction(library_of(("xdot**2",), losses), np.arange(5)) == [1, 2]


@pytest.mark.parametrize(
    ("value", "result"),
    [
        (0.99, 0.5),
        (1.0, 1.0),
        (1.99, 1.0),
        (2.0, 2.0),
        (4.9e-3, 2e-3),
        (5e-3, 5e-3),
        (730.0, 500.0),
    ],
)
def test_a_round_width_is_not_above_its_value(value, result):
    assert one_two_five(value) == pytest.approx(result)


def test_dry_friction_is_smooth_within_its_width():
    v = symbols(["v"])[0]
    found = smooth_friction(abs(v), 0.1)
    assert float(found.subs(v, 0.3)) == pytest.approx(np.sqrt(0.1))
    square = parse("xdot**2", NAMES)
    assert smooth_friction(square, 0.1) is square


@pytest.mark.parametrize("sizes", [(0, 0), (-90, 90)])
@pytest.mark.parametrize(("distinct", "stays"), [(1e-5, True), (1e-6, False)])
def test_forces_of_simpler_terms_are_left_out_in_any_unit(distinct, stays, sizes, rng):
    """The dearer one of those that depend; what has a mass is not touched."""
    forces = np.linalg.qr(rng.standard_normal((50, 14)))[0]
    forces[:, 1] = forces[:, 0]  # both with a mass
    forces[:, 4] = forces[:, 2] - 2 * forces[:, 3]  # cos(2*a), the dearer one
    forces[:, 9] = forces[:, 5] + 3 * forces[:, 7]
    forces[:, 11] = forces[:, 8] + distinct * forces[:, 13]
    scale = 10.0 ** rng.uniform(*sizes, 14)
    gram = (forces * scale).T @ (forces * scale)
    equations = xr.Dataset(
        {"gram": (("r", "column", "other"), gram[None, :13, :13])},
        {"column": [f"term {k}" for k in range(13)]},
    )
    left = distinct_forces(library_of(), np.arange(13), equations)
    gone = {4, 9} if stays else {4, 9, 11}
    assert left.tolist() == [k for k in range(13) if k not in gone]
    # Alone, a dear one has a force of its own.
    chosen = np.array([0, 4, 9, 12])
    assert distinct_forces(library_of(), chosen, equations).tolist() == chosen.tolist()


@dataclass
class Motions:
    """Terms and losses that are compiled, and the width of dry friction."""

    terms: list
    losses: list
    width: float = 0.0


@pytest.mark.parametrize(("driven", "share"), [(False, 0.01), (True, 0.005)])
@pytest.mark.parametrize("rms", [1.0, 0.099, 230.0])
def test_dry_friction_turns_within_a_hundredth_of_the_velocity(
    driven, share, rms, monkeypatch
):
    """Half of it if an input is recorded; 1, 2 or 5 times a power of ten below it."""
    monkeypatch.setattr(
        candidates_module,
        "variational_equations",
        lambda terms, names, losses: Motions(terms, losses),
    )
    wave = rms * np.sqrt(2) * np.cos(np.linspace(0, 40 * np.pi, 4000, endpoint=False))
    equations = xr.Dataset(
        {"qdot": (("r", "t", "dof"), np.tile(wave[None, :, None], 2))}
    )
    library, columns = library_of(), np.array([0, 3, 7, 8])
    found, width = sliding_equations(library, columns, equations, driven)
    assert found.width == width
    assert width <= share * rms < 2.5 * width
    assert float(f"{width:e}"[0]) in (1, 2, 5) and float(f"{width:.0e}") == width
    assert [str(t) for t in found.terms] == ["xdot**2", "cos(a)"]
    viscous, dry = found.losses
    assert str(viscous) == "xdot**2"
    adot, w = symbols(["adot"])[0], candidates_module.WIDTH
    assert dry.subs({w: 0.5, adot: -1.2}) == pytest.approx(1.3)
