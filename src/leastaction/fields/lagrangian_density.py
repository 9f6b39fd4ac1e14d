"""Densities of one-dimensional fields: names, jet and Euler–Lagrange expression."""

from collections.abc import Iterable, Sequence

import sympy as sp

from leastaction.core.expressions import check_name, symbol

RESERVED = ("x", "t", "length")


def density_names(field: str) -> tuple[str, str, str, str]:
    """Names that a density is written in: ``u, u_t, u_x, u_xx``."""
    return (field, f"{field}_t", f"{field}_x", f"{field}_xx")


def declared_names(field: str, parameters: Iterable[str] = ()) -> tuple[str, ...]:
    """Names that the density of a system may use, checked for clashes."""
    names = (*density_names(field), *parameters)
    for name in names:
        check_name(name)
        if name in RESERVED:
            raise ValueError(f"{name!r} is reserved in a field; choose another name")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"the names {twice} are declared twice")
    return names


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
