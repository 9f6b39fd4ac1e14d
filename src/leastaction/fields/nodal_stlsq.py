"""Sequential thresholded least squares, node by node (Tripura et al., Algorithm 3)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.estimate import LagrangianEstimate
from leastaction.core.stlsq import stlsq

CONTRACT = "nodal_regression"
MAJORITY = 0.5


def identify(library: xr.Dataset, settings: Mapping) -> LagrangianEstimate:
    """Identify every node by itself, and a density as the mean over the nodes.

    Paper: the threshold acts on the raw coefficients relative to u_t² (not to ½ u_t²).
    Every node is normalised to its own u_t², so that the two equations that a spring
    enters need not agree on it.

    Parameters
    ----------
    library
        One replicate, contract ``nodal_regression``.
    settings
        `threshold`: λ, in units of the reference term with coefficient one.

    Returns
    -------
    LagrangianEstimate
        A term is in the density if more than half of the nodes that have it select it;
        its coefficient is their mean. `by_node`: `node_coefficient_estimate`, the mean
        over the selected columns of the term at the node, and `node_support`, the share
        of its columns that are selected (NaN where it has none).
    """
    check(library, "nodal_regression")
    triangle, target = library["triangle"].values[0], library["target"].values[0]
    slot_term = library["slot_term"].values
    status = library["status"].values
    scale = library.attrs["reference_coefficient"]
    reference = int(np.flatnonzero(status == "reference")[0])
    shape = (len(slot_term), len(status))
    total, selected, offered = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for a, slots in enumerate(slot_term):
        filled = np.flatnonzero(slots >= 0)
        found = stlsq(triangle[a][:, filled], target[a], settings["threshold"])
        np.add.at(total[a], slots[filled], scale * found)
        np.add.at(selected[a], slots[filled], found != 0)
        np.add.at(offered[a], slots[filled], 1)
    each = total / np.maximum(selected, 1)
    share = np.divide(selected, offered, out=np.full(shape, np.nan), where=offered > 0)
    has, chooses = offered > 0, selected > 0
    often = chooses.sum(axis=0) > MAJORITY * np.maximum(has.sum(axis=0), 1)
    mean = each.sum(axis=0) / np.maximum(chooses.sum(axis=0), 1)
    coefficients = np.where(often, mean, 0.0)
    coefficients[reference] = scale
    each[:, reference], share[:, reference] = scale, 1.0
    return LagrangianEstimate(
        terms=[str(term) for term in library["term"].values],
        coefficients=coefficients,
        std=np.full(len(status), np.nan),
        status=list(status),
        equivalent=list(library["equivalent"].values),
        noise_covariance=np.zeros((0, 0)),
        noise_std=np.zeros((0, 0)),
        by_node={
            "node_coefficient_estimate": (
                ("node", "term"),
                each,
                "mixed",
                "coefficient of L that the node finds",
            ),
            "node_support": (
                ("node", "term"),
                share,
                "1",
                "share of the candidates of this term at the node that are selected",
            ),
        },
    )
