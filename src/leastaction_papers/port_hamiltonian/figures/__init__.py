"""Figures of port-Hamiltonian models: file ``<name>.py`` draws figure `name`."""

EXAMPLE = {
    "port_recordings": ("effort_errors",),
    "driven_port": ("port_structure",),
}
# Further figures of a file.
SHARED = {
    "learning_curves": ("derivative_influence", "effort_errors"),
    "effort_reconstruction": ("effort_extrapolation",),
}
