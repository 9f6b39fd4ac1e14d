"""Figures of noisy motions: file ``<name>.py`` draws figure `name`."""

EXAMPLE = {"recordings": ("noise_coefficients", "trajectories", "energy")}
# Further figures of a file.
SHARED = {
    "trajectories": ("energy",),
    "noise_coefficients": ("damping_study",),
    "noise_limits": (
        "success_study",
        "channel_study",
    ),
}
