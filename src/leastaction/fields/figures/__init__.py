"""Figures of fields: file ``<name>.py`` draws figure `name`."""

EXAMPLE = {
    "field_observations": {
        "coefficients": "coefficients",
        "response": "space_time",
        "hamiltonian": "hamiltonian",
    }
}
