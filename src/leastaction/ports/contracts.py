"""Datasets of port-Hamiltonian identification."""

from leastaction.core.contracts import Contract, variables

# Units by their mark in the tables.
UNITS = {"SI": "SI units of each entry", "SI x": "SI units of each state"}

# What is known of the system.
MATRICES = variables(
    """
    row state:
        flow_matrix [SI] E
    row effort:
        structure_matrix [SI] J
        dissipation_matrix [SI] R
    row port:
        port_matrix [SI] B
    constraint_row:
        constraint [mixed] expression that vanishes on the solutions
    """,
    UNITS,
    may_be_empty=("constraint",),
)
INDEX = variables(
    """
    replicate fit order:
        training_index [1] sample of each training set, -1 beyond it
    """
)
SCHEME = variables(":\n scheme [1] scheme of the path")
# What every model of efforts holds beside its hyperparameters.
TRAINING = {
    **MATRICES,
    **INDEX,
    **variables(
        """
        replicate fit order state:
            x [SI] state
        replicate fit order row:
            y [SI] E dx/dt - B u
        """,
        UNITS,
    ),
    **SCHEME,
}
RECORDED = variables(
    """
    replicate scheme time state:
        x [SI] state
    replicate time port:
        u [SI] input
    replicate scheme time row:
        flow [SI] E dx/dt at the recorded states
    replicate test:
        test_index [1] sample of the test
    """,
    UNITS,
    finite=("x", "u", "flow"),
)
FLOW = variables("replicate fit order row:\n flow [SI units of each row] E dx/dt")
HYPERPARAMETERS = variables(
    """
    replicate fit process:
        length_scale [SI] length scale of the Gaussian kernel
    replicate fit effort:
        task_vector [SI] v of the covariance between efforts
        task_diagonal [SI] d of the covariance between efforts
    replicate fit row:
        noise_variance [SI] variance of the noise of the targets
    replicate fit:
        log_likelihood [SI] marginal log likelihood
    """,
    UNITS,
)
BLOCKS = variables(
    """
    state:
        block [1] block of each state
    multiplier_row:
        multiplier [1] place of the multiplier of each constraint
    """,
    may_be_empty=("multiplier",),
)
ERRORS = variables(
    """
    replicate fit row:
        transformed_rmse [SI] error of (J - R) z on the test samples, rms
    replicate fit effort:
        effort_rmse [SI] error of z on the test samples, rms
    replicate fit row:
        coverage [1] share of test samples inside the 95 % band of (J - R) z
        band [SI] posterior standard deviation of (J - R) z, rms
        target_rmse [SI] error of the training targets, rms
    """,
    UNITS,
)
SHOWN = variables(
    """
    replicate fit:
        asymmetry [1] antisymmetric over symmetric part of d(E'z)/dx, rms
        gradient_defect [1] largest difference of H and the integral of E'z, J
        regularity [1] least singular value of the Jacobian of the algebraic rows
    replicate:
        regularity_true [1] least singular value of the Jacobian of the algebraic \
rows, truth
    replicate time effort:
        effort_true [SI] true efforts at the recorded states
    replicate pool_shown time effort:
        effort_estimate [SI] identified efforts
        effort_std [SI] posterior standard deviation
    replicate pool_shown sample_shown:
        training_sample [1] training samples of the fits shown
    """,
    UNITS,
    finite=("effort_true",),
)
MOTION = variables(
    """
    replicate scenario time_forward state:
        x_true [SI x] true states
        x_estimate [SI x] states of the model
    replicate scenario time_forward:
        hamiltonian_true [J] true H along the truth
        hamiltonian_estimate [J] identified H along the model, from the first true \
value on
    replicate scenario state:
        forward_error [SI x] error of the motion at the finest step, rms
    replicate scenario:
        constraint_drift [SI units] largest |g| of the motion
    replicate scenario step:
        balance_residual [J] largest residual of the energy balance
    replicate scenario:
        balance_order [1] order of the residual between the two finest steps
    replicate scenario step:
        violations [1] steps that break the dissipation inequality
    replicate scenario:
        failure [1] why there is no motion; empty if there is
    """,
    UNITS,
)
COUPLED_MOTION = """
    replicate time_coupled state_coupled:
        coupled_true [SI x] states of the coupled truth
        coupled_estimate [SI x] states of the coupled model
    replicate state_coupled:
        coupled_error [SI x] error of the coupled motion, rms
    replicate step_coupled:
        coupled_residual [J] largest residual of the energy balance
    replicate:
        coupled_order [1] order of that residual, finest steps
    replicate step_coupled:
        coupled_violations [1] steps that break the inequality
    replicate:
        coupled_failure [1] why there is no motion; empty if there is
"""
# Only where the identified system is coupled to a known one.
COUPLED = variables(COUPLED_MOTION, UNITS, optional=variables(COUPLED_MOTION))

CONTRACTS = {
    "port_recordings": Contract(
        "simulate with method minimal_coordinates",
        RECORDED | MATRICES | INDEX,
    ),
    "flow_data": Contract(
        "differentiate with method exact_flow, finite_difference or gaussian_process",
        FLOW | SCHEME,
    ),
    "effort_data": Contract("assemble with method effort_targets", TRAINING),
    "effort_process": Contract(
        "identify with method multi_task_process or independent_processes",
        TRAINING | HYPERPARAMETERS,
        model="ports.model:PortModel",
    ),
    "effort_gradient": Contract(
        "identify with method hamiltonian_gradient",
        TRAINING | BLOCKS,
        model="ports.model:PortModel",
    ),
    "port_rollout": Contract(
        "validate",
        ERRORS | SHOWN | MOTION | COUPLED | SCHEME,
    ),
}
