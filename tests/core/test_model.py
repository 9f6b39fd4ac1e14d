"""What a law gives away agrees with the law."""

import numpy as np
import pandas as pd
import pytest
import sympy as sp
import xarray as xr

from leastaction.core.contracts import ContractError
from leastaction.core.estimate import (
    NORMAL_QUANTILE,
    LagrangianEstimate,
    VolatilityEstimate,
    interval_factor,
    model_dataset,
)
from leastaction.core.model import (
    IdentifiedModel,
    acceleration_function,
    interval,
    latex,
    load,
    model_of,
    rounded,
    simulate,
    with_intervals,
)
from leastaction.core.system import System

DOUBLE = System.from_config(
    {
        "coordinates": {"a": {"unit": "rad"}, "b": {"unit": "rad"}},
        "parameters": {"g": {"value": 9.81, "unit": "1"}},
        "lagrangian": "adot**2 + bdot**2/2 + adot*bdot*cos(a - b)"
        " + 2*g*cos(a) + g*cos(b)",
        "dissipation": "0*adot",
    }
)
SLIDER = System.from_config(
    {
        "coordinates": {"x": {"unit": "m"}},
        "parameters": {"mu": {"value": 0.5, "unit": "1"}},
        "lagrangian": "xdot**2/2",
        "dissipation": "mu*abs(xdot)",
    }
)


def test_the_function_solves_the_equations_of_motion(rng):
    acceleration = acceleration_function(DOUBLE)
    q, v = rng.standard_normal((2, 20, 2))
    push = rng.standard_normal((20, 2))
    found = acceleration(q, v, push)
    for row in range(20):
        values = dict(zip(DOUBLE.state, [*q[row], *v[row]], strict=True))
        mass = np.array(DOUBLE.evaluated(DOUBLE.mass_matrix).subs(values), float)
        rest = np.array(DOUBLE.evaluated(DOUBLE.forces).subs(values), float).ravel()
        np.testing.assert_allclose(mass @ found[row], rest + push[row], atol=1e-9)


def test_a_simulated_motion_keeps_its_energy():
    q, v = simulate(DOUBLE, [1.0, -0.5], [0.0, 0.0], np.linspace(0, 5, 50))
    energy = [
        float(
            DOUBLE.evaluated(DOUBLE.hamiltonian).subs(
                dict(zip(DOUBLE.state, [*x, *y], strict=True))
            )
        )
        for x, y in zip(q, v, strict=True)
    ]
    np.testing.assert_allclose(energy, energy[0], rtol=1e-6)


def test_dry_friction_stops_a_slider_where_mechanics_says():
    """From 1 m/s at 0.5 m/s² it slides 1 m in 2 s and stays."""
    x, v = simulate(SLIDER, [0.0], [1.0], [0.0, 1.0, 2.5, 4.0])
    assert x[1, 0] == pytest.approx(0.75, abs=1e-3)
    np.testing.assert_allclose(x[2:, 0], 1.0, atol=4e-3)
    assert np.abs(v[3]).max() < 1e-3


def test_latex_names_every_equation():
    text = latex(DOUBLE, {"a": r"\alpha_1"})
    assert text.count("&= 0") == 2
    assert r"\dot{\alpha}_1" in text and r"\ddot{b}" in text


def test_a_state_of_the_wrong_size_is_refused():
    with pytest.raises(ValueError, match="q is .1.0.; expected one number for each"):
        simulate(DOUBLE, [1.0], [0.0], [0.0, 1.0])


@pytest.mark.parametrize(
    ("value", "width", "texts"),
    [
        (1.0, 0.96, ("1.00", "0.96")),
        (1.0, 0.0961, ("1.000", "0.096")),
        (-0.5, 12.0, ("0", "12")),
        (123456.0, 99.0, ("123456", "99")),
        (1.23456e6, 0.0, ("1.23456·10⁶", "")),
        (9.9e-5, 1e-6, ("9.90·10⁻⁵", "0.10·10⁻⁵")),
        (2e-4, np.inf, ("0.0002", "∞")),
        (0.0, 0.0, ("0", "")),
        (0.0, 3e-7, ("0.0·10⁻⁷", "3.0·10⁻⁷")),
        (1.0, np.nan, ("1", "")),
        (-np.inf, 1.2, ("-inf", "1.2")),
        (1.0e-323, 0.0, ("9.88131e-17·10⁻³⁰⁷", "")),
    ],
)
def test_a_width_has_two_digits_and_the_value_as_many_decimals(value, width, texts):
    assert rounded(value, width) == texts
    assert interval(value, width) == " ± ".join(filter(None, texts))


def test_intervals_stand_behind_the_standard_error():
    table = pd.DataFrame({"value": [1.0, -2.0], "std": [0.5, 0.0], "unit": ["m", "s"]})
    table = with_intervals(table, 2.0)
    assert list(table.columns) == ["value", "std", "low", "high", "unit"]
    np.testing.assert_array_equal(table[["low", "high"]], [[0, 2], [-2, -2]])


@pytest.mark.parametrize(("blocks", "factor"), [(None, 1.96), (2, 12.706), (21, 2.086)])
def test_intervals_are_wider_with_few_blocks(blocks, factor):
    model = xr.Dataset({} if blocks is None else {"blocks": ("replicate", [blocks])})
    assert interval_factor(model) == pytest.approx(factor, rel=1e-4)
    one = xr.Dataset({"blocks": ("replicate", [1])})
    assert interval_factor(one) == interval_factor(one.assign(blocks=one.blocks + 1))


CART = System("xdot**2 + ydot**2/2 - x**2")
CALLS = {
    "one": (([1.0], [0.0, 0.0], [0, 1]), {}, r"q is \[1.0\]; .* each of x, y"),
    "text": (([0.0, 0.0], ["a", "b"], [0, 1]), {}, "qdot is"),
    "nan": (([0.0, np.nan], [0.0, 0.0], [0, 1]), {}, "q is"),
    "instant": (([0.0, 0.0], [0.0, 0.0], [1.0]), {}, "two times or more"),
    "order": (([0.0, 0.0], [0.0, 0.0], [0, 2, 1]), {}, "two times or more"),
    "shape": (([0.0, 0.0], [0.0, 0.0], [[0, 1]]), {}, "two times or more"),
    "force": (([0.0, 0.0], [0.0, 0.0], [0, 1]), {"force": 1.0}, "force is float"),
    "push": (
        ([0.0, 0.0], [0.0, 0.0], [2, 3]),
        {"force": lambda t: [1.0, 2.0, 3.0]},
        r"force\(2\) is \[1.0, 2.0, 3.0\]",
    ),
}


@pytest.mark.parametrize("when", CALLS)
def test_a_call_that_simulates_nothing_is_refused(when):
    arguments, named, words = CALLS[when]
    with pytest.raises(ValueError, match=words):
        simulate(CART, *arguments, **named)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_force_drives_its_coordinate_forwards_and_backwards(sign):
    """2 ẍ = −2 x + 2, ÿ = 6 t from rest."""
    time = sign * np.linspace(0, 2, 5)
    q, qdot = simulate(CART, [0, 0], [0, 0], time, lambda t: [2.0, 6 * t])
    expected = np.c_[1 - np.cos(time), time**3]
    np.testing.assert_allclose(q, expected, atol=1e-6)
    np.testing.assert_allclose(qdot, np.c_[np.sin(time), 3 * time**2], atol=1e-6)


def test_accelerations_have_the_shape_of_what_is_broadcast():
    acceleration = acceleration_function(CART)
    q = np.arange(12.0).reshape(3, 2, 2)
    expected = np.stack([1.0 - q[..., 0], np.full((3, 2), 5.0)], axis=-1)
    np.testing.assert_allclose(acceleration(q, [0.0, 0.0], [2.0, 5.0]), expected)
    assert acceleration([1, 0], [0, 0]).shape == (2,)
    with pytest.raises(ValueError, match="expected 2 as the last length"):
        acceleration([1.0], [0.0, 0.0])


# A law of two coordinates: a reference, numbers of every size, a term of zero.
NAMES = xr.Dataset(coords={"replicate": [0], "dof": ["x", "y"]})
COLUMNS = {
    "xdot**2": (0.5, 0.0),
    "ydot**2": (1.0, 0.01),
    "x**2": (-2.0, 0.02),
    "y**4": (0.0, 0.3),
    "cos(x - y)": (1.5e7, 2e4),
}


def estimate(columns=COLUMNS, damping=(0.25, 0.0), names=NAMES, **volatility):
    """Dataset of a model; terms by (coefficient, standard error)."""
    c, std = np.array([*columns.values()], dtype=float).T
    dof, ok = names.sizes["dof"], "independent"
    usual = {
        "volatility": np.zeros(dof),
        "std": np.array([0.1, 0.2])[:dof],
        "terms": ["1", "x**2", "x"],
        "coefficients": np.array([[1.0, 4.0, 0.0], [0.25, 0.0, 0.0]])[:dof],
        "coefficient_std": np.array([[0.1, 0.4, 0.0], [0.05, 0.0, 0.0]])[:dof],
        "constant": np.ones(dof, dtype=bool),
        "covariance": np.zeros((dof, dof)),
    }
    law = LagrangianEstimate(
        [*columns],
        c,
        std,
        [ok] * len(c),
        [""] * len(c),
        dissipation_terms=["xdot**2", "abs(xdot)"],
        dissipation_coefficients=np.array(damping),
        dissipation_std=np.array([0.05, 0.07]),
        dissipation_status=[ok] * 2,
        dissipation_equivalent=[""] * 2,
    )
    return model_dataset(names, law, VolatilityEstimate(**usual | volatility))


CONSTANT = {
    "volatility": np.array([3.0, 0.5]),
    "covariance": np.array([[9.0, 0.3], [0.3, 0.25]]),
}
ROOT = np.array([[np.nan] * 3, [0.5, 0.0, 0.0]])
VARYING = {
    "volatility": np.array([3.0, 0.5]),
    "constant": np.array([True, False]),
    "root": ROOT,
    "root_std": ROOT / 10,
}
LAW = """\
Terms of the Lagrangian, with 95 % intervals
  0.5 (fixed)  xdot**2
  1.000 ± 0.020  ydot**2
  -2.000 ± 0.039  x**2
  1.5000·10⁷ ± 0.0039·10⁷  cos(x - y)
Terms of the dissipation
  0.250 ± 0.098  xdot**2
{}Lagrangian
  -2.0*x**2 + 0.5*xdot**2 + 1.0*ydot**2 + 1.5e+7*cos(x - y)
Dissipation
  0.25*xdot**2
Equations of motion
  xddot = {}- 4.0*x - 0.5*xdot - 1.5e+7*sin(x - y)
  yddot = {}7.5e+6*sin(x - y)
Hamiltonian
  2.0*x**2 + 0.5*xdot**2 + 1.0*ydot**2 - 1.5e+7*cos(x - y)"""
SPREAD = "Volatility{}\n  3.00 ± 0.20  x\n  0.50 ± 0.39  y\n"
PRINTED = {
    "still": ({}, LAW.format("", "", "").replace("= - ", "= -")),
    "constant": (
        CONSTANT,
        LAW.format(
            SPREAD.format(""),
            "2.99877*Wdot_1 + 0.0859271*Wdot_2 ",
            "0.0429636*Wdot_1 + 0.246281*Wdot_2 + ",
        ),
    ),
    "varying": (
        VARYING,
        LAW.format(
            SPREAD.format(", root mean square")
            + "Squared volatility of x\n  1.00 ± 0.20  1\n  4.00 ± 0.78  x**2\n"
            "Volatility of y\n  0.500 ± 0.098  1\n",
            "1.0*Wdot_1*sqrt(4.0*x**2 + 1.0) ",
            "0.25*Wdot_2 + ",
        ),
    ),
}


@pytest.mark.parametrize("noise", PRINTED)
def test_a_law_is_printed_with_its_intervals_and_equations(noise):
    volatility, text = PRINTED[noise]
    model = IdentifiedModel(estimate(**volatility))
    assert str(model) == text
    assert model._repr_markdown_().startswith("$$\n\\begin{aligned}\nL &= 0.5\\,")
    assert model._repr_markdown_().endswith(f"$$\n\n```text\n{text}\n```")


@pytest.mark.parametrize(
    ("more", "first", "second"),
    [
        ({"identifiability": "all"}, "Terms of", "  0.5 (fixed)  xdot**2"),
        ({"trusted": 1.0, "jump": 0.12345, "reached": 2.0}, "", ""),
    ],
)
def test_what_a_fit_says_of_itself_stands_in_its_text(more, first, second):
    data = estimate().assign({k: ("replicate", [x]) for k, x in more.items()})
    model = IdentifiedModel(data)
    if "identifiability" in more:
        lines = str(model).split("\n")
        assert len(lines) == 6 and lines[-1] == "Not identifiable: all"
        assert lines[0].startswith(first) and lines[1] == second
        assert model._repr_markdown_() == f"```text\n{model}\n```"
        return
    own = "The fit passes its own tests (jump 0.123, reached 2"
    assert f"{own})\n" in str(model)
    for error, shown in ((0.25, ", residual 0.12 ± 0.5 beyond noise"), (np.nan, "")):
        numbers = {"excess": 0.1234, "excess_std": error}
        fit = data.assign({k: ("replicate", [x]) for k, x in numbers.items()})
        assert f"{own}{shown})\n" in str(IdentifiedModel(fit))
    failed = IdentifiedModel(data.assign(trusted=("replicate", [0.0])))
    assert "is NOT to be trusted: it fails its own tests (jump" in str(failed)


@pytest.mark.parametrize(("p", "misfit"), [(9e-4, True), (1.1e-3, False)])
def test_a_law_that_no_data_have_once_in_a_thousand_has_a_reservation(p, misfit):
    test = {"j_statistic": 36.0, "j_degrees": 4.0, "j_p_value": p}
    scores = [1.0, -5.0, 2.0, 4.0]
    data = estimate().assign(
        {k: ("replicate", [x]) for k, x in test.items()}
        | {
            "moment_score": (("replicate", "moment"), [scores]),
            "moment_name": ("moment", [*"abcd"]),
        }
    )
    model = IdentifiedModel(data)
    expected = (
        "no law of these candidates agrees with the data (J = 36 for 4 degrees of "
        f"freedom, p = {p:.2g}), most of all b (-5 s.e.), d (+4 s.e.), c (+2 s.e.). "
        "A term is missing, or the data are not what the method assumes; intervals "
        "are too narrow by a factor of about 3"
    )
    assert model.misfit == (expected if misfit else "")
    assert str(model).startswith("Reservation: " if misfit else "Terms of")
    bare = IdentifiedModel(data.drop_vars(["moment_score"]).assign(j_degrees=0.0))
    assert bool(bare.misfit) == misfit and "most of all" not in bare.misfit
    assert not misfit or bare.misfit.endswith("of about 6")


@pytest.mark.parametrize("noise", PRINTED)
def test_terms_are_rows_with_intervals(noise):
    table = IdentifiedModel(estimate(**PRINTED[noise][0])).terms
    of = {"still": [], "constant": [*"SS"], "varying": ["S^2", "S^2", "S"]}[noise]
    names = {"still": [], "constant": [*"xy"], "varying": ["1", "x**2", "1"]}[noise]
    values = {"still": [], "constant": [3.0, 0.5], "varying": [1.0, 4.0, 0.5]}[noise]
    errors = {"still": [], "constant": [0.1, 0.2], "varying": [0.1, 0.4, 0.05]}[noise]
    assert table["of"].tolist() == [*"LLLLD", *of]
    present = ["xdot**2", "ydot**2", "x**2", "cos(x - y)", "xdot**2"]
    assert table["term"].tolist() == [*present, *names]
    np.testing.assert_allclose(table["value"], [0.5, 1, -2, 1.5e7, 0.25, *values])
    np.testing.assert_allclose(table["std"], [0, 0.01, 0.02, 2e4, 0.05, *errors])
    half = NORMAL_QUANTILE * table["std"]
    np.testing.assert_allclose(table["low"], table["value"] - half)
    np.testing.assert_allclose(table["high"], table["value"] + half)


def test_a_coefficient_is_known_by_its_term_and_function():
    model = IdentifiedModel(estimate(**VARYING))
    assert model.support == ["xdot**2", "ydot**2", "x**2", "cos(x - y)"]
    for of, term, value, error in (
        ("L", "ydot**2", 1.0, 0.01),
        ("L", "y**4", 0.0, 0.3),
        ("D", "xdot**2", 0.25, 0.05),
        ("D", "abs(xdot)", 0.0, 0.07),
        ("S^2", "x**2", 4.0, 0.4),
        ("S", "1", 0.5, 0.05),
    ):
        assert model.coefficient(term, of) == value
        assert model.standard_error(term, of) == error
    assert IdentifiedModel(estimate(**CONSTANT)).coefficient("y", "S") == 0.5
    with pytest.raises(ValueError, match="candidate of D"):
        model.coefficient("x**2", "D")
    with pytest.raises(ValueError, match="function 'H'"):
        model.coefficient("x**2", "H")


def test_latex_has_signs_brackets_and_powers_of_ten():
    columns = {
        "xdot**2/2": (-1.0, 0.0),
        "1 + x": (2.0, 0.1),
        "-x**2": (-3e-7, 2e-8),
        "1": (4.0, np.nan),
    }
    names = NAMES.isel(dof=[0])
    constant = {"volatility": np.array([3.0]), "covariance": np.array([[9.0]])}
    text = IdentifiedModel(estimate(columns, (0, -2), names, **constant)).latex_terms()
    assert text == "\n".join(
        [
            r"\begin{aligned}",
            r"L &= - 1\,\frac{\dot{x}^{2}}{2} + (2.00 \pm 0.20)\,\left(x + 1\right) "
            r"- (3.00 \cdot 10^{-7} \pm 0.39 \cdot 10^{-7})\,\left(- x^{2}\right) "
            r"+ 4 \\",
            r"D &= - (2.00 \pm 0.14)\,\left|{\dot{x}}\right| \\",
            r"S &= (3.00 \pm 0.20)\,\dot W_{x}",
            r"\end{aligned}",
        ]
    )


def test_latex_of_a_driven_system_has_its_forces():
    damped = System("xdot**2/2 - 2*x**2", dissipation="xdot**2/4", inputs=["x"])
    assert latex(damped).split("\n")[1:-1] == [
        r"L &= - 2 x^{2} + \frac{\dot{x}^{2}}{2} \\",
        r"D &= \frac{\dot{x}^{2}}{4} \\",
        r"4 x + \ddot{x} + \frac{\dot{x}}{2} &= F_{x}",
    ]


def test_a_squared_volatility_has_a_floor_of_a_thousandth():
    """Where Σ β G is zero S is f = 10⁻³ of the rms value, and −c gives f² / √(4 c)."""
    square = np.array([[-1.0, 4.0, 0.0], [0.25, 0.0, 0.0]])
    system = IdentifiedModel(
        estimate(
            coefficients=square,
            constant=np.zeros(2, dtype=bool),
            volatility=np.array([3.0, 0.5]),
        )
    ).system
    root = sp.lambdify(system.q[0], system.evaluated(system.volatility[0, 0]))
    assert root(0.5) == pytest.approx(3e-3, rel=1e-9)
    assert root(1.0) == pytest.approx(np.sqrt(3), rel=1e-9)
    assert root(0.0) == pytest.approx(9e-6, rel=1e-3)
    assert system.evaluated(system.volatility[1, 1]) == 0.5


@pytest.mark.parametrize("small", [0.9e-12, 1.1e-12])
def test_a_volatility_is_the_symmetric_root_without_round_off(small):
    root = np.array([[3.0, 3 * small], [3 * small, 1.0]])
    data = estimate(**CONSTANT | {"covariance": root @ root})
    volatility = IdentifiedModel(data).system.volatility
    assert len(volatility.free_symbols) == (2 if small < 1e-12 else 4)
    covariance = np.array([[2.0, 0.6], [0.6, -1e-9]])  # the estimate of a projection
    system = IdentifiedModel(estimate(**CONSTANT | {"covariance": covariance})).system
    s = np.array(system.evaluated(system.volatility), float)
    values, vectors = np.linalg.eigh(covariance)
    nearest = vectors @ np.diag(np.maximum(values, 0)) @ vectors.T
    np.testing.assert_allclose(s @ s, nearest, atol=1e-12)
    np.testing.assert_allclose(s, s.T, atol=1e-12)


@pytest.mark.parametrize(("start", "wide"), [((0.2, -0.1), 1.0), ((1.0, -4.0), 4.0)])
def test_dry_friction_turns_around_within_a_thousandth_of_the_speed(start, wide):
    """v̇ = −μ v/√(v² + w²): √(v² + w²) − w artanh(w/√(v² + w²)) falls by μ t."""
    slider = System("xdot**2/2 + ydot**2/2", dissipation="abs(xdot)/2 + abs(ydot)/2")
    w, v = 1e-3 * wide, abs(start[1])
    time = 2 * v + np.array([-10, -4, -1, 0, 2]) * w
    _, qdot = simulate(slider, [0, 0], start, [0, *time])

    def fallen(v):
        size = np.hypot(v, w)
        return size - w * np.arctanh(w / size)

    speeds = np.abs(qdot[1:, 1])
    np.testing.assert_allclose(fallen(v) - fallen(speeds), time / 2, rtol=1e-7)
    assert (qdot[1:, 1] < 0).all() and speeds[-1] < w


@pytest.mark.parametrize(
    "law", ["xdot**2/2 + x**4", "xdot**2/2 + 10*x**2"], ids=["pole", "overflow"]
)
def test_a_motion_that_diverges_is_refused(law):
    quiet = np.errstate(all="ignore")
    with quiet, pytest.raises(ValueError, match="does not stay finite"):
        simulate(System(law), [1.0], [1.0], [0.0, 1e-3, 1e3])


@pytest.mark.parametrize("push", [2.0, [2.0], [2.0, 2.0]])
def test_a_force_may_be_one_number_for_all(push):
    q, _ = simulate(CART, [0, 0], [0, 0], [0.0, 0.5, 1.0], lambda t: push)
    np.testing.assert_allclose(q[-1], [1 - np.cos(1.0), 1.0], atol=1e-8)


@pytest.mark.parametrize("times", [[0.0, 0.0, 1.0], [0.0, -1.0, -1.0], [0, 1, np.nan]])
def test_times_that_do_not_move_are_refused(times):
    with pytest.raises(ValueError, match="two times or more"):
        simulate(CART, [0, 0], [0, 0], times)


class Driven(IdentifiedModel):
    inputs = ("x",)


SPRING = "3*xdot**2/2 - 6*x**2"
ONE = NAMES.isel(dof=[0])


@pytest.mark.parametrize(
    ("columns", "loss", "kind", "scale", "error"),
    [
        # The reference fixes the scale: −2.02 beside −2, and 0.26 beside 0.25.
        (((0, 1), (0.5, 0), (-2.02, 1)), 0.26, IdentifiedModel, 1, (0, 0.01, 0.04)),
        # Nothing is fixed: the scale brings the kinetic term to 1.
        (((0, 1), (1.5, 1), (-6, 1)), 0.75, IdentifiedModel, 2 / 3, (0, 0, 0)),
        # Measured forces: nothing is free.
        (((0, 1), (1.5, 1), (-6.6, 1)), 0.75, Driven, 1, (0, 0.1, 0)),
        (((0, 1), (3, 1), (-12, 1)), 0.78, Driven, 1, (1, 1, 0.04)),
    ],
)
def test_a_law_is_scored_beside_the_truth(columns, loss, kind, scale, error):
    columns = dict(zip(("xdot**4", "xdot**2", "x**2"), columns, strict=True))
    model = kind(estimate(columns, (loss, 0), ONE))
    truth = System(SPRING, dissipation="3*xdot**2/4")
    scored = model.score(truth)
    assert scored.exact and scored.terms == ("xdot**2", "x**2", "D: xdot**2")
    assert scored.scale == pytest.approx(scale)
    np.testing.assert_allclose(scored.error, error, atol=1e-9)


@pytest.mark.parametrize(
    ("truth", "words"),
    [
        (None, "no leastaction.System with the coordinates x"),
        (System("ydot**2/2"), "no leastaction.System with the coordinates x"),
        (System("xdot**2/2 - k*x**2", {"k": None}), "k of the truth has no value"),
        (System("xdot**2/2 - x**6"), "cannot express the truth; xdot.*2, x.*2 give"),
    ],
)
def test_a_truth_that_cannot_be_compared_is_refused(truth, words):
    columns = {"xdot**2": (0.5, 0), "x**2": (-2.02, 1)}
    model = IdentifiedModel(estimate(columns, names=ONE))
    with pytest.raises(ValueError, match=words):
        model.score(truth)


def test_of_replicates_and_cases_one_is_chosen():
    one = estimate()
    levels = {"noise_level": [0.1, 0.2]}
    jumps = ("noise_level", "replicate"), [[10.0, 11.0], [20.0, 21.0]]
    data = one.isel(replicate=[0, 0]).assign(jump=jumps).assign_coords(levels)
    data.attrs["contract"] = "model"

    def jump(*arguments, **named):
        return float(model_of(data, *arguments, **named).dataset["jump"])

    assert [jump(), jump(1), jump(0, 0.2), jump(1, noise_level=0.2)] == [10, 11, 20, 21]
    for replicate in (-1, 2):
        with pytest.raises(
            IndexError, match=rf"replicates 0 \.\.\. 1, not {replicate}"
        ):
            model_of(data, replicate)
    with pytest.raises(ValueError, match="no noise_level 0.3; it has 0.1, 0.2"):
        model_of(data, 0, 0.3)
    with pytest.raises(ValueError, match="no noise_mode 'shared'; leave it out"):
        model_of(data, noise_mode="shared")
    with pytest.raises(ContractError, match="the dataset"):
        model_of(data.assign_attrs(contract="observations"))


def test_a_saved_model_is_loaded_by_its_replicate(tmp_path):
    path = tmp_path / "model.nc"
    two = estimate(**CONSTANT).isel(replicate=[0, 0]).assign_coords(replicate=[0, 1])
    two["coefficient_estimate"][1, 2] = -3.0
    IdentifiedModel(two).save(path)
    assert [load(path, k).coefficient("x**2") for k in (0, 1)] == [-2.0, -3.0]
    assert load(path).coefficient("x**2") == -2.0
    assert str(load(path)) == str(IdentifiedModel(estimate(**CONSTANT)))
    with pytest.raises(IndexError, match=f"{path} has replicates 0 ... 1, not 2"):
        load(path, 2)


def test_symmetries_are_those_on_a_thousand_states_of_size_one():
    model = IdentifiedModel(estimate())
    states = np.random.default_rng(0).standard_normal((2, 1000, 2))
    (found,), (expected,) = model.symmetries, model.symmetries_on(*states)
    assert found.violation == expected.violation and found.bound == expected.bound
    for wrong in (states[:, :, :1], (states[0], states[1][:5])):
        with pytest.raises(ValueError, match=r"expected \(sample, 2\) of both"):
            model.symmetries_on(*wrong)


def test_a_law_without_a_kinetic_energy_has_no_equations():
    columns = {"xdot**2": (0.5, 0.1), "y**4": (1.0, 0.2)}
    model = IdentifiedModel(estimate(columns))
    assert str(model).endswith(
        "No equations of motion: a coordinate has no kinetic energy"
    )
    assert model._repr_markdown_().startswith("```text\nTerms")


def test_a_state_is_finite_numbers():
    for q in ([np.inf, 0.0], [True, False], ["1", "2"], [[0.0, 0.0]]):
        with pytest.raises(ValueError, match="q is"):
            simulate(CART, q, [0.0, 0.0], [0, 1])
    with pytest.raises(ValueError, match=r"force\(0\) is \['a'\]"):
        simulate(CART, [0, 0], [0, 0], [0, 1], lambda t: ["a"])
