"""Figures of port-Hamiltonian models: file ``<name>.py`` draws figure `name`."""

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
