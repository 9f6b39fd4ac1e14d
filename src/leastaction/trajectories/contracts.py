"""Datasets of motions without a random force, before the model."""

from leastaction.core.contracts import Contract, Variable

ENSEMBLE = "replicate trajectory time dof"
DRAWS = "replicate noise_mode trajectory time dof"
SQUARE = "replicate column column_other"
SAMPLED = "replicate sample dof"
EQUATION = "replicate dof"
COORDINATE = "see coordinate_unit"
RECORDING = "see the recordings"
CHANNEL = "replicate dof channel"
SERIES = "replicate trajectory dof"
SPLINE = "replicate trajectory dof basis"
NOISE_FOUND = "standard deviation of the noise found"
NOISE_RATIO = "log2 of the squared noise ratio, rounded"
ACCELERATION_ERROR = "relative error of the acceleration along the true path"
ENERGY_DRIFT = "rms deviation of the energy over the mean of p qdot / 2"
UNIT_NOISE = "unit noise of the sensor"

RECORDED = {
    "q": Variable(ENSEMBLE, COORDINATE, "generalised coordinate", finite=True),
    "qdot": Variable(ENSEMBLE, COORDINATE, "generalised velocity", optional=True),
    "qddot": Variable(ENSEMBLE, COORDINATE, "generalised acceleration", optional=True),
    "input": Variable(
        ENSEMBLE, COORDINATE, "generalised external force", optional=True
    ),
}
STATUS = "1", "what algebra says about the term"
EQUIVALENT = "1", "equivalent of a removed candidate"
MEMBER = Variable("dof implicit_term", "1", "whether the equation has the candidate")

CONTRACTS = {
    "recordings": Contract(
        "simulate with method runge_kutta",
        {
            **RECORDED,
            "noise_q": Variable(DRAWS, "1", UNIT_NOISE, finite=True),
            "noise_qdot": Variable(DRAWS, "1", UNIT_NOISE, optional=True),
            "noise_qddot": Variable(DRAWS, "1", UNIT_NOISE, optional=True),
            "noise_level": Variable(
                "noise_level",
                "SI units of the channel",
                "standard deviation of the noise",
                finite=True,
            ),
        },
        swept=False,
    ),
    "motion": Contract("one case of recordings", RECORDED),
    "rates": Contract(
        "differentiate with method joint_spline or measured",
        {
            "time_kept": Variable("time_kept", "s", "times that are kept", finite=True),
            **{
                name: Variable(dims, unit, meaning, optional=True)
                for name, dims, unit, meaning in (
                    (
                        "channel_rms",
                        CHANNEL,
                        "mixed",
                        "root mean square of the channel",
                    ),
                    ("spline", SPLINE, "mixed", "coefficients of the quintic B-spline"),
                    ("penalty", SERIES, "1", "penalty on the fourth derivative"),
                    ("noise_std", CHANNEL, "mixed", NOISE_FOUND),
                    ("noise_ratio", CHANNEL, "1", NOISE_RATIO),
                    ("resolution", SERIES, "1", "samples per degree of freedom"),
                    ("knot_spacing", (), "1", "samples per knot"),
                    ("knot", "knot_position", "s", "knots, with those of multiplicity"),
                )
            },
        },
    ),
    "gram": Contract(
        "assemble with method gram",
        {
            "gram": Variable(SQUARE, "mixed", "A^T A / N", finite=True),
            "inertia_gram": Variable(
                SQUARE,
                "mixed",
                "the same of the part with accelerations",
                finite=True,
            ),
            "input_moment": Variable(
                "replicate column", "mixed", "A^T Q / N", finite=True
            ),
            "input_square": Variable("replicate", "mixed", "mean square of the input"),
            "acceleration_scale": Variable(
                EQUATION, "mixed", "standard deviation of qddot"
            ),
            "samples": Variable("replicate", "1", "samples in the sums"),
            "q_sample": Variable(SAMPLED, "mixed", "q, some samples", finite=True),
            "qdot_sample": Variable(SAMPLED, "mixed", "qdot, some samples"),
            "qddot_sample": Variable(
                SAMPLED, "mixed", "qddot, some samples", finite=True
            ),
            "input_sample": Variable(
                SAMPLED, "mixed", "input, some samples", optional=True
            ),
            "status": Variable("term", *STATUS),
            "equivalent": Variable("term", *EQUIVALENT),
            "dissipation_status": Variable(
                "dissipation_term", *STATUS, may_be_empty=True
            ),
            "dissipation_equivalent": Variable(
                "dissipation_term", *EQUIVALENT, may_be_empty=True
            ),
        },
    ),
    "implicit_regression": Contract(
        "assemble with method implicit_library",
        {
            "factor": Variable(
                "replicate implicit_row implicit_term",
                "mixed",
                "triangular factor of the candidates",
                finite=True,
            ),
            "member": MEMBER,
            **{
                f"{name}_held_out": Variable(
                    SAMPLED, "mixed", f"{name} of trajectories held out", finite=True
                )
                for name in ("q", "qdot", "qddot")
            },
        },
    ),
    "implicit_model": Contract(
        "identify with method sindy_pi",
        {
            "coefficient_estimate": Variable(
                "replicate dof implicit_term",
                "mixed",
                "coefficient of the implicit equation",
                finite=True,
            ),
            "support": Variable(
                "replicate dof implicit_term", "1", "whether the term is selected"
            ),
            "left_hand_side": Variable(
                EQUATION, "1", "term on the left-hand side, with coefficient one"
            ),
            "threshold": Variable(
                EQUATION, "1", "threshold of unit columns", optional=True
            ),
            "held_out_error": Variable(
                EQUATION,
                "1",
                "mean square error of the acceleration, share of its variance",
            ),
            "member": MEMBER,
        },
        model="trajectories.implicit_model:ImplicitModel",
    ),
    "energy_gram": Contract(
        "assemble with method energy_gram",
        {
            "status": Variable("term", "1", "what algebra says of L"),
            "equivalent": Variable("term", *EQUIVALENT),
            "given": Variable("term", "1", "coefficient given by the reference"),
            "degree": Variable("term", "1", "degree in the velocities", optional=True),
            "used": Variable(
                "term",
                "1",
                "whether the term is a candidate of the energy",
                optional=True,
            ),
            "gram": Variable(
                SQUARE, "mixed", "mean products of rates of energies", finite=True
            ),
        },
    ),
    "motion_rollout": Contract(
        "validate",
        {
            "q_true": Variable(ENSEMBLE, RECORDING, "path of the truth", finite=True),
            "q_estimate": Variable(ENSEMBLE, RECORDING, "path of the model"),
            "hamiltonian_true": Variable(
                "replicate trajectory time",
                "J",
                "energy along the path of the truth",
                finite=True,
            ),
            "hamiltonian_estimate": Variable(
                "replicate trajectory time",
                "J",
                "true energy along the path of the model",
            ),
            **{
                f"trajectory_error_{window}": Variable(
                    "replicate",
                    "1",
                    f"median relative error of the path, {window} window",
                )
                for window in ("training", "prediction")
            },
            **{
                name: Variable("replicate", "1", meaning)
                for name, meaning in (
                    ("acceleration_error", ACCELERATION_ERROR),
                    ("energy_drift", ENERGY_DRIFT),
                    ("diverged", "trajectories of the model that diverged"),
                )
            },
        },
    ),
}
