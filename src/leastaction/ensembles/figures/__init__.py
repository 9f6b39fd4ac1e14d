"""Figures of shaken motions: file ``<name>.py`` draws figure `name`."""

# Figures of an example, by the contract of its data.
EXAMPLE = {"observations": ("coefficients", "response", "hamiltonian")}
