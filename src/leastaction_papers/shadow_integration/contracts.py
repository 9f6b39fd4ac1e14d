"""Datasets between the stages of the published recipe and its rivals."""

from leastaction.core.contracts import Contract
from leastaction.snapshots.contracts import mixed_variables

SAMPLED_MOTION = mixed_variables(
    """
    replicate sample dof:
        q [q] generalised coordinate
        qdot [q] generalised velocity
        qddot [q] acceleration
    """,
    finite=("q", "qdot", "qddot"),
)

FLOW = mixed_variables(
    """
    replicate sample state:
        state_sample [-] states of the kernel
        weight [-] weights of the kernel
    """,
    finite=("state_sample", "weight"),
)

ROLLOUT = mixed_variables(
    """
    replicate order:
        misalignment [1] mean sine of the angle between gradients of H^[k] and H
        scale [1] factor of the gradient of H that is closest to that of H^[k]
        misalignment_integrated [1] \
the same of the true Lagrangian, integrated by the same rule
        position_error [q] largest error of a position
        steps_done [1] steps done
        failure [1] why a rollout ended before its last step
        energy_band [J] width of the band of H^[k], scaled
        energy_drift [W] slope of the true energy along the path of the model
        potential_error [J] its largest error in the region below the level
    replicate order point:
        hamiltonian_point [-] H^[k] in the box
        hamiltonian_point_integrated [J] H^[k] of the true Lagrangian in the box
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
    replicate:
        passage_drift [W] slope of the true energy along it
    """,
    finite=("q_true", "steps_done"),
    required=(
        *("q_estimate", "position_error", "misalignment", "scale", "energy_drift"),
        "state_snapshot",
        *("state_snapshot_true", "hamiltonian_start_true"),
    ),
)

FIELD_ROLLOUT = mixed_variables(
    """
    replicate step:
        error [1] rms error of the motions over their rms, step by step
    replicate:
        speed_squared [m^2/s^2] squared speed of long waves
        stable [1] 1 if the model was called stable before its rollout
        failed [1] motions that left the range of numbers
    replicate value:
        slope_estimate [-] V'(u)
    value:
        slope_true [-] V'(u) of the truth
    :
        speed_squared_true [m^2/s^2] of the truth
    """,
    finite=("slope_true",),
    required=("error", "failed", "stable"),
)

FIELD_LAW = mixed_variables(
    """
    replicate term:
        coefficient [-] coefficient of the term in u_tt
    """,
    finite=("coefficient",),
)

CONTRACTS = {
    "sampled_motion": Contract(
        "differentiate with method repeated_central_difference or halton_velocity",
        SAMPLED_MOTION,
    ),
    "learned_flow": Contract(
        "identify with method flow_gaussian_process",
        FLOW,
        model="leastaction_papers.shadow_integration.gaussian_processes:LearnedFlow.from_dataset",
    ),
    "field_law": Contract(
        "identify with method field_regression",
        FIELD_LAW,
        model="leastaction_papers.shadow_integration.field_law:FieldLaw.from_dataset",
    ),
    "shadow_rollout": Contract("validate", ROLLOUT),
    "shadow_field_rollout": Contract("validate", FIELD_ROLLOUT),
}
