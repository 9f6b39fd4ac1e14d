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
}
