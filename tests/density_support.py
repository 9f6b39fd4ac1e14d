"""Exact densities, and the settings of the stationary methods."""

import numpy as np
from scipy.stats import norm

from leastaction.core.method import steps
from leastaction.core.recipe import Recipe
from leastaction.core.system import System
from leastaction.densities.contracts import CONTRACTS

LIBRARY = {
    "reference": "xdot**2/2",
    "lagrangian": [{"terms": ["xdot**2/2", "-x**2/2"]}],
    "dissipation": [{"terms": ["xdot**2/2"]}],
    "volatility": [{"terms": [1]}],
    "known": {"volatility": {"x": {"1": 1.0}}},
}
CELLS = ("q_bin", "qdot_bin")
STAGES = ("differentiate", "assemble", "identify")
CHAINS = {
    "published": ("central_stencil", "stationary_residual", "residual_least_squares"),
    "recommended": ("bump_functions", "weak_fokker_planck", "ito_gmm"),
}


def oscillator(k=1.0, c=0.5, a1=1.0, a2=0.0) -> System:
    """Linear oscillator with additive and multiplicative noise."""
    values = {"k": k, "c": c, "a1": a1, "a2": a2}
    return System.from_config(
        {
            "coordinates": {"x": {"unit": "m"}},
            "parameters": {name: {"value": v} for name, v in values.items()},
            "lagrangian": "xdot**2/2 - k*x**2/2",
            "dissipation": "c*xdot**2/2",
            "volatility": [["a1", "a2*x"]] if a2 else [["a1"]],
        }
    )


def simulation(**changes) -> dict:
    """Section `simulate` of a short histogram."""
    return {
        "method": "gill_histogram",
        "time_step": 0.01,
        "duration": 200.0,
        "burn_in": 20.0,
        "trajectories": 8,
        "batches": 4,
        "initial_state": {"x": 0.0, "xdot": 0.0},
        "histogram": {"low": [-4.0, -4.0], "high": [4.0, 4.0], "bins": 50},
        **changes,
    }


def shares(bins: int, std=(1.0, 1.0), edge: float = 4.0) -> np.ndarray:
    """Probability of every cell of a Gaussian."""
    edges = np.linspace(-edge, edge, bins + 1)
    return np.outer(*(np.diff(norm.cdf(edges / s)) for s in std))


def exact(bins: int = 50, std=(1.0, 1.0), batches: int = 4):
    """Histogram of a Gaussian without noise of counting."""
    counts = np.broadcast_to(shares(bins, std), (1, batches, bins, bins)).copy()
    return dataset(counts, np.ones((1, batches)))


def drawn(rng, samples: int, bins: int = 50, batches: int = 4):
    """Histogram of independent draws of the standard Gaussian."""
    inside = shares(bins).ravel()
    draws = rng.multinomial(samples, np.append(inside, 1 - inside.sum()), size=batches)
    counts = draws[:, :-1].reshape(1, batches, bins, bins)
    return dataset(counts, np.full((1, batches), samples))


def dataset(counts, samples):
    """Counts on [-4, 4]² as a ``histogram``."""
    bins = counts.shape[-1]
    centres = -4 + (np.arange(bins) + 0.5) * 8 / bins
    cells = {n: (n, centres, {"units": n, "long_name": n}) for n in CELLS}
    return CONTRACTS["histogram"].dataset(
        {"count": counts, "samples": samples, "duration": 0.01 * samples},
        {**cells, "replicate": [0], "dof": ["x"], "coordinate_unit": ("dof", ["m"])},
    )


def identified(observations, estimator="recommended", library=LIBRARY, **changes):
    """Model of one estimator; `changes` are settings of any stage."""
    recipe = {
        stage: {"method": m}
        | {k: v for k, v in changes.items() if k in steps(stage)[m].model_fields}
        for stage, m in zip(STAGES, CHAINS[estimator], strict=True)
    }
    return Recipe(**recipe).dataset(observations, library)


def stiffness_and_damping(model) -> np.ndarray:
    """k and c of a model of the oscillator."""
    k = float(model["coefficient_estimate"].sel(term="-x**2/2")[0])
    return np.array([k, float(model["dissipation_coefficient_estimate"][0, 0])])
