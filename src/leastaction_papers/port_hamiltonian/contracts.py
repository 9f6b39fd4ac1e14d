"""Datasets between the stages of the published recipe and its rivals."""

from leastaction.core.contracts import Contract, variables
from leastaction.ports.contracts import SCHEME, TRAINING, UNITS

HYPERPARAMETERS = variables(
    """
    replicate fit:
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
ERRORS = variables(
    """
    replicate fit row:
        transformed_rmse [SI] error of (J - R) z on the test samples, rms
    replicate fit effort:
        effort_rmse [SI] error of z on the test samples, rms
    replicate fit row:
        transformed_residual [SI] difference of (J - R) z and the test data, rms
    replicate fit effort:
        effort_residual [SI] the same of z, through the inverse of J - R
    replicate fit row:
        coverage [1] share of test samples inside the 95 % band of (J - R) z
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
    replicate scenario state:
        forward_error [SI x] error of the motion at the finest step, rms
    replicate scenario:
        constraint_drift [SI units] largest |g| of the motion
    replicate scenario step:
        balance_residual [J] largest residual of the energy balance
    replicate scenario:
        duration [s] of the motion
    replicate scenario step:
        violations [1] steps that break the dissipation inequality
    replicate scenario:
        failure [1] why there is no motion; empty if there is
    """,
    UNITS,
)

COUPLED_MOTION = """
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

STRUCTURE_ROLLOUT = variables(
    """
    replicate row effort:
        structure_true [SI] J
        dissipation_true [SI] R; NaN if it depends on the states
    replicate row port:
        port_true [SI] B
    replicate term:
        coefficient_true [SI] coefficient of H; NaN if candidates do not span it
    replicate matrix:
        matrix_error [1] norm of the error over that of the truth
    replicate:
        right [1] whether exactly the true entries were found
        covered [1] true entries in their 95 % intervals, if all were found
        intervals [1] intervals that there are
        refused [1] whether J, R and H are not identified
        energy_error [1] rms of the true energy's imbalance along the drift, over that \
of the dissipation
        own_energy_created [1] share of states at which it gains energy of the model
    replicate scenario:
        run_error [1] error of free runs over the standard deviation of each state, rms
    """,
    UNITS,
)

CONTRACTS = {
    "effort_process": Contract(
        "identify with method multi_task_process",
        TRAINING | HYPERPARAMETERS,
        model="leastaction.ports.model:PortModel",
    ),
    "structure_rollout": Contract("validate", STRUCTURE_ROLLOUT),
    "port_rollout": Contract(
        "validate",
        ERRORS | SHOWN | MOTION | COUPLED | SCHEME,
    ),
}
