"""Datasets of a few degrees of freedom, before the model."""

from leastaction.core.contracts import Contract, variables

OBSERVED = """
    replicate trajectory time dof:
        q [unit of q] generalised coordinate
    """
COVARIATION = """
    replicate dof dof_other:
        realised_covariation [(units of qddot)^2 s] realised covariation
    """
# What all datasets of moments say of their candidates.
OF_CANDIDATES = """
    term:
        status [1] what algebra says about the term
    candidate:
        library_status [1] status of every candidate
        library_equivalent [1] equivalent of a removed candidate
        library_given [mixed] coefficient given by the reference
    replicate:
        samples [1] number of increments
    """

# What is known of the outputs of a system without a model.
OF_OUTPUTS = """
    replicate:
        main_frequency [rad/s] angular frequency of the strongest motion
    replicate channel:
        sensor_noise [mixed] first guess of the noise of each sensor
        output_std [mixed] standard deviation of each channel
    """

CONTRACTS = {
    "observations": Contract(
        "simulate",
        variables(
            OBSERVED + "qdot [unit of qdot] generalised velocity",
            finite=("q", "qdot"),
        ),
    ),
    "displacements": Contract(
        "simulate with sensor.channels [q]", variables(OBSERVED, finite=("q",))
    ),
    "accelerations": Contract(
        "simulate with sensor.channels [qddot]",
        variables(
            """
            replicate trajectory time dof:
                qddot [unit of q / s^2] mean acceleration between samples
            """,
            finite=("qddot",),
        ),
    ),
    "sensor_readings": Contract(
        "import with sensors",
        variables(
            """
            replicate sample channel:
                reading [mixed] what each sensor reads
            replicate sample dof:
                input [mixed] recorded generalised force
            trajectory:
                first_sample [1] first row
                sample_count [1] number of rows
                start_time [s] recorded time of the first row
                held_out [1] whether only validation sees it
            """,
            optional=("input", "start_time", "held_out"),
        ),
        swept=False,
    ),
    "realised_variation": Contract(
        "differentiate with method realised_variation",
        variables(
            COVARIATION
            + """
            replicate dof:
                frequency [rad/s] mean angular frequency
                perfect_square [1] whether it is the square of a + b f
            replicate dof volatility_term:
                squared_volatility [mixed] coefficients of the squared noise
            """,
            finite=("realised_covariation", "squared_volatility"),
        ),
    ),
    "output_modes": Contract(
        "differentiate with method stochastic_subspace",
        variables(
            """
            replicate start mode:
                mode_frequency [rad/s] angular frequency of a mode of the outputs
                mode_damping_ratio [1] its damping ratio
            replicate start mode channel:
                mode_shape_real [mixed] real part of its shape at the sensors
                mode_shape_imaginary [mixed] imaginary part
            """
            + OF_OUTPUTS,
            finite=("mode_frequency", "mode_shape_real", "sensor_noise"),
        ),
    ),
    "state_space": Contract(
        "assemble with method modal_start",
        variables(
            """
            term:
                status [1] what algebra says about the term
                equivalent [1] equivalent of a removed candidate
            dissipation_term:
                dissipation_status [1] what algebra says about the term of D
                dissipation_equivalent [1] equivalent of a removed candidate of D
            replicate:
                highest_frequency [rad/s] highest angular frequency of the modes
            replicate start column:
                start_coefficient [mixed] first guess of the coefficients of L, then D
            """
            + OF_OUTPUTS,
            finite=("start_coefficient",),
            may_be_empty=("dissipation_status", "dissipation_equivalent"),
        ),
    ),
    "moments": Contract(
        "assemble with method martingale_moments",
        variables(
            OF_CANDIDATES
            + COVARIATION
            + """
            replicate trajectory dof instrument term:
                moment [mixed] sum of w Z X^T of each trajectory
            replicate dof instrument instrument_other:
                instrument_gram [mixed] sum of w Z Z^T
            replicate dof dof_other term term_other:
                increment_gram [mixed] sum of X X^T
                weighted_gram [mixed] sum of w X X^T
            replicate dof:
                frequency [rad/s] mean angular frequency
            replicate:
                time_step [s] duration of one increment
                sampling_step [s] time step of the observations
            """,
            finite=("moment", "instrument_gram", "increment_gram"),
        ),
    ),
}
