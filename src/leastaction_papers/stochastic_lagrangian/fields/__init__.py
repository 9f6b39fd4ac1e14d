"""Strings and beams, randomly excited (paper 1)."""

from collections.abc import Mapping


def measures(example: Mapping) -> bool:
    """Whether an example is one of these."""
    # Snapshots on a periodic line, without a random force, are of shadow integration.
    spectral = example.get("simulate", {}).get("method") == "spectral"
    return "field" in example["system"] and not spectral
