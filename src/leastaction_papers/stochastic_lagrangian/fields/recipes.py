"""Steps of the published recipe and its rivals, and how models are rolled out."""

from typing import Literal

from pydantic import Field

from leastaction.core.method import (
    Assemble,
    Differentiate,
    Identify,
    Rollout,
    Volatility,
)
from leastaction.core.settings import Share
from leastaction.fields.recipes import AnyVolatility, FieldEnsemble


class NewmarkHermite(FieldEnsemble):
    """Newmark's method for a beam of cubic Hermite elements (the released code)."""

    run = ".hermite:newmark"


class NodalCentralDifference(Differentiate):
    """Central difference of the ensemble mean at every node of a field."""

    run = ".nodal:differentiate"
    reads = ("field_observations",)
    makes = "nodal_derivatives"
    uses = ("reference", "lagrangian")

    velocities: Literal["measured", "differences"] = Field(
        "measured",
        description="differences: velocities are central differences of the "
        "displacements, as in the released code.",
    )


class NodalEnsembleMean(Assemble):
    """Ensemble-mean Euler–Lagrange library of every node of a field."""

    run = ".nodal:assemble"
    reads = ("nodal_derivatives",)
    makes = "nodal_regression"
    uses = ("reference", "lagrangian")


class NodalMeanSquareResidual(Volatility):
    """Volatility from the mean square residual at the nodes of a field (eqs. 20–22)."""

    run = ".nodal:volatility"
    after = ("nodal_stlsq",)

    threshold: Share = Field(
        description="Smallest coefficient of the squared volatility kept."
    )


class NodalStlsq(Identify):
    """Sequential thresholded least squares, node by node (Tripura et al.)."""

    run = ".nodal:identify"
    reads = ("nodal_regression",)

    threshold: Share = Field(
        description="Smallest coefficient kept, relative to that of u_t^2."
    )
    volatility: AnyVolatility


class FieldRollout(Rollout):
    """Truth and model of a field on common random numbers."""

    run = ".rollout:validate"
    reads = ("field_observations",)
    makes = "field_rollout"


# The recipe of the paper.
PUBLISHED = {
    "field": (
        NodalCentralDifference,
        NodalEnsembleMean,
        NodalStlsq,
        NodalMeanSquareResidual,
    ),
}
