"""Figures of snapshots: file ``<name>.py`` draws figure `name`."""

EXAMPLE = {"snapshots": ("alignment", "shadow_path", "shadow_energy")}
# Further figures of a file.
SHARED = {
    "escape_paths": (
        "escape_energy",
        "survival_study",
        "saddle_channels",
    ),
    "governing_hamiltonian": ("identified_hamiltonian",),
    "shadow_path": (
        "snapshots",
        "shadow_energy",
        "modified_energy",
    ),
}
