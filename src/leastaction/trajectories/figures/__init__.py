"""Figures of noisy motions: file ``<name>.py`` draws figure `name`."""

EXAMPLE = {
    "recordings": {
        "coefficients": "noise_coefficients",
        "response": "trajectories",
        "hamiltonian": "energy",
    }
}
# Figures that stand in the file of another one.
SHARED = {"energy": "trajectories", "success_study": "noise_limits"}
