"""Methods of stationary probability densities (Fokker–Planck), and recipes.

They read contract ``histogram`` (kind `density`) or ``state_moments`` (kind `density
moments`), both of a long stationary path. The structure is given in the library, with
what is `known`. Published is the residual of Yoshida and Yamanaka.

Examples
--------
>>> import leastaction as la
>>> truth = la.System(
...     "xdot**2/2 - x**2/2", dissipation="xdot**2/4", volatility={"x": "1"}
... )
>>> start = {"x": 0, "xdot": 0}
>>> run = {"duration": 100, "time_step": 0.01, "trajectories": 16}
>>> data = truth.simulate(method="gill_moments", initial_state=start, **run)
>>> library = {
...     "reference": "xdot**2/2",
...     "lagrangian": ["xdot**2/2", "-x**2/2"],
...     "dissipation": ["xdot**2/2"],
...     "volatility": [1],
...     "known": {"volatility": {"x": {"1": 1.0}}},
... }
>>> model = la.recipes.densities.recommended("density moments").fit(data, library)
>>> abs(model.coefficient("-x**2/2") - 1) < 4 * model.standard_error("-x**2/2")
True
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from leastaction.core.method import Assemble, Differentiate, Ensemble, Identify, part
from leastaction.core.settings import (
    Count,
    Flag,
    Integer,
    Number,
    Pair,
    Positive,
    Settings,
    Share,
)
from leastaction.densities import EVERY_PART, KIND_OF_DATA

# Of the histogram that a method reads.
BINS = Field(
    None, description="Cells along each side; null for those of the simulation."
)
Bins = Annotated[Integer, Field(ge=5)] | None


class StationaryPath(Ensemble):
    """A long path of which nothing is stored but what is counted."""

    stored = 0
    burn_in: Share = Field(50.0, description="Time before the samples that count, s.")
    batches: Integer = Field(
        16,
        ge=2,
        description="Independent parts of the data; they divide the trajectories "
        "equally.",
    )


class Histogram(Settings):
    """Cells of the states (q, qdot) that are counted."""

    low: Pair
    high: Pair
    bins: Integer = Field(50, ge=5, description="Cells along each side.")


class GillHistogram(StationaryPath):
    """A long path by the Runge–Kutta–Gill scheme, streamed into a histogram."""

    run = ".stationary_samples:histogram"
    makes = "histogram"

    histogram: Histogram = Field(
        description="Cells of the states (q, qdot) that are counted."
    )


class StateMoments(Settings):
    """Means of monomials of the state that are kept."""

    degree: Integer = Field(8, ge=4, le=12, description="Total degree.")
    every: Count = Field(10, description="Steps between the samples of the means.")


class GillMoments(StationaryPath):
    """A long path by the Runge–Kutta–Gill scheme, streamed into moments."""

    run = ".stationary_samples:moments"
    makes = "state_moments"

    moments: StateMoments = Field(
        default_factory=StateMoments,
        description="Means of monomials of the state that are kept.",
    )


class BumpFunctions(Differentiate):
    """Compact test functions on a histogram, corrected for the size of its cells."""

    run = ".weak_fokker_planck:bump_functions"
    reads = ("histogram",)
    makes = "density_tests"

    bins: Bins = BINS
    centres: Integer = Field(5, ge=2, description="Test functions along each side.")
    half_width: Number = Field(
        0.6, gt=0, le=1, description="Of a test function, over that of the domain."
    )


class MonomialFunctions(Differentiate):
    """Monomials of the state as test functions, for data that are moments."""

    run = ".weak_fokker_planck:monomial_functions"
    reads = ("state_moments",)
    makes = "monomial_tests"

    degree: Integer = Field(4, ge=2, description="Total degree of the test functions.")


class WeakFokkerPlanck(Assemble):
    """Weak form of the Fokker–Planck equation with compact test functions."""

    run = ".weak_fokker_planck:weak_fokker_planck"
    reads = ("density_tests",)
    makes = "generator_moments"
    uses = EVERY_PART


class MomentFokkerPlanck(Assemble):
    """Weak form of the Fokker–Planck equation with monomials over samples."""

    run = ".weak_fokker_planck:moment_fokker_planck"
    reads = ("monomial_tests",)
    makes = "generator_moments"
    uses = EVERY_PART


class LevelSet(Settings):
    """Dampings and volatilities with the same density, if in detailed balance."""

    volatility: list[Positive] = Field(
        min_length=1, description="Volatilities at which the damping is computed."
    )
    coefficients: dict[str, Number] = Field(
        {}, description="Coefficients of L there, by term."
    )


class WithVolatility(Identify):
    """A method that estimates dissipation and volatility together."""

    finds_volatility = True

    level_set: LevelSet | None = Field(
        None,
        description="Curve of dampings and volatilities with the same density, where "
        "both are in detailed balance.",
    )


class ItoGmm(WithVolatility):
    """Moments of the stationary generator, continuous-updating GMM."""

    run = ".ito_gmm:identify"
    reads = ("generator_moments",)

    ridge: Share = Field(
        0.0001,
        description="Added to the eigenvalues of the covariance, over the largest.",
    )
    select: Flag = Field(
        False,
        description="Whether candidates that the density does not need are left out.",
    )


RECOMMENDED = {
    "density": (BumpFunctions, WeakFokkerPlanck, ItoGmm),
    "density moments": (MonomialFunctions, MomentFokkerPlanck, ItoGmm),
}


def kind_of_data(example: Mapping) -> str | None:
    """Key of `RECOMMENDED` for a stationary density; else None."""
    return KIND_OF_DATA.get(str(part(example, "simulate").get("method")))
