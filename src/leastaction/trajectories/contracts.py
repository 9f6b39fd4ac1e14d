"""Datasets of motions without a random force, before the model."""

from leastaction.core.contracts import Contract, variables

# Units by their mark in the tables below; the others stand for themselves.
UNITS = {"-": "mixed", "q": "see coordinate_unit", "as q": "see the recordings"}

MOTION = variables(
    """
    replicate trajectory time dof:
        q [q] generalised coordinate
        qdot [q] generalised velocity
        qddot [q] generalised acceleration
        input [q] generalised external force
    """,
    UNITS,
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

OF_SPLINE = ["noise_std", "noise_ratio", "spline", "penalty", "resolution"]
OF_SPLINE += ["knot_spacing", "knot"]
RATES = variables(
    """
    time_kept:
        time_kept [s] times that are kept
    replicate dof channel:
        channel_rms [-] root mean square of the channel
        noise_std [-] standard deviation of the noise found
        noise_ratio [1] log2 of the squared noise ratio, rounded
    replicate trajectory dof basis:
        spline [-] coefficients of the quintic B-spline; NaN behind the last
    replicate trajectory dof:
        penalty [1] penalty on the fourth derivative
        resolution [1] samples per degree of freedom
    replicate:
        knot_spacing [1] samples per knot
    replicate knot_position:
        knot [s] knots, with those of multiplicity; NaN behind the last
    """,
    UNITS,
    finite=["time_kept"],
    optional=["channel_rms", *OF_SPLINE],
)

GRAM = variables(
    """
    replicate column column_other:
        gram [-] A^T A / N
        inertia_gram [-] the same of the part with accelerations
    replicate column:
        input_moment [-] A^T Q / N
    replicate:
        input_square [-] mean square of the input
        samples [1] samples in the sums
    replicate dof:
        acceleration_scale [-] standard deviation of qddot
    replicate sample dof:
        q_sample [-] q, some samples
        qdot_sample [-] qdot, some samples
        qddot_sample [-] qddot, some samples
        input_sample [-] input, some samples
    term:
        status [1] what algebra says about the term
        equivalent [1] equivalent of a removed candidate
    dissipation_term:
        dissipation_status [1] what algebra says about the term
        dissipation_equivalent [1] equivalent of a removed candidate
    """,
    UNITS,
    finite=["gram", "inertia_gram", "input_moment", "q_sample", "qddot_sample"],
    may_be_empty=["dissipation_status", "dissipation_equivalent"],
    optional=["input_sample"],
)

IMPLICIT_REGRESSION = variables(
    """
    replicate implicit_row implicit_term:
        factor [-] triangular factor of the candidates
    dof implicit_term:
        member [1] whether the equation has the candidate
    replicate sample dof:
        q_held_out [-] q of trajectories held out
        qdot_held_out [-] qdot of trajectories held out
        qddot_held_out [-] qddot of trajectories held out
        input_held_out [-] input of trajectories held out, zero without one
    """,
    UNITS,
    finite=["factor", "q_held_out", "qdot_held_out", "qddot_held_out"],
)

IMPLICIT_MODEL = variables(
    """
    replicate dof implicit_term:
        coefficient_estimate [-] coefficient of the implicit equation
        support [1] whether the term is selected
    replicate dof:
        left_hand_side [1] term on the left-hand side, with coefficient one
        threshold [-] threshold of the columns
        held_out_error [1] mean square error of the acceleration, share of its variance
    dof implicit_term:
        member [1] whether the equation has the candidate
    """,
    UNITS,
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
        gram [-] mean products of rates of energies
    """,
    UNITS,
    finite=["gram"],
    optional=["degree", "used"],
)

ROLLOUT = variables(
    """
    replicate trajectory time dof:
    q_true [as q] path of the truth
    q_estimate [as q] path of the model
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
    UNITS,
    finite=["q_true", "hamiltonian_true"],
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
