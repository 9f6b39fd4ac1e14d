"""Dimensional analysis of a system: what is added must have one dimension."""

import re
from collections.abc import Mapping
from functools import lru_cache

import pint
import sympy as sp

# A name, maybe with an exponent that is a number, and what else a unit may hold.
NAMED_UNIT = re.compile(
    r"([^\W\d]|[%°])[\w%°]*"
    r"(\s*(\*\*|\^)\s*([+-]?\d{1,2}(\.\d{1,2})?|\([+-]?\d{1,2}([./]\d{1,2})?\)))?"
)
OTHERS = re.compile(r"(1(?!\d)|[*/·()\s])*")
LONGEST_UNIT = 60


class DimensionError(ValueError):
    """A unit that does not exist, or an expression that adds unlike quantities."""


@lru_cache(maxsize=1)
def registry() -> pint.UnitRegistry:
    """The one registry of units; ``rads`` is an angle and ``Nm`` a torque.

    To pint they are 0.01 J/kg and the count of a yarn, 1000 m/kg.
    """
    units = pint.UnitRegistry(on_redefinition="ignore")
    units.define("@alias radian = rads")
    for prefix in ("", "c", "m"):  # before the metre; one before the newton is pint's
        units.define(f"newton_{prefix}metre = newton * {prefix}m = N{prefix}m")
    return units


def parsed_unit(text: str) -> pint.Unit:
    """Unit of a text, in any system of units; only names have exponents.

    ValueError if there is none. A power of numbers, which pint would compute, is none.
    """
    long = len(text) > LONGEST_UNIT
    if long or not OTHERS.fullmatch(NAMED_UNIT.sub(" ", text)):
        raise ValueError(f"{text[:LONGEST_UNIT]!r} is not a unit")
    try:
        return registry().parse_units("" if text.strip() == "1" else text)
    except Exception:
        raise ValueError(f"{text!r} is not a unit") from None


def is_unit(text: str) -> bool:
    """Whether a text is a unit that :func:`parsed_unit` reads."""
    try:
        return bool(parsed_unit(text))
    except ValueError:
        return False


def unit(text: str) -> pint.Unit:
    """Unit in SI such as ``"N/m"`` or ``"1"``; DimensionError if the text is none."""
    if not isinstance(text, str):
        raise DimensionError(
            f'{text!r} is not a unit; write it as text, such as "N/m" or "1"'
        )
    try:
        parsed = parsed_unit(text)
        factor = registry().get_base_units(parsed)[0]
    except Exception:
        factor = None
    if factor is None or not text.strip():
        raise DimensionError(
            f'{text!r} is not a unit; write something like "kg", "N/m", "m/s^2" or "1"'
        )
    if abs(factor - 1) > 1e-12:
        raise DimensionError(
            f"{text!r} is {factor:g} {unit_text(parsed)}; give the value in SI units "
            "without prefix"
        )
    return parsed


def unit_text(value: pint.Unit) -> str:
    """Compact ASCII text of a unit, in SI base units; ``"1"`` if dimensionless."""
    base = registry().get_base_units(value)[1]
    return f"{base:~C}" or "1"


def shortest(value: pint.Unit) -> str:
    """As it follows from the units of data, in base units, or by its name in a circuit.

    An angle is a number.

    >>> [shortest(parsed_unit(text)) for text in ("s*V^2/J", "V s", "J/s^2/V^2", "m N")]
    ['Ω', 'V·s', '1/H', 'N·m']
    """
    units = registry()
    named = [part**n for part in (units.ohm, units.henry, units.farad) for n in (1, -1)]
    equal = [unit for unit in named if (unit / value).is_compatible_with("")]
    base = units.get_base_units(value)[1]
    text = min((f"{unit:~P}" for unit in (base, value, *equal)), key=len) or "1"
    return re.sub(r"\b([ms])·([A-Z]\w*)", r"\2·\1", text)


def units_with_rates(
    units: Mapping[str, str], rates: Mapping[str, tuple[str, int, int]]
) -> dict[str, pint.Unit]:
    """Units of every declared name and of its derivatives; x is a length in m.

    `rates` are those of a system, such as :attr:`leastaction.System.rates`.
    """
    known = {name: unit(text) for name, text in units.items()}
    second, metre = registry().second, registry().meter
    for name, (of, by_time, by_place) in rates.items():
        known[name] = known[of] / second**by_time / metre**by_place
    return known


def dimension_of(expression: sp.Expr, units: Mapping[str, pint.Unit]) -> pint.Unit:
    """Unit of an expression; DimensionError if what is added has unlike units."""
    one = registry().dimensionless
    if expression.is_number:
        return one
    if expression.is_Symbol:
        return units[expression.name]
    if expression.is_Add:
        parts = [(term, dimension_of(term, units)) for term in expression.args]
        first_term, first = parts[0]
        for term, other in parts[1:]:
            if first.dimensionality != other.dimensionality:
                raise DimensionError(
                    f"{first_term} is in {unit_text(first)}, but {term} is in "
                    f"{unit_text(other)}; they cannot be added"
                )
        return first
    if expression.is_Mul:
        product = one
        for factor in expression.args:
            product = product * dimension_of(factor, units)
        return product
    if expression.is_Pow:
        base = dimension_of(expression.base, units)
        if expression.exp.is_number:
            return base ** float(expression.exp)
        if base.dimensionless and dimension_of(expression.exp, units).dimensionless:
            return one
        raise DimensionError(f"{expression} raises to a power that is not a number")
    if isinstance(expression, sp.Abs):
        return dimension_of(expression.args[0], units)
    if isinstance(expression, sp.atan2):
        both = sp.Add(*expression.args, evaluate=False)
        return dimension_of(both, units) ** 0
    for argument in expression.args:
        dimension = dimension_of(argument, units)
        if not dimension.dimensionless and not isinstance(expression, sp.sign):
            raise DimensionError(
                f"{argument} is in {unit_text(dimension)}, but {expression.func} takes "
                "a number or an angle"
            )
    return one


def check_dimensions(system, units: Mapping[str, str]) -> None:
    """Check a system's Lagrangian, dissipation and volatility against its units.

    A volatility S in ``M q̈ = ... + S dW/dt`` has the unit of its generalised force
    times s^0.5; that of a field, the unit of its force density times s^0.5.
    DimensionError else.
    """
    second = registry().second
    known = units_with_rates(units, system.rates)
    energy = _dimension("lagrangian", system.lagrangian, known)
    if system.dissipation != 0:
        power = _dimension("dissipation", system.dissipation, known)
        _compare("dissipation", power, energy / second)
    noise = zip(system.coordinates, system.noise_names, strict=True)
    for i, (coordinate, where) in enumerate(noise):
        for entry in system.noise_matrix.row(i):
            if entry != 0:
                dimension = _dimension("volatility", entry, known)
                _compare(where, dimension, energy / known[coordinate] * second**0.5)


def _dimension(where: str, expression: sp.Expr, known) -> pint.Unit:
    try:
        return dimension_of(expression, known)
    except DimensionError as error:
        raise DimensionError(f"{where}: {error}") from None


def _compare(where: str, dimension: pint.Unit, expected: pint.Unit) -> None:
    if dimension.dimensionality != expected.dimensionality:
        raise DimensionError(
            f"{where} is in {unit_text(dimension)}, expected {unit_text(expected)}"
        )
