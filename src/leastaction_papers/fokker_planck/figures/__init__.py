"""Figures of stationary densities: file ``<name>.py`` draws figure `name`."""

EXAMPLE = dict.fromkeys(
    ("histogram", "state_moments"), ("stationary_parameters", "density", "marginals")
)
# Further figures of a file.
SHARED = {
    "stationary_parameters": (
        "samples_study",
        "bins_study",
        "objective_independent",
        "objective_dependent",
        "level_set",
    ),
    "density": (
        "density_surface",
        "marginals",
    ),
}
