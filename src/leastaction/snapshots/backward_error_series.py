"""Modified and inverse modified Lagrangian, in whatever algebra L is given.

Expressions, polynomials in the derivatives of a general L, and numbers at many points
are added, multiplied and differentiated here by the same lines. An *algebra* has

    dof                          number of degrees of freedom n
    velocity()                   q̇, a list of n elements
    partial(f, slot, i)          ∂f/∂q_i (slot 0) or ∂f/∂q̇_i (slot 1)
    solve(matrix, right)         a with Σ_j matrix[i][j] a[j] = right[i]
    number(fraction)             the rational number as a factor
    shortened(elements, f, k)    elements as far as k-th derivatives of f are known

    limited(f, m)                f as far as q⁽ᵐ⁾ and higher derivatives need it

and elements that know ``+``, ``-`` and ``*``.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import factorial, prod

from leastaction.snapshots.backward_error_powers import Series, SeriesAlgebra
from leastaction.snapshots.backward_error_terms import (
    Terms,
    highest_derivative,
    meshed_lagrangian,
    on_shell,
)

GAIN = 4  # orders by which L_mod is known better than the motion it is taken along


def modified_coefficients(algebra, lagrangian, order: int, rule: str) -> list:
    """Coefficients [L, c_2, ...] of L_mod = L + h² c_2 + h⁴ c_4 + ... (Theorem 4.2).

    L_mod is the meshed Lagrangian along the motions of L_mod. For both rules the h²
    part of the meshed Lagrangian is stationary at q̈ = A, the acceleration of L:

        24 m_2 = L_vv(A, A) − L_vv(q̈ − A, q̈ − A) + s L_qq(q̇, q̇),

    so an error h^(k+2) of the motion is one of h^(k+6) in L_mod. Up to h⁴ the motion of
    L itself will do: c_2 and c_4 are m_2 and m_4 along it, in any dimension. That of
    L_mod up to h⁴ gives the coefficients up to h⁸, and so on.

    Raises
    ------
    ValueError
        If `order` is odd or negative, or the rule is unknown.
    """
    _check_order(order)
    first = min(order, GAIN)
    meshed = [on_shell(terms) for terms in meshed_lagrangian(rule, first)]
    motion = _motion(algebra, lagrangian, meshed)
    found = [lagrangian] + [
        meshed_coefficient(algebra, lagrangian, meshed[k], motion, k)
        for k in range(2, first + 1, 2)
    ]
    while 2 * (len(found) - 1) < order:
        reached = min(2 * (len(found) - 1) + GAIN, order)
        found = _along_modified_motion(algebra, found, reached, rule)
    return found


def _along_modified_motion(algebra, found: list, order: int, rule: str) -> list:
    """Coefficients up to h^order from those up to h^(order − GAIN)."""
    meshed = meshed_lagrangian(rule, order)
    terms = order // 2 + 1
    series = SeriesAlgebra(algebra, terms)
    motion = _motion(series, Series(found, terms), meshed)
    lagrangian = Series(found[:1], terms)
    totals = found[:1]
    for k in range(2, order + 1, 2):
        part = meshed_coefficient(series, lagrangian, meshed[k], motion, k)
        for j, coefficient in enumerate(part.coefficients, start=k // 2):
            if j < len(totals):
                totals[j] = totals[j] + coefficient
            else:
                totals.append(coefficient)
    return totals


def inverse_modified_coefficients(algebra, lagrangian, order: int, rule: str) -> list:
    """Coefficients [L, i_2, ...] of L_invmod = L + h² i_2 + h⁴ i_4 ... (Theorem 4.3).

    The modified motion of L_invmod is that of L. Along it the meshed Lagrangian is a
    *linear* operator Σ h^k m_k, and Σ h^k m_k[L_invmod] = L gives

        i_k = −m_k[L] − m_{k−2}[i_2] − ... − m_2[i_{k−2}],

    to any order and in any dimension.

    Raises
    ------
    ValueError
        If `order` is odd or negative, or the rule is unknown.
    """
    _check_order(order)
    off_shell = meshed_lagrangian(rule, order)
    first = [on_shell(terms) for terms in off_shell]
    motion = _motion(algebra, lagrangian, [*first, *off_shell[: max(order - 1, 0)]])
    found = [lagrangian]
    for k in range(2, order + 1, 2):
        total = meshed_coefficient(algebra, lagrangian, first[k], motion, k)
        for j in range(2, k, 2):
            total = total + meshed_coefficient(
                algebra, found[j // 2], off_shell[k - j], motion, k - j
            )
        found.append(total * algebra.number(Fraction(-1)))
    return found


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
    highest = max(map(highest_derivative, meshed))
    motion = {1: algebra.velocity()}
    if highest >= 2:
        motion[2] = acceleration(algebra, lagrangian)
    for m in range(3, highest + 1):
        known = {k: [algebra.limited(f, m) for f in x] for k, x in motion.items()}
        motion[m] = [_rate(algebra, f, known) for f in known[m - 1]]
    return motion


def _check_order(order: int) -> None:
    if order < 0 or order % 2:
        raise ValueError(
            f"truncation after h^{order!r}; the series has even powers, 0, 2, 4, ..."
        )


def _rate(algebra, function, motion: dict):
    parts = [
        algebra.partial(function, slot, i) * motion[slot + 1][i]
        for slot in (0, 1)
        for i in range(algebra.dof)
    ]
    return sum(parts[1:], parts[0])


def _contraction(algebra, function, terms: Terms, motion: dict, last=None, run=0):
    """Sum of contractions, each common first slot taken out (Horner's scheme).

    Among equal slots only indices in ascending order are formed, i ≤ j ≤ ...; `terms`
    come with the number of their orders, and `run` equal indices divide it by run!.
    """
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
    return sum(parts[1:], parts[0])
