"""Datasets between the stages of the published recipe and its rivals."""

from leastaction.core.contracts import Contract, variables
from leastaction_papers.stochastic_lagrangian.comparison import comparison_contract

CONTRACTS = {
    "rollout": comparison_contract("state", "unit of the state", "unit of L"),
    "ensemble_derivatives": Contract(
        "differentiate with method central_difference",
        variables(
            """
            replicate dof time term:
                momentum_rate [mixed] d/dt of the ensemble mean of dD/dqdot
                generalised_force [mixed] ensemble mean of dD/dq
            """,
            finite=("momentum_rate", "generalised_force"),
        ),
    ),
    "regression": Contract(
        "assemble with method ensemble_mean",
        variables(
            """
            replicate dof equation term:
                theta [mixed] Euler-Lagrange library
            replicate dof equation:
                target [mixed] minus the reference column
            term:
                used [1] whether the regression may use the term
                status [1] what algebra says about the term
                equivalent [1] equivalent of a removed candidate
                given [mixed] coefficient given by the reference
            """,
            finite=("theta", "target"),
            optional=("used", "equivalent"),
        ),
    ),
    "field_rollout": comparison_contract(
        "node", "unit of the field", "unit of L times m"
    ),
    "nodal_derivatives": Contract(
        "differentiate with method nodal_central_difference",
        variables(
            """
            replicate time node:
                acceleration [m/s^2] d/dt of the ensemble mean of u_t
            replicate time slope:
                mean_slope [mixed] ensemble mean of dD/du, /du_x, /du_xx
            slope:
                slope_term [1] position of the candidate
                slope_order [1] order of the derivative
                slope_point [1] number of the quadrature point
            """,
            finite=("acceleration", "mean_slope"),
        ),
    ),
    "nodal_regression": Contract(
        "assemble with method nodal_ensemble_mean",
        variables(
            """
            replicate node row slot:
                triangle [mixed] triangular factor of the library
            replicate node row:
                target [mixed] minus the reference column, rotated
            node slot:
                slot_term [1] position of the candidate, -1 for none
            term:
                status [1] what algebra says about the term
                equivalent [1] equivalent of a removed candidate
            """,
            finite=("triangle", "target"),
        ),
    ),
}
