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
from leastaction.core.settings import Flag, Share, absent
from leastaction.ensembles.recipes import AnyVolatility
from leastaction.fields.recipes import FieldEnsemble


class CentralDifference(Differentiate):
    """Central difference of the ensemble mean of the momenta ∂D/∂q̇."""

    run = ".ensemble_mean:differentiate"
    reads = ("observations",)
    makes = "ensemble_derivatives"
    uses = ("reference", "inertia", "lagrangian")

    ends: Flag = Field(
        False,
        description="Keep the first and the last sample, with one-sided differences of "
        "second order, as the released code does; the paper has interior samples only.",
    )


class EnsembleMean(Assemble):
    """Ensemble-mean Euler–Lagrange library (Tripura et al., eqs. 14–16)."""

    run = ".ensemble_mean:assemble"
    ignores_dissipation = True
    reads = ("ensemble_derivatives",)
    makes = "regression"
    uses = ("reference", "inertia", "lagrangian")

    remove_null_candidates: Flag = Field(
        False,
        description="Leave out what algebra shows to be null; the paper does not.",
    )


class MeanSquareResidual(Volatility):
    """Volatility from the mean square residual (Tripura et al., eqs. 20–22)."""

    run = ".ensemble_mean:mean_square_residual"
    after = ("stlsq", "moment_gmm")

    threshold: Share = Field(
        description="Smallest coefficient of the squared volatility kept."
    )


class MeanSquareLagrangian(Volatility):
    """Volatility from the mean square of the Lagrangian, as in the released code."""

    run = ".ensemble_mean:mean_square_lagrangian"
    after = ("stlsq",)

    threshold: Share = Field(
        description="Smallest coefficient of the mean square kept."
    )


class Stlsq(Identify):
    """Sequential thresholded least squares (Tripura et al., Algorithm 3)."""

    run = ".ensemble_mean:identify"
    reads = ("regression",)

    threshold: Share = Field(
        description="Smallest coefficient kept, relative to that of qdot^2."
    )
    rcond: Share | None = absent(
        "Singular values below this share of the largest count as zero; if absent, "
        "below machine epsilon times the number of samples."
    )
    shared: Literal["mean", "first"] = Field(
        "mean",
        description="Coefficient of a candidate that several equations contain: the "
        "mean of theirs, or that of the first that keeps it, as in the released code.",
    )
    volatility: AnyVolatility


class EnsembleRollout(Rollout):
    """Truth and model on common random numbers: means, spread, energies."""

    run = ".rollout:validate"
    reads = ("observations",)
    makes = "rollout"


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

    run = ".field_rollout:validate"
    reads = ("field_observations",)
    makes = "field_rollout"


# The recipes of the paper.
PUBLISHED = {
    "states": (CentralDifference, EnsembleMean, Stlsq, MeanSquareResidual),
    "field": (
        NodalCentralDifference,
        NodalEnsembleMean,
        NodalStlsq,
        NodalMeanSquareResidual,
    ),
}
