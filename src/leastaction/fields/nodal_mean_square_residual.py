"""Volatility from the mean square residual at the nodes of a field (eqs. 20–22).

Paper: as for discrete systems (``mean_square_residual``), the
central difference makes the volatility low by √½. For the beam, where the fastest modes
turn by 1.8 rad per sample, the residual is mostly motion that the difference lost.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import time_step
from leastaction.core.estimate import LagrangianEstimate, VolatilityEstimate
from leastaction.core.expressions import to_text
from leastaction.core.stlsq import stlsq
from leastaction.fields.domain import Domain
from leastaction.fields.ensemble import one_by_one
from leastaction.fields.evaluate import SAMPLES_PER_BATCH, ModalForces, NodeEvaluator
from leastaction.fields.library import FieldLibrary, density_candidates


def identify(
    observations: xr.Dataset,
    estimate: LagrangianEstimate,
    settings: Mapping,
    library: Mapping,
) -> VolatilityEstimate:
    """Root of the time average of dt E[R²] at each node, and its mean over the nodes.

    Parameters
    ----------
    observations
        One replicate, contract ``field_observations``.
    estimate
        The identified density; its coefficients hold at every node.
    settings
        `threshold`: λ of the thresholded least squares on S².
    library
        The `library` section of the example; the constant and ``pooled`` candidates are
        left out.

    Returns
    -------
    VolatilityEstimate
        `volatility` is that of a node with a full cell; `by_node` holds
        `node_volatility`.
    """
    domain = Domain.from_attributes(observations.attrs)
    field = str(observations.attrs["field"])
    lagrangian = FieldLibrary.from_config(library, field)
    terms, strides = density_candidates(library["volatility"], field)
    varying = [i for i, t in enumerate(terms) if t.free_symbols and strides[i]]
    evaluate = NodeEvaluator([terms[i] for i in varying], field, domain)
    chosen = [i for i in lagrangian.at_points if estimate.coefficients[i] != 0]
    forces = ModalForces(
        [lagrangian.terms[i] for i in chosen],
        field,
        domain,
        np.diag(1 / domain.cell),
    )
    found = estimate.coefficients[chosen]
    kinetic = 2 * estimate.coefficients[lagrangian.reference]
    dt = time_step(observations)
    count, samples = observations.sizes["trajectory"], observations.sizes["time"] - 2
    square = np.zeros((samples, domain.nodes))
    sums = evaluate.zeros(samples)
    paths = (one_by_one(observations[name]) for name in ("u", "u_t"))
    for x, v in zip(*paths, strict=True):
        for start in range(0, samples, SAMPLES_PER_BATCH):
            batch = slice(start, start + SAMPLES_PER_BATCH)
            here = x[1:-1][batch]
            residual = v[2:][batch] - v[:-2][batch]
            residual *= kinetic / (2 * dt)
            residual -= np.tensordot(found, forces.forces(here, here), 1)
            square[batch] += np.square(residual)
        evaluate.add(sums, x[1:-1], v[1:-1])
    square *= (dt / count) * (domain.cell / domain.dx)
    mean = evaluate.interpolated(sums) / count
    coefficients = np.zeros((1, len(terms)))
    coefficients[0, varying] = stlsq(
        mean.reshape(len(varying), -1).T, square.ravel(), settings["threshold"]
    )
    at_nodes = np.sqrt(square.mean(axis=0))
    return VolatilityEstimate(
        volatility=np.sqrt([np.square(at_nodes).mean()]),
        std=np.full(1, np.nan),
        terms=[to_text(term) for term in terms],
        coefficients=coefficients,
        coefficient_std=np.full_like(coefficients, np.nan),
        constant=np.ones(1, dtype=bool),
        by_node={
            "node_volatility": (
                ("node",),
                at_nodes,
                "(units of u_tt) s^0.5",
                "volatility of a full cell, from this node",
            )
        },
    )
