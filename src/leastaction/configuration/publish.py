"""Section `publish` of an example: printed numbers of a paper, and our own limits."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from leastaction.core.settings import (
    Count,
    Flag,
    Integer,
    Number,
    Pair,
    Positive,
    Settings,
    Share,
    Text,
    Unique,
    absent,
)

NoiseMode = Literal["independent", "shared"]


def _flag_or_text(value):
    if isinstance(value, (bool, str)):
        return value
    raise PydanticCustomError(
        "flag_or_text", "expected true, or the name of a coordinate"
    )


def _term(given):
    number = isinstance(given[0], (int, float)) and not isinstance(given[0], bool)
    if number and isinstance(given[1], str):
        return given
    raise PydanticCustomError("term", "expected a number, then the text of a function")


FlagOrText = Annotated[bool | str, BeforeValidator(_flag_or_text)]
Term = Annotated[list[Any], Field(min_length=2, max_length=2), AfterValidator(_term)]


class Place(Settings):
    """Place in a variable of a rollout."""

    size: Integer | None = absent()
    row: Text | None = absent()
    effort: Text | None = absent()
    state: Text | None = absent()
    state_coupled: Text | None = absent()
    scenario: Text | None = absent()
    step: Number | None = absent()
    step_coupled: Number | None = absent()


class Texts(Settings):
    """Formulas as printed, for the tables."""

    lagrangian: Text = ""
    wiener_potential: Text = ""
    equation_of_motion: Text = ""
    hamiltonian: Text = ""


class Ours(Settings):
    """Our number beside a printed one."""

    coefficient: Text | None = absent("A term of L.")
    factor: Number = Field(1, description="Multiplies it.")
    volatility: Text | None = absent("A coordinate.")
    parameter_error: FlagOrText | None = absent(
        "All equations of motion, or that of one coordinate."
    )
    relative_error: Literal["coefficient", "volatility"] | None = absent(
        "In per cent, of all true coefficients, or the largest of a volatility."
    )
    library_size: Literal["lagrangian", "volatility"] | None = absent()
    largest_noise: Text | None = absent(
        "Largest noise with the right structure, of the estimator with this name."
    )
    over: Text | None = absent("Estimator that it is divided by.")
    noise_mode: NoiseMode | None = absent()
    estimator: Text | None = absent(
        "Whose number it is, of estimators that learn from snapshots."
    )
    rollout: Text | None = absent("Variable of its rollout.")
    at: Place | None = absent(
        "Where in a variable of the rollout: a training size, a component by its "
        "name, a scenario, a time step."
    )
    order: Literal[0, 2, 4] | None = absent(
        "Order of backward error analysis, where there are several."
    )
    unscaled: Flag | None = absent("In the units of the learned Lagrangian, not in J.")
    model: Literal["rank", "residual_square"] | None = absent(
        "Diagnostic of the learned model."
    )
    parameter: Text | None = absent(
        "Of a stationary density, a parameter by its label."
    )
    parameter_percent: Text | None = absent("Its relative error in per cent.")
    objective: Literal[True] | None = absent("Sum of squared residuals at the minimum.")
    level_set: Literal[True] | None = absent(
        "Largest relative error on the level set, in per cent."
    )


class Target(Settings):
    """A limit, or the values that are allowed."""

    one_of_its_keys = True

    relative_error: Share | None = absent()
    minimum: Number | None = absent()
    maximum: Number | None = absent()
    between: Pair | None = absent()
    factor: Annotated[Number, Field(gt=1)] | None = absent(
        "Band around a printed ratio of two limits."
    )


class Row(Settings):
    """A printed number."""

    item: Text = Field(description="Table or figure.")
    quantity: Text
    unit: Text
    printed: Number = Field(description="As in the paper.")
    corrected: Number | None = absent(
        "What it should be; of a finding there is no such number."
    )
    note: Text = ""
    erratum: Annotated[list[Count], Field(min_length=1), Unique] | None = absent(
        "Numbers of docs/errata.md that explain why the printed number is not what "
        "the recipe as printed gives."
    )
    reason: Text | None = absent(
        "What the paper does not keep equal in a comparison of two methods: with it, "
        "a ratio that equal data contradict is an error of the paper, without it, a "
        "miss of ours."
    )
    ours: Ours
    target: Target | None = absent()


class Formula(Settings):
    """A modified Lagrangian of one coordinate as printed."""

    item: Text = Field(description="Example or equation.")
    rule: Literal["midpoint", "trapezoidal"]
    kind: Literal["modified", "inverse"]
    order: Literal[2, 4] = Field(description="Power of h that it stands with.")
    printed: Text = Field(
        description="In v, the velocity, and L_ij, the i-th derivative by q and j-th "
        "by v."
    )


class PrintedLagrangian(Settings):
    """A Lagrangian as printed, at a level of noise."""

    item: Text = Field(description="Table or figure.")
    noise_level: Share
    terms: list[Term] = Field(
        min_length=1, description="Pairs of coefficient and function."
    )
    error: Positive | None = absent(
        "Relative error that the recommended estimate may have."
    )
    replica: Positive | None = absent(
        "Largest relative deviation of a coefficient of the published estimator from "
        "the printed one, both in the scale of the reference term, median over "
        "replicates; infinite for a replicate with other terms than those printed."
    )


class EffortTarget(Settings):
    """A limit, or the values that are allowed."""

    one_of_its_keys = True

    maximum: Number | None = absent()
    median: Number | None = absent()
    minimum: Number | None = absent()
    between: Pair | None = absent()


class EffortLimit(Settings):
    """A limit of identified efforts."""

    estimator: Text
    rollout: Text = Field(description="Variable of its rollout.")
    at: Place | None = absent(
        "Where in a variable of the rollout: a training size, a component by its "
        "name, a scenario, a time step."
    )
    quantity: Text = Field(description="What a reader calls it.")
    unit: Text
    note: Text = ""
    target: EffortTarget | None = absent()


class NoiseLimits(Settings):
    """Limits at levels of sensor noise."""

    noise_levels: list[Share] = Field(min_length=1)
    noise_mode: NoiseMode = "independent"
    exact_structure: Number | None = absent(
        "Share of replicates with the right structure."
    )
    worst_error: Number | None = absent(
        "Median over replicates of the largest relative error of a true coefficient."
    )
    misalignment: Number | None = absent(
        "Mean sine of the angle between gradients of H^[[k]] and H at the highest "
        "order k."
    )
    coverage: Pair | None = absent(
        "Share of 95 % intervals that cover the truth; without candidates, of states "
        "whose H is within two standard deviations."
    )
    noise_std: Number | None = absent("Relative error of the estimated noise, median.")
    acceleration_error: Number | None = absent(
        "Relative rms error of the acceleration along the true path, median over "
        "replicates."
    )
    energy_drift: Number | None = absent(
        "Rms deviation of the energy along the model's path over the mean of p qdot /"
        " 2, median over replicates."
    )


class Targets(Settings):
    """Limits over the replicates that we set ourselves."""

    exact_support: Number | None = absent(
        "Share of replicates with exactly the right terms."
    )
    coefficient_rms: Number | None = absent(
        "Relative error of the coefficients, rms over replicates."
    )
    dissipation_rms: Number | None = absent(
        "Relative error of the damping, rms over replicates."
    )
    volatility_rms: Number | None = absent(
        "Relative error of the volatility, rms over replicates."
    )
    volatility_constant: Number | None = absent(
        "Share of replicates whose volatility is the constant alone."
    )
    noise_correlation: Number | None = absent(
        "Deviation of the correlation of two noises, at most."
    )
    volatility_support: Number | None = absent(
        "Share of replicates with exactly the right terms of S^2."
    )
    time_scheme: Number | None = absent(
        "Share of replicates whose time scheme is named right."
    )
    dispersion: Number | None = absent(
        "Deviation of the dispersion from that of the scheme, at most."
    )
    rollout_training: Number | None = absent(
        "Relative error of the mean path, training window."
    )
    rollout_prediction: Number | None = absent(
        "Relative error of the mean path, prediction window."
    )
    rollout_std: Number | None = absent(
        "Relative error of the standard deviation of the path."
    )
    misalignment_h0: Number | None = absent(
        "Mean sine of the angle between gradients of H^[[0]] and H."
    )
    misalignment_h2: Number | None = absent("The same of H^[[2]].")
    misalignment_h4: Number | None = absent("The same of H^[[4]].")
    position_error: Number | None = absent(
        "Largest error of a position of the long rollout, units of q."
    )
    energy_deviation: Number | None = absent(
        "Largest deviation of the true energy along it, J."
    )
    energy_drift: Number | None = absent("Slope of the true energy along it, W.")
    momentum_range: Number | None = absent(
        "Relative range of the momentum of a coordinate without a force."
    )
    horizon_error: Number | None = absent(
        "Largest error of a position up to a fixed time, median over many starts, "
        "units of q."
    )
    failures: Number | None = absent("How many of these starts may fail.")
    potential_error: Number | None = absent(
        "Largest error of the potential inside the level, J."
    )
    saddle_margin: Number | None = absent(
        "Energy of every saddle over that of the start, at least, J."
    )
    survived_steps: Number | None = absent("Steps without escape, median over starts.")
    parameter_rms: dict[str, Number] | None = absent(
        "Relative error of each parameter of a stationary density, by its label, rms "
        "over replicates; of the recommended estimator."
    )
    efforts: list[EffortLimit] | None = absent(
        "Limits of identified efforts, one per number."
    )
    by_noise: list[NoiseLimits] | None = absent(
        "Limits of the recommended estimator at levels of sensor noise."
    )


class Publish(Settings):
    """Printed numbers of the paper and our own limits."""

    texts: Texts = Field(
        default_factory=Texts, description="Formulas as printed, for the tables."
    )
    rows: list[Row] = Field(
        [], description="One row of the scorecard per printed number."
    )
    formulas: list[Formula] = Field(
        [], description="Modified Lagrangians of one coordinate as printed."
    )
    lagrangians: list[PrintedLagrangian] = Field(
        [], description="Lagrangians as printed, one for each level of noise."
    )
    targets: Targets = Field(
        default_factory=Targets,
        description="Limits over the replicates that we set ourselves.",
    )
