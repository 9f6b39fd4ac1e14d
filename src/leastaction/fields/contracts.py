"""Datasets of a field, before the model."""

from leastaction.core.contract import Contract, Variable

FIELD_ENSEMBLE = "replicate trajectory time node"

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
        {
            "u": Variable(FIELD_ENSEMBLE, None, "field", finite=True),
            "u_t": Variable(FIELD_ENSEMBLE, None, "velocity of the field", finite=True),
        },
    ),
    "nodal_derivatives": Contract(
        "differentiate with method nodal_central_difference",
        {
            "acceleration": Variable(
                "replicate time node",
                "m/s^2",
                "d/dt of the ensemble mean of u_t",
                finite=True,
            ),
            "mean_slope": Variable(
                "replicate time slope",
                "mixed",
                "ensemble mean of dD/du, /du_x, /du_xx",
                finite=True,
            ),
            "slope_term": Variable("slope", "1", "position of the candidate"),
            "slope_order": Variable("slope", "1", "order of the derivative"),
            "slope_point": Variable("slope", "1", "number of the quadrature point"),
        },
    ),
    "nodal_regression": Contract(
        "assemble with method nodal_ensemble_mean",
        {
            "triangle": Variable(
                "replicate node row slot",
                "mixed",
                "triangular factor of the library",
                finite=True,
            ),
            "target": Variable(
                "replicate node row",
                "mixed",
                "minus the reference column, rotated",
                finite=True,
            ),
            "slot_term": Variable(
                "node slot", "1", "position of the candidate, -1 for none"
            ),
            "status": Variable("term", "1", "what algebra says about the term"),
            "equivalent": Variable("term", "1", "equivalent of a removed candidate"),
        },
    ),
    "modal_basis": Contract(
        "differentiate with method modal_projection",
        {
            "phi": Variable(
                "replicate node mode", "m^-0.5", "test functions", finite=True
            ),
            "turn": Variable("replicate mode", "rad", "angle per sample", finite=True),
            "group": Variable(
                "replicate mode", "1", "0 resolved, 1 dispersive, 2 not used"
            ),
        },
    ),
    "modal_moments": Contract(
        "assemble with method modal_moments",
        {
            "moment": Variable(
                "replicate group instrument column",
                "mixed",
                "sum of Z X^T",
                finite=True,
            ),
            "instrument_gram": Variable(
                "replicate group lag instrument instrument_other",
                "mixed",
                "sum of Z Z^T at lag 0 and +-1",
                finite=True,
            ),
            "increment_gram": Variable(
                "replicate group lag column column_other",
                "mixed",
                "sum of X X^T at lag 0 and +-1",
                finite=True,
            ),
            "samples": Variable("replicate group", "1", "number of second differences"),
            "pairs": Variable(
                "replicate group", "1", "number of those in second moments"
            ),
            "largest_turn": Variable(
                "replicate group", "rad", "largest omega dt up to this group"
            ),
            "spatial_order": Variable("candidate", "1", "highest derivative along x"),
            "used": Variable("candidate", "1", "whether the candidate has columns"),
            "library_status": Variable("candidate", "1", "status of every candidate"),
            "library_equivalent": Variable(
                "candidate", "1", "equivalent of a removed candidate"
            ),
        },
    ),
}
