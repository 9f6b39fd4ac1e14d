"""Figures of shaken motions: file ``<name>.py`` draws figure `name`."""

# Further figures of a file.
SHARED = {
    "spectra": ("innovations", "one_step", "force_spectrum"),
    "sensor_study": ("realisation_study",),
}
OF_ENSEMBLES = ("coefficients", "response", "hamiltonian")
# Figures of an example, by the contract or by the kind of its data.
EXAMPLE = {
    "observations": OF_ENSEMBLES,
    "shaken measurements": (*OF_ENSEMBLES, "spectra", *SHARED["spectra"]),
}
