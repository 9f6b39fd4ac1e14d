"""Meshed Lagrangian of a variational integrator, as terms with rational coefficients.

Along a motion q(t) with derivatives q⁽¹⁾ = q̇, q⁽²⁾, ... every quantity here is a sum of
contractions of the derivatives of L at (q, q̇). A contraction is written as its
*slots*: ``((0, 1), (1, 2))`` is Σ_ij ∂²L/∂q_i∂q̇_j q⁽¹⁾_i q⁽²⁾_j, and ``()`` is L. Slots
are sorted; 0 stands for q, 1 for q̇. The number of dots beyond L, (0, m) counting m and
(1, m) counting m − 1, is the power of h, so that no series in h needs to be kept.
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from math import comb, factorial

Slots = tuple[tuple[int, int], ...]
Terms = dict[Slots, Fraction]

RULES: Mapping[str, tuple[tuple[Fraction, Fraction], ...]] = {
    "midpoint": ((Fraction(1), Fraction(1, 2)),),
    "trapezoidal": ((Fraction(1, 2), Fraction(0)), (Fraction(1, 2), Fraction(1))),
}
"""Weights b and nodes a of L_Δ(q₀, q₁) = h Σ b L((1 − a) q₀ + a q₁, (q₁ − q₀)/h)."""


def power(slots: Slots) -> int:
    """Power of h that goes with a contraction."""
    return sum(m - slot for slot, m in slots)


def discrete_lagrangian(rule: str, order: int) -> Terms:
    """Series of L_Δ(q(t − h/2), q(t + h/2))/h up to h^order.

    L is expanded about (q(t), q̇(t)): the exponential of a sum of slots.

    Parameters
    ----------
    rule
        ``midpoint`` or ``trapezoidal``.
    order
        Highest power of h.

    Raises
    ------
    ValueError
        If the rule is unknown.
    """
    if rule not in RULES:
        raise ValueError(f"rule {rule!r} is unknown; choose one of {sorted(RULES)}")
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
        total = _sum(total, terms)
    return total


def total_derivative(terms: Terms) -> Terms:
    """d/dt of a sum of contractions along the motion."""
    rate: Terms = {}
    for slots, coefficient in terms.items():
        for slot, m in ((0, 1), (1, 2)):
            _add(rate, (*slots, (slot, m)), coefficient)
        for i, (slot, m) in enumerate(slots):
            _add(rate, (*slots[:i], (slot, m + 1), *slots[i + 1 :]), coefficient)
    return _without_zeros(rate)


@lru_cache(maxsize=32)
def meshed_lagrangian(rule: str, order: int) -> tuple[Terms, ...]:
    """Coefficients m_0 ... m_order of the meshed Lagrangian in powers of h.

    Σ_j (2^(1−2j) − 1) h^2j B_2j/(2j)! d^2j/dt^2j applied to the series of L_Δ/h: its
    integral over time is the sum of L_Δ over the grid (Euler–Maclaurin at midpoints).
    They act on any function of (q, q̇) in the place of L, along any motion; odd ones
    vanish for the symmetric rules.

    Paper: eq. (28) (Vermeeren 2017); the sum there runs over i, its summand over j, and
    the expansion of L_Δ lacks the division by h.
    """
    rates = discrete_lagrangian(rule, order)
    total = dict(rates)
    for j in range(1, order // 2 + 1):
        rates = total_derivative(total_derivative(rates))
        rates = {s: c for s, c in rates.items() if power(s) <= order}
        weight = (Fraction(2) ** (1 - 2 * j) - 1) * bernoulli(2 * j) / factorial(2 * j)
        total = _sum(total, {s: weight * c for s, c in rates.items()})
    return tuple(
        {s: c for s, c in sorted(total.items()) if power(s) == k}
        for k in range(order + 1)
    )


def on_shell(terms: Terms) -> Terms:
    """Terms along solutions of the Euler–Lagrange equation E = 0 of the same L.

    E·y = 0, with E = d/dt ∂L/∂q̇ − ∂L/∂q, replaces ∂L/∂q·y for y = q⁽ᵐ⁾, m ≥ 2, and
    (dE/dt)·y = 0 replaces ∂²L/∂q∂q(q̇, y) for m ≥ 3. Then m_2 has two terms,

        24 m_2 = s L_qq(q̇, q̇) + L_vv(q̈, q̈),  s = −1 (midpoint), 2 (trapezoidal),

    and m_4 ten, of which only −16 L_vv(q⁽³⁾, q⁽³⁾)/5760 holds a third derivative.
    """
    reduced: Terms = {}
    for slots, coefficient in terms.items():
        for changed, factor in _replacement(slots).items():
            _add(reduced, changed, coefficient * factor)
    return _without_zeros(reduced)


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


def highest_derivative(terms: Terms) -> int:
    """Highest m of the q⁽ᵐ⁾ that the terms contain, at least 1."""
    return max((m for slots in terms for _, m in slots), default=1)


@lru_cache(maxsize=64)
def bernoulli(n: int) -> Fraction:
    """Bernoulli number B_n, with B_1 = −1/2."""
    if n == 0:
        return Fraction(1)
    return -sum(comb(n + 1, k) * bernoulli(k) for k in range(n)) / (n + 1)


def _times_exponential(terms: Terms, slot, coefficient: Fraction, order: int) -> Terms:
    """Terms times exp(coefficient · slot), cut after h^order."""
    product: Terms = {}
    for slots, value in terms.items():
        grown, k = slots, 0
        while value and power(grown) <= order:
            _add(product, grown, value)
            k += 1
            grown, value = (*grown, slot), value * coefficient / k
    return _without_zeros(product)


def _sum(first: Terms, second: Terms) -> Terms:
    total = dict(first)
    for slots, coefficient in second.items():
        _add(total, slots, coefficient)
    return _without_zeros(total)


def _add(terms: Terms, slots: Slots, coefficient: Fraction) -> None:
    slots = tuple(sorted(slots))
    terms[slots] = terms.get(slots, Fraction(0)) + coefficient


def _without_zeros(terms: Terms) -> Terms:
    return {slots: coefficient for slots, coefficient in terms.items() if coefficient}
