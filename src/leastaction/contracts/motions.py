"""Datasets of deterministic motions, before the model."""

from leastaction.contracts.contract import Contract

ENSEMBLE = ("replicate", "trajectory", "time", "dof")
DRAWS = ("replicate", "noise_mode", "trajectory", "time", "dof")

CONTRACTS = {
    "recordings": Contract(
        "simulate with method runge_kutta",
        {"q": ENSEMBLE, "noise_q": DRAWS, "noise_level": ("noise_level",)},
        finite=("q", "noise_q", "noise_level"),
        swept=False,
    ),
    "motion": Contract("one case of recordings", {"q": ENSEMBLE}, finite=("q",)),
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
