"""Figures of shaken motions: file ``<name>.py`` draws figure `name`."""

# Figures of an example, by the contract of its data.
# Further figures of a file.
SHARED = {"spectra": ("innovations", "one_step", "force_spectrum")}
EXAMPLE = {"observations": ("coefficients", "response", "hamiltonian")}
