"""Columns of a table as coordinates, rates and inputs in SI units."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import tau

import numpy as np

from leastaction.core.units import registry

COUNTS = ("count", "counts")
# Sections of `import`, and the power of time in the unit of what they hold.
CHANNELS = {"coordinates": "q", "velocities": "qdot", "accelerations": "qddot"}
INPUTS = "inputs"


@dataclass(frozen=True)
class Column:
    """One column and how its numbers become SI units.

    Attributes
    ----------
    name
        Of the column.
    use
        Where the YAML names it, for messages.
    factor, offset
        SI value = factor · (number − offset).
    unit
        SI unit of the result.
    angle
        Whether it is an angle.
    """

    name: str
    use: str
    factor: float
    offset: float
    unit: str
    angle: bool

    def convert(self, numbers: np.ndarray) -> np.ndarray:
        """SI values."""
        return self.factor * (numbers - self.offset)


def column(name: str, entry: Mapping, use: str) -> Column:
    """Column of an entry of the YAML.

    Raises
    ------
    ValueError
        If the unit is not one, or counts come without their number per turn.
    """
    text = str(entry["unit"]).strip()
    head, _, rest = text.partition("/")
    counts = head.strip() in COUNTS
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
        parsed = units.dimensionless if text == "1" else units.parse_units(text)
        factor, base = units.get_base_units(parsed)
        if units.Quantity(0.0, parsed).to_base_units().magnitude != 0:
            factor = None
    except Exception:
        factor = None
    if factor is None:
        raise ValueError(
            f"{use}: {text!r} is not a unit; write something like rad, deg, count, m, "
            "mm, deg/s, N, N m or 1"
        )
    if counts:
        factor = tau / float(entry["per_turn"])
    sign = -1.0 if entry.get("reverse") else 1.0
    angle = units.get_base_units(parsed)[1].dimensionless and text != "1"
    return Column(
        str(entry.get("column") or name),
        use,
        sign * float(factor),
        float(entry.get("offset") or 0.0),
        f"{base:~C}" or ("rad" if angle else "1"),
        angle,
    )


def columns_of(settings: Mapping) -> dict[str, dict[str, Column]]:
    """Columns by channel (`q`, `qdot`, `qddot`, `input`) and coordinate.

    Raises
    ------
    ValueError
        Listing what is wrong with units and names.
    """
    found: dict[str, dict[str, Column]] = {}
    for section, channel in (*CHANNELS.items(), (INPUTS, "input")):
        found[channel] = {
            name: column(name, entry, f"import.{section}.{name}")
            for name, entry in settings[section].items()
        }
    coordinates = found["q"]
    for section, channel in (*CHANNELS.items(), (INPUTS, "input")):
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
    return found


def time_factor(unit: str) -> float:
    """Seconds per unit of time.

    Raises
    ------
    ValueError
    """
    try:
        return float(registry().Quantity(1.0, unit).to("s").magnitude)
    except Exception:
        raise ValueError(
            f"import.time.unit: {unit!r} is not a unit of time; write s, ms or us"
        ) from None
