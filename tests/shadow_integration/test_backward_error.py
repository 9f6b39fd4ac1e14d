"""Formulas of backward error analysis: closed forms, gauge, coordinates, examples."""

import pytest
import sympy as sp

from leastaction.core.euler_lagrange import symbols
from leastaction.core.expressions import parse, symbol
from leastaction.snapshots.backward_error import (
    RULES,
    meshed_lagrangian,
    meshing,
    on_shell,
    total_derivative,
)
from leastaction_papers.shadow_integration.tables import (
    STEP,
    general_coefficient,
    modified_lagrangian,
)

x, y, xdot, ydot, h = symbols(["x", "y", "xdot", "ydot", "h"])
OSCILLATOR = xdot**2 / 2 - x**2 / 2
PLANE = parse(
    "xdot**2*(1 + y**2/5) + ydot**2/2 + xdot*ydot/3 + x*y**2*xdot/4 - x**2*y - y**4/3",
    ["x", "y", "xdot", "ydot"],
)
SMALL = (sp.Rational(1, 100), sp.Rational(1, 200))
S = {"midpoint": -1, "trapezoidal": 2}

both_rules = pytest.mark.parametrize("rule", sorted(RULES))


@both_rules
def test_examples_4_1_and_4_2_of_the_paper(rule):
    """The printed formulas, for a general L(q, q̇)."""
    lagrangian = sp.Function("L")(x, xdot)
    force = lagrangian.diff(x) - lagrangian.diff(x, xdot) * xdot
    mass, stiffness = lagrangian.diff(xdot, 2), lagrangian.diff(x, 2)
    printed = h**2 / 24 * (force**2 / mass + S[rule] * stiffness * xdot**2)
    found = modified_lagrangian(lagrangian, ["x"], 2, rule)
    inverse = modified_lagrangian(lagrangian, ["x"], 2, rule, inverse=True)
    assert sp.expand(found - lagrangian - printed) == 0
    assert sp.expand(inverse - lagrangian + printed) == 0


@both_rules
def test_the_same_formula_holds_in_two_dimensions(rule):
    q, v = sp.Matrix([x, y]), sp.Matrix([xdot, ydot])
    momentum = sp.Matrix([PLANE]).jacobian(v).T
    force = sp.Matrix([PLANE]).jacobian(q).T - momentum.jacobian(q) * v
    stiffness = sp.hessian(PLANE, list(q))
    bracket = force.T * momentum.jacobian(v).inv() * force + S[rule] * (
        v.T * stiffness * v
    )
    found = modified_lagrangian(PLANE, ["x", "y"], 2, rule)
    assert sp.simplify(found - PLANE - h**2 / 24 * bracket[0]) == 0


@both_rules
def test_the_oscillator_has_closed_forms(rule):
    """Frequencies (2/h) atan(h/2) and (2/h) asin(h/2), and masses."""
    frequency = 2 / h * (sp.atan(h / 2) if rule == "midpoint" else sp.asin(h / 2))
    mass = {"midpoint": 1, "trapezoidal": sp.sin(frequency * h) / h}[rule]
    mass = 1 / frequency if rule == "midpoint" else mass / frequency
    exact = mass * (xdot**2 - frequency**2 * x**2) / 2
    found = modified_lagrangian(OSCILLATOR, ["x"], 4, rule)
    assert sp.expand(sp.series(exact, h, 0, 6).removeO() - found) == 0


@both_rules
def test_the_inverse_of_the_oscillator_has_closed_forms(rule):
    """Potential (2/h) tan(h/2) for both rules."""
    mass = h / 2 * sp.cot(h / 2) if rule == "midpoint" else h / sp.sin(h)
    exact = mass * xdot**2 / 2 - 2 / h * sp.tan(h / 2) * x**2 / 2
    found = modified_lagrangian(OSCILLATOR, ["x"], 8, rule, inverse=True)
    assert sp.expand(sp.series(exact, h, 0, 10).removeO() - found) == 0


@both_rules
@pytest.mark.parametrize("inverse", [False, True])
def test_the_general_coefficient_is_that_of_every_lagrangian(rule, inverse):
    lagrangian = parse("xdot**2*(1 + x**2)/2 + x*xdot**3 - x**3", ["x", "xdot"])
    two, four = (
        modified_lagrangian(lagrangian, ["x"], k, rule, inverse=inverse) for k in (2, 4)
    )
    whole = four - two
    general = general_coefficient(4, rule, inverse)
    here = {x: sp.Rational(1, 3), xdot: sp.Rational(2, 5)}
    derivatives = {
        symbol(f"L_{i}{j}"): sp.diff(lagrangian, x, i, xdot, j).subs(here)
        for i in range(7)
        for j in range(7 - i)
    }
    found = general.subs({**derivatives, symbol("v"): here[xdot]})
    assert found == (whole / STEP**4).subs(here)


@both_rules
def test_a_gauge_term_becomes_a_difference_of_end_points(rule):
    """dξ/dt added to L adds to L_invmod what the rule sums to ξ(q₁) − ξ(q₀)."""
    gauge = x**6 + x**3
    rate = sp.diff(gauge, x) * xdot
    lagrangian = xdot**2 / 2 - x**3
    before = modified_lagrangian(lagrangian, ["x"], 4, rule, inverse=True)
    after = modified_lagrangian(lagrangian + rate, ["x"], 4, rule, inverse=True)
    added = sp.expand(after - before)
    end = x + h * xdot
    discrete = sum(
        weight.numerator
        * h
        * added.subs(x, x + sp.Rational(node.numerator, node.denominator) * h * xdot)
        / weight.denominator
        for weight, node in RULES[rule]
    )
    error = sp.expand(discrete - gauge.subs(x, end) + gauge)
    assert all(error.coeff(h, k) == 0 for k in range(7))
    # And such a term changes the modified Lagrangian by dξ/dt alone.
    modified = modified_lagrangian(lagrangian + added, ["x"], 4, rule)
    change = modified - modified_lagrangian(lagrangian, ["x"], 4, rule) - rate
    here = {x: sp.Rational(1, 3), xdot: sp.Rational(2, 5)}
    small = [sp.nsimplify(change.subs(here).subs(h, s)) for s in SMALL]
    assert abs(float(small[0] / small[1]) - 2**6) < 1


@both_rules
def test_a_total_derivative_is_not_a_gauge_of_the_rule(rule):
    """It is one for quadratic ξ; otherwise the discrete motion changes with h²."""
    plain = modified_lagrangian(OSCILLATOR, ["x"], 2, rule)
    for gauge, change in ((x**2, 0), (x**3, S[rule] * h**2 / 4 * xdot**3)):
        rate = sp.diff(gauge, x) * xdot
        found = modified_lagrangian(OSCILLATOR + rate, ["x"], 2, rule)
        assert sp.expand(found - plain - rate - change) == 0


def test_meshing_undoes_a_central_difference():
    """(z/2)/sinh(z/2) times sinh(z/2)/(z/2) is 1: the series of Bernoulli numbers."""
    z = sp.Symbol("z")
    mesh = 1 + sum(
        sp.Rational(meshing(j).numerator, meshing(j).denominator) * z ** (2 * j)
        for j in range(1, 5)
    )
    assert sp.series(mesh * sp.sinh(z / 2) / (z / 2), z, 0, 9).removeO() == 1


@both_rules
def test_meshed_lagrangians_are_those_of_the_paper_at_h2(rule):
    """24 m_2 = 2 L_q q̈ − 2 L_qv(q̇, q̈) − L_vv(q̈, q̈) + s L_qq(q̇, q̇)."""
    second = {slots: 24 * c for slots, c in meshed_lagrangian(rule, 4)[2].items()}
    q1, q2, v2 = (0, 1), (0, 2), (1, 2)
    assert second == {(q2,): 2, (q1, v2): -2, (v2, v2): -1, (q1, q1): S[rule]}
    assert [len(on_shell(m)) for m in meshed_lagrangian(rule, 4)] == [1, 0, 2, 0, 10]


def test_the_formula_of_order_4_is_the_one_in_the_docstring():
    """In any dimension: 7 D⁴L + 12 D²(L_q)·A + 36 L_qq(A, A) − 16 L_vv(J, J)."""
    q, a, force, jerk = (0, 1), (1, 2), (0, 2), (1, 3)
    written = {(q,) * (4 - k) + (a,) * k: 7 * sp.binomial(4, k) for k in range(5)}
    written |= {(q, q, force): 12, (q, force, a): 24, (force, a, a): 12}
    written |= {(force, force): 36, (jerk, jerk): -16}
    added = {(q, q, q, q): -15, (q, q, q, a): -60, (q, q, a, a): -30}
    added |= {(q, q, force): -60, (q, force, a): -120, (force, force): -60}
    trapezoidal = {slots: c + added.get(slots, 0) for slots, c in written.items()}
    for rule, expected in (("midpoint", written), ("trapezoidal", trapezoidal)):
        found = on_shell(meshed_lagrangian(rule, 4)[4])
        assert {slots: 5760 * c for slots, c in found.items()} == expected


def test_the_total_derivative_obeys_the_chain_rule():
    """d²L/dt² = L_qq(q̇, q̇) + 2 L_qv(q̇, q̈) + L_vv(q̈, q̈) + L_q q̈ + L_v q⁽³⁾."""
    q1, q2, v2, v3 = (0, 1), (0, 2), (1, 2), (1, 3)
    assert total_derivative(total_derivative({(): 1})) == {
        (q1, q1): 1,
        (q1, v2): 2,
        (v2, v2): 1,
        (q2,): 1,
        (v3,): 1,
    }


def test_what_has_no_modified_lagrangian_is_refused():
    with pytest.raises(ValueError, match="rule 'simpson' is unknown"):
        modified_lagrangian(OSCILLATOR, ["x"], 2, "simpson")
    with pytest.raises(ValueError, match="even powers"):
        modified_lagrangian(OSCILLATOR, ["x"], 3)
    with pytest.raises(ValueError, match="only that of the inverse goes on"):
        modified_lagrangian(OSCILLATOR, ["x"], 6)
    with pytest.raises(ValueError, match="singular"):
        modified_lagrangian(x * xdot - x**2, ["x"], 2)
