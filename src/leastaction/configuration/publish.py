"""Section `publish` of an example: printed numbers of a paper, and our own limits.

Which numbers of ours are compared with printed ones, and on what we set a limit, the
families say beside their rows of the scorecard (:mod:`leastaction.report.case`).
"""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, create_model
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
from leastaction.report.case import keys

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


# What the keys of a family hold (:class:`leastaction.report.case.Key`), as settings.
TYPES = {
    float: Number,
    str: Text,
    bool: Flag,
    bool | str: FlagOrText,
    tuple[float, float]: Pair,
    dict[str, float]: dict[str, Number],
    "place": Place,
}


def _section(name: str, meaning: str, table: str, **more) -> type[Settings]:
    """Section whose keys are the entries of a `table` of the families, and `more`."""
    fields = {
        key.name: (
            (TYPES.get(key.type, key.type) | None, absent(key.meaning))
            if key.default is None
            else (TYPES[key.type], Field(key.default, description=key.meaning))
        )
        for key in keys(table).values()
    }
    return create_model(name, __base__=Settings, __doc__=meaning, **fields, **more)


Ours = _section("Ours", "Our number beside a printed one.", "PRINTED")


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


NoiseLimits = _section(
    "NoiseLimits",
    "Limits at levels of sensor noise.",
    "LIMITS_BY_NOISE",
    noise_levels=(Annotated[list[Share], Field(min_length=1)], ...),
    noise_mode=(NoiseMode, "independent"),
)
Targets = _section(
    "Targets",
    "Limits over the replicates that we set ourselves.",
    "LIMITS",
    efforts=(
        list[EffortLimit] | None,
        absent("Limits of identified efforts, one per number."),
    ),
    by_noise=(
        list[NoiseLimits] | None,
        absent("Limits of the recommended estimator at levels of sensor noise."),
    ),
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
