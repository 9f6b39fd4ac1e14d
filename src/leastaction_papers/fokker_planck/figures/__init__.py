"""Figures of stationary densities: file ``<name>.py`` draws figure `name`."""

EXAMPLE = dict.fromkeys(("histogram", "state_moments"), ("density_surface",))
# Further figures of a file.
SHARED = {
    "objective_independent": ("objective_dependent", "level_set", "density_surface"),
}
