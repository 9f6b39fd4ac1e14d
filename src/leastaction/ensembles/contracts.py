"""Datasets of a few degrees of freedom, before the model."""

from leastaction.core.contract import Contract, Variable

ENSEMBLE = ("replicate", "trajectory", "time", "dof")
DOFS = ("dof", "dof_other")
INSTRUMENTS = ("instrument", "instrument_other")

CONTRACTS = {
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
    "observations": Contract(
        "simulate",
        {"q": ENSEMBLE, "qdot": ENSEMBLE},
        finite=("q", "qdot"),
    ),
    "displacements": Contract(
        "simulate with sensor.channels [q]", {"q": ENSEMBLE}, finite=("q",)
    ),
    "ensemble_derivatives": Contract(
        "differentiate with method central_difference",
        {
            "momentum_rate": ("replicate", "dof", "time", "term"),
            "generalised_force": ("replicate", "dof", "time", "term"),
        },
        finite=("momentum_rate", "generalised_force"),
    ),
    "realised_variation": Contract(
        "differentiate with method realised_variation",
        {
            "realised_covariation": ("replicate", "dof", "dof_other"),
            "frequency": ("replicate", "dof"),
            "squared_volatility": ("replicate", "dof", "volatility_term"),
            "perfect_square": ("replicate", "dof"),
        },
        finite=("realised_covariation", "squared_volatility"),
    ),
    "sensor_noise": Contract(
        "differentiate with method sensor_noise",
        {
            "position_noise": ("replicate", "dof"),
            "velocity_noise": ("replicate", "dof"),
            "noise_ratio": ("replicate", "dof"),
            "realised_covariation": ("replicate", "dof", "dof_other"),
            **dict.fromkeys(("smoothing_scale", "lag"), ("replicate",)),
        },
        finite=("position_noise", "realised_covariation", "lag"),
    ),
    "regression": Contract(
        "assemble with method ensemble_mean",
        {
            "theta": ("replicate", "dof", "equation", "term"),
            "target": ("replicate", "dof", "equation"),
            "status": ("term",),
            "given": ("term",),
        },
        finite=("theta", "target"),
    ),
    "moments": Contract(
        "assemble with method martingale_moments",
        {
            "moment": Variable(
                "replicate trajectory dof instrument term",
                "mixed",
                "sum of w Z X^T of each trajectory",
                finite=True,
            ),
            "instrument_gram": Variable(
                "replicate dof instrument instrument_other",
                "mixed",
                "sum of w Z Z^T",
                finite=True,
            ),
            "increment_gram": Variable(
                "replicate dof dof_other term term_other",
                "mixed",
                "sum of X X^T",
                finite=True,
            ),
            "weighted_gram": Variable(
                "replicate dof dof_other term term_other", "mixed", "sum of w X X^T"
            ),
            "realised_covariation": Variable("replicate dof dof_other"),
            "frequency": Variable("replicate dof"),
            "samples": Variable("replicate", "1", "number of increments"),
            "time_step": Variable("replicate", "s", "duration of one increment"),
            "sampling_step": Variable(
                "replicate", "s", "time step of the observations"
            ),
            "status": Variable("term", "1", "what algebra says about the term"),
            "library_status": Variable(
                "candidate", "1", "status of every candidate", optional=True
            ),
            "library_equivalent": Variable(
                "candidate", "1", "equivalent of a removed candidate", optional=True
            ),
            "library_given": Variable(
                "candidate", "mixed", "coefficient given by the reference"
            ),
        },
    ),
    "moving_average_moments": Contract(
        "assemble with method lagged_moments or weak_moments",
        {
            "moment": ("replicate", "scale", "dof", "instrument", "term"),
            "instrument_gram": ("replicate", "scale", "lag", *INSTRUMENTS),
            "increment_gram": (
                "replicate",
                "scale",
                "lag",
                *DOFS,
                "term",
                "term_other",
            ),
            "realised_covariation": ("replicate", "dof", "dof_other"),
            "window": ("replicate", "scale"),
            "samples": ("replicate",),
            "status": ("term",),
        },
        finite=("moment", "instrument_gram", "increment_gram"),
    ),
}
