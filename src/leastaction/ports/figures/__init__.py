"""Figures of port-Hamiltonian models: file ``<name>.py`` draws figure `name`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leastaction.report.panel import Panel

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
    "structure_runs": ("structure_energy",),
}
# Colours and marks of components.
COMPONENTS = ("#1b4f9c", "#e08a00", "#2f8f5b", "#7b3fa0", "#5c6b73")
MARKERS = ("o", "s", "^", "D", "v")


def state_label(panel: "Panel", state: str) -> str:
    """LaTeX of a state of an example."""
    entry = panel.config["system"]["states"][state]
    return f"${entry.get('label') or state}$"
