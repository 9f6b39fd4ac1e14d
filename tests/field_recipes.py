"""Short words for what the tests of field estimators say often."""

import numpy as np
from stages import simulate

from leastaction.core.estimate import model_dataset
from leastaction.fields import modal_gmm, modal_moments
from leastaction.fields.field_system import FieldSystem
from leastaction_papers.stochastic_lagrangian import nodal

LIBRARY = {
    "reference": "u_t**2/2",
    "lagrangian": [
        {"terms": ["1", "u_t**2", "u_x", "u_x**2", "u_x**3", "u_x**4"]},
        {"pooled": ["u**2", "u**4", "u_xx**2"]},
    ],
    "volatility": [{"terms": ["1", "u**2", "u_t**2", "u_x**2"]}],
}
TERM = "u_x**2"


def string(c=2.0, sigma=8.0, density="u_t**2/2 - c**2*u_x**2/2", **domain):
    """Twelve nodes of a string between fixed ends; ω dt is 0.05 ... 0.4 at 1 ms."""
    domain = {"length": 0.13, "nodes": 12, "left": "fixed", "right": "fixed"} | domain
    return FieldSystem.from_config(
        {
            "field": {"name": "u", "unit": "m"},
            "domain": domain,
            "parameters": {"c": {"value": c}, "sigma": {"value": sigma}},
            "lagrangian": density,
            "volatility": "sigma",
        }
    )


def observe(truth, *, trajectories=20, steps=2000, time_step=1e-3, replicate=0, **rest):
    """One replicate of observations."""
    settings = {
        "method": "modal",
        "time_step": time_step,
        "duration": time_step * steps,
        "trajectories": trajectories,
        "initial_state": {"u": "sin(pi*x/length)", "u_t": 0},
    }
    return simulate(
        truth,
        settings | rest,
        example="test",
        seed=5,
        replicate=replicate,
        units={"u": "m"},
    )


class Recommended:
    """The recommended recipe on one replicate, stage by stage."""

    def __init__(self, observations, library=LIBRARY, max_terms=3, **cuts):
        self.basis = modal_moments.differentiate(
            observations, {"resolved": 0.1, "dispersive": 0.4} | cuts, library
        )
        self.moments = modal_moments.assemble(
            observations, self.basis, {"decimate": 2}, library
        )
        self.lagrangian = modal_gmm.identify(
            self.moments, {"max_terms": max_terms, "dispersion_error": 0.05}
        )
        self.observations, self.library = observations, library

    def volatility(self, **settings):
        """Volatility estimate."""
        return modal_gmm.volatility(
            self.observations,
            self.lagrangian,
            {"max_terms": 2, "decimate": 4} | settings,
            self.library,
        )

    @property
    def model(self):
        """The model as a dataset."""
        return model_dataset(self.observations, self.lagrangian, self.volatility())

    @property
    def support(self):
        """Selected terms beside the reference."""
        chosen = zip(self.lagrangian.terms, self.lagrangian.std, strict=True)
        return [term for term, std in chosen if std > 0]

    def coefficient(self, term=TERM):
        """Estimate and standard error of one coefficient."""
        i = self.lagrangian.terms.index(term)
        return self.lagrangian.coefficients[i], self.lagrangian.std[i]

    def diagnostic(self, name):
        """Value of one diagnostic."""
        return np.asarray(self.lagrangian.diagnostics[name][0]).item()


class Published:
    """The published recipe on one replicate."""

    def __init__(
        self, observations, library=LIBRARY, threshold=0.5, velocities="measured"
    ):
        self.derivatives = nodal.differentiate(
            observations, {"velocities": velocities}, library
        )
        self.regression = nodal.assemble(observations, self.derivatives, {}, library)
        self.lagrangian = nodal.identify(self.regression, {"threshold": threshold})
        self.observations, self.library = observations, library

    def volatility(self):
        """Volatility estimate."""
        return nodal.volatility(
            self.observations, self.lagrangian, {"threshold": 0.05}, self.library
        )

    @property
    def model(self):
        """The model as a dataset."""
        return model_dataset(self.observations, self.lagrangian, self.volatility())
