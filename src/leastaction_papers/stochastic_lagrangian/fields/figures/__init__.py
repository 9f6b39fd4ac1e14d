"""Figures of fields: file ``<name>.py`` draws figure `name`."""

EXAMPLE = {"field_observations": ("coefficients", "space_time", "hamiltonian")}
