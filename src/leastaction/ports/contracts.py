"""Datasets of port-Hamiltonian identification."""

from leastaction.core.contract import Contract, Variable

SI = "SI units of each entry"
SI_OF_STATES = "SI units of each state"
FITS = "replicate fit"
ORDERED = f"{FITS} order"

# What is known of the system.
MATRICES = {
    "flow_matrix": Variable("row state", SI, "E"),
    "structure_matrix": Variable("row effort", SI, "J"),
    "dissipation_matrix": Variable("row effort", SI, "R"),
    "port_matrix": Variable("row port", SI, "B"),
    "constraint": Variable(
        "constraint_row",
        "mixed",
        "expression that vanishes on the solutions",
        may_be_empty=True,
    ),
}
INDEX = {
    "training_index": Variable(
        ORDERED, "1", "sample of each training set, -1 beyond it"
    )
}
SCHEME = {"scheme": Variable("", "1", "scheme of the path")}
# What every model of efforts holds beside its hyperparameters.
TRAINING = {
    **MATRICES,
    **INDEX,
    "x": Variable(f"{ORDERED} state", SI, "state"),
    "y": Variable(f"{ORDERED} row", SI, "E dx/dt - B u"),
    **SCHEME,
}

ERRORS = {
    "transformed_rmse": Variable(
        f"{FITS} row", SI, "error of (J - R) z on the test samples, rms"
    ),
    "effort_rmse": Variable(
        f"{FITS} effort", SI, "error of z on the test samples, rms"
    ),
    "coverage": Variable(
        f"{FITS} row", "1", "share of test samples inside the 95 % band of (J - R) z"
    ),
    "band": Variable(
        f"{FITS} row", SI, "posterior standard deviation of (J - R) z, rms"
    ),
    "target_rmse": Variable(f"{FITS} row", SI, "error of the training targets, rms"),
}
REGULARITY = "least singular value of the Jacobian of the algebraic rows"
STRUCTURE = {
    "asymmetry": Variable(
        FITS, "1", "antisymmetric over symmetric part of d(E'z)/dx, rms"
    ),
    "gradient_defect": Variable(
        FITS, "1", "largest difference of H and the integral of E'z, J"
    ),
    "regularity": Variable(FITS, "1", REGULARITY),
    "regularity_true": Variable("replicate", "1", f"{REGULARITY}, truth"),
}
SHOWN = "replicate pool_shown time effort"
ALONG_TIME = {
    "effort_true": Variable(
        "replicate time effort", SI, "true efforts at the recorded states", finite=True
    ),
    "effort_estimate": Variable(SHOWN, SI, "identified efforts"),
    "effort_std": Variable(SHOWN, SI, "posterior standard deviation"),
    "training_sample": Variable(
        "replicate pool_shown sample_shown", "1", "training samples of the fits shown"
    ),
}
SCENARIO = "replicate scenario"
MOTION = {
    "x_true": Variable(f"{SCENARIO} time_forward state", SI_OF_STATES, "true states"),
    "x_estimate": Variable(
        f"{SCENARIO} time_forward state", SI_OF_STATES, "states of the model"
    ),
    "hamiltonian_true": Variable(
        f"{SCENARIO} time_forward", "J", "true H along the truth"
    ),
    "hamiltonian_estimate": Variable(
        f"{SCENARIO} time_forward",
        "J",
        "identified H along the model, from the first true value on",
    ),
    "forward_error": Variable(
        f"{SCENARIO} state", SI_OF_STATES, "error of the motion at the finest step, rms"
    ),
    "constraint_drift": Variable(SCENARIO, "SI units", "largest |g| of the motion"),
    "balance_residual": Variable(
        f"{SCENARIO} step", "J", "largest residual of the energy balance"
    ),
    "balance_order": Variable(
        SCENARIO, "1", "order of the residual between the two finest steps"
    ),
    "violations": Variable(
        f"{SCENARIO} step", "1", "steps that break the dissipation inequality"
    ),
    "failure": Variable(SCENARIO, "1", "why there is no motion; empty if there is"),
}
# Only where the identified system is coupled to a known one.
COUPLED = {
    name: Variable(f"replicate {dims}", units, meaning, optional=True)
    for name, dims, units, meaning in (
        (
            "coupled_true",
            "time_coupled state_coupled",
            SI_OF_STATES,
            "states of the coupled truth",
        ),
        (
            "coupled_estimate",
            "time_coupled state_coupled",
            SI_OF_STATES,
            "states of the coupled model",
        ),
        (
            "coupled_error",
            "state_coupled",
            SI_OF_STATES,
            "error of the coupled motion, rms",
        ),
        (
            "coupled_residual",
            "step_coupled",
            "J",
            "largest residual of the energy balance",
        ),
        ("coupled_order", "", "1", "order of that residual, finest steps"),
        ("coupled_violations", "step_coupled", "1", "steps that break the inequality"),
        ("coupled_failure", "", "1", "why there is no motion; empty if there is"),
    )
}

CONTRACTS = {
    "port_recordings": Contract(
        "simulate with method minimal_coordinates",
        {
            "x": Variable("replicate scheme time state", SI, "state", finite=True),
            "u": Variable("replicate time port", SI, "input", finite=True),
            "flow": Variable(
                "replicate scheme time row",
                SI,
                "E dx/dt at the recorded states",
                finite=True,
            ),
            **MATRICES,
            **INDEX,
            "test_index": Variable("replicate test", "1", "sample of the test"),
        },
    ),
    "flow_data": Contract(
        "differentiate with method exact_flow, finite_difference or gaussian_process",
        {
            "flow": Variable(f"{ORDERED} row", "SI units of each row", "E dx/dt"),
            **SCHEME,
        },
    ),
    "effort_data": Contract("assemble with method effort_targets", TRAINING),
    "effort_process": Contract(
        "identify with method multi_task_process or independent_processes",
        {
            **TRAINING,
            "length_scale": Variable(
                f"{FITS} process", SI, "length scale of the Gaussian kernel"
            ),
            "task_vector": Variable(
                f"{FITS} effort", SI, "v of the covariance between efforts"
            ),
            "task_diagonal": Variable(
                f"{FITS} effort", SI, "d of the covariance between efforts"
            ),
            "noise_variance": Variable(
                f"{FITS} row", SI, "variance of the noise of the targets"
            ),
            "log_likelihood": Variable(FITS, SI, "marginal log likelihood"),
        },
        model="ports.model:PortModel",
    ),
    "effort_gradient": Contract(
        "identify with method hamiltonian_gradient",
        {
            **TRAINING,
            "block": Variable("state", "1", "block of each state"),
            "multiplier": Variable(
                "multiplier_row",
                "1",
                "place of the multiplier of each constraint",
                may_be_empty=True,
            ),
        },
        model="ports.model:PortModel",
    ),
    "port_rollout": Contract(
        "validate",
        {**ERRORS, **STRUCTURE, **ALONG_TIME, **MOTION, **COUPLED, **SCHEME},
    ),
}
