"""Densities of one-dimensional fields: their jet and their Euler–Lagrange expression."""

from collections.abc import Sequence

import sympy as sp

from leastaction.mechanics.expressions import symbol
from leastaction.mechanics.field_system import density_names


def jet_symbol(field: str, along_x: int, along_t: int = 0) -> sp.Symbol:
    """Symbol of ∂^(a+b) u / ∂x^a ∂t^b, such as ``u_xxt``."""
    suffix = "x" * along_x + "t" * along_t
    return symbol(f"{field}_{suffix}" if suffix else field)


def spatial_order(expression: sp.Expr, field: str) -> int:
    """Highest derivative along x in `expression`; quadrature points belong to it."""
    return max(
        (k for k in (1, 2) if expression.has(jet_symbol(field, k))),
        default=0,
    )


def density_euler_lagrange(
    density: sp.Expr, coordinates: Sequence[str]
) -> tuple[sp.Expr]:
    """Euler–Lagrange expression of a density D(u, u_t, u_x, u_xx).

    .. math::

        \\frac{d}{dt}\\frac{∂D}{∂u_t} + \\frac{d}{dx}\\frac{∂D}{∂u_x}
        − \\frac{d^2}{dx^2}\\frac{∂D}{∂u_{xx}} − \\frac{∂D}{∂u}

    It vanishes for divergences, such as constants, u_t, u_x, u_xx and u u_x.

    Parameters
    ----------
    density
        Expression in the jet of the field.
    coordinates
        The name of the field, alone.
    """
    (field,) = coordinates
    u, u_t, u_x, u_xx = (symbol(name) for name in density_names(field))
    expression = (
        _total(sp.diff(density, u_t), field, (0, 1))
        + _total(sp.diff(density, u_x), field, (1, 0))
        - _total(_total(sp.diff(density, u_xx), field, (1, 0)), field, (1, 0))
        - sp.diff(density, u)
    )
    return (sp.expand(expression),)


def _total(expression: sp.Expr, field: str, along: tuple[int, int]) -> sp.Expr:
    """Total derivative along x, (1, 0), or t, (0, 1), on the jet of the field."""
    jet = [(a, b) for a in range(5) for b in range(3)]
    return sum(
        (
            sp.diff(expression, jet_symbol(field, a, b))
            * jet_symbol(field, a + along[0], b + along[1])
            for a, b in jet
        ),
        sp.Integer(0),
    )
