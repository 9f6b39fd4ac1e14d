"""The system of an example: of coordinates, a field, or port-Hamiltonian."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leastaction.core.system import System
    from leastaction.fields.field_system import FieldSystem
    from leastaction.ports.port_hamiltonian import PortHamiltonianSystem


def is_field(config: Mapping) -> bool:
    """Whether a `system` section describes a field."""
    return "field" in config


def is_port(config: Mapping) -> bool:
    """Whether a `system` section describes a port-Hamiltonian system."""
    return "states" in config


def declared_units(config: Mapping) -> dict[str, str]:
    """Unit of every coordinate (state and input, or field) and of every parameter."""
    if is_field(config):
        quantities = {config["field"]["name"]: config["field"]}
    elif is_port(config):
        chart = (config.get("chart") or {}).get("coordinates") or {}
        quantities = {**config["states"], **(config.get("inputs") or {}), **chart}
    else:
        quantities = config["coordinates"]
    return {
        name: entry["unit"]
        for name, entry in {**quantities, **config["parameters"]}.items()
    }


def system_from_config(
    config: Mapping,
) -> System | FieldSystem | PortHamiltonianSystem:
    """System described by the `system` section of an example.

    Raises
    ------
    ValueError
        See the methods `from_config` of the three classes.
    """
    if is_port(config):
        from leastaction.ports.port_hamiltonian import PortHamiltonianSystem

        return PortHamiltonianSystem.from_config(config)
    if is_field(config):
        from leastaction.fields.field_system import FieldSystem

        return FieldSystem.from_config(config)
    from leastaction.core.system import System

    return System.from_config(config)
