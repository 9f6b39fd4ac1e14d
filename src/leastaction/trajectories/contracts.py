"""Datasets of deterministic motions, before the model."""

from leastaction.core.contract import Contract

ENSEMBLE = ("replicate", "trajectory", "time", "dof")
DRAWS = ("replicate", "noise_mode", "trajectory", "time", "dof")
SQUARE = ("replicate", "column", "column_other")
SAMPLED = ("replicate", "sample", "dof")

CONTRACTS = {
    "recordings": Contract(
        "simulate with method runge_kutta",
        {"q": ENSEMBLE, "noise_q": DRAWS, "noise_level": ("noise_level",)},
        finite=("q", "noise_q", "noise_level"),
        swept=False,
    ),
    "motion": Contract("one case of recordings", {"q": ENSEMBLE}, finite=("q",)),
    "rates": Contract(
        "differentiate with method joint_spline or measured",
        {"time_kept": ("time_kept",)},
        finite=("time_kept",),
    ),
    "gram": Contract(
        "assemble with method gram",
        {
            "gram": SQUARE,
            "inertia_gram": SQUARE,
            "input_moment": ("replicate", "column"),
            "input_square": ("replicate",),
            "acceleration_scale": ("replicate", "dof"),
            "samples": ("replicate",),
            "q_sample": SAMPLED,
            "qdot_sample": SAMPLED,
            "qddot_sample": SAMPLED,
            "status": ("term",),
            "equivalent": ("term",),
            "dissipation_status": ("dissipation_term",),
            "dissipation_equivalent": ("dissipation_term",),
        },
        finite=("gram", "inertia_gram", "input_moment", "q_sample", "qddot_sample"),
        may_be_empty=("dissipation_status", "dissipation_equivalent"),
    ),
    "implicit_regression": Contract(
        "assemble with method implicit_library",
        {
            "factor": ("replicate", "implicit_row", "implicit_term"),
            "member": ("dof", "implicit_term"),
            "q_held_out": SAMPLED,
            "qdot_held_out": SAMPLED,
            "qddot_held_out": SAMPLED,
        },
        finite=("factor", "q_held_out", "qdot_held_out", "qddot_held_out"),
    ),
    "implicit_model": Contract(
        "identify with method sindy_pi",
        {
            "coefficient_estimate": ("replicate", "dof", "implicit_term"),
            "support": ("replicate", "dof", "implicit_term"),
            "left_hand_side": ("replicate", "dof"),
            "held_out_error": ("replicate", "dof"),
            "member": ("dof", "implicit_term"),
        },
        finite=("coefficient_estimate",),
        model="trajectories.implicit_model:ImplicitModel",
    ),
    "energy_gram": Contract(
        "assemble with method energy_gram",
        {
            "gram": SQUARE,
            "status": ("term",),
            "equivalent": ("term",),
            "given": ("term",),
        },
        finite=("gram",),
    ),
    "motion_rollout": Contract(
        "validate",
        {
            "q_true": ENSEMBLE,
            "q_estimate": ENSEMBLE,
            "hamiltonian_true": ENSEMBLE[:3],
            "hamiltonian_estimate": ENSEMBLE[:3],
            "trajectory_error_training": ("replicate",),
            "trajectory_error_prediction": ("replicate",),
            "acceleration_error": ("replicate",),
            "energy_drift": ("replicate",),
            "diverged": ("replicate",),
        },
        finite=("q_true", "hamiltonian_true"),
    ),
}
