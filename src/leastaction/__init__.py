"""Learn the law behind measured motion.

A method is a step of a recipe (:mod:`leastaction.core.method`); a recipe identifies a
law from observations, an :class:`xarray.Dataset`.

Conventions: d/dt ∂L/∂q̇ − ∂L/∂q = −∂D/∂q̇ + S Ẇ; Itô unless stated; SI units.
"""

import logging
from importlib import import_module

# What a law has to say stands in its warnings; a program may listen to the log.
logging.getLogger(__name__).addHandler(logging.NullHandler())

# Where each public name is; nothing is imported before it is used.
_PUBLIC = {
    "learn": "recordings.learn:learn",
    "modes": "recordings.modal_analysis:modes",
    "calibrate": "recordings.thermal_calibration:calibrate",
    "Law": "recordings.law:Law",
    "describe": "recordings.describe:describe",
    "RecordingError": "recordings.refusals:RecordingError",
    "System": "core.system:System",
    "system": "core.observations:system",
    "simulate": "core.observations:simulate",
    "IdentifiedModel": "core.model:IdentifiedModel",
    "load": "core.model:load",
    "Recipe": "core.recipe:Recipe",
}

__all__ = [*_PUBLIC, "recipes", "__version__"]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str):
    if name == "__version__":
        from importlib.metadata import version

        return version("leastaction")
    if name == "recipes":
        return import_module("leastaction.recipes")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'leastaction' has no attribute {name!r}")
    module, _, attribute = _PUBLIC[name].partition(":")
    return getattr(import_module(f"leastaction.{module}"), attribute)
