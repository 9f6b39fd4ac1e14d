"""Ensemble-mean Euler–Lagrange library (Tripura et al., eqs. 14–16)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.library import Library


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Columns θ_i = d/dt E[∂D_i/∂q̇] − E[∂D_i/∂q] and the kinetic column as target.

    The equation is θ c = −target, where the reference term has coefficient one.

    Parameters
    ----------
    observations
        Not used: the ensemble means hold all that this method needs.
    derivatives
        One replicate, contract ``ensemble_derivatives``.
    settings
        `remove_null_candidates`: leave candidates out that algebra shows to be null,
        duplicate or dependent. The paper does not.
    library
        The `library` section of the example.

    Returns
    -------
    xr.Dataset
        `theta` (replicate, dof, equation, term), `target` (replicate, dof, equation),
        and `status` of each candidate: ``reference``, ``candidate`` or why it was
        removed.
    """
    check(derivatives, "ensemble_derivatives")
    terms = Library.from_config(library, derivatives["dof"].values)
    columns = (
        derivatives["momentum_rate"].values[0]
        - derivatives["generalised_force"].values[0]
    )
    status = terms.status
    if settings["remove_null_candidates"]:
        keep = [i for i, s in enumerate(status) if s == "independent"]
    else:
        keep = [i for i, s in enumerate(status) if s != "reference"]
    theta = np.zeros_like(columns)
    theta[..., keep] = columns[..., keep]
    kinetic = columns @ (terms.given / terms.reference_coefficient)
    return xr.Dataset(
        {
            "theta": (
                ("replicate", "dof", "equation", "term"),
                theta[None],
                {"units": "mixed", "long_name": "Euler-Lagrange library"},
            ),
            "target": (
                ("replicate", "dof", "equation"),
                -kinetic[None],
                {"units": "mixed", "long_name": "minus the reference column"},
            ),
            "used": (
                "term",
                np.isin(np.arange(len(status)), keep).astype("int8"),
                {"units": "1", "long_name": "whether the regression may use the term"},
            ),
            "status": (
                "term",
                np.array(status, dtype=object),
                {"units": "1", "long_name": "what algebra says about the term"},
            ),
            "equivalent": (
                "term",
                np.array(terms.freedom.equivalent, dtype=object),
                {"units": "1", "long_name": "equivalent of a removed candidate"},
            ),
            "given": (
                "term",
                terms.given,
                {"units": "mixed", "long_name": "coefficient given by the reference"},
            ),
        },
        coords={
            "replicate": derivatives["replicate"],
            "dof": derivatives["dof"],
            "term": terms.names,
        },
    )
