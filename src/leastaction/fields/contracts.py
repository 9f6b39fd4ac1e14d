"""Datasets of a field, before the model."""

from leastaction.core.contract import Contract

FIELD_ENSEMBLE = ("replicate", "trajectory", "time", "node")
INSTRUMENTS = ("instrument", "instrument_other")

CONTRACTS = {
    "field_rollout": Contract(
        "validate",
        {
            "mean_true": ("replicate", "time", "node"),
            "std_true": ("replicate", "time", "node"),
            "mean_estimate": ("replicate", "time", "node"),
            "std_estimate": ("replicate", "time", "node"),
            "hamiltonian_true": ("replicate", "time"),
            "hamiltonian_estimate": ("replicate", "time"),
        },
        finite=("mean_true", "std_true", "hamiltonian_true"),
    ),
    "field_observations": Contract(
        "simulate",
        {"u": FIELD_ENSEMBLE, "u_t": FIELD_ENSEMBLE},
        finite=("u", "u_t"),
    ),
    "nodal_derivatives": Contract(
        "differentiate with method nodal_central_difference",
        {
            "acceleration": ("replicate", "time", "node"),
            "mean_slope": ("replicate", "time", "slope"),
            "slope_term": ("slope",),
            "slope_order": ("slope",),
            "slope_point": ("slope",),
        },
        finite=("acceleration", "mean_slope"),
    ),
    "nodal_regression": Contract(
        "assemble with method nodal_ensemble_mean",
        {
            "triangle": ("replicate", "node", "row", "slot"),
            "target": ("replicate", "node", "row"),
            "slot_term": ("node", "slot"),
            "status": ("term",),
        },
        finite=("triangle", "target"),
    ),
    "modal_basis": Contract(
        "differentiate with method modal_projection",
        {
            "phi": ("replicate", "node", "mode"),
            "turn": ("replicate", "mode"),
            "group": ("replicate", "mode"),
        },
        finite=("phi", "turn"),
    ),
    "modal_moments": Contract(
        "assemble with method modal_moments",
        {
            "moment": ("replicate", "group", "instrument", "column"),
            "instrument_gram": ("replicate", "group", "lag", *INSTRUMENTS),
            "increment_gram": ("replicate", "group", "lag", "column", "column_other"),
            "samples": ("replicate", "group"),
            "pairs": ("replicate", "group"),
            "largest_turn": ("replicate", "group"),
            "spatial_order": ("candidate",),
        },
        finite=("moment", "instrument_gram", "increment_gram"),
    ),
}
