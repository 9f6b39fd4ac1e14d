"""The system of an example: of coordinates, or a field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leastaction.mechanics.field_system import FieldSystem
    from leastaction.mechanics.system import System


def is_field(config: Mapping) -> bool:
    """Whether a `system` section describes a field."""
    return "field" in config


def declared_units(config: Mapping) -> dict[str, str]:
    """Unit of every coordinate (or of the field) and of every parameter."""
    if is_field(config):
        quantities = {config["field"]["name"]: config["field"]}
    else:
        quantities = config["coordinates"]
    return {
        name: entry["unit"]
        for name, entry in {**quantities, **config["parameters"]}.items()
    }


def system_from_config(config: Mapping) -> System | FieldSystem:
    """System described by the `system` section of an example.

    Raises
    ------
    ValueError
        See :meth:`System.from_config` and :meth:`FieldSystem.from_config`.
    """
    if is_field(config):
        from leastaction.mechanics.field_system import FieldSystem

        return FieldSystem.from_config(config)
    from leastaction.mechanics.system import System

    return System.from_config(config)
