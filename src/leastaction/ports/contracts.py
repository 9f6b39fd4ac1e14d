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
BLOCKS = variables(
    """
    state:
        block [1] block of each state
    multiplier_row:
        multiplier [1] place of the multiplier of each constraint
    """,
    may_be_empty=("multiplier",),
)

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
        refusal [1] why J, R and H are not identified; empty if they are
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
    "effort_gradient": Contract(
        "identify with method hamiltonian_gradient",
        TRAINING | BLOCKS,
        model="leastaction.ports.model:PortModel",
    ),
    "port_motions": Contract(
        "simulate with method driven_motions", DRIVEN, swept=False
    ),
    "smoothed_states": Contract("differentiate with method smoothed_states", SMOOTH),
    "port_equations": Contract("assemble with method weak_port_form", SMOOTH | WEAK),
    "port_structure": Contract(
        "identify with method port_structure or port_regression",
        STRUCTURE,
        model="leastaction.ports.model:StructureModel",
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
