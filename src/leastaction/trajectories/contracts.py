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

CONTRACTS = {
    "recordings": Contract(
        "simulate with method runge_kutta", MOTION | SENSORS, swept=False
    ),
    "motion": Contract("one case of recordings", MOTION),
    "rates": Contract("differentiate with method joint_spline or measured", RATES),
    "gram": Contract("assemble with method gram", GRAM),
}
