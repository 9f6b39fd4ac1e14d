"""Dimensional analysis of a port-Hamiltonian system."""

from collections.abc import Mapping

import pint
import sympy as sp

from leastaction.core.expressions import symbol
from leastaction.core.units import DimensionError, dimension_of, unit, unit_text


def check_port_dimensions(system, units: Mapping[str, str]) -> None:
    """Check that rows add like quantities, that zᵀ E ẋ is a power, H an energy.

    Parameters
    ----------
    system
        :class:`~leastaction.ports.port_hamiltonian.PortHamiltonianSystem`.
    units
        Unit of every state, input, parameter and minimal coordinate.

    Raises
    ------
    DimensionError
    """
    known = {name: unit(text) for name, text in units.items()}
    second, power = unit("s"), unit("W")
    given = _of("hamiltonian", system.hamiltonian, known)
    _same("hamiltonian", given, unit("J"))
    efforts = [_of(f"z_{i + 1}", e, known) for i, e in enumerate(system.efforts)]
    count = len(system.states)
    for i in range(count):
        terms = [
            (f"E_{i + 1}{j + 1} dx/dt", system.flow[i, j], known[name] / second)
            for j, name in enumerate(system.states)
        ]
        for j in range(count):
            terms.append((f"J_{i + 1}{j + 1} z", system.structure[i, j], efforts[j]))
            terms.append((f"R_{i + 1}{j + 1} z", system.dissipation[i, j], efforts[j]))
        terms += [
            (f"B_{i + 1}{j + 1} u", system.port[i, j], known[name])
            for j, name in enumerate(system.inputs)
        ]
        for label, entry, factor in terms:
            if entry != 0:
                found = _of(label, entry, known) * factor * efforts[i]
                _same(f"z_{i + 1} times {label}", found, power)
    for state, expression in system.chart.items():
        if expression != symbol(state):
            _same(f"chart of {state}", _of(state, expression, known), known[state])


def _of(where: str, expression: sp.Expr, known: Mapping[str, pint.Unit]) -> pint.Unit:
    try:
        return dimension_of(expression, known)
    except DimensionError as error:
        raise DimensionError(f"{where}: {error}") from None


def _same(where: str, given: pint.Unit, wanted: pint.Unit) -> None:
    # Radians are no dimension of their own.
    if given.dimensionality != wanted.dimensionality:
        raise DimensionError(
            f"{where} is in {unit_text(given)}, expected {unit_text(wanted)}"
        )
