"""Figures of noisy motions: file ``<name>.py`` draws figure `name`."""

EXAMPLE = {
    "recordings": {
        "coefficients": "noise_coefficients",
        "response": "trajectories",
        "hamiltonian": "energy",
    }
}
# Further figures of a file.
SHARED = {
    "trajectories": ("energy",),
    "noise_coefficients": ("damping_study",),
    "noise_limits": (
        "success_study",
        "channel_study",
    ),
}
