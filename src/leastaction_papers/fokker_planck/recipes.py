"""Steps of the published recipe and its rivals, and how models are rolled out."""

from pydantic import Field

from leastaction.core.method import Assemble, Differentiate, Rollout
from leastaction.core.settings import Count
from leastaction.densities import EVERY_PART
from leastaction.densities.recipes import BINS, Bins, WithVolatility


class CentralStencil(Differentiate):
    """The density from a histogram, and central differences that act on it."""

    run = ".fokker_planck_residual:central_stencil"
    reads = ("histogram",)
    makes = "density_stencil"

    bins: Bins = BINS


class StationaryResidual(Assemble):
    """Residual of the stationary Fokker–Planck equation by finite differences."""

    run = ".fokker_planck_residual:stationary_residual"
    reads = ("density_stencil",)
    makes = "stationary_residual"
    uses = EVERY_PART


class ResidualLeastSquares(WithVolatility):
    """Least squares of the Fokker–Planck residual of a measured density."""

    run = ".fokker_planck_residual:residual_least_squares"
    reads = ("stationary_residual",)

    batches: Count | None = Field(
        None, description="First batches of the record that count; null, all of them."
    )


class DensityRollout(Rollout):
    """Densities and level sets of truth and model."""

    run = ".density_rollout:validate"
    reads = ("histogram", "state_moments")
    makes = "density_rollout"


# The recipe of the paper.
PUBLISHED = {"density": (CentralStencil, StationaryResidual, ResidualLeastSquares)}
