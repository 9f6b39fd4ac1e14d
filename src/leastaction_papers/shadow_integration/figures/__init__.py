"""Figures of snapshots: file ``<name>.py`` draws figure `name`."""

EXAMPLE = {
    "snapshots": ("alignment", "shadow_path", "shadow_energy"),
    "field_snapshots": ("field_motion", "field_errors", "field_law"),
}
# Further figures of a file.
SHARED = {
    "alignment": ("shadow_noise_study",),
    "escape_paths": ("escape_energy", "survival_study", "saddle_channels"),
    "field_motion": ("field_errors", "field_law"),
    "governing_hamiltonian": ("identified_hamiltonian",),
    "shadow_path": (
        *("snapshots", "shadow_energy", "modified_energy"),
        "shadow_mechanism_study",
    ),
}
