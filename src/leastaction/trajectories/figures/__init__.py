"""Figures of noisy motions: file ``<name>.py`` draws figure `name`."""

EXAMPLE = {
    "recordings": {
        "coefficients": "noise_coefficients",
        "response": "trajectories",
        "hamiltonian": "energy",
    }
}
