"""Identified models, and their rollouts."""

from leastaction.core.contract import Contract

CONTRACTS = {
    "model": Contract(
        "identify",
        {
            "coefficient_estimate": ("replicate", "term"),
            "coefficient_std": ("replicate", "term"),
            "support": ("replicate", "term"),
            "status": ("term",),
            "dissipation_coefficient_estimate": ("replicate", "dissipation_term"),
            "dissipation_coefficient_std": ("replicate", "dissipation_term"),
            "dissipation_support": ("replicate", "dissipation_term"),
            "volatility_estimate": ("replicate", "dof"),
            "volatility_std": ("replicate", "dof"),
            "volatility_coefficient_estimate": (
                "replicate",
                "dof",
                "volatility_term",
            ),
            "volatility_support": ("replicate", "dof", "volatility_term"),
            "volatility_root_estimate": ("replicate", "dof", "volatility_term"),
            "volatility_root_std": ("replicate", "dof", "volatility_term"),
        },
        may_be_empty=(
            "dissipation_coefficient_estimate",
            "dissipation_coefficient_std",
            "dissipation_support",
            "volatility_coefficient_estimate",
            "volatility_support",
            "volatility_root_estimate",
            "volatility_root_std",
        ),
        model="core.identified_model:IdentifiedModel",
    ),
    "rollout": Contract(
        "validate",
        {
            "mean_true": ("replicate", "time", "state"),
            "std_true": ("replicate", "time", "state"),
            "mean_estimate": ("replicate", "time", "state"),
            "std_estimate": ("replicate", "time", "state"),
            "hamiltonian_true": ("replicate", "time"),
            "hamiltonian_estimate": ("replicate", "time"),
        },
        finite=("mean_true", "std_true", "hamiltonian_true"),
    ),
    "field_rollout": Contract(
        "validate",
        {
            "mean_true": ("replicate", "time", "node"),
            "std_true": ("replicate", "time", "node"),
            "mean_estimate": ("replicate", "time", "node"),
            "std_estimate": ("replicate", "time", "node"),
            "hamiltonian_true": ("replicate", "time"),
            "hamiltonian_estimate": ("replicate", "time"),
        },
        finite=("mean_true", "std_true", "hamiltonian_true"),
    ),
}
