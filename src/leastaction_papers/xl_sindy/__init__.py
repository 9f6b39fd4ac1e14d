"""Noisy motions without random force (paper 2)."""

from collections.abc import Mapping

# Tables of this paper, by name.
TABLES = {
    "lagrangian_by_noise": ".tables:lagrangian_by_noise",
    "lagrangian_by_every_noise": ".tables:lagrangian_by_every_noise",
    "structures_by_noise": ".tables:structures_by_noise",
}


def measures(example: Mapping) -> bool:
    """Whether an example is one of these."""
    return "library" in example and example.get("simulate", {}).get("method") == (
        "runge_kutta"
    )
