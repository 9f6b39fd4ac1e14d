"""Central difference of the ensemble mean of the momenta ∂D/∂q̇.

Differentiation in time commutes with the ensemble mean, so the candidates are averaged
first and differenced once (Tripura et al., Algorithm 1).
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.evaluator import evaluator
from leastaction.core.library import Library

# Samples at a time, so that what is made of them fits the cache.
BLOCK = 500


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Ensemble means d/dt E[∂D/∂q̇] and E[∂D/∂q] of every candidate.

    .. math::

        \\frac{d}{dt} E[∂D/∂q̇](t_k) ≈ (E[∂D/∂q̇](t_{k+1}) − E[∂D/∂q̇](t_{k−1})) / 2 dt

    Paper: eq. (23) prints the stencil of a second derivative for the first one; the
    central first difference is meant.

    Parameters
    ----------
    observations
        One replicate, contract ``observations``.
    settings
        Nothing but the method's name.
    library
        The `library` section of the example.

    Returns
    -------
    xr.Dataset
        `momentum_rate`, `generalised_force` (replicate, dof, time, term) on the
        interior times.
    """
    coordinates = [str(name) for name in observations["dof"].values]
    terms = Library.from_config(library, coordinates)
    dof, n = len(coordinates), len(terms.terms)
    expressions = [e for row in (*terms.momenta, *terms.forces) for e in row]
    present = [i for i, expression in enumerate(expressions) if expression != 0]
    evaluate = evaluator([expressions[i] for i in present], coordinates)
    q, qdot = observations["q"].values[0], observations["qdot"].values[0]
    total = np.zeros((q.shape[1], len(present)))
    for path, rate in zip(q, qdot, strict=True):
        for start in range(0, len(total), BLOCK):
            at = slice(start, start + BLOCK)
            total[at] += evaluate(path[at], rate[at])
    mean = np.zeros((q.shape[1], len(expressions)))
    mean[:, present] = total / q.shape[0]
    mean = mean.reshape(-1, 2, dof, n)
    momentum, force = (np.moveaxis(mean[:, i], 0, 1) for i in (0, 1))
    time = observations["time"].values
    rate = (momentum[:, 2:] - momentum[:, :-2]) / (time[2:] - time[:-2])[:, None]
    dims = ("replicate", "dof", "time", "term")
    return xr.Dataset(
        {
            "momentum_rate": (
                dims,
                rate[None],
                {
                    "units": "mixed",
                    "long_name": "d/dt of the ensemble mean of dD/dqdot",
                },
            ),
            "generalised_force": (
                dims,
                np.ascontiguousarray(force[:, 1:-1])[None],
                {"units": "mixed", "long_name": "ensemble mean of dD/dq"},
            ),
        },
        coords={
            "replicate": observations["replicate"],
            "dof": coordinates,
            "time": ("time", time[1:-1], observations["time"].attrs),
            "term": terms.names,
        },
    )
