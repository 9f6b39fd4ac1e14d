"""Datasets of motions without a random force, before the model."""

from leastaction.core.contracts import Contract, variables

MOTION = variables(
    """
    replicate trajectory time dof:
        q [see coordinate_unit] generalised coordinate
        qdot [see coordinate_unit] generalised velocity
        qddot [see coordinate_unit] generalised acceleration
        input [see coordinate_unit] generalised external force
    """,
    finite=["q"],
    optional=["qdot", "qddot", "input"],
)

SENSORS = variables(
    """
    replicate noise_mode trajectory time dof:
        noise_q [1] unit noise of the sensor
        noise_qdot [1] unit noise of the sensor
        noise_qddot [1] unit noise of the sensor
    noise_level:
        noise_level [SI units of the channel] standard deviation of the noise
    """,
    finite=["noise_q", "noise_level"],
    optional=["noise_qdot", "noise_qddot"],
)

OF_SPLINE = "noise_std noise_ratio spline penalty resolution knot_spacing knot"
RATES = variables(
    """
    time_kept:
        time_kept [s] times that are kept
    replicate dof channel:
        channel_rms [mixed] root mean square of the channel
        noise_std [mixed] standard deviation of the noise found
        noise_ratio [1] log2 of the squared noise ratio, rounded
    replicate trajectory dof basis:
        spline [mixed] coefficients of the quintic B-spline; NaN behind the last
    replicate trajectory dof:
        penalty [1] penalty on the fourth derivative
        resolution [1] samples per degree of freedom
    replicate:
        knot_spacing [1] samples per knot
    replicate knot_position:
        knot [s] knots, with those of multiplicity; NaN behind the last
    """,
    finite=["time_kept"],
    optional=["channel_rms", *OF_SPLINE.split()],
)

GRAM = variables(
    """
    replicate column column_other:
        gram [mixed] A^T A / N
        inertia_gram [mixed] the same of the part with accelerations
    replicate column:
        input_moment [mixed] A^T Q / N
    replicate:
        input_square [mixed] mean square of the input
        samples [1] samples in the sums
    replicate dof:
        acceleration_scale [mixed] standard deviation of qddot
    replicate sample dof:
        q_sample [mixed] q, some samples
        qdot_sample [mixed] qdot, some samples
        qddot_sample [mixed] qddot, some samples
        input_sample [mixed] input, some samples
    term:
        status [1] what algebra says about the term
        equivalent [1] equivalent of a removed candidate
    dissipation_term:
        dissipation_status [1] what algebra says about the term
        dissipation_equivalent [1] equivalent of a removed candidate
    """,
    finite=["gram", "inertia_gram", "input_moment", "q_sample", "qddot_sample"],
    may_be_empty=["dissipation_status", "dissipation_equivalent"],
    optional=["input_sample"],
)

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
    replicate trajectory time:
    hamiltonian_true [J] energy along the path of the truth
    hamiltonian_estimate [J] true energy along the path of the model
    replicate:
    trajectory_error_training [1] median relative error of the path, training window
    trajectory_error_prediction [1] median relative error of the path, prediction window
    acceleration_error [1] relative error of the acceleration along the true path
    energy_drift [1] rms deviation of the energy over the mean of p qdot / 2
    diverged [1] trajectories of the model that diverged
    """,
    finite=["q_true", "hamiltonian_true"],
    optional=[
        f"{name}_{of}" for name in ("qdot", "qddot") for of in ("true", "estimate")
    ],
)

CONTRACTS = {
    "recordings": Contract(
        "simulate with method runge_kutta", MOTION | SENSORS, swept=False
    ),
    "motion": Contract("one case of recordings", MOTION),
    "rates": Contract("differentiate with method joint_spline or measured", RATES),
    "gram": Contract("assemble with method gram", GRAM),
    "implicit_regression": Contract(
        "assemble with method implicit_library", IMPLICIT_REGRESSION
    ),
    "implicit_model": Contract(
        "identify with method sindy_pi",
        IMPLICIT_MODEL,
        model="trajectories.sindy_pi:ImplicitModel",
    ),
    "energy_gram": Contract("assemble with method energy_gram", ENERGY_GRAM),
    "motion_rollout": Contract("validate", ROLLOUT),
}
