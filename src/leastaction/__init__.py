"""Learn the law behind measured motion.

A method is a step of a recipe (:mod:`leastaction.core.method`); a recipe identifies a
law from observations, an :class:`xarray.Dataset`.

Conventions: d/dt ∂L/∂q̇ − ∂L/∂q = −∂D/∂q̇ + S Ẇ; Itô unless said; SI units.
"""

from importlib import import_module

_PUBLIC = {
    "learn": "leastaction.recordings.learn",
    "Law": "leastaction.recordings.law",
    "describe": "leastaction.recordings.describe",
    "RecordingError": "leastaction.recordings.error",
    "System": "leastaction.core.system",
    "IdentifiedModel": "leastaction.core.model",
    "load_model": "leastaction.core.model",
    "Recipe": "leastaction.core.recipe",
}

__all__ = [*_PUBLIC, "recipes", "__version__"]


def __getattr__(name: str):
    if name == "__version__":
        from importlib.metadata import version

        return version("leastaction")
    if name == "recipes":
        return import_module("leastaction.recipes")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'leastaction' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
