"""Steps of the published recipe and its rivals, and how models are rolled out."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field

from leastaction.core.method import Assemble, Identify, Rollout
from leastaction.core.recipe import Recipe
from leastaction.core.settings import (
    Count,
    Flag,
    Integer,
    Names,
    Number,
    Positive,
    Settings,
    Share,
    Text,
    absent,
)
from leastaction.trajectories.recipes import Gram, Measured


class EnergyGram(Assemble):
    """Gram matrix of the rates of candidate energies, for Lagrangian-SINDy."""

    run = ".lagrangian_sindy:assemble"
    reads = ("rates",)
    makes = "energy_gram"
    uses = ("reference", "inertia", "lagrangian")


class ImplicitLibrary(Assemble):
    """Implicit candidates along the training trajectories, for SINDy-PI."""

    run = ".sindy_pi:assemble"
    reads = ("rates",)
    makes = "implicit_regression"
    uses = ("implicit",)

    samples: Integer = Field(
        2500, ge=100, description="Samples of the trajectories held out."
    )
    held_out: Literal["fifth", "last"] = Field(
        "fifth",
        description="Trajectories that choose the model: every fifth in the order of "
        "the rms acceleration, or the last one, as in the papers.",
    )

    def problems(self, recipe: Recipe, example: Mapping) -> Iterator[str]:
        """A coordinate without candidates."""
        entries = list(example.get("library", {}).get("implicit", {}))
        coordinates = example["system"].get("coordinates", {})
        missing = [name for name in coordinates if name not in entries]
        if "library" in example and missing:
            yield (
                "assemble method 'implicit_library' needs library.implicit for every "
                f"coordinate, but it lists {entries or 'none'}; add candidates for "
                f"{', '.join(missing)}"
            )
        listed = str(example.get("library", {}).get("implicit"))
        for name in example["simulate"].get("input", {}):
            if f"{name}_input" not in listed:
                yield (
                    f"simulate.input drives {name}, but no candidate of "
                    f"library.implicit holds {name}_input; add some"
                )


class LagrangianSindy(Identify):
    """A conserved energy, and L from it: in the spirit of Lagrangian-SINDy."""

    run = ".lagrangian_sindy:identify"
    reads = ("energy_gram",)

    tolerance: Number = Field(
        0.1,
        ge=0,
        le=1,
        description="Smaller entries of the null vector, over the largest, go.",
    )


class Thresholds(Settings):
    """Of coefficients, in geometric steps."""

    smallest: Positive = Field(0.001, description="The smallest.")
    largest: Positive = Field(0.9, description="The largest.")
    count: Count = Field(24, description="How many.")


class SindyPi(Identify):
    """SINDy-PI: parallel implicit sparse identification (Kaheman et al. 2020)."""

    run = ".sindy_pi:identify"
    reads = ("implicit_regression",)
    makes = "implicit_model"
    returns_to_samples = True
    knows_input = True

    thresholds: Thresholds = Field(
        default_factory=Thresholds,
        description="Of coefficients, in geometric steps; of unit columns at most 1.",
    )
    left_hand_sides: Names | None = absent(
        "Candidates that are tried on the left-hand side; if absent all that hold the "
        "acceleration."
    )
    left_only: Names = Field([], description="Candidates on no right-hand side.")
    unit_columns: Flag = Field(
        True, description="Whether columns are scaled to unit length; published, not."
    )
    term_cost: Share = Field(
        0.3, description="Share by which a term must lower the error to be worth it."
    )
    bounded: Flag = Field(
        True,
        description="Whether the error of a sample counts at most as one; published, "
        "a vanishing denominator may spoil the mean.",
    )


class StagedDescent(Identify):
    """Gradient descent on the coefficients, in stages (Purnomo and Hayashibe)."""

    reads = ("gram",)
    after = ("gram",)

    exclude: Names = Field([], description="Candidates of L left out by hand.")
    candidates: Literal["all", "independent"] = Field(
        "all", description="All candidates, or those that algebra calls independent."
    )
    start: Share = Field(
        20.0, description="Coefficients begin uniformly between minus and plus this."
    )
    seed: Integer = Field(0, ge=0, description="Of the random starts and tolerances.")
    epochs: Count = Field(100, description="Epochs of every stage.")
    batch: Count = Field(128, description="Consecutive samples per step.")
    tolerance: Annotated[list[Positive], Field(min_length=2, max_length=2)] = Field(
        [1e-3, 5e-3],
        description="Cost at which the descent ends, above that of least squares where "
        "the equations are linear in the coefficients: of every replicate one between "
        "these two, on a logarithmic scale.",
    )


class DescentStage(Settings):
    """One stage of a descent."""

    rate: Positive = Field(description="Step length of the descent.")
    penalty: Share = Field(description="Weight of the absolute values of coefficients.")
    threshold: Share = Field(description="Smaller coefficients leave after the stage.")
    scaled: Flag = Field(
        False, description="Whether tables are divided by their ranges."
    )


class ProximalStage(DescentStage):
    """One stage of the proximal gradient descent."""

    unpenalised: Names | None = absent(
        "In place of those of the method, in this stage."
    )


class ProximalGradient(StagedDescent):
    """Staged accelerated proximal gradient (Purnomo and Hayashibe, eqs. 12–20)."""

    run = ".staged_descent:identify_by_residual"
    returns_to_samples = True
    knows_input = True

    prior: Text | None = Field(
        None,
        description="Term of L known beforehand, with coefficient one (case III); "
        "null, the recorded input fixes the scale (case I), or without one the square "
        "of the first velocity.",
    )
    unpenalised: Names = Field([], description="Other terms known to be in L.")
    stages: list[ProximalStage] = Field(
        [
            ProximalStage(rate=1e-5, penalty=1.0, threshold=0.01, scaled=True),
            ProximalStage(rate=2e-5, penalty=0.1, threshold=0.1),
            ProximalStage(rate=4e-5, penalty=0.01, threshold=0.1),
            ProximalStage(rate=8e-5, penalty=0.001, threshold=0.1),
        ],
        min_length=1,
        description="Stages of the descent; those of the cart pendulum if absent.",
    )
    capped: Flag = Field(
        False,
        description="Whether a rate is at most the reciprocal of the largest curvature "
        "of a batch, beyond which a descent may diverge; the paper's is as given.",
    )
    checked_every: Count = Field(
        1, description="Steps between two looks at the cost of all samples."
    )

    def problems(self, recipe: Recipe, example: Mapping) -> Iterator[str]:
        """A scale that is fixed twice, or not at all."""
        driven = ", ".join(example["simulate"].get("input", {}))
        if driven and self.prior is not None:
            yield (
                f"identify method 'proximal_gradient' with the prior term "
                f"{self.prior!r} knows no input, but simulate.input drives {driven}; "
                "set prior to null, or take the input away"
            )
        elif not driven and self.prior is None:
            yield (
                "identify method 'proximal_gradient' without a prior term needs an "
                "input, but simulate.input drives no coordinate; name a prior term of "
                "L, or drive one"
            )


class Settled(Settings):
    """The rate once the loss is below a value."""

    loss: Share = Field(description="That value.")
    rate: Positive = Field(description="The rate from then on.")


class AccelerationStage(DescentStage):
    """One stage of the descent on the accelerations."""

    settled: Settled | None = absent("The rate once the loss is below a value.")
    tolerance: Share | None = absent("Loss at which the stage ends.")


class AccelerationGradient(StagedDescent):
    """Gradient descent on the accelerations (Purnomo and Hayashibe, case II)."""

    run = ".staged_descent:identify_by_accelerations"
    returns_to_samples = True

    stages: list[AccelerationStage] = Field(
        min_length=1, description="Stages of the descent."
    )
    starts: Count = Field(
        3, description="Random starts; the one with the smallest loss counts."
    )


class MotionRollout(Rollout):
    """Paths of truth and model from the same starts, and errors of accelerations."""

    run = ".motion_rollout:validate"
    reads = ("recordings",)
    makes = "motion_rollout"


# Recipes of the paper and of its rivals.
PUBLISHED = {
    "motions": (Measured, Gram, ProximalGradient),
    "SINDy-PI": (Measured, ImplicitLibrary, SindyPi),
    "Lagrangian-SINDy": (Measured, EnergyGram, LagrangianSindy),
}
