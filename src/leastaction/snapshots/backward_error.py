"""Backward error analysis of variational integrators: modified Lagrangians.

A variational integrator applied to L solves the Euler–Lagrange equation of a *modified
Lagrangian* L_mod = L + h² c_2 + h⁴ c_4 + ..., up to its truncation error. Applied to
the *inverse modified Lagrangian* L_invmod it solves that of L. Both are made here from
the rule alone, in whatever algebra L is given: at many points at once, from the
derivatives of a learned L, in :mod:`backward_error_numerical`, or as formulas.

**Terms.** Along a motion q(t) with derivatives q⁽¹⁾ = q̇, q⁽²⁾, ... every quantity here
is a sum of contractions of the derivatives of L at (q, q̇), with rational coefficients.
A contraction is written as its *slots*: ``((0, 1), (1, 2))`` is
Σ_ij ∂²L/∂q_i∂q̇_j q⁽¹⁾_i q⁽²⁾_j, and ``()`` is L. Slots are sorted; 0 stands for q, 1
for q̇. The number of dots beyond L, (0, m) counting m and (1, m) counting m − 1, is the
power of h, so that no series in h needs to be kept.

**Algebras.** Expressions and numbers at many points are added, multiplied and
differentiated by the same lines. Their elements can be added, subtracted and
multiplied, and an algebra has

    dof                          number of degrees of freedom n
    velocity()                   q̇, a list of n elements
    partial(f, slot, i)          ∂f/∂q_i (slot 0) or ∂f/∂q̇_i (slot 1)
    solve(matrix, right)         a with Σ_j matrix[i][j] a[j] = right[i]
    number(fraction)             the rational number as a factor
    shortened(elements, f, k)    elements as far as k-th derivatives of f are known

Sources: Vermeeren, Numerische Mathematik 137 (2017) 1001; Ober-Blöbaum and Offen,
Theorems 4.2 and 4.3, Examples 4.1 and 4.2.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from math import factorial, prod
from operator import add

import sympy as sp

from leastaction.snapshots.discrete_lagrangian import RULES

Slots = tuple[tuple[int, int], ...]
Terms = dict[Slots, Fraction]

# Beyond it the motion of L itself will not do.
HIGHEST_ORDER = 4


def modified_coefficients(
    algebra, lagrangian, order: int, rule: str, inverse: bool = False
) -> list:
    """Coefficients [L, c_2, ...] of L_mod = L + h² c_2 + h⁴ c_4, or of L_invmod.

    L_mod is the meshed Lagrangian along the motions of L_mod (Theorem 4.2). For both
    rules its h² part is stationary at q̈ = A, the acceleration of L:

        24 m_2 = L_vv(A, A) − L_vv(q̈ − A, q̈ − A) + s L_qq(q̇, q̇),

    so an error h^(k+2) of the motion is one of h^(k+6) in L_mod. Up to h⁴ the motion of
    L itself will do: c_2 and c_4 are m_2 and m_4 along it, in any dimension.

    The modified motion of L_invmod is that of L (Theorem 4.3). Along it the meshed
    Lagrangian is a *linear* operator Σ h^k m_k, and Σ h^k m_k[L_invmod] = L gives

        i_k = −m_k[L] − m_{k−2}[i_2] − ... − m_2[i_{k−2}]

    to any order.
    """
    if order < 0 or order % 2 or (order > HIGHEST_ORDER and not inverse):
        raise ValueError(
            f"truncation after h^{order!r}; the series has even powers, 0, 2, 4, and "
            "only that of the inverse goes on"
        )
    off_shell = meshed_lagrangian(rule, order)
    meshed = [on_shell(terms) for terms in off_shell]
    more = off_shell[: max(order - 1, 0)] if inverse else ()
    motion = _motion(algebra, lagrangian, [*meshed, *more])
    result = [lagrangian]
    for k in range(2, order + 1, 2):
        total = meshed_coefficient(algebra, lagrangian, meshed[k], motion, k)
        if inverse:
            for j in range(2, k, 2):
                total = total + meshed_coefficient(
                    algebra, result[j // 2], off_shell[k - j], motion, k - j
                )
            total = total * algebra.number(Fraction(-1))
        result.append(total)
    return result


def meshed_coefficient(algebra, function, terms: Terms, motion: dict, k: int):
    """m_k of the meshed Lagrangian of any function of (q, q̇) along a motion."""
    needed = {m: algebra.shortened(x, function, k) for m, x in motion.items()}
    with_orders = {
        slots: c * prod(factorial(slots.count(slot)) for slot in set(slots))
        for slots, c in terms.items()
    }
    return _contraction(algebra, function, with_orders, needed)


def acceleration(algebra, lagrangian) -> list:
    """A = L_vv⁻¹ (L_q − L_vq q̇), what the Euler–Lagrange equation says of q̈."""
    dofs, v = range(algebra.dof), algebra.velocity()
    momenta = [algebra.partial(lagrangian, 1, i) for i in dofs]
    force = [algebra.partial(lagrangian, 0, i) for i in dofs]
    for i in dofs:
        for j in dofs:
            force[i] = force[i] - algebra.partial(momenta[i], 0, j) * v[j]
    matrix = [[algebra.partial(momenta[i], 1, j) for j in dofs] for i in dofs]
    return algebra.solve(matrix, force)


def _motion(algebra, lagrangian, meshed: Sequence[Terms]) -> dict[int, list]:
    """q⁽ᵐ⁾ as functions of (q, q̇) on motions of L, as far as the terms need them."""
    highest = max(m for terms in meshed for slots in terms for _, m in (*slots, (0, 1)))
    motion = {1: algebra.velocity()}
    if highest >= 2:
        motion[2] = acceleration(algebra, lagrangian)
    axes = [(slot, i) for slot in (0, 1) for i in range(algebra.dof)]
    for m in range(3, highest + 1):
        motion[m] = [
            reduce(add, [algebra.partial(f, s, i) * motion[s + 1][i] for s, i in axes])
            for f in motion[m - 1]
        ]
    return motion


def _contraction(algebra, function, terms: Terms, motion: dict, last=None, run=0):
    """Sum of contractions, each common first slot taken out (Horner's scheme)."""
    # Among equal slots only indices in ascending order are formed, i ≤ j ≤ ...; `terms`
    # come with the number of their orders, and `run` equal indices divide it by run!.
    parts, rest = [], {}
    for slots, coefficient in terms.items():
        if slots:
            rest.setdefault(slots[0], {})[slots[1:]] = coefficient
        else:
            parts.append(function * algebra.number(coefficient))
    for slot, inner in rest.items():
        same = last is not None and last[0] == slot
        for i in range(last[1] if same else 0, algebra.dof):
            length = run + 1 if same and last[1] == i else 1
            derivative = algebra.partial(function, slot[0], i)
            inside = _contraction(algebra, derivative, inner, motion, (slot, i), length)
            part = motion[slot[1]][i] * inside
            if length > 1:
                part = part * algebra.number(Fraction(1, length))
            parts.append(part)
    return reduce(add, parts)


def power(slots: Slots) -> int:
    """Power of h that goes with a contraction."""
    return sum(m - slot for slot, m in slots)


def discrete_lagrangian(rule: str, order: int) -> Terms:
    """Series of L_Δ(q(t − h/2), q(t + h/2))/h up to h^order.

    L is expanded about (q(t), q̇(t)): the exponential of a sum of slots.
    """
    if rule not in RULES:
        raise ValueError(f"rule {rule!r} is unknown; choose from {sorted(RULES)}")
    total: Terms = {}
    for weight, node in RULES[rule]:
        terms: Terms = {(): weight}
        for m in range(1, order + 1):
            half = Fraction(1, 2**m * factorial(m))
            position = half if m % 2 == 0 else (2 * node - 1) * half
            terms = _times_exponential(terms, (0, m), position, order)
            if m % 2 == 0:
                velocity = half / (m + 1)
                terms = _times_exponential(terms, (1, m + 1), velocity, order)
        total = _sum([*total.items(), *terms.items()])
    return total


def total_derivative(terms: Terms) -> Terms:
    """d/dt of a sum of contractions along the motion."""

    def rates():
        for slots, coefficient in terms.items():
            for slot, m in ((0, 1), (1, 2)):
                yield (*slots, (slot, m)), coefficient
            for i, (slot, m) in enumerate(slots):
                yield (*slots[:i], (slot, m + 1), *slots[i + 1 :]), coefficient

    return _sum(rates())


@lru_cache(maxsize=32)
def meshed_lagrangian(rule: str, order: int) -> tuple[Terms, ...]:
    """Coefficients m_0 ... m_order of the meshed Lagrangian in powers of h.

    Σ_j :func:`meshing` h^2j d^2j/dt^2j applied to the series of L_Δ/h: its integral
    over time is the sum of L_Δ over the grid (Euler–Maclaurin at midpoints). They act
    on any function of (q, q̇) in the place of L, along any motion; odd ones vanish for
    the symmetric rules.
    """
    # Paper: eq. (28) (Vermeeren 2017); the sum there runs over i, its summand over j,
    # and the expansion of L_Δ lacks the division by h.
    rates = discrete_lagrangian(rule, order)
    total = dict(rates)
    for j in range(1, order // 2 + 1):
        rates = total_derivative(total_derivative(rates))
        rates = {s: c for s, c in rates.items() if power(s) <= order}
        more = ((s, meshing(j) * c) for s, c in rates.items())
        total = _sum([*total.items(), *more])
    return tuple(
        {s: c for s, c in sorted(total.items()) if power(s) == k}
        for k in range(order + 1)
    )


def meshing(j: int) -> Fraction:
    """B_2j(1/2)/(2j)!, coefficient of z^2j in (z/2)/sinh(z/2)."""
    value = sp.bernoulli(2 * j, sp.Rational(1, 2)) / factorial(2 * j)
    return Fraction(int(value.p), int(value.q))


def on_shell(terms: Terms) -> Terms:
    """Terms along solutions of the Euler–Lagrange equation E = 0 of the same L.

    E·y = 0, with E = d/dt ∂L/∂q̇ − ∂L/∂q, replaces ∂L/∂q·y for y = q⁽ᵐ⁾, m ≥ 2, and
    (dE/dt)·y = 0 replaces ∂²L/∂q∂q(q̇, y) for m ≥ 3. Then m_2 has two terms,

        24 m_2 = s L_qq(q̇, q̇) + L_vv(q̈, q̈),  s = −1 (midpoint), 2 (trapezoidal),

    and m_4 ten, of which only −16 L_vv(q⁽³⁾, q⁽³⁾)/5760 holds a third derivative.
    """
    return _sum(
        (changed, coefficient * factor)
        for slots, coefficient in terms.items()
        for changed, factor in _replacement(slots).items()
    )


def _replacement(slots: Slots) -> Terms:
    if len(slots) == 1 and slots[0][0] == 0 and slots[0][1] >= 2:
        y = (1, slots[0][1])
        return {((0, 1), y): Fraction(1), ((1, 2), y): Fraction(1)}
    if len(slots) == 2 and slots[0] == (0, 1) and slots[1][0] == 0 and slots[1][1] >= 3:
        momentum = total_derivative(total_derivative({(): Fraction(1)}))
        y, force = (1, slots[1][1]), (slots[1], (1, 2))
        # d²/dt² of ∂L/∂q̇ is that of L with y in one more slot.
        twice = {(*grown, y): c for grown, c in momentum.items()}
        return {**twice, force: Fraction(-1)}
    return {slots: Fraction(1)}


def _times_exponential(terms: Terms, slot, coefficient: Fraction, order: int) -> Terms:
    """Terms times exp(coefficient · slot), cut after h^order."""

    def products():
        for slots, value in terms.items():
            grown, k = slots, 0
            while value and power(grown) <= order:
                yield grown, value
                k += 1
                grown, value = (*grown, slot), value * coefficient / k

    return _sum(products())


def _sum(parts: Iterable[tuple[Slots, Fraction]]) -> Terms:
    """Contractions with their slots sorted, equal ones added up."""
    terms: dict[Slots, Fraction] = Counter()
    for slots, coefficient in parts:
        terms[tuple(sorted(slots))] += coefficient
    return {slots: total for slots, total in terms.items() if total}
