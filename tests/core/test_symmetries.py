"""Affine symmetries of laws of written terms, and their Noether quantities."""

import numpy as np
import pytest
import sympy as sp

from leastaction.core.model import simulate
from leastaction.core.symmetries import (
    PROBABILITY,
    Invariance,
    Symmetry,
    sum_of_squares_quantile,
    symmetries_of_terms,
)
from leastaction.core.system import System
from leastaction.recordings.conserved import noether_quantity

PLANE = "x y xdot ydot"
CASES = {
    "central force": ("(xdot**2+ydot**2)/2 - (x**2+y**2)**2/4", PLANE, ["rotation"]),
    "skew": ("(xdot**2+4*ydot**2)/2 - (x**2+4*y**2)**2/4", PLANE, ["skew rotation"]),
    "magnetic field": (
        "(xdot**2+ydot**2)/2 + 0.4*(x*ydot-y*xdot) - (x**2+y**2)/2",
        PLANE,
        ["rotation"],
    ),
    "cart": ("xdot**2 + ydot**2/2 + xdot*ydot*cos(y) + cos(y)", PLANE, ["translation"]),
    "Toda": (
        "(xdot**2+ydot**2+zdot**2)/2 - exp(x-y) - exp(y-z)",
        "x y z xdot ydot zdot",
        ["translation"],
    ),
    "anisotropy": ("(xdot**2+ydot**2)/2 - x**2/2 - 1.05*y**2/2 - x**2*y**2", PLANE, []),
    "Hénon–Heiles": (
        "(xdot**2+ydot**2)/2 - (x**2+y**2)/2 - x**2*y + y**3/3",
        PLANE,
        [],
    ),
}


def found(text, names, error=0.0, scale=1.0):
    """Law, states, symmetries."""
    state = sp.symbols(names)
    law = sp.expand(sp.sympify(text, {str(s): s for s in state}))
    parts = [term.as_coeff_Mul() for term in sp.Add.make_args(law)]
    c = np.array([float(value) for value, _ in parts])
    q, qdot = scale * np.random.default_rng(2).standard_normal(
        (2, 300, len(state) // 2)
    )
    terms = [term for _, term in parts]
    every = symmetries_of_terms(terms, c, error * np.abs(c), q, qdot, state)
    return law, (q, qdot, state), every


@pytest.mark.parametrize("name", CASES)
def test_symmetries_are_those_of_the_law(name):
    text, names, kinds = CASES[name]
    _, _, every = found(text, names, 1e-4)
    assert [one.kind for one in every if one.verdict == "found"] == kinds
    assert all(one.verdict != "undecided" for one in every)


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name][2]])
def test_noether_quantity_is_constant_along_the_motion(name):
    text, names, _ = CASES[name]
    law, states, every = found(text, names)
    quantity = noether_quantity(law, every[0], *states)
    n = len(names.split()) // 2
    system = System(text.replace(" ", ""))
    time = np.linspace(0, 5, 200)
    q, qdot = simulate(system, 0.3 + 0.2 * np.arange(n), 0.4 - 0.3 * np.arange(n), time)
    order = [system.coordinates.index(name) for name in names.split()[:n]]
    values = sp.lambdify(states[2], quantity, "numpy")(
        *np.hstack([q, qdot])[:, [*order, *(n + i for i in order)]].T
    )
    assert np.ptp(values) < 1e-4 * np.abs(values).max()
    assert np.ptp(q) > 0.1


def test_a_constant_force_is_no_part_of_a_momentum():
    x, xdot = state = sp.symbols("x xdot")
    q, qdot = np.random.default_rng(0).standard_normal((2, 200, 1))
    move = Symmetry(np.ones(1), np.zeros((1, 1)), 0, 0, True)
    assert noether_quantity(xdot**2 - 3 * x, move, q, qdot, state) == 2 * xdot


def test_large_errors_decide_nothing():
    text = "(xdot**2+ydot**2)/2 - x**2/2 - 1.05*y**2/2"
    assert found(text, PLANE, error=1e-3)[2][0].verdict == "not found"
    assert {one.verdict for one in found(text, PLANE, error=0.1)[2]} == {"undecided"}


@pytest.mark.parametrize("eigenvalues", [[1.0], [1.0, 0.1], np.geomspace(1, 1e-3, 30)])
def test_the_bound_holds_for_as_many_draws_as_it_says(eigenvalues):
    rng = np.random.default_rng(6)
    draws = rng.standard_normal((100_000, len(eigenvalues))) ** 2 @ eigenvalues
    kept = np.mean(draws < sum_of_squares_quantile(np.diag(eigenvalues)))
    assert kept == pytest.approx(PROBABILITY, abs=2e-3)


def test_units_do_not_matter():
    """Metres or millimetres: the same violation."""
    text, names, _ = CASES["anisotropy"]
    *_, here = found(text, names)
    small = text.replace("x**2*y**2", "1e6*x**2*y**2")
    *_, there = found(small, names, scale=1e-3)
    assert there[0].violation == pytest.approx(here[0].violation, rel=1e-6)


def test_too_few_samples_are_refused():
    state = sp.symbols(PLANE)
    law = [state[2] ** 2 / 2 + state[3] ** 2 / 2]
    q = np.random.default_rng(0).standard_normal((5, 2))
    with pytest.raises(ValueError, match="record more"):
        symmetries_of_terms(law, np.ones(1), np.zeros(1), q, q, state)


@pytest.mark.parametrize(
    ("errors", "judged"),
    [((0.002, 0.3, 0.4), 1 + 3), ((0.002, 0.6, 0.7), 1)],
    ids=["three momenta hardly change", "two change by their rms in a period"],
)
def test_maps_whose_momenta_change_are_not_mixed_with_symmetries(errors, judged):
    rng, samples, known = np.random.default_rng(0), 400, len(errors)
    rest = np.full(6 - known, 0.1)
    sizes = np.array([(*np.array(errors) / 3, *rest * 20), (*errors, *rest)]).T
    change = sizes * rng.standard_normal((samples, 6, 2))
    problem = Invariance(
        np.ones(2),
        change,
        np.ones((samples, 1)),
        rng.standard_normal((samples, 6)),
        np.array([1.0, 0.0]),
        np.array([[0.0, 1.0]]),
    )
    assert len(problem.readings(0.01)) == judged
