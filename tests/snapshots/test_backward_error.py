"""Series of backward error analysis: sums of contractions as what they stand for."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from leastaction.snapshots.backward_error import (
    acceleration,
    discrete_lagrangian,
    meshed_lagrangian,
    meshing,
    modified_coefficients,
    on_shell,
    power,
    total_derivative,
)

Q, V = sp.symbols("q:2"), sp.symbols("v:2")
H = sp.Symbol("h")
# A Lagrangian of two coordinates with a mass that depends on the place.
PLANE = (
    V[0] ** 2 * (1 + Q[1] ** 2 / 5) / 2 + V[1] ** 2 / 2 + V[0] * V[1] / 3
    - Q[0] ** 2 * Q[1] - Q[1] ** 4 / 3 + Q[0] * V[1] ** 3 / 4
)  # fmt: skip


class Formulas:
    """The algebra of SymPy expressions in `dof` coordinates."""

    def __init__(self, dof: int):
        self.dof = dof

    def velocity(self):
        return list(V[: self.dof])

    def partial(self, f, slot, i):
        return sp.diff(f, (Q, V)[slot][i])

    def solve(self, matrix, right):
        return list(sp.Matrix(matrix).LUsolve(sp.Matrix(right)))

    def number(self, fraction):
        return sp.Rational(fraction.numerator, fraction.denominator)

    def shortened(self, elements, f, k):
        return elements


def motion(degree: int):
    """A polynomial motion q(t) of rational coefficients, one list by coordinate."""
    t = sp.Symbol("t")
    rng = np.random.default_rng(3)
    return t, [
        sum(sp.Rational(int(k), 7) * t**m for m, k in enumerate(row))
        for row in rng.integers(-5, 6, (2, degree + 1))
    ]


def contracted(terms, function, place, t):
    """Σ c ∂^k L(q^(m), ...) along a motion at t = 0, straight from the definition."""
    total = sp.Integer(0)
    at = {**dict(zip(Q, place, strict=True))}
    at |= {v: sp.diff(q, t) for v, q in zip(V, place, strict=True)}
    at = {k: value.subs(t, 0) for k, value in at.items()}
    for slots, coefficient in terms.items():
        parts = [(sp.Integer(1), function)]
        for slot, m in slots:
            parts = [
                (
                    weight * sp.diff(place[i], t, m).subs(t, 0),
                    sp.diff(f, (Q, V)[slot][i]),
                )
                for weight, f in parts
                for i in range(2)
            ]
        value = sum(weight * f.subs(at) for weight, f in parts)
        total += sp.Rational(coefficient.numerator, coefficient.denominator) * value
    return total


@pytest.mark.parametrize(
    ("rule", "nodes"), [("midpoint", [sp.Rational(1, 2)]), ("trapezoidal", [0, 1])]
)
def test_the_discrete_lagrangian_is_its_taylor_series(rule, nodes):
    t, q = motion(4)
    ends = [[x.subs(t, sign * H / 2) for x in q] for sign in (-1, 1)]
    speed = [(b - a) / H for a, b in zip(*ends, strict=True)]
    exact = 0
    for node in nodes:
        place = [(1 - node) * a + node * b for a, b in zip(*ends, strict=True)]
        at = dict(zip((*Q, *V), (*place, *speed), strict=True))
        exact += PLANE.subs(at, simultaneous=True) / len(nodes)
    series = sp.Poly(sp.expand(exact), H).all_coeffs()[::-1]
    terms = discrete_lagrangian(rule, 4)
    for k in range(5):
        of_power = {slots: c for slots, c in terms.items() if power(slots) == k}
        assert contracted(of_power, PLANE, q, t) == series[k]


def test_total_derivatives_are_those_along_a_motion():
    t, q = motion(4)
    terms = {((0, 1), (1, 2)): Fraction(3, 2), ((1, 3),): Fraction(-1), (): Fraction(2)}
    step = sp.Symbol("s")
    moved = [x.subs(t, t + step) for x in q]
    value = contracted(terms, PLANE, moved, t)
    assert contracted(total_derivative(terms), PLANE, q, t) == sp.diff(
        value, step
    ).subs(step, 0)


def test_meshing_is_the_series_of_half_z_over_its_sine():
    z = sp.Symbol("z")
    series = sp.series(z / 2 / sp.sinh(z / 2), z, 0, 9).removeO()
    for j in range(1, 5):
        value = meshing(j)
        expected = series.coeff(z, 2 * j)
        assert (value.numerator, value.denominator) == (expected.p, expected.q)


@pytest.mark.parametrize("rule", ["midpoint", "trapezoidal"])
def test_meshed_lagrangians_have_integrals_that_are_sums(rule):
    """Σ h L_Δ = ∫ Σ h^k m_k dt of a motion that has ended on both sides."""
    assert meshed_lagrangian(rule, 4)[0] == {(): 1}
    assert not meshed_lagrangian(rule, 4)[1] and not meshed_lagrangian(rule, 4)[3]
    t, q = motion(4)
    m_2 = meshed_lagrangian(rule, 4)[2]
    second = {s: c for s, c in discrete_lagrangian(rule, 2).items() if power(s) == 2}
    along = total_derivative(total_derivative({(): Fraction(1)}))
    expected = contracted(second, PLANE, q, t) - contracted(along, PLANE, q, t) / 24
    assert contracted(m_2, PLANE, q, t) == expected


@pytest.mark.parametrize(("rule", "s"), [("midpoint", -1), ("trapezoidal", 2)])
def test_on_shell_the_second_coefficient_has_two_terms(rule, s):
    made = on_shell(meshed_lagrangian(rule, 4)[2])
    assert made == {
        ((0, 1), (0, 1)): Fraction(s, 24),
        ((1, 2), (1, 2)): Fraction(1, 24),
    }
    fourth = on_shell(meshed_lagrangian(rule, 4)[4])
    assert len(fourth) == 10 and all(power(slots) == 4 for slots in fourth)
    third = {slots: c for slots, c in fourth.items() if any(m > 2 for _, m in slots)}
    assert third == {((1, 3), (1, 3)): Fraction(-16, 5760)}


def test_replacements_vanish_with_the_equations_of_motion():
    """E·y and (dE/dt)·y, of any motion: what is replaced differs by just these."""
    t, q = motion(5)

    def euler_lagrange():
        at = dict(zip((*Q, *V), (*q, *(sp.diff(x, t) for x in q)), strict=True))
        return [
            sp.diff(sp.diff(PLANE, v).subs(at, simultaneous=True), t)
            - sp.diff(PLANE, x).subs(at, simultaneous=True)
            for x, v in zip(Q, V, strict=True)
        ]

    for slots, order in ((((0, 3),), 0), (((0, 1), (0, 3)), 1), (((0, 1), (0, 4)), 1)):
        before = contracted({slots: Fraction(1)}, PLANE, q, t)
        after = contracted(on_shell({slots: Fraction(1)}), PLANE, q, t)
        m = slots[-1][1]
        error = [sp.diff(e, t, order) for e in euler_lagrange()]
        turned = sum(e * sp.diff(x, t, m) for e, x in zip(error, q, strict=True))
        assert sp.expand(after - before - turned.subs(t, 0)) == 0
    untouched = {((0, 1),): Fraction(1), ((0, 1), (0, 2)): Fraction(2)}
    assert on_shell(untouched) == untouched


def test_accelerations_solve_the_equations_of_motion():
    a = acceleration(Formulas(2), PLANE)
    at = {
        **dict(zip(Q, (0.3, -0.4), strict=True)),
        **dict(zip(V, (0.5, 0.2), strict=True)),
    }
    for x, v in zip(Q, V, strict=True):
        p = sp.diff(PLANE, v)
        rate = sum(sp.diff(p, r) * w for r, w in zip(Q, V, strict=True))
        rate += sum(sp.diff(p, w) * b for w, b in zip(V, a, strict=True))
        assert abs(float((rate - sp.diff(PLANE, x)).subs(at))) < 1e-12


def frequency(coefficients) -> sp.Expr:
    """Ω² of a quadratic Lagrangian Σ h^2k c_k."""
    total = sum(H ** (2 * k) * c for k, c in enumerate(coefficients))
    total = sp.expand(total)
    return -total.coeff(Q[0], 2) / total.coeff(V[0], 2)


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize(
    ("rule", "turned", "back"),
    [
        ("midpoint", lambda x: 2 * sp.atan(x / 2), lambda x: 2 * sp.tan(x / 2)),
        ("trapezoidal", lambda x: 2 * sp.asin(x / 2), lambda x: 2 * sp.sin(x / 2)),
    ],
)
def test_an_oscillator_has_the_frequency_of_its_discrete_motion(
    rule, turned, back, inverse
):
    oscillator = V[0] ** 2 - sp.Rational(9, 4) * Q[0] ** 2
    order = 6 if inverse else 4
    made = modified_coefficients(Formulas(1), oscillator, order, rule, inverse)
    assert len(made) == order // 2 + 1 and made[0] == oscillator
    exact = ((back if inverse else turned)(sp.Rational(3, 2) * H) / H) ** 2
    difference = sp.series(frequency(made) - exact, H, 0, order + 2).removeO()
    assert sp.expand(difference) == 0


@pytest.mark.parametrize("rule", ["midpoint", "trapezoidal"])
def test_of_a_plane_the_inverse_takes_back_the_first_coefficient(rule):
    s = {"midpoint": -1, "trapezoidal": 2}[rule]
    algebra = Formulas(2)
    _, made = modified_coefficients(algebra, PLANE, 2, rule)
    _, back = modified_coefficients(algebra, PLANE, 2, rule, inverse=True)
    a = sp.Matrix(acceleration(algebra, PLANE))
    bend, mass = sp.hessian(PLANE, Q), sp.hessian(PLANE, V)
    v = sp.Matrix(V)
    printed = (s * (v.T * bend * v)[0] + (a.T * mass * a)[0]) / 24
    at = {
        **dict(zip(Q, (0.3, -0.4), strict=True)),
        **dict(zip(V, (0.5, 0.2), strict=True)),
    }
    expected = float(printed.subs(at))
    assert abs(expected) > 5e-4
    assert float(made.subs(at)) == pytest.approx(expected, rel=1e-12)
    assert float(back.subs(at)) == pytest.approx(-expected, rel=1e-12)


@pytest.mark.parametrize(
    ("order", "inverse"), [(-2, False), (3, False), (6, False), (5, True)]
)
def test_the_series_has_even_powers_up_to_the_fourth(order, inverse):
    with pytest.raises(ValueError, match=r"truncation after h\^"):
        modified_coefficients(Formulas(1), V[0] ** 2, order, "midpoint", inverse)
    assert modified_coefficients(Formulas(1), V[0] ** 2, 0, "midpoint") == [V[0] ** 2]
    with pytest.raises(ValueError, match="rule 'simpson' is unknown"):
        discrete_lagrangian("simpson", 2)
