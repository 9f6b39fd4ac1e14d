"""Short words for what the tests say often."""

from functools import cached_property
from pathlib import Path

import numpy as np
import yaml
from stages import assemble, differentiate, simulate

from leastaction.core.estimate import (
    LagrangianEstimate,
    VolatilityEstimate,
    model_dataset,
)
from leastaction.core.system import System
from leastaction.ensembles import moment_gmm, squared_increments
from leastaction.ensembles.strong_taylor import integrator

EXAMPLES = Path(__file__).parents[1] / "config" / "examples"

VOLATILITY = [
    {"polynomial": {"of": ["x", "xdot"], "degree": 2}},
    {
        "terms": [
            "x**3",
            "xdot**3",
            "x*abs(x)",
            "xdot*abs(xdot)",
            "sin(x)",
            "cos(xdot)",
        ]
    },
]
OSCILLATOR_LIBRARY = {
    "reference": "xdot**2/2",
    "lagrangian": [
        {"polynomial": {"of": ["x", "xdot"], "degree": 5}},
        {"functions": {"apply": ["sin", "cos"], "to": ["x", "xdot"]}},
    ],
    "volatility": VOLATILITY,
}

PENDULUM = "thdot**2/2 + 9.81*cos(th)"


def motion_settings(noise=None, **changes):
    """The `simulate` section of a few motions of a pendulum, with a sweep of noise."""
    return {
        "method": "runge_kutta",
        "time_step": 0.01,
        "integration_step": 1e-3,
        "duration": 1.0,
        "trajectories": 5,
        "initial_state": {
            "random": {"angle": {"uniform": [-3.0, 3.0]}},
            "th": "angle",
            "thdot": 0.0,
        },
        "input": {},
        "noise": {
            "modes": ["independent", "shared"],
            "levels": [0.0, 0.1],
            "channels": ["q", "qdot", "qddot"],
        }
        | (noise or {}),
    } | changes


def example(name, paper="stochastic_lagrangian"):
    """The YAML of an example."""
    text = (EXAMPLES / paper / f"{name}.yaml").read_text()
    return yaml.safe_load(text)


def system(lagrangian, coordinates=("x",), parameters=None, **rest):
    """A system from text."""
    values = {name: {"value": value} for name, value in (parameters or {}).items()}
    return System.from_config(
        {
            "coordinates": list(coordinates),
            "parameters": values,
            "lagrangian": lagrangian,
            **rest,
        }
    )


def oscillator(k=25.0, sigma=1.0, volatility="sigma", **rest):
    """x'' = -k x + sigma W', about 0.8 periods per second."""
    return system(
        "xdot**2/2 - k*x**2/2",
        parameters={"k": k, "sigma": sigma},
        volatility={"x": volatility},
        **rest,
    )


def observe(truth, *, trajectories, steps, time_step=1e-3, replicate=0, start=None):
    """One replicate of observations; all coordinates start at 1, at rest."""
    rest = {str(v): 0.0 for v in truth.qdot}
    initial = {str(x): 1.0 for x in truth.q} | rest | (start or {})
    return simulate(
        truth,
        {
            "method": "strong_taylor",
            "time_step": time_step,
            "duration": time_step * steps,
            "trajectories": trajectories,
            "initial_state": initial,
        },
        example="test",
        seed=5,
        replicate=replicate,
        units=dict.fromkeys(truth.coordinates, "m"),
    )


class Recommended:
    """The recommended recipe on one replicate, stage by stage."""

    def __init__(self, observations, library, degree=5, max_terms=3, largest_turn=0.05):
        self.observations, self.library = observations, library
        self.degree, self.max_terms = degree, max_terms
        self.variation = differentiate(
            observations, {"method": "realised_variation"}, library
        )
        self.moments = assemble(
            observations,
            self.variation,
            {
                "method": "martingale_moments",
                "instrument_degree": degree,
                "most_instruments": 40,
                "largest_turn": largest_turn,
            },
            library,
        )
        self.lagrangian = moment_gmm.identify(self.moments, {"max_terms": max_terms})

    @cached_property
    def volatility(self):
        """Volatility estimate by squared increments."""
        return squared_increments.identify(
            self.observations,
            self.lagrangian,
            {"max_terms": self.max_terms},
            self.library,
        )

    @property
    def model(self):
        """The model as a dataset."""
        return model_dataset(
            self.observations,
            self.lagrangian,
            self.volatility,
            self.library.get("calculus", "ito"),
        )

    @property
    def support(self):
        """Selected terms."""
        estimate = self.lagrangian
        return {
            term
            for term, c in zip(estimate.terms, estimate.coefficients, strict=True)
            if c != 0
        }

    @property
    def damping(self):
        """Selected terms of D with estimate and standard error."""
        estimate = self.lagrangian
        return {
            term: (c, error)
            for term, c, error in zip(
                estimate.dissipation_terms,
                estimate.dissipation_coefficients,
                estimate.dissipation_std,
                strict=True,
            )
            if c != 0
        }

    @property
    def root(self):
        """Terms of S of the first degree of freedom, estimate and standard error."""
        found = self.volatility
        return {
            term: (c, error)
            for term, c, error in zip(
                found.terms, found.root[0], found.root_std[0], strict=True
            )
            if c != 0
        }

    def coefficient(self, term):
        """Estimate and standard error of one coefficient."""
        i = self.lagrangian.terms.index(term)
        return self.lagrangian.coefficients[i], self.lagrangian.std[i]


def recommended(observations, library, **settings):
    """Run the recommended recipe."""
    return Recommended(observations, library, **settings)


def model_of(observations, coefficients, covariance, g_square=None):
    """A model dataset with the given coefficients {term: value} and S S^T.

    `g_square`, if given, holds {term: value} of S^2 for each degree of freedom.
    """
    covariance = np.atleast_2d(np.asarray(covariance, dtype=float))
    dof = len(covariance)
    terms = list(coefficients)
    g_terms = sorted({t for row in g_square or [] for t in row}) or ["1"]
    beta = np.zeros((dof, len(g_terms)))
    for a in range(dof):
        row = g_square[a] if g_square else {"1": covariance[a, a]}
        for term, value in row.items():
            beta[a, g_terms.index(term)] = value
    return model_dataset(
        observations,
        LagrangianEstimate(
            terms=terms,
            coefficients=np.array(list(coefficients.values()), dtype=float),
            std=np.full(len(terms), 0.01),
            status=["independent"] * len(terms),
            equivalent=[""] * len(terms),
            noise_covariance=covariance,
            noise_std=np.zeros_like(covariance),
        ),
        VolatilityEstimate(
            volatility=np.sqrt(np.diag(covariance)),
            std=np.full(dof, 0.01),
            terms=g_terms,
            coefficients=beta,
            coefficient_std=np.zeros_like(beta),
            constant=np.full(dof, g_square is None),
        ),
    )


def roll(truth, start, normals, dt):
    """Path of one integration."""
    return integrator(truth)(np.asarray(start, dtype=float), normals, dt)


def wiener_increments(normals, dt):
    """Jointly Gaussian ΔW = ∫dW and ΔZ = ∫∫dW ds of each step of `normals`.

    Var ΔW = dt, Var ΔZ = dt³/3, Cov(ΔW, ΔZ) = dt²/2 (Kloeden and Platen 1992,
    eq. 10.4.3).
    """
    first, second = normals
    return np.sqrt(dt) * first, 0.5 * dt**1.5 * (first + second / np.sqrt(3.0))
