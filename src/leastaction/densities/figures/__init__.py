"""Figures of stationary densities: file ``<name>.py`` draws figure `name`."""

EXAMPLE = dict.fromkeys(
    ("histogram", "state_moments"),
    {
        "coefficients": "stationary_parameters",
        "response": "density",
        "hamiltonian": "marginals",
    },
)
# Figures that stand in the file of another one.
SHARED = {
    "samples_study": "stationary_parameters",
    "bins_study": "stationary_parameters",
    "density_surface": "density",
    "marginals": "density",
    "objective_dependent": "objective_independent",
    "level_set": "objective_independent",
}
# Estimators in the order of every legend.
ORDER = ("published", "split_sample", "recommended")
