"""Figures of port-Hamiltonian models: file ``<name>.py`` draws figure `name`."""

EXAMPLE = {
    "port_recordings": {
        "coefficients": "effort_errors",
        "response": "port_motion",
        "hamiltonian": "port_energy",
    }
}
# Figures that stand in the file of another one.
SHARED = {
    "derivative_influence": "learning_curves",
    "effort_errors": "learning_curves",
    "effort_extrapolation": "effort_reconstruction",
    "port_energy": "port_motion",
}
