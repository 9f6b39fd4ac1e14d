"""Datasets between the stages of the published recipe and its rivals."""

from leastaction.core.contracts import Contract, variables

DENSITY_STENCIL = variables(
    """
    replicate batch q_bin qdot_bin:
        density [1/(q qdot)] probability density
    q_bin q_bin_other:
        difference_q [1/q] central difference
    qdot_bin qdot_bin_other:
        difference_qdot [1/q] central difference
    """,
    finite=("density",),
)

DENSITY_ROLLOUT = variables(
    """
    replicate dof q_bin qdot_bin:
        density_true [1/(q qdot)] stationary density
    replicate dof:
        total_variation [1] total variation distance of the densities
    state bin:
        cell_centre [unit of the state] centre of the cell
    """,
    finite=("density_true",),
)

CONTRACTS = {
    "density_stencil": Contract(
        "differentiate with method central_stencil", DENSITY_STENCIL
    ),
    "density_rollout": Contract("validate", DENSITY_ROLLOUT),
}
