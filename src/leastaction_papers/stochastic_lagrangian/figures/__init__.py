"""Figures of ensembles and of fields: file ``<name>.py`` draws figure `name`."""

from leastaction.ensembles.figures import SHARED as OF_SHAKEN

# Further figures of a file.
OF_ENSEMBLES = ("coefficients", "response", "hamiltonian")
# Figures of an example, by the contract or by the kind of its data.
EXAMPLE = {
    "field_observations": ("coefficients", "space_time", "hamiltonian"),
    "observations": OF_ENSEMBLES,
    "shaken measurements": (*OF_ENSEMBLES, "spectra", *OF_SHAKEN["spectra"]),
}
