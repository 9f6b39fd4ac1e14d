"""Width of the velocity over which dry friction changes its sign, from the likelihood.

A filter needs slopes, so |v| is √(v² + w²). Too wide a w is taken for viscous friction,
by five standard errors at 1 % of the rms velocity of a free pendulum, and terms such as
|v|³ enter to repair it. The width is well known from above and hardly from below. Dry
friction jumps, so the narrowest width is taken that the likelihood ratio does not
reject; what it and its neighbours leave open is in the error of all parameters: their
covariance over these widths, with weights ∝ exp ℓ.
"""

import numpy as np
import sympy as sp

from leastaction.core.euler_lagrange import symbols
from leastaction.ensembles.innovations_likelihood import Fit, Likelihood

# Ratio of neighbouring widths: ℓ is flat over it where w is not known.
RATIO = 3.0
# Fall of ℓ that rejects a width: 95 % of χ² with one degree of freedom.
REJECTED = 1.92
# Velocity at which a force that jumps is still there.
SMALL = 1e-12


def is_dry(likelihood: Likelihood, fit: Fit) -> bool:
    """Whether a law has a loss whose force jumps, as that of |v| and not of |v|³."""
    library = likelihood.model.library
    losses = [i - len(library.terms) for i in fit.structure.columns]
    n = len(library.coordinates)
    state = symbols(library.variables)
    rest = {x: 1.0 for x in state[:n]} | {
        v: SMALL * k for k, v in enumerate(state[n:], 1)
    }
    forces = [
        sp.diff(library.dissipation[j], v).subs(rest)
        for j in losses
        if j >= 0 and library.dissipation[j].has(sp.Abs)
        for v in state[n:]
    ]
    return any(abs(float(force)) > np.sqrt(SMALL) for force in forces)


def profiled_width(likelihood: Likelihood, fit: Fit) -> tuple[Fit, np.ndarray]:
    """The fit with the narrowest width that is likely; the covariance of widths.

    The model is left with that width.
    """
    model = likelihood.model
    fits = {model.width: fit}
    for factor in (1 / RATIO, RATIO):
        width, last = factor * model.width, fit
        while model.narrowest <= width <= model.scale[model.dof :].max():
            model.slide(width)
            levels = [max(f.value for f in fits.values()) - REJECTED]
            last = likelihood.fit(last.structure, last.theta, last.order, levels)
            fits[width] = last
            if not last.value > max(f.value for f in fits.values()) - REJECTED:
                break
            width *= factor
        model.slide(max(fits))
        if len(fits) > 2:
            break
    least = max(f.value for f in fits.values()) - REJECTED
    narrowest = min(width for width, f in fits.items() if f.value >= least)
    model.slide(narrowest)
    near = [f for width, f in fits.items() if width <= 1.01 * RATIO * narrowest]
    weight = np.exp([f.value - fits[narrowest].value for f in near])
    parameters = np.array([f.theta for f in near])
    away = parameters - weight @ parameters / weight.sum()
    return fits[narrowest], (weight * away.T) @ away / weight.sum()
