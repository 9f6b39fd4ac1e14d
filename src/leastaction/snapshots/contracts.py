"""Datasets of what is learned from snapshots."""

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
import xarray as xr

from leastaction.core.contracts import Contract, Variable, time_step, variables

# Units by their mark in the tables below; the others stand for themselves.
UNITS = {"-": "mixed", "q": "see coordinate_unit"}


def _variables(
    table: str, finite: Collection[str] = (), required: Collection[str] = ()
) -> dict[str, Variable]:
    """Variables of a table; all are optional that are not `finite` or `required`."""
    found = variables(table, UNITS, finite=finite)
    needed = {*finite, *required}
    return {name: replace(v, optional=name not in needed) for name, v in found.items()}


# What defines a basis (leastaction.snapshots.bases); each has some of them.
BASIS = _variables(
    """
    replicate:
        degree [-] total degree of the features
        length_scale [-] length scale
    replicate variable state:
        inputs [-] map of (q, qdot)
    replicate state:
        centre [-] centre of the features
    replicate dof dof_other:
        frame [-] axes in which states are turned; zeros where they are not
    replicate dof:
        fixed_point [-] point about which states are turned
    replicate function state:
        centres [-] centres
    """
)

SAMPLED_MOTION = _variables(
    """
    replicate sample dof:
        q [q] generalised coordinate
        qdot [q] generalised velocity
        qddot [q] acceleration
    """,
    finite=("q", "qdot", "qddot"),
)

EQUATIONS = _variables(
    """
    replicate equation function:
        theta [-] Euler-Lagrange rows
    replicate constraint function:
        condition [-] normalisation rows
    replicate constraint:
        condition_value [-] values of the normalisation rows
    """,
    finite=("theta", "condition", "condition_value"),
)

LAGRANGIAN = _variables(
    """
    replicate function:
        coefficient [-] coefficient of the learned Lagrangian
    replicate direction function:
        factor [-] factor of the posterior covariance
    replicate:
        rank [1] numerical rank of the rows
        residual_square [-] sum of squares of the residual
        damping [1] damping over the largest singular value
        log_evidence [1] log evidence
        row_error [-] error of a row
        one_step_error [-] held-out error of one step, rms
        mass_error [1] mean discrete mass minus 1
        reversal_log_odds [1] \
log evidence of an L even in qdot (time reversal) minus that without
        mirror_log_odds [1] \
log evidence of an L even in the velocity along the rotation minus that without
    replicate symmetry dof:
        symmetry_offset [-] b of the generator b + A q of an affine symmetry
    replicate symmetry dof dof_other:
        symmetry_matrix [-] A of the generator
    replicate symmetry:
        symmetry_violation [1] violation of the symmetry
        symmetry_bound [1] violation that the data would allow it
        symmetry_decided [1] 1 where the bound is below the resolution
        symmetry_log_odds [1] log evidence with the symmetry minus that without
    """,
    finite=("coefficient",),
)

FLOW = _variables(
    """
    replicate sample state:
        state_sample [-] states of the kernel
        weight [-] weights of the kernel
    """,
    finite=("state_sample", "weight"),
)

ROLLOUT = _variables(
    """
    replicate order:
        misalignment [1] mean sine of the angle between gradients of H^[k] and H
        scale [1] factor of the gradient of H that is closest to that of H^[k]
        misalignment_integrated [1] \
the same of the true Lagrangian, integrated by the same rule
        position_error [q] largest error of a position
        position_error_short [q] largest error of a position in the first steps
        steps_done [1] steps done
        failure [1] why a rollout ended before its last step
        energy_deviation [J] \
largest deviation of the true energy from that of the start
        energy_band [J] width of the band of H^[k], scaled
        energy_drift [W] slope of the true energy along the path of the model
        potential_error [J] its largest error in the region below the level
    replicate order point:
        hamiltonian_point [-] H^[k] in the box
        hamiltonian_point_integrated [J] H^[k] of the true Lagrangian in the box
    replicate order dof dof_other:
        mass [-] mass matrix of L^[k] in the middle of the box, scaled
    replicate dof dof_other:
        mass_true [-] mass matrix of L there
    replicate order time_energy dof:
        momentum_estimate [-] discrete momentum along the path
        momentum_physical [-] momentum of the true L along the path of the model
    replicate order dof:
        momentum_range [-] range of a momentum along the path
        momentum_start [-] momentum of the start
    replicate order time_energy:
        hamiltonian_estimate [J] true energy along the path of the model
        hamiltonian_modified [J] H^[k] along the path of the main order, scaled
    replicate time dof:
        q_true [q] path of the truth
    replicate order time dof:
        q_estimate [q] path of the model, its first momentum from L^[k]
    replicate snapshot state:
        state_snapshot [q] \
first states (q, qdot) of the model, from the start of the long rollout
    snapshot state:
        state_snapshot_true [q] first states (q, qdot) of the truth
    line state:
        state_line_true [q] states of the truth between its first snapshots
    :
        hamiltonian_start_true [J] H of the start of the long rollout
    point state:
        state_point [q] states (q, qdot) of the box
    point:
        hamiltonian_point_true [J] H in the box
    replicate order rest:
        potential_estimate [J] H^[k] at rest, scaled and shifted
    rest dof:
        q_rest [q] positions of the potential
    rest:
        potential_true [J] H at rest
        inside [1] 1 in the region below the level
    replicate order saddle:
        saddle_margin [J] H^[k] of a saddle minus that of the start, scaled
    replicate saddle:
        saddle_margin_true [J] H of a saddle minus that of the start
    replicate near dof:
        near_offset [q] from a saddle
    replicate order saddle near:
        near_estimate [J] H^[k] at rest near a saddle minus that of the start, scaled
    replicate saddle near:
        near_true [J] H at rest near a saddle minus that of the start
    replicate horizon_start:
        horizon_error [q] largest error of a position; NaN if the motion failed
        horizon_steps [1] steps before it failed
    replicate symmetry:
        noether_spread [1] \
spread of the Noether quantity along the true motion, over its rms
    replicate survival_start:
        survival_steps [1] steps before escape
        survival_time [s] time before escape, or when the motion was stopped
        survival_censored [1] 1 where the motion had not escaped when it was stopped
    replicate passage:
        passage_time [s] time of the coarse samples
        passage_energy [J] true energy along it minus that of the start
    replicate passage dof:
        passage_q [q] positions from the unperturbed start
    replicate end dof:
        passage_end [q] its last positions before it escaped or was stopped, every step
    replicate point:
        hamiltonian_error [J] error of H, matched to the truth
        hamiltonian_std [J] standard deviation of the posterior
    replicate:
        passage_drift [W] slope of the true energy along it
        hamiltonian_coverage [1] \
share of points with an error of at most two standard deviations
    """,
    finite=("q_true", "steps_done"),
    required=(
        *("q_estimate", "position_error", "position_error_short", "misalignment"),
        *("scale", "energy_deviation", "energy_drift", "state_snapshot"),
        *("state_snapshot_true", "hamiltonian_start_true"),
    ),
)

FIELD = _variables(
    """
    replicate function:
        coefficient [-] coefficient of the discrete Lagrangian density; zeros behind it
    replicate coordinate:
        coordinate_scale [-] root mean square of a coordinate; ones behind the last
    replicate:
        stencil [1] position of the stencil among `stencils`
        width [1] widest difference in space, cells
        degree [1] degree of the features
        length_scale [1] length scale
        even [1] 1 if it is even under u → −u
        misfit [1] variance of what the stencil cannot represent, over that of the noise
        noise [-] standard deviation of the noise found; 0 if none
        waves [1] number of the shortest wave that is above this noise
        longest_wave [1] number of the longest
        second_wave [1] number of the second longest
        log_density [1] log probability density of the snapshots
        excess [1] largest cosine of a wave beyond its bound before it was stabilised
        distance [1] standard deviations to the stable density; infinite if refused
        decay [1] e^(−γ dt) of the model; 1 if it is conservative
        damping [1/s] rate γ of a uniform damping, as the snapshots have it
        damping_std [1/s] standard error of γ
        speed [m^2/s^2] c² of waves about u = 0, corrected for the noise
        speed_std [m^2/s^2] standard error of c²
    """,
    finite=("coefficient", "coordinate_scale", "stencil", "width", "degree"),
    required=("length_scale", "waves", "distance"),
)

FIELD_LAW = _variables(
    """
    replicate term:
        coefficient [-] coefficient of the term in u_tt
    """,
    finite=("coefficient",),
)

FIELD_ROLLOUT = _variables(
    """
    replicate time node:
        u_true [q] field of the first motion, unseen in training
        u_estimate [q] that of the model from the same first snapshots
    replicate step:
        error [1] rms error of the motions over their rms, step by step
    replicate:
        speed_squared [m^2/s^2] squared speed of long waves
        stable [1] 1 if the model was called stable before its rollout
        failed [1] motions that left the range of numbers
        energy_drift [1] relative change of the true energy, first to last steps
    replicate value:
        slope_estimate [-] V'(u)
    replicate wave:
        frequency [rad/s] of a wave about the mean field; NaN if it grows
    value:
        slope_true [-] V'(u) of the truth
    wave:
        frequency_true [rad/s] of the truth; NaN if it grows
    :
        speed_squared_true [m^2/s^2] of the truth
    """,
    finite=("u_true", "slope_true"),
    required=("error", "failed", "stable"),
)

CONTRACTS = {
    "nothing": Contract("differentiate or assemble with method none", {}),
    "sampled_motion": Contract(
        "differentiate with method repeated_central_difference or halton_velocity",
        SAMPLED_MOTION,
    ),
    "shadow_equations": Contract(
        "assemble with method discrete_euler_lagrange or continuous_euler_lagrange",
        EQUATIONS | BASIS,
    ),
    "learned_lagrangian": Contract(
        "identify with method minimum_norm, evidence_maximisation or "
        "noether_symmetries",
        BASIS | LAGRANGIAN,
        model="snapshots.learned_model:LearnedLagrangian.from_dataset",
    ),
    "learned_flow": Contract(
        "identify with method flow_gaussian_process",
        FLOW,
        model="snapshots.learned_model:LearnedFlow.from_dataset",
    ),
    "shadow_rollout": Contract("validate", ROLLOUT),
    "learned_field": Contract(
        "identify with method discrete_density",
        FIELD,
        model="snapshots.field_models:LearnedField.from_dataset",
    ),
    "field_law": Contract(
        "identify with method field_regression",
        FIELD_LAW,
        model="snapshots.field_models:FieldLaw.from_dataset",
    ),
    "shadow_field_rollout": Contract("validate", FIELD_ROLLOUT),
}


def nothing(observations: xr.Dataset, *_more) -> xr.Dataset:
    """Contract ``nothing``, for methods that need no derivatives or no equations."""
    return xr.Dataset(coords={"replicate": observations["replicate"].values})


def described(observations: xr.Dataset, rule: str, shadow: int) -> dict:
    """Attributes of what is learned from the observations of one case."""
    return {
        "time_step": time_step(observations),
        "rule": rule,
        "shadow": shadow,
        "dof": [str(name) for name in observations["dof"].values],
    }


def equations_dataset(
    basis, rows: np.ndarray, conditions, observations: xr.Dataset, rule: str, shadow
) -> xr.Dataset:
    """Contract ``shadow_equations``: A b = 0, C b = d and what defines the basis."""
    condition, value = conditions
    values = {"theta": rows.reshape(-1, basis.size), "condition": condition}
    return CONTRACTS["shadow_equations"].dataset(
        values | {"condition_value": value} | basis.to_dataset(),
        coords={"replicate": observations["replicate"].values},
        attrs=described(observations, rule, shadow),
    )


def lagrangian_dataset(
    equations: xr.Dataset,
    coefficients: np.ndarray,
    diagnostics: Mapping[str, float],
    factor: np.ndarray | None = None,
    basis=None,
    symmetries: Mapping[str, np.ndarray] | None = None,
) -> xr.Dataset:
    """Contract ``learned_lagrangian`` of one case, with the basis of its equations.

    `factor` is that of the posterior covariance, shape (direction, function); `basis`
    another one than that of the equations, `symmetries` variables about them.
    """
    values = {name: equations[name] for name in BASIS if name in equations}
    values |= dict(symmetries or {}) | (basis.to_dataset() if basis else {})
    values["coefficient"] = coefficients
    if factor is not None:
        values["factor"] = factor
    return CONTRACTS["learned_lagrangian"].dataset(
        values | {name: float(value) for name, value in diagnostics.items()},
        coords={"replicate": equations["replicate"].values},
        attrs={k: v for k, v in equations.attrs.items() if k != "contract"},
    )
