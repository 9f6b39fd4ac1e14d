"""Figures of snapshots: file ``<name>.py`` draws figure `name`."""

EXAMPLE = {
    "snapshots": {
        "coefficients": "alignment",
        "response": "shadow_path",
        "hamiltonian": "shadow_energy",
    }
}
# Figures that stand in the file of another one.
SHARED = {
    "escape_energy": "escape_paths",
    "identified_hamiltonian": "governing_hamiltonian",
    "modified_energy": "shadow_energy",
    "snapshots": "shadow_path",
    "survival_study": "escape_paths",
}
