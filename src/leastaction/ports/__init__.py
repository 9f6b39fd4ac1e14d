"""Port-Hamiltonian equations (paper 5)."""

from collections.abc import Mapping

# Class of the systems whose section `system` has this key.
SYSTEM = {"states": "ports.system:PortHamiltonianSystem"}
# Tables of this family, by name.
TABLES_OF_ROLLOUTS = {"effort_errors": "ports.tables:effort_errors"}


def measures(example: Mapping) -> bool:
    """Whether an example is one of this family."""
    return "states" in example["system"]
