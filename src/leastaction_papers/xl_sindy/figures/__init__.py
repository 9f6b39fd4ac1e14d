"""Figures of noisy motions: file ``<name>.py`` draws figure `name`."""

EXAMPLE = {"recordings": ("trajectories",)}
# Further figures of a file.
SHARED = {"noise_limits": ("success_study",)}
