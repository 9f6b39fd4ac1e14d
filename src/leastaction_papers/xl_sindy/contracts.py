"""Datasets between the stages of the published recipe and its rivals."""

from leastaction.core.contracts import Contract, variables

IMPLICIT_REGRESSION = variables(
    """
    replicate implicit_row implicit_term:
        factor [mixed] triangular factor of the candidates
    dof implicit_term:
        member [1] whether the equation has the candidate
    replicate sample dof:
        q_held_out [mixed] q of trajectories held out
        qdot_held_out [mixed] qdot of trajectories held out
        qddot_held_out [mixed] qddot of trajectories held out
        input_held_out [mixed] input of trajectories held out, zero without one
    """,
    finite=["factor", "q_held_out", "qdot_held_out", "qddot_held_out"],
)

IMPLICIT_MODEL = variables(
    """
    replicate dof implicit_term:
        coefficient_estimate [mixed] coefficient of the implicit equation
        support [1] whether the term is selected
    replicate dof:
        left_hand_side [1] term on the left-hand side, with coefficient one
        threshold [mixed] threshold of the columns
        held_out_error [1] mean square error of the acceleration, share of its variance
    dof implicit_term:
        member [1] whether the equation has the candidate
    """,
    finite=["coefficient_estimate"],
    optional=["threshold"],
)

ENERGY_GRAM = variables(
    """
    term:
        status [1] what algebra says of L
        equivalent [1] equivalent of a removed candidate
        given [1] coefficient given by the reference
        degree [1] degree in the velocities
        used [1] whether the term is a candidate of the energy
    replicate column column_other:
        gram [mixed] mean products of rates of energies
    """,
    finite=["gram"],
    optional=["degree", "used"],
)

ROLLOUT = variables(
    """
    replicate trajectory time dof:
    q_true [see the recordings] path of the truth
    q_estimate [see the recordings] path of the model
    qdot_true [see the recordings] velocity of the truth
    qdot_estimate [see the recordings] velocity of the model
    qddot_true [see the recordings] acceleration of the truth
    qddot_estimate [see the recordings] acceleration of the model
    replicate:
    acceleration_error [1] relative error of the acceleration along the true path
    energy_drift [1] rms deviation of the energy over the mean of p qdot / 2
    diverged [1] trajectories of the model that diverged
    """,
    finite=["q_true"],
    optional=[
        f"{name}_{of}" for name in ("qdot", "qddot") for of in ("true", "estimate")
    ],
)

CONTRACTS = {
    "implicit_regression": Contract(
        "assemble with method implicit_library", IMPLICIT_REGRESSION
    ),
    "implicit_model": Contract(
        "identify with method sindy_pi",
        IMPLICIT_MODEL,
        model="leastaction_papers.xl_sindy.sindy_pi:ImplicitModel",
    ),
    "energy_gram": Contract("assemble with method energy_gram", ENERGY_GRAM),
    "motion_rollout": Contract("validate", ROLLOUT),
}
