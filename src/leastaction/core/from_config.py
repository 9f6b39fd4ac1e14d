"""The section `system` of an example: of coordinates, a field, or ports."""

from collections.abc import Mapping

from leastaction.core import families


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


def system_reference(given: Mapping) -> str:
    """Module and class of systems that `given` names; see :func:`system_class`."""
    registered = families.registered("SYSTEM").items()
    named = [reference for key, reference in registered if key in given]
    return (named or ["core.system:System"])[0]


def system_class(given: Mapping) -> type:
    """Class of systems that a section `system`, or the attributes of a model, name.

    Families list the classes of their own in the table ``SYSTEM`` of their package.
    """
    return families.implementation(system_reference(given))


def system_from_config(config: Mapping):
    """System described by the `system` section of an example.

    Raises
    ------
    ValueError
        See the method `from_config` of its class.
    """
    return system_class(config).from_config(config)
