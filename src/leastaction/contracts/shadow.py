"""Datasets of Lagrangian Shadow Integration."""

from leastaction.contracts.contract import Contract

SAMPLES = ("replicate", "sample", "dof")

CONTRACTS = {
    "sampled_motion": Contract(
        "differentiate with method repeated_central_difference or halton_velocity",
        {"q": SAMPLES, "qdot": SAMPLES, "qddot": SAMPLES},
        finite=("q", "qdot", "qddot"),
    ),
    "shadow_equations": Contract(
        "assemble with method discrete_euler_lagrange or continuous_euler_lagrange",
        {
            "theta": ("replicate", "equation", "function"),
            "condition": ("replicate", "condition", "function"),
            "condition_value": ("replicate", "condition"),
        },
        finite=("theta", "condition", "condition_value"),
    ),
    "learned_lagrangian": Contract(
        "identify with method minimum_norm or evidence_maximisation",
        {"coefficient": ("replicate", "function")},
        finite=("coefficient",),
    ),
    "learned_flow": Contract(
        "identify with method flow_gaussian_process",
        {
            "state_sample": ("replicate", "sample", "state"),
            "weight": ("replicate", "sample", "state"),
        },
        finite=("state_sample", "weight"),
    ),
}
