"""Strings and beams, randomly excited (paper 1)."""

from collections.abc import Mapping

# Class of the systems whose section `system` has this key.
SYSTEM = {"field": "fields.field_system:FieldSystem"}


def measures(example: Mapping) -> bool:
    """Whether an example is one of this family."""
    # Snapshots on a periodic line, without a random force, belong to `snapshots`.
    spectral = example.get("simulate", {}).get("method") == "spectral"
    return "field" in example["system"] and not spectral
