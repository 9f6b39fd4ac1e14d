"""Port-Hamiltonian equations (paper 5)."""

from collections.abc import Mapping

# Tables of this paper, by name.
# Class of the efforts of a model with this contract.
EFFORTS = {"effort_process": ".multi_task_process:ProcessEfforts"}
TABLES_OF_ROLLOUTS = {"effort_errors": ".tables:effort_errors"}


def measures(example: Mapping) -> bool:
    """Whether an example is one of these."""
    return "states" in example["system"]
