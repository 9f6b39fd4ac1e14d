"""Columns of a user's tables: what they measure, in SI units."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import tau

import numpy as np
import sympy as sp

from leastaction.core.expressions import ExpressionError, names_in, parse
from leastaction.core.own_data import Kind
from leastaction.core.units import (
    DimensionError,
    dimension_of,
    parsed_unit,
    registry,
)
from leastaction.ensembles.sensor_records import channels_of
from leastaction.recordings.inputs import GAIN, UNKNOWN

COUNTS = ("count", "counts")
# Units without a dimension that are no angle.
RATIOS = ("1", "percent", "%", "ppm", "permille")
# As pint calls it; its px is a length of typography.
PIXELS = {"px": "pixel"}
# Sections of `import`, and the channels that they hold.
CHANNELS = {
    "coordinates": "q",
    "velocities": "qdot",
    "accelerations": "qddot",
    "inputs": "input",
}
# What accelerometers call the acceleration of gravity, as pint calls it.
GRAVITY = {"g": "g_0", "mg": "mg_0", "ug": "ug_0", "µg": "ug_0"}
ACCELERATION = "m/s**2"
# What no coordinate is measured in, and what that then is.
NO_COORDINATES = {
    "kg": "a mass; of an accelerometer in g write it under `accelerations` or "
    "`sensors`",
    "N": "a force; write it under `inputs`",
    "N*m": "a torque; write it under `inputs`",
    ACCELERATION: "an acceleration; write it under `accelerations` or `sensors`",
}
# Headings that are nothing but a unit of time.
CLOCKS = ("ms", "us", "µs", "ns", "min")
# Begin of a warning with which no law is simply found.
CONTRADICTION = "units that contradict each other:"
# Generalised force on a coordinate, by the unit of that.
FORCES = {"m": "N", "rad": "N*m"}
WRONG_FORCE = "check the unit, or give a `gain`"
# An input in the unit of its coordinate.
SET_VALUE = (
    "the gain of a controller's set value is the stiffness of its loop: give it, or "
    "write `gain: unknown` and a known inertia as `reference`"
)


@dataclass(frozen=True)
class Column:
    """A column, or an expression of several: SI value = factor · (number − offset)."""

    name: str  # of the column; the text of an expression
    use: str  # where the YAML names it, for messages
    factor: float = 1.0
    offset: float = 0.0
    unit: str = "1"  # SI unit of the result, as it is given or in base units
    angle: bool = False
    expression: sp.Expr | None = None  # of other columns; None of a column itself
    constants: tuple[str, ...] = ()  # names in it that are to be estimated
    # Unit of the user in which results are shown, and its SI value; empty if SI.
    shown: str = ""
    shown_factor: float = 1.0
    set_value: bool = False  # whether an input has the unit of its coordinate

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the columns of the table that it is made of."""
        if self.expression is None:
            return (self.name,)
        names = {str(symbol) for symbol in self.expression.free_symbols}
        return tuple(sorted(names - set(self.constants)))

    @property
    def in_radians(self) -> bool:
        """Whether it is an angle in rad, which degrees may be taken for."""
        return self.angle and abs(self.factor) == 1

    def convert(self, numbers: np.ndarray) -> np.ndarray:
        """SI values."""
        return self.factor * (numbers - self.offset)


def read_expression(entry: Mapping, use: str) -> tuple[sp.Expr | None, tuple[str, ...]]:
    """Expression of an entry in its columns and unknown constants; None of a column."""
    constants = tuple(entry.get("unknown") or ())
    if "expression" not in entry:
        if constants:
            raise ValueError(
                f"{use}: unknown is {', '.join(constants)}, but there is no expression "
                "that they are in; write one, such as atan2(x - x0, y0 - y)"
            )
        return None, ()
    if "column" in entry:
        raise ValueError(f"{use}: give a column or an expression, not both")
    text = entry["expression"]
    try:
        expression = parse(text, names_in(text))
    except ExpressionError as error:
        raise ValueError(f"{use}.expression: {error}") from None
    for constant in constants:
        if not any(constant in map(str, n.free_symbols) for n in pivots(expression)):
            raise ValueError(
                f"{use}: the unknown {constant} is in no atan2 of {text!r}; what can "
                "be estimated is the centre of a circle, as in atan2(x - x0, y0 - y): "
                "write another constant as a number"
            )
    if not Column("", use, expression=expression, constants=constants).sources:
        raise ValueError(f"{use}: {text!r} has no column of the table in it")
    return expression, constants


def pivots(expression: sp.Expr) -> list[sp.Expr]:
    """Angles atan2(a, b) that are part of an expression."""
    return sorted(expression.atoms(sp.atan2), key=str)


def _default_unit(expression: sp.Expr | None, use: str) -> str:
    """Rad of an expression that is an angle whatever length its columns have.

    That of an arc function is one: numbers in it, such as a pivot, have their unit.
    """
    arcs = sp.atan2, sp.atan, sp.asin, sp.acos
    if expression is not None and expression.has(*arcs):
        angles = {arc: sp.Integer(1) for arc in expression.atoms(*arcs)}
        expression = expression.xreplace(angles)
        lengths = {str(s): registry().meter for s in expression.free_symbols}
        try:
            if dimension_of(expression, lengths).dimensionless:
                return "rad"
        except DimensionError:
            pass
    raise ValueError(
        f"{use}: 'unit' is missing; write something like rad, deg, mm or px"
    )


def column(name: str, entry: Mapping, use: str, acceleration: bool = False) -> Column:
    """Column of an entry of the YAML; of an `acceleration` g is 9.80665 m/s².

    Raises
    ------
    ValueError
        If the unit is not one, counts come without their number per turn, or an
        expression is none.
    """
    expression, constants = read_expression(entry, use)
    unit = entry.get("unit")
    text = str(_default_unit(expression, use) if unit is None else unit).strip()
    text = GRAVITY.get(text, text) if acceleration else text
    head, slash, rest = text.partition("/")
    head = PIXELS.get(head.strip(), head.strip())
    text = head + slash + rest
    counts = head in COUNTS
    if counts and not entry.get("per_turn"):
        raise ValueError(
            f"{use}: the unit is {text!r}, which says nothing without the counts of a "
            "turn; write `per_turn: 4096`, or whatever the encoder has"
        )
    if entry.get("per_turn") and not counts:
        raise ValueError(
            f"{use}: per_turn is given, but the unit is {text!r}; write `unit: count`"
        )
    units = registry()
    if counts:
        text = "rad" + (f"/{rest}" if rest else "")
    try:
        parsed = parsed_unit(text)
        factor, base = units.get_base_units(parsed)
        shifted = units.Quantity(0.0, parsed).to_base_units().magnitude != 0
        if shifted or not text:
            factor = None
    except Exception:
        factor = None
    if factor is None:
        raise ValueError(
            f"{use}: {text!r} is not a unit; write something like rad, deg, count, m, "
            "mm, deg/s, N, N m or 1; of a column with another name both, `force [N]`"
        )
    if counts:
        factor = tau / float(entry["per_turn"])
    sign = -1.0 if entry.get("reverse") else 1.0
    angle = base.dimensionless and text not in RATIOS
    written = entry.get("column") or entry.get("expression")
    return Column(
        str(written or name),
        use,
        sign * float(factor),
        0.0 if entry.get("offset") == UNKNOWN else float(entry.get("offset") or 0.0),
        f"{parsed if factor == 1 and not angle else base:~C}"
        or ("rad" if angle else "1"),
        angle,
        expression,
        constants,
        *(("", 1.0) if counts or factor == 1 else (text, float(factor))),
    )


def is_pattern(name: str) -> bool:
    """Whether the name of a column is a pattern of several.

    >>> is_pattern("u_*"), is_pattern("u_1")
    (True, False)
    """
    return "*" in name


def columns_of(
    settings: Mapping, kind: Kind | None = None
) -> dict[str, dict[str, Column]]:
    """Columns by channel (`q`, `qdot`, `qddot`, `input`) and coordinate.

    Those of sensors are the channel `reading`, by what they measure. Of another `kind`
    than a motion, columns by section of `import` and name.

    Raises
    ------
    ValueError
        If a unit or a name is wrong.
    """
    if kind is not None:
        sections = [key for key in (*kind.sections, *kind.keys) if settings.get(key)]
        groups = ((s, settings[s]) for s in sections if isinstance(settings[s], dict))
        return {s: _plain_columns(s, entries) for s, entries in groups}
    found = {
        channel: {
            name: column(name, entry, f"import.{section}.{name}", channel == "qddot")
            for name, entry in settings[section].items()
        }
        for section, channel in CHANNELS.items()
    }
    coordinates = found["q"]
    _refuse_no_coordinates(coordinates)
    for name, given in found["input"].items():
        if name in coordinates:
            gain = settings["inputs"][name].get(GAIN)
            found["input"][name] = _as_force(given, gain, coordinates[name])
    for section, channel in CHANNELS.items():
        for name in found[channel]:
            if name not in coordinates:
                raise ValueError(
                    f"import.{section}.{name}: there is no coordinate {name!r}; these "
                    f"are {', '.join(coordinates)}"
                )
    for section, channel, power in (
        ("velocities", "qdot", 1),
        ("accelerations", "qddot", 2),
    ):
        if found[channel] and set(found[channel]) != set(coordinates):
            missing = sorted(set(coordinates) - set(found[channel]))
            raise ValueError(
                f"import.{section}: {', '.join(missing)} is missing; give the column "
                "of every coordinate, or none"
            )
        for name, given in found[channel].items():
            wanted = registry()(f"{coordinates[name].unit}/s**{power}")
            if registry()(given.unit).dimensionality != wanted.dimensionality:
                raise ValueError(
                    f"import.{section}.{name}: the unit gives {given.unit}, but the "
                    f"coordinate is in {coordinates[name].unit}; write a unit like "
                    f"{coordinates[name].unit}/s" + ("^2" if power == 2 else "")
                )
    found["reading"] = _sensors(settings, coordinates)
    _refuse_shared(as_measured(found))
    return found


def _plain_columns(section: str, entries: Mapping) -> dict[str, Column]:
    """Columns of a section by name; ValueError of an expression, or a wrong unit."""
    for name, entry in entries.items():
        if "expression" in entry:
            raise ValueError(
                f"import.{section}.{name}: expressions are for motions; write its "
                "values into a column of the table"
            )
    return {n: column(n, e, f"import.{section}.{n}") for n, e in entries.items()}


def as_measured(channels: Mapping) -> Mapping[str, Mapping[str, Column]]:
    """Columns by channel as the table has them: sensors in the place of coordinates."""
    if not channels.get("reading"):
        return channels
    still = {"qdot": {}, "qddot": {}}
    return {"q": channels["reading"], **still, "input": channels["input"]}


def rough_sensors(settings: Mapping) -> set[str]:
    """Sensors that a white force jolts: of accelerations that are not absolute."""
    found = channels_of(list(settings["sensors"]), list(settings["coordinates"]))
    rough = found.acceleration.any(axis=1) & ~found.absolute
    return set(np.array(found.names)[rough])


def accelerometers(settings: Mapping) -> set[str]:
    """Sensors of accelerations alone, which have no mean in a stationary motion."""
    found = channels_of(list(settings["sensors"]), list(settings["coordinates"]))
    others = found.position.any(axis=1) | found.velocity.any(axis=1)
    return set(np.array(found.names)[found.acceleration.any(axis=1) & ~others])


def _sensors(settings: Mapping, coordinates: Mapping[str, Column]) -> dict[str, Column]:
    """Columns by what they measure; coordinates and rates then have none."""
    sensors = settings["sensors"]
    if not sensors:
        return {}
    for section, ending in (("velocities", "dot"), ("accelerations", "ddot")):
        for name in settings[section]:
            raise ValueError(
                f"import.{section}.{name}: there are sensors, too; write "
                f"`{name}{ending}: <its column and unit>` under import.sensors instead"
            )
    for name, entry in settings["coordinates"].items():
        if "column" in entry or "expression" in entry:
            raise ValueError(
                f"import.coordinates.{name}: it has a column, and there are sensors, "
                f"too; write `{name}: <unit>` here, and the column under import.sensors"
            )
    channels = channels_of(list(sensors), list(coordinates))
    found = {}
    for text, *weights in zip(
        sensors,
        channels.position,
        channels.velocity,
        channels.acceleration,
        strict=True,
    ):
        rough = weights[2].any() and not (weights[0].any() or weights[1].any())
        found[text] = column(text, sensors[text], f"import.sensors.{text}", rough)
        _refuse_unlike(found[text], weights, coordinates)
    return found


def _refuse_unlike(given: Column, weights, coordinates: Mapping[str, Column]) -> None:
    """A sum of coordinates has their unit; other factors may have one of their own."""
    known = [
        f"{one.unit}/s**{power}"
        for power, row in enumerate(weights)
        for weight, one in zip(row, coordinates.values(), strict=True)
        if abs(weight) == 1
    ]
    if len(known) != np.count_nonzero(weights):
        return
    for wanted in known:
        if registry()(wanted).dimensionality != registry()(given.unit).dimensionality:
            raise ValueError(
                f"{given.use}: the unit gives {given.unit}, but that is in "
                f"{registry()(wanted).units:~C}; write such a unit, or the factor "
                "between both before what it measures, such as 0.5*(x2 - x1)"
            )


def _refuse_no_coordinates(coordinates: Mapping[str, Column]) -> None:
    """A mass, a force or an acceleration is no coordinate."""
    for given in coordinates.values():
        for unit, text in NO_COORDINATES.items():
            if has_dimension(given.unit, unit) and not given.angle:
                raise ValueError(f"{given.use}: the unit gives {given.unit}, {text}")


def has_dimension(text: str, unit: str) -> bool:
    """Whether a text is a unit of the dimension of another.

    >>> has_dimension("mm/s^2", ACCELERATION), has_dimension("", ACCELERATION)
    (True, False)
    """
    read = _in_si(text) if text else None
    return (
        read is not None
        and registry()(read[1]).dimensionality == registry()(unit).dimensionality
    )


def unit_of_heading(name: str) -> str:
    """Unit of a heading such as ``force [N]`` or ``angle (deg)``; empty if none."""
    found = re.search(r"[\[(]([^\])]+)[\])]\s*$", name)
    return found[1].strip() if found else ""


def remarks_of_units(settings: Mapping, headings: Mapping[str, str], channels) -> list:
    """Units that contradict the heading of their column, or make no energy.

    `headings` are the columns of the table by the names that `settings` uses.
    """
    clock, texts = settings["time"], []
    pairs = [(clock.get("column"), clock["unit"])]
    for section in (*CHANNELS, "sensors", "states", "outputs", "position"):
        for name, entry in settings[section].items():
            if "expression" not in entry:
                pairs.append((entry.get("column") or name, entry.get("unit")))
    for place, (name, unit) in enumerate(pairs):
        heading = headings.get(name, "")
        written = unit_of_heading(heading)
        if place == 0 and heading in CLOCKS:
            written = heading
        both = [_in_si(text) for text in (written, unit) if text]
        if len(both) == 2 and None not in both and both[0] != both[1]:
            texts.append(
                f"{CONTRADICTION} the heading of column {name!r} says {written}, its "
                f"unit here is {unit}"
            )
    for name, given in channels.get("input", {}).items():
        unit = channels["q"][name].unit
        per_mass = registry()(f"{unit}/s**2").dimensionality
        is_known = given.unit == FORCES.get(unit)
        is_known |= registry()(given.unit).dimensionality == per_mass
        if unit in FORCES and not is_known:
            texts.append(
                f"{CONTRADICTION} the input of {name} is in {given.unit} and {name} in "
                f"{unit}, which make no energy: its {FORCES[unit]} per {given.unit} is "
                f"taken for 1; {SET_VALUE if given.unit == unit else WRONG_FORCE}"
            )
    return texts


def _in_si(text: str) -> tuple[float, str] | None:
    """Factor and base unit of a unit; None of a text that is none."""
    try:
        factor, base = registry().get_base_units(parsed_unit(text))
    except Exception:
        return None
    return None if factor is None else (round(float(factor), 12), str(base))


def _as_force(given: Column, gain, coordinate: Column) -> Column:
    """An input in the unit of a generalised force, by its gain in SI units if any."""
    unit = FORCES.get(coordinate.unit, f"J/({coordinate.unit})")
    if gain is None:
        same = registry()(unit).dimensionality == registry()(given.unit).dimensionality
        return replace(given, unit=unit if same else given.unit)
    factor = given.factor * (1.0 if isinstance(gain, str) else float(gain))
    is_set = given.unit == coordinate.unit
    return replace(given, factor=factor, unit=unit, set_value=is_set, shown="")


def uses_of(columns: Iterable[Column], settings: Mapping) -> dict[str, str]:
    """What each column of the table is for, as the section `import` says it."""
    found = {name: given.use for given in columns for name in given.sources}
    if settings.get("trajectory"):
        found[settings["trajectory"]] = "import.trajectory"
    if settings["time"].get("column"):
        found[settings["time"]["column"]] = "import.time"
    return found


def _refuse_shared(channels: Mapping[str, Mapping[str, Column]]) -> None:
    """The column of a coordinate has no other use."""
    taken: dict[str, str] = {}
    for channel, columns in channels.items():
        for given in columns.values():
            if given.name in taken:
                raise ValueError(
                    f"{given.use}: the column {given.name!r} is that of "
                    f"{taken[given.name]}; name its own, column and unit, such as "
                    "`force [N]`"
                )
            if channel == "q" and given.expression is None:
                taken[given.name] = given.use


def time_factor(unit: str) -> float:
    """Seconds per unit of time."""
    try:
        return float(registry().Quantity(1.0, parsed_unit(unit)).to("s").magnitude)
    except Exception:
        raise ValueError(
            f"import.time.unit: {unit!r} is not a unit of time; write s, ms or us"
        ) from None
