"""Columns of a user's tables: what they measure, in SI units."""

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from math import isclose, tau
from typing import Any

import numpy as np
import sympy as sp

from leastaction.core.expressions import ExpressionError, names_in, parse
from leastaction.core.own_data import Kind
from leastaction.core.units import DimensionError, dimension_of, parsed_unit, registry
from leastaction.ensembles.sensor_records import channels_of
from leastaction.recordings.configuration import CHANNELS as SECTIONS
from leastaction.recordings.inputs import GAIN, UNKNOWN
from leastaction.recordings.refusals import reject

COUNTS = ("count", "counts")
# Units without a dimension that are no angle.
RATIOS = ("1", "percent", "%", "ppm", "permille")
# As pint calls it; its px is a length of typography.
PIXELS = {"px": "pixel"}
# Sections of `import`, and the channels that they hold.
CHANNELS = dict(zip(SECTIONS, ("q", "qdot", "qddot", "input"), strict=True))
# What accelerometers call the acceleration of gravity, as pint calls it.
GRAVITY = {"g": "g_0", "mg": "mg_0", "ug": "ug_0", "µg": "ug_0"}
ACCELERATION = "m/s**2"
# What no coordinate is measured in: what that is, and the section that has it.
NO_COORDINATES = {
    "kg": ("a mass, where g of an accelerometer is an acceleration", "accelerations"),
    "N": ("a force", "inputs"),
    "N*m": ("a torque", "inputs"),
    "m/s": ("a velocity", "velocities"),
    "rad/s": ("an angular velocity", "velocities"),
    ACCELERATION: ("an acceleration", "accelerations"),
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
            reject("unknown alone", use, names=", ".join(constants))
        return None, ()
    if "column" in entry:
        reject("two sources", use)
    text = entry["expression"]
    try:
        expression = parse(text, names_in(text))
    except ExpressionError as error:
        raise ValueError(f"{use}.expression: {error}") from None
    for constant in constants:
        if not any(constant in map(str, n.free_symbols) for n in pivots(expression)):
            reject("unknown outside", use, name=constant, text=text)
    if not Column("", use, expression=expression, constants=constants).sources:
        reject("no source", use, text=text)
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
    reject("no unit", use)


def column(name: str, entry: Mapping, use: str, acceleration: bool = False) -> Column:
    """Column of an entry of the YAML; of an `acceleration` g is 9.80665 m/s².

    ValueError if the unit is not one, counts come without their number per turn, or an
    expression is none.
    """
    expression, constants = read_expression(entry, use)
    unit = entry.get("unit")
    text = str(_default_unit(expression, use) if unit is None else unit).strip()
    text = GRAVITY.get(text, text) if acceleration else text
    head, slash, rest = text.partition("/")
    head = PIXELS.get(head.strip(), head.strip())
    counts, per_turn = head in COUNTS, entry.get("per_turn")
    if counts != bool(per_turn):
        reject("counts" if counts else "per turn", use, unit=text)
    text = ("rad" if counts else head) + slash + rest
    if (scale := in_si(text)) is None:
        reject("unit", use, unit=text)
    factor, base = scale
    factor = tau / float(per_turn) if counts else factor
    sign = -1.0 if entry.get("reverse") else 1.0
    angle = base.dimensionless and text not in RATIOS
    written = entry.get("column") or entry.get("expression")
    return Column(
        str(written or name),
        use,
        sign * factor,
        0.0 if entry.get("offset") == UNKNOWN else float(entry.get("offset") or 0.0),
        f"{parsed_unit(text) if factor == 1 and not angle else base:~C}"
        or ("rad" if angle else "1"),
        angle,
        expression,
        constants,
        *(("", 1.0) if counts or factor == 1 else (text, factor)),
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
    ValueError if a unit or a name is wrong.
    """
    if kind is not None:
        sections = [key for key in (*kind.sections, *kind.keys) if settings.get(key)]
        groups = ((s, settings[s]) for s in sections if isinstance(settings[s], dict))
        return {s: _plain_columns(s, entries, kind) for s, entries in groups}
    channels = {
        channel: {
            name: column(name, entry, f"import.{section}.{name}", channel == "qddot")
            for name, entry in settings[section].items()
        }
        for section, channel in CHANNELS.items()
    }
    coordinates = channels["q"]
    _reject_no_coordinates(coordinates)
    for order, (section, channel) in enumerate(CHANNELS.items()):
        columns = channels[channel]
        for name, one in columns.items():
            use = f"import.{section}.{name}"
            if name not in coordinates:
                reject("no coordinate", use, name=name, known=", ".join(coordinates))
            if channel == "input":
                gain = settings["inputs"][name].get(GAIN)
                columns[name] = _as_force(one, gain, coordinates[name])
            elif order:
                _reject_no_rate(use, one, coordinates[name].unit, order)
        missing = ", ".join(sorted(set(coordinates) - set(columns)))
        if missing and columns and channel != "input":
            reject("rates of some", f"import.{section}", missing=missing)
    channels["reading"] = _sensors(settings, coordinates)
    _reject_shared(as_measured(channels))
    return channels


def _reject_no_rate(use: str, rate: Column, unit: str, order: int) -> None:
    """Units of velocities and accelerations are those of coordinates per s or s²."""
    if not has_dimension(rate.unit, f"{unit}/s**{order}"):
        such = f"{unit}/s" + ("^2" if order == 2 else "")
        reject("unit of a rate", use, unit=rate.unit, other=unit, such=such)


def _plain_columns(section: str, entries: Mapping, kind: Kind) -> dict[str, Column]:
    """Columns of a section by name; ValueError of an expression, or a wrong unit."""
    for name, entry in entries.items():
        if "expression" in entry:
            reject("expression of a kind", f"import.{section}.{name}")
    columns = {
        n: column(n, e, f"import.{section}.{n}", "_tt(" in n)
        for n, e in entries.items()
    }
    if section == "coordinates":
        _reject_no_coordinates(columns, kind.sections)
    return columns


def as_measured(channels: Mapping) -> Mapping[str, Mapping[str, Column]]:
    """Columns by channel as the table has them: sensors in the place of coordinates."""
    if not channels.get("reading"):
        return channels
    still = {"qdot": {}, "qddot": {}}
    return {"q": channels["reading"], **still, "input": channels["input"]}


def rough_sensors(settings: Mapping) -> set[str]:
    """Sensors that a white force jolts: of accelerations that are not absolute."""
    channels = channels_of(list(settings["sensors"]), list(settings["coordinates"]))
    rough = channels.acceleration.any(axis=1) & ~channels.absolute
    return set(np.array(channels.names)[rough])


def accelerometers(settings: Mapping) -> set[str]:
    """Sensors of accelerations alone, which have no mean in a stationary motion."""
    channels = channels_of(list(settings["sensors"]), list(settings["coordinates"]))
    others = channels.position.any(axis=1) | channels.velocity.any(axis=1)
    return set(np.array(channels.names)[channels.acceleration.any(axis=1) & ~others])


def _sensors(settings: Mapping, coordinates: Mapping[str, Column]) -> dict[str, Column]:
    """Columns by what they measure; coordinates and rates then have none."""
    sensors = settings["sensors"]
    if not sensors:
        return {}
    for section, ending in (("velocities", "dot"), ("accelerations", "ddot")):
        for name in settings[section]:
            reject("rate and sensors", f"import.{section}.{name}", sensor=name + ending)
    for name, entry in settings["coordinates"].items():
        if "column" in entry or "expression" in entry:
            reject("column and sensors", f"import.coordinates.{name}", name=name)
    channels = channels_of(list(sensors), list(coordinates))
    columns = {}
    for text, *weights in zip(
        sensors,
        channels.position,
        channels.velocity,
        channels.acceleration,
        strict=True,
    ):
        rough = weights[2].any() and not (weights[0].any() or weights[1].any())
        columns[text] = column(text, sensors[text], f"import.sensors.{text}", rough)
        _reject_unlike(columns[text], weights, coordinates)
    return columns


def _reject_unlike(sensor: Column, weights, coordinates: Mapping[str, Column]) -> None:
    """A sum of coordinates has their unit; other factors may have one of their own."""
    known = [
        f"{one.unit}/s**{power}"
        for power, row in enumerate(weights)
        for weight, one in zip(row, coordinates.values(), strict=True)
        if abs(weight) == 1
    ]
    if len(known) != np.count_nonzero(weights):
        return
    for unit in known:
        if not has_dimension(sensor.unit, unit):
            other = f"{registry()(unit).units:~C}"
            reject("unit of a sensor", sensor.use, unit=sensor.unit, other=other)


def _reject_no_coordinates(
    coordinates: Mapping[str, Column], sections: Container[str] = CHANNELS
) -> None:
    """A mass, a force or an acceleration is no coordinate; a kind has `sections`."""
    for one in coordinates.values():
        for unit, (what, section) in NO_COORDINATES.items():
            if has_dimension(one.unit, unit) and not one.angle:
                to_do = "name a column of positions"
                if section in sections:
                    to_do += f", or write it under `{section}`"
                reject(
                    "unit of no coordinate",
                    one.use,
                    unit=one.unit,
                    what=f"{what}; {to_do}",
                )


def has_dimension(text: str, unit: str) -> bool:
    """Whether a text is a unit of the dimension of another.

    >>> has_dimension("mm/s^2", ACCELERATION), has_dimension("", ACCELERATION)
    (True, False)
    """
    scale = in_si(text)
    return scale is not None and (
        scale[1].dimensionality == registry()(unit).dimensionality
    )


def unit_of_heading(name: str) -> str:
    """Unit of a heading such as ``force [N]`` or ``angle (deg)``; empty if none."""
    bracket = re.search(r"[\[(]([^\])]+)[\])]\s*$", name)
    return bracket[1].strip() if bracket else ""


def clock_scale(clock: Mapping, heading: str = "") -> float:
    """Seconds per unit of the time: that of the user, else of the heading, else 1.

    >>> clock_scale({}, "time [ms]"), clock_scale({"unit": "us"}), clock_scale({}, "t")
    (0.001, 1e-06, 1.0)
    """
    written = heading if heading in CLOCKS else unit_of_heading(heading)
    unit = clock.get("unit") or (written if has_dimension(written, "s") else "s")
    if not has_dimension(unit, "s"):
        reject("unit of time", "import.time.unit", unit=unit)
    return in_si(unit)[0]


def remarks_of_units(settings: Mapping, headings: Mapping[str, str], channels) -> list:
    """Units that contradict the heading of their column, or make no energy.

    `headings` are the columns of the table by the names that `settings` uses.
    """
    clock, texts = settings["time"], []
    pairs = [(clock.get("column"), clock.get("unit"))]
    for section in (*CHANNELS, "sensors", "states", "outputs", "position"):
        for name, entry in settings[section].items():
            if "expression" not in entry:
                pairs.append((entry.get("column") or name, entry.get("unit")))
    for place, (name, unit) in enumerate(pairs):
        heading = headings.get(name, "")
        written = unit_of_heading(heading)
        if place == 0 and heading in CLOCKS:
            written = heading
        both = [in_si(text) for text in (written, unit) if text]
        if len(both) == 2 and None not in both and not _is_same(*both):
            texts.append(
                f"{CONTRADICTION} the heading of column {name!r} gives {written}, its "
                f"unit here is {unit}"
            )
    for name, force in channels.get("input", {}).items():
        unit = channels["q"][name].unit
        is_known = force.unit == FORCES.get(unit)
        is_known |= has_dimension(force.unit, f"{unit}/s**2")
        if unit in FORCES and not is_known:
            texts.append(
                f"{CONTRADICTION} the input of {name} is in {force.unit} and {name} in "
                f"{unit}, which make no energy: its {FORCES[unit]} per {force.unit} is "
                f"taken for 1; {SET_VALUE if force.unit == unit else WRONG_FORCE}"
            )
    return texts


def in_si(text: str) -> tuple[float, Any] | None:
    """Factor and base unit of a unit; None of a text that is none, or has an offset."""
    try:
        parsed = parsed_unit(text)
        factor, base = registry().get_base_units(parsed)
        zero = registry().Quantity(0.0, parsed).to_base_units().magnitude
    except Exception:
        return None
    return None if factor is None or zero or not text else (float(factor), base)


def _is_same(one: tuple, other: tuple) -> bool:
    return one[1] == other[1] and isclose(one[0], other[0], rel_tol=1e-12)


def _as_force(source: Column, gain, coordinate: Column) -> Column:
    """An input in the unit of a generalised force, by its gain in SI units if any."""
    unit = FORCES.get(coordinate.unit, f"J/({coordinate.unit})")
    if gain is None:
        return (
            replace(source, unit=unit) if has_dimension(source.unit, unit) else source
        )
    factor = source.factor * (1.0 if isinstance(gain, str) else float(gain))
    is_set = source.unit == coordinate.unit
    return replace(source, factor=factor, unit=unit, set_value=is_set, shown="")


def uses_of(columns: Iterable[Column], settings: Mapping) -> dict[str, str]:
    """What each column of the table is for, as the section `import` says it."""
    uses = {name: one.use for one in columns for name in one.sources}
    if settings.get("trajectory"):
        uses[settings["trajectory"]] = "import.trajectory"
    if settings["time"].get("column"):
        uses[settings["time"]["column"]] = "import.time"
    return uses


def _reject_shared(channels: Mapping[str, Mapping[str, Column]]) -> None:
    """The column of a coordinate has no other use."""
    uses: dict[str, str] = {}
    for channel, columns in channels.items():
        for one in columns.values():
            if one.name in uses:
                reject("shared", one.use, name=one.name, other=uses[one.name])
            if channel == "q" and one.expression is None:
                uses[one.name] = one.use
