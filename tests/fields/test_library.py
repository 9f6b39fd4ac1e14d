"""Libraries of densities: names, jets, Euler–Lagrange expressions, what may be used."""

import numpy as np
import pytest
import sympy as sp

from leastaction.fields.library import (
    FieldLibrary,
    declared_names,
    density_candidates,
    density_euler_lagrange,
    density_names,
    jet_symbol,
    spatial_order,
)

U, X, T = sp.Function("u"), sp.Symbol("x"), sp.Symbol("t")


def on_the_line(expression):
    """An expression of the jet as one of u(x, t)."""
    u = U(X, T)
    jet = {(a, b): jet_symbol("u", a, b) for a in range(6) for b in range(4)}
    at = {s: sp.diff(u, X, a, T, b) for (a, b), s in jet.items()}
    return expression.subs(at, simultaneous=True).doit()


DENSITIES = [
    "u_t**2*u**2 - u_x**3 + u_xx**2*u - sin(u)",
    "u_t*u_xx*u - u_t**3*u_x",
    "u_x*u_xx**2",
]


@pytest.mark.parametrize("text", DENSITIES)
def test_equations_are_those_of_the_calculus_of_variations(text):
    """By SymPy's Euler operator on u(x, t)."""
    density = sp.sympify(text, {n: jet_symbol("u", *k) for n, k in JET.items()})
    (mine,) = density_euler_lagrange(density, ("u",))
    (other,) = sp.calculus.euler.euler_equations(on_the_line(density), U(X, T), (X, T))
    assert sp.simplify(on_the_line(mine) + other.lhs) == 0


JET = {"u": (0, 0), "u_t": (0, 1), "u_x": (1, 0), "u_xx": (2, 0)}


def test_names_of_the_jet():
    assert density_names("w") == ("w", "w_t", "w_x", "w_xx")
    assert [str(jet_symbol("u", *k)) for k in ((0, 0), (1, 0), (2, 1), (0, 2))] == [
        "u",
        "u_x",
        "u_xxt",
        "u_tt",
    ]
    assert declared_names("u", ["c"]) == ("u", "u_t", "u_x", "u_xx", "c")
    for reserved in ("x", "t", "length"):
        with pytest.raises(ValueError, match=f"'{reserved}' is reserved"):
            declared_names("u", [reserved])


def test_spatial_order_is_that_of_the_highest_derivative():
    orders = {"u**2": 0, "u_t**2": 0, "u*u_x": 1, "u_x + u_xx": 2, "3": 0}
    for text, order in orders.items():
        density = sp.sympify(text, {n: jet_symbol("u", *k) for n, k in JET.items()})
        assert spatial_order(density, "u") == order


def library(*terms, **config) -> FieldLibrary:
    given = {"reference": "3*u_t**2", "lagrangian": [{"terms": ["u_t**2", *terms]}]}
    return FieldLibrary.from_config(given | config, "u")


def test_a_library_knows_its_field():
    made = library("u**2")
    assert made.field == "u" and made.velocities == ("u_t",)
    assert made.variables == density_names("u") and made.calculus == "ito"
    assert made.reference_coefficient == 3 and made.strides == (1, 1)
    assert made.damping(None, 1.0).shape == (0,)


@pytest.mark.parametrize(
    ("key", "default", "other"),
    [
        ("dissipation", [], ["u_t**2"]),
        ("inertia", "free", "fixed"),
        ("calculus", "ito", "stratonovich"),
    ],
)
def test_what_a_field_does_not_know_is_refused(key, default, other):
    library("u**2", **{key: default})
    with pytest.raises(ValueError, match=f"{key}: a field knows none"):
        library("u**2", **{key: other})


def test_strides_are_those_of_the_entry_of_a_candidate():
    recipe = [
        {"terms": ["u**2", "u_x**2"]},
        {"every": {"points": "5", "terms": ["u_xx**2"]}},
        {"pooled": ["u**3"]},
        {"exclude": ["u_x**2"]},
    ]
    terms, strides = density_candidates(recipe, "u")
    found = dict(zip(map(str, terms), strides, strict=True))
    assert found == {"u**2": 1, "u_xx**2": 5, "u**3": 0}


def test_what_regressions_may_use():
    entries = [
        {"terms": ["u_t**2", "u**2", "u_x", "u_t", "1", "u*u_xx", "u_x**2", "u*u_t"]},
        {"pooled": ["u**3", "u*u_t**2"]},
    ]
    made = library(lagrangian=entries[:1])
    names = np.array(made.names)
    assert set(names[made.independent]) == {"u**2", "u*u_xx"}
    assert set(names[made.at_points]) == {"u**2", "u_x", "u*u_xx", "u_x**2"}
    pooled = library(lagrangian=entries)
    assert set(np.array(pooled.names)[pooled.at_points]) == set(names[made.at_points])
    with pytest.raises(ValueError, match=r"u\*u_t\*\*2 depend on u_t.*in u, u_x, u_xx"):
        _ = pooled.independent
