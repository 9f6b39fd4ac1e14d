"""Datasets of Lagrangian Shadow Integration."""

from leastaction.core.contract import Contract

SAMPLES = ("replicate", "sample", "dof")

ORDERED = ("replicate", "order")

CONTRACTS = {
    "nothing": Contract("differentiate or assemble with method none", {}),
    "sampled_motion": Contract(
        "differentiate with method repeated_central_difference or halton_velocity",
        {"q": SAMPLES, "qdot": SAMPLES, "qddot": SAMPLES},
        finite=("q", "qdot", "qddot"),
    ),
    "shadow_equations": Contract(
        "assemble with method discrete_euler_lagrange or continuous_euler_lagrange",
        {
            "theta": ("replicate", "equation", "function"),
            "condition": ("replicate", "constraint", "function"),
            "condition_value": ("replicate", "constraint"),
        },
        finite=("theta", "condition", "condition_value"),
    ),
    "learned_lagrangian": Contract(
        "identify with method minimum_norm, evidence_maximisation or tanh_network",
        {"coefficient": ("replicate", "function")},
        finite=("coefficient",),
        model="snapshots.learned_model:LearnedModel",
    ),
    "learned_flow": Contract(
        "identify with method flow_gaussian_process",
        {
            "state_sample": ("replicate", "sample", "state"),
            "weight": ("replicate", "sample", "state"),
        },
        finite=("state_sample", "weight"),
        model="snapshots.learned_model:LearnedFlow",
    ),
    "shadow_rollout": Contract(
        "validate",
        {
            "q_true": ("replicate", "time", "dof"),
            "q_estimate": (*ORDERED, "time", "dof"),
            "state_snapshot": ("replicate", "snapshot", "state"),
            "state_snapshot_true": ("snapshot", "state"),
            "hamiltonian_start_true": (),
            "position_error": ORDERED,
            "position_error_short": ORDERED,
            "steps_done": ORDERED,
            "energy_deviation": ORDERED,
            "energy_drift": ORDERED,
            "misalignment": ORDERED,
            "scale": ORDERED,
        },
        finite=("q_true", "steps_done"),
    ),
}
