"""Datasets of a few degrees of freedom, before the model."""

from functools import partial

from leastaction.core.comparison import comparison_contract
from leastaction.core.contracts import Contract
from leastaction.core.contracts import Variable as V

finite = partial(V, finite=True)

ENSEMBLE = "replicate trajectory time dof"
COVARIATION = finite(
    "replicate dof dof_other", "(units of qddot)^2 s", "realised covariation"
)
TERM_STATUS = V("term", "1", "what algebra says about the term")
# What all datasets of moments say of their candidates.
OF_CANDIDATES = {
    "status": TERM_STATUS,
    "library_status": V("candidate", "1", "status of every candidate"),
    "library_equivalent": V("candidate", "1", "equivalent of a removed candidate"),
    "library_given": V("candidate", "mixed", "coefficient given by the reference"),
}
SAMPLES = V("replicate", "1", "number of increments")


def _of_coordinates(*names: str) -> dict[str, V]:
    meaning = {"q": "generalised coordinate", "qdot": "generalised velocity"}
    return {name: finite(ENSEMBLE, None, meaning[name]) for name in names}


CONTRACTS = {
    "rollout": comparison_contract("state", "unit of the state", "unit of L"),
    "observations": Contract("simulate", _of_coordinates("q", "qdot")),
    "displacements": Contract(
        "simulate with sensor.channels [q]", _of_coordinates("q")
    ),
    "ensemble_derivatives": Contract(
        "differentiate with method central_difference",
        {
            "momentum_rate": finite(
                "replicate dof time term",
                "mixed",
                "d/dt of the ensemble mean of dD/dqdot",
            ),
            "generalised_force": finite(
                "replicate dof time term", "mixed", "ensemble mean of dD/dq"
            ),
        },
    ),
    "realised_variation": Contract(
        "differentiate with method realised_variation",
        {
            "realised_covariation": COVARIATION,
            "frequency": V("replicate dof", "rad/s", "mean angular frequency"),
            "squared_volatility": finite(
                "replicate dof volatility_term",
                "mixed",
                "coefficients of the squared noise",
            ),
            "perfect_square": V(
                "replicate dof", "1", "whether it is the square of a + b f"
            ),
        },
    ),
    "sensor_noise": Contract(
        "differentiate with method sensor_noise",
        {
            "position_noise": finite(
                "replicate dof", "units of q", "sensor noise of q"
            ),
            "velocity_noise": V(
                "replicate dof", "units of qdot", "sensor noise of qdot"
            ),
            "noise_ratio": V(
                "replicate dof",
                "1",
                "sensor noise over one increment of the random force",
            ),
            "realised_covariation": COVARIATION,
            "smoothing_scale": V(
                "replicate", "1", "samples the motion can be smoothed over"
            ),
            "lag": finite("replicate", "1", "memory of the noise in samples"),
        },
    ),
    "regression": Contract(
        "assemble with method ensemble_mean",
        {
            "theta": finite(
                "replicate dof equation term", "mixed", "Euler-Lagrange library"
            ),
            "target": finite(
                "replicate dof equation", "mixed", "minus the reference column"
            ),
            "used": V(
                "term", "1", "whether the regression may use the term", optional=True
            ),
            "status": TERM_STATUS,
            "equivalent": V(
                "term", "1", "equivalent of a removed candidate", optional=True
            ),
            "given": V("term", "mixed", "coefficient given by the reference"),
        },
    ),
    "moments": Contract(
        "assemble with method martingale_moments",
        {
            "moment": finite(
                "replicate trajectory dof instrument term",
                "mixed",
                "sum of w Z X^T of each trajectory",
            ),
            "instrument_gram": finite(
                "replicate dof instrument instrument_other", "mixed", "sum of w Z Z^T"
            ),
            "increment_gram": finite(
                "replicate dof dof_other term term_other", "mixed", "sum of X X^T"
            ),
            "weighted_gram": V(
                "replicate dof dof_other term term_other", "mixed", "sum of w X X^T"
            ),
            "realised_covariation": V("replicate dof dof_other"),
            "frequency": V("replicate dof"),
            "samples": SAMPLES,
            "time_step": V("replicate", "s", "duration of one increment"),
            "sampling_step": V("replicate", "s", "time step of the observations"),
            **OF_CANDIDATES,
        },
    ),
    "moving_average_moments": Contract(
        "assemble with method lagged_moments or weak_moments",
        {
            "moment": finite(
                "replicate scale dof instrument term", "mixed", "sum of Z X^T"
            ),
            "instrument_gram": finite(
                "replicate scale lag instrument instrument_other",
                "mixed",
                "sum of Z Z^T of samples that many lags apart",
            ),
            "increment_gram": finite(
                "replicate scale lag dof dof_other term term_other",
                "mixed",
                "mean of X X^T of samples that many lags apart",
            ),
            "realised_covariation": V("replicate dof dof_other"),
            "window": V("replicate scale", "1", "samples of smoothing"),
            "samples": SAMPLES,
            "time_step": V("replicate", "s", "time step"),
            **OF_CANDIDATES,
        },
    ),
}
