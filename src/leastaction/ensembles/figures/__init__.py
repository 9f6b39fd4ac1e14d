"""Figures of shaken motions: file ``<name>.py`` draws figure `name`."""

# Further figures of a file.
SHARED = {"spectra": ("innovations", "one_step", "force_spectrum")}
