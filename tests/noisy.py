"""Noisy ensembles and their recipes, for tests."""

from functools import cache

from support import OSCILLATOR_LIBRARY, observe, oscillator

from leastaction.ensembles import (
    moment_gmm,
    moving_average_likelihood,
    moving_average_moments,
    sensor_noise,
)
from leastaction.ensembles.strong_taylor import measure


def ensemble(level, *, replicate=0, correlation=1, channels=("q", "qdot"), **size):
    """x'' = −25 x + W', recorded with noise of `level` times the rms."""
    size = {"trajectories": 30, "steps": 2000, **size}
    truth = size.pop("truth", None) or oscillator()
    clean = observe(truth, replicate=replicate, **size)
    sensor = {
        "noise": {"q": level, "qdot": level},
        "correlation": correlation,
        "channels": list(channels),
        "every": 1,
    }
    return measure(clean, sensor, example="noisy", seed=2)


class Found:
    """What the recipes for noisy data find in one replicate."""

    def __init__(self, data, library=OSCILLATOR_LIBRARY, max_terms=2, **noise):
        self.noise = sensor_noise.differentiate(data, {}, {})
        for name, value in noise.items():
            self.noise[name][:] = value
        kind = "assemble" if "qdot" in data else "assemble_weak"
        self.moments = getattr(moving_average_moments, kind)(
            data, self.noise, {"instrument_degree": 3, "most_instruments": 40}, library
        )
        self.lagrangian = moment_gmm.identify_moving_average(
            self.moments, {"max_terms": max_terms}
        )
        self.volatility = moving_average_likelihood.identify(
            data, self.lagrangian, {}, library
        )

    @property
    def support(self):
        """Selected terms."""
        pairs = zip(self.lagrangian.terms, self.lagrangian.coefficients, strict=True)
        return {term for term, c in pairs if c != 0}

    def coefficient(self, term):
        """Estimate and standard error."""
        i = self.lagrangian.terms.index(term)
        return self.lagrangian.coefficients[i], self.lagrangian.std[i]

    def diagnostic(self, name):
        """A diagnostic of the Lagrangian or of the volatility."""
        for one in (self.lagrangian, self.volatility):
            if name in one.diagnostics:
                return one.diagnostics[name][0]
        raise KeyError(name)


@cache
def replicated(channels):
    """Twelve small independent ensembles with noise of ξ = 3."""
    return [Found(ensemble(0.03, replicate=i, channels=channels)) for i in range(12)]
