"""Euler–Lagrange operator, d/dt ∂L/∂q̇ − ∂L/∂q, and the equations it implies."""

from collections.abc import Sequence

import sympy as sp

from leastaction.core.expressions import symbol


def velocity_names(coordinates: Sequence[str]) -> tuple[str, ...]:
    """Names of the velocities: ``x`` moves with ``xdot``."""
    return tuple(f"{name}dot" for name in coordinates)


def acceleration_names(coordinates: Sequence[str]) -> tuple[str, ...]:
    """Names of the accelerations: ``x`` accelerates with ``xddot``."""
    return tuple(f"{name}ddot" for name in coordinates)


def symbols(names: Sequence[str]) -> tuple[sp.Symbol, ...]:
    """Real symbols of those names."""
    return tuple(symbol(name) for name in names)


def total_derivative(expression: sp.Expr, coordinates: Sequence[str]) -> sp.Expr:
    """d/dt of a function of (q, q̇) along a motion: f_q q̇ + f_q̇ q̈."""
    names = (*coordinates, *velocity_names(coordinates))
    rates = (*velocity_names(coordinates), *acceleration_names(coordinates))
    return _directional(expression, names, rates)


def rates_along_motion(
    functions: Sequence[sp.Expr], coordinates: Sequence[str]
) -> list[sp.Expr]:
    """Return the part f_q q̇ of the time derivative that needs no acceleration."""
    rates = velocity_names(coordinates)
    return [_directional(f, coordinates, rates) for f in functions]


def _directional(function: sp.Expr, names: Sequence[str], rates) -> sp.Expr:
    pairs = zip(symbols(names), symbols(rates), strict=True)
    return sum((sp.diff(function, x) * rate for x, rate in pairs), sp.Integer(0))


def euler_lagrange(
    lagrangian: sp.Expr, coordinates: Sequence[str]
) -> tuple[sp.Expr, ...]:
    """Euler–Lagrange expressions d/dt ∂L/∂q̇ − ∂L/∂q, one per coordinate."""
    momenta = (sp.diff(lagrangian, v) for v in symbols(velocity_names(coordinates)))
    rates = (total_derivative(momentum, coordinates) for momentum in momenta)
    both = zip(rates, symbols(coordinates), strict=True)
    return tuple(sp.expand(rate - sp.diff(lagrangian, x)) for rate, x in both)


def rayleigh_force(
    dissipation: sp.Expr, coordinates: Sequence[str]
) -> tuple[sp.Expr, ...]:
    """Dissipative terms ∂D/∂q̇ (Rayleigh 1873), on the side of L, by coordinate."""
    return tuple(
        sp.expand(sp.diff(dissipation, v)) for v in symbols(velocity_names(coordinates))
    )


def without_signs(force: sp.Expr) -> sp.Expr:
    """A force with x sign(x) written as |x|.

    >>> v = sp.Symbol("v", real=True)
    >>> without_signs(sp.diff(v**2 * sp.Abs(v), v))
    3*v*Abs(v)
    """

    def merged(product):
        for sign in product.atoms(sp.sign):
            (x,) = sign.args
            powers = product.as_powers_dict()
            if powers[x] >= 1 and powers[sign] == 1:
                product *= sp.Abs(x) / (x * sign)
        return product

    return force.replace(lambda part: part.is_Mul and part.has(sp.sign), merged)


def legendre(term: sp.Expr, velocities: Sequence[str]) -> sp.Expr:
    """Legendre transform q̇ ∂D/∂q̇ − D of a term, linear in D."""
    momenta = (symbol(v) * sp.diff(term, symbol(v)) for v in velocities)
    return sum(momenta, sp.Integer(0)) - term
