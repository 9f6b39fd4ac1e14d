"""Figures of snapshots: file ``<name>.py`` draws figure `name`."""

EXAMPLE = {
    "snapshots": ("shadow_path",),
    "field_snapshots": ("field_errors",),
}
# Further figures of a file.
SHARED = {
    "escape_paths": ("escape_energy", "saddle_channels"),
    "governing_hamiltonian": ("identified_hamiltonian",),
    "shadow_path": ("snapshots", "modified_energy"),
}
