"""Datasets of port-Hamiltonian identification."""

import numpy as np
import xarray as xr

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
        replicate test row:
            y_test [SI] E dx/dt - B u at the test samples
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
FLOW = variables(
    """
    replicate fit order row:
        flow [SI units of each row] E dx/dt
    replicate test row:
        flow_test [SI units of each row] E dx/dt at the test samples
    """
)
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
        transformed_residual [SI] difference of (J - R) z and the test data, rms
    replicate fit effort:
        effort_residual [SI] the same of z, through the inverse of J - R
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

# Driven motions, and what is found of J, R, B and H.
DRIVEN = variables(
    """
    replicate trajectory time state:
        x [SI] state without noise
    replicate trajectory time port:
        u [SI] input
        y [SI] output without noise
    replicate noise_mode trajectory time state:
        noise_x [SI] noise of the state, of the size of its rms
    replicate noise_mode trajectory time port:
        noise_y [SI] noise of the output, of the size of its rms
    noise_level:
        noise_level [1] standard deviation of the noise over the rms of the channel
    """,
    UNITS,
    finite=("x", "u", "y", "noise_x", "noise_y", "noise_level"),
)
SMOOTH = variables(
    """
    replicate trajectory time state:
        x_smooth [SI] smoothed state
    replicate state:
        x_std [SI] standard deviation of the noise
    replicate port:
        y_std [SI] standard deviation of the noise of the output
    """,
    UNITS,
)
WEAK = variables(
    """
    replicate coefficient coefficient_too:
        information [1] information matrix of the coefficients W, B and Y
    replicate coefficient:
        score [1] score at zero
    replicate:
        chi_square [1] chi-square at zero
        count [1] numbers that enter it
        outputs [1] whether outputs are used
    """
)
STRUCTURE = variables(
    """
    replicate row effort:
        structure_estimate [SI] J
        structure_std [SI] standard error
        dissipation_estimate [SI] R
        dissipation_std [SI] standard error
    replicate row port:
        port_estimate [SI] B
        port_std [SI] standard error
    replicate term:
        coefficient_estimate [SI] coefficient of a candidate of H
        coefficient_std [SI] standard error
    replicate row function:
        drift_estimate [SI] W of dx/dt = W g(x) + B u
        drift_std [SI] standard error
    replicate assumption:
        gauge_dimension [1] dimension of what data leave open of J, R, B and H
    replicate:
        chi_square_ratio [1] chi-square of the prediction errors over its degrees of \
freedom
        form_p_value [1] p-value of the port-Hamiltonian form
        coefficients [1] coefficients of W, B and of the outputs that do not vanish
        equations [1] equations between them that structure imposes
        refusal [1] why J, R and H are not told; empty if they are
    """,
    UNITS,
)
STRUCTURE_ROLLOUT = variables(
    """
    replicate row effort:
        structure_true [SI] J
        dissipation_true [SI] R; NaN if it depends on the states
    replicate row port:
        port_true [SI] B
    replicate term:
        coefficient_true [SI] coefficient of H; NaN if candidates cannot say it
    replicate matrix:
        matrix_error [1] norm of the error over that of the truth
    replicate:
        right [1] whether exactly the true entries were found
        covered [1] true entries in their 95 % intervals, if all were found
        intervals [1] intervals that there are
        refused [1] whether J, R and H are not told
        energy_error [1] rms of the true energy's imbalance along the drift, over that \
of the dissipation
        energy_created [1] share of states at which the drift gains true energy
        own_energy_created [1] share of states at which it gains energy of the model
    replicate scenario:
        run_error [1] error of free runs over the standard deviation of each state, rms
    replicate scenario time_forward state:
        x_true [SI] true states of the first run
        x_estimate [SI] states of the model
    """,
    UNITS,
)

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
    "port_motions": Contract(
        "simulate with method driven_motions", DRIVEN, swept=False
    ),
    "smoothed_states": Contract("differentiate with method smoothed_states", SMOOTH),
    "port_equations": Contract("assemble with method weak_port_form", SMOOTH | WEAK),
    "port_structure": Contract(
        "identify with method port_structure or port_regression",
        STRUCTURE,
        model="ports.model:StructureModel",
    ),
    "structure_rollout": Contract("validate", STRUCTURE_ROLLOUT),
    "port_rollout": Contract(
        "validate",
        ERRORS | SHOWN | MOTION | COUPLED | SCHEME,
    ),
}
# Factor of accuracy that is worth the structure.
TWICE = 2.0


def expected_gain(model: xr.Dataset) -> np.ndarray:
    """√(m/m'): m coefficients of the motions, m' of them independent by structure.

    Root mean squares of the errors that noise makes of the motions and outputs of a fit
    have this ratio, without over with structure, if both have the same terms and the
    greatest likelihood. Other motions, such as free runs, may gain more or less.
    """
    count = model["coefficients"].values
    return np.sqrt(count / (count - model["equations"].values))
