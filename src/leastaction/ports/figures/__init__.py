"""Figures of port-Hamiltonian models: file ``<name>.py`` draws figure `name`."""

EXAMPLE = {
    "port_recordings": {
        "coefficients": "effort_errors",
        "response": "port_motion",
        "hamiltonian": "port_energy",
    }
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
}
