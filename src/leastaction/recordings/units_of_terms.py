"""Units of the coefficients of a law."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

import pint
import sympy as sp
import xarray as xr

from leastaction.core.expressions import parse
from leastaction.core.model import IdentifiedModel
from leastaction.core.units import (
    DimensionError,
    dimension_of,
    parsed_unit,
    registry,
    shortest,
    unit_text,
    units_with_rates,
)


def coefficient_units(
    model: IdentifiedModel, observations: xr.Dataset
) -> Callable[[str, str], str]:
    """Unit of the coefficient of a term, ``unit_of(kind, term)``.

    L is in the unit of a recorded input times that of its coordinate; without one the
    term that is given has a coefficient without a unit. D is in that of L per s, and a
    volatility S in that of a force times s^0.5. Kinds and terms are those of
    :attr:`leastaction.IdentifiedModel.terms`; the text is empty where a term adds
    unlike quantities.
    """
    known = _known_units(model, observations)
    names = model.coordinates
    energy = _energy(model, observations, known)
    second = registry().second

    is_constant = model.dataset["volatility_is_constant"].values.all()

    def unit_of(kind: str, term: str) -> str:
        # Of a law with candidates of S^2, all are asked for, even if one is left.
        constant = is_constant and term in known
        scale = {"L": energy, "D": energy / second}.get(kind)
        if scale is None:
            of = known[term if constant else names[0]]
            scale = (energy / of * second**0.5) ** (2 if kind == "S^2" else 1)
            if constant:
                return shortest(scale)
            if len({known[name] for name in names}) > 1:
                return ""  # the terms do not say whose volatility they are of
        try:
            return shortest(scale / dimension_of(parse(term, list(known)), known))
        except DimensionError:
            return ""

    return unit_of


def energy_and_force_units(
    model: IdentifiedModel, observations: xr.Dataset
) -> tuple[str, list[str]]:
    """Unit of L, and that of the force of every coordinate, L over the coordinate."""
    known = _known_units(model, observations)
    energy = _energy(model, observations, known)
    forces = [shortest(energy / known[name]) for name in model.coordinates]
    return shortest(energy), forces


def _known_units(model: IdentifiedModel, observations: xr.Dataset) -> Mapping:
    names = [str(name) for name in observations["dof"].values]
    recorded = map(str, observations["coordinate_unit"].values)
    units = {n: "1" if u == "rad" else u for n, u in zip(names, recorded, strict=True)}
    return units_with_rates(units, model.system.rates)


def unlike_sums(terms: Iterable[sp.Expr], units: Mapping[str, str]) -> list[str]:
    """What candidates add that cannot be added, a sentence each.

    Numbers, and functions of a length, stand for quantities with a unit of their own;
    coordinates have `units`.

    Examples
    --------
    >>> a, b = sp.symbols("a b", real=True)
    >>> unlike_sums([(b - a) ** 2, (a - 1) ** 2], {"a": "m", "b": "s"})
    ['(-a + b)**2 adds a quantity in m to one in s']
    """
    known = units_with_rates(units, {f"{name}dot": (name, 1, 0) for name in units})
    problems = []
    for term in terms:
        for total in term.atoms(sp.Add):
            parts = []
            for part in sorted(total.args, key=str):
                with suppress(DimensionError):
                    parts += [] if part.is_number else [dimension_of(part, known)]
            other = [u for u in parts if u.dimensionality != parts[0].dimensionality]
            if other:
                both = " to one in ".join(map(unit_text, (parts[0], other[0])))
                problems.append(f"{term} adds a quantity in {both}")
    return problems


def _energy(model, observations, known) -> pint.Unit:
    """Unit of L."""
    if "input_unit" in observations.coords:
        for name, unit in zip(
            observations["dof"].values, observations["input_unit"].values, strict=True
        ):
            if unit:
                return parsed_unit(str(unit)) * known[str(name)]
    for term in model.support:
        if model.standard_error(term) == 0:
            return dimension_of(parse(term, list(known)), known)
    return registry().dimensionless
