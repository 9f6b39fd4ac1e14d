"""Datasets of a field, before the model."""

from leastaction.core.contracts import Contract, variables

CONTRACTS = {
    "field_observations": Contract(
        "simulate",
        variables(
            """
            replicate trajectory time node:
                u [unit of the field] field
                u_t [unit of the field/s] velocity of the field
            """,
            finite=("u", "u_t"),
        ),
    ),
    "modal_basis": Contract(
        "differentiate with method modal_projection",
        variables(
            """
            replicate node mode:
                phi [m^-0.5] test functions
            replicate mode:
                turn [rad] angle per sample
                group [1] 0 resolved, 1 dispersive, 2 not used
            """,
            finite=("phi", "turn"),
        ),
    ),
    "modal_moments": Contract(
        "assemble with method modal_moments",
        variables(
            """
            replicate group instrument column:
                moment [mixed] sum of Z X^T
            replicate group lag instrument instrument_other:
                instrument_gram [mixed] sum of Z Z^T at lag 0 and +-1
            replicate group lag column column_other:
                increment_gram [mixed] sum of X X^T at lag 0 and +-1
            replicate group:
                samples [1] number of second differences
                pairs [1] number of those in second moments
                largest_turn [rad] largest omega dt up to this group
            candidate:
                spatial_order [1] highest derivative along x
                used [1] whether the candidate has columns
                library_status [1] status of every candidate
                library_equivalent [1] equivalent of a removed candidate
            """,
            finite=("moment", "instrument_gram", "increment_gram"),
        ),
    ),
}
