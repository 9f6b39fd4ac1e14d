"""Datasets between the stages of the published recipe and its rivals."""

from leastaction.core.contracts import Contract, variables


def comparison_contract(axis: str, unit: str, energy_unit: str) -> Contract:
    """Contract of a comparison along `axis`, states or nodes, with units."""
    result = variables(
        f"""
        replicate time {axis}:
            mean_true [{unit}] ensemble mean
            std_true [{unit}] standard deviation
            mean_estimate [{unit}] ensemble mean
            std_estimate [{unit}] standard deviation
        replicate time:
            hamiltonian_true [{energy_unit}] ensemble mean of the Hamiltonian
            hamiltonian_of_mean_true [{energy_unit}] Hamiltonian of the mean path
            hamiltonian_estimate [{energy_unit}] ensemble mean of the Hamiltonian
            hamiltonian_of_mean_estimate [{energy_unit}] Hamiltonian of the mean path
            hamiltonian_growth [{energy_unit}] H(0) plus the growth by Ito's formula
        replicate:
            mean_error_training [1] error of the mean path over its rms, training
            mean_error_prediction [1] error of the mean path over its rms, prediction
            std_error [1] relative error of the standard deviation
            diverged [1] trajectories of the model that diverged
        """,
        finite=[f"{name}_true" for name in ("mean", "std", "hamiltonian")],
    )
    return Contract("validate", result)


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
