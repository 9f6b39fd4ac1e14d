"""Figures of port-Hamiltonian models: file ``<name>.py`` draws figure `name`."""

from collections.abc import Iterable, Iterator
from itertools import cycle

EXAMPLE = {
    "port_recordings": ("effort_errors", "port_motion", "port_energy"),
    "driven_port": ("port_structure", "structure_runs", "structure_energy"),
}
# Further figures of a file.
SHARED = {
    "learning_curves": (
        "derivative_influence",
        "effort_errors",
        "coverage_study",
    ),
    "effort_reconstruction": ("effort_extrapolation",),
    "port_motion": ("port_energy",),
    "port_structure": ("structure_runs", "structure_energy"),
}
# Colours and marks of components.
COMPONENTS = ("#1b4f9c", "#e08a00", "#2f8f5b", "#7b3fa0", "#5c6b73")
MARKERS = ("o", "s", "^", "D", "v")


def colored(entries: Iterable) -> Iterator[tuple]:
    """(colour, entry) of components, states or scenarios."""
    return zip(cycle(COMPONENTS), entries, strict=False)
