"""Figures of noisy motions: file ``<name>.py`` draws figure `name`."""

EXAMPLE = {"recordings": ("trajectories",)}
