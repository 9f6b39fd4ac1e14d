"""Lagrangian density of a one-dimensional field: its names, its Euler equation."""

from collections.abc import Iterable

import sympy as sp

from leastaction.mechanics.expressions import check_name, symbol

RESERVED = ("x", "t", "length")
HIGHEST = 2


def density_names(field: str) -> tuple[str, str, str, str]:
    """Names that a density is written in: ``u, u_t, u_x, u_xx``."""
    return (field, f"{field}_t", f"{field}_x", f"{field}_xx")


def derivative(field: str, times: int = 0, along: int = 0) -> sp.Symbol:
    """Symbol of a derivative of the field, such as ``u_txx``."""
    mark = "t" * times + "x" * along
    return symbol(f"{field}_{mark}" if mark else field)


def declared_names(field: str, parameters: Iterable[str] = ()) -> tuple[str, ...]:
    """Names that a density may use, checked for clashes."""
    names = (*density_names(field), *parameters)
    for name in names:
        check_name(name)
        if name in RESERVED:
            raise ValueError(f"{name!r} is reserved in a field; choose another name")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"the names {twice} are declared twice")
    return names


def total_derivative(expression: sp.Expr, field: str, direction: str) -> sp.Expr:
    """Total derivative of a function of the field along ``"t"`` or ``"x"``."""
    total = sp.Integer(0)
    for times in range(HIGHEST + 1):
        for along in range(2 * HIGHEST):
            slope = sp.diff(expression, derivative(field, times, along))
            if direction == "t":
                total += slope * derivative(field, times + 1, along)
            else:
                total += slope * derivative(field, times, along + 1)
    return total


def euler_lagrange(density: sp.Expr, field: str) -> sp.Expr:
    """Euler–Lagrange expression of a density in (u, u_t, u_x, u_xx).

    d/dt ∂L/∂u_t − ∂L/∂u + d/dx ∂L/∂u_x − d²/dx² ∂L/∂u_xx, in derivatives of the field.
    """
    u, u_t, u_x, u_xx = (symbol(name) for name in density_names(field))
    bending = total_derivative(sp.diff(density, u_xx), field, "x")
    return sp.expand(
        total_derivative(sp.diff(density, u_t), field, "t")
        - sp.diff(density, u)
        + total_derivative(sp.diff(density, u_x), field, "x")
        - total_derivative(bending, field, "x")
    )
