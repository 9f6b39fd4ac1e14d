"""Figures of shaken motions: file ``<name>.py`` draws figure `name`."""

# Figure that each file of an example shows, by the contract of its data.
EXAMPLE = {
    "observations": {
        "coefficients": "coefficients",
        "response": "response",
        "hamiltonian": "hamiltonian",
    }
}
