"""An example: what config/examples/<paper>/<example>.yaml may say.

Which numbers of ours its section `publish` compares with printed ones, and on what we
set a limit, the families say beside their rows of the scorecard
(:mod:`leastaction_papers.scorecard.case`).
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Union, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    create_model,
)
from pydantic_core import PydanticCustomError

from leastaction.core.families import unknown
from leastaction.core.method import AnyOf, Rollout, Simulate, declared, system_sections
from leastaction.core.recipe import with_recommended_methods
from leastaction.core.settings import (
    Cases,
    Count,
    Flag,
    Integer,
    Library,
    Names,
    Number,
    Pair,
    Positive,
    Settings,
    Share,
    System,
    Text,
    Title,
    Unique,
    absent,
    check_one_key,
    complete,
)
from leastaction_papers.configuration.sweep import Estimator, Setting, with_sweeps
from leastaction_papers.scorecard.case import keys
from leastaction_papers.scorecard.recovery import HONEST_MODE, MAIN

# Names that mean something; a name that is nearly one of them is a misspelling.
MEANINGFUL = ("published", "recommended")

NoiseMode = Literal["independent", "shared"]


def _flag_or_text(value):
    if isinstance(value, (bool, str)):
        return value
    raise PydanticCustomError("flag", "expected true, or the name of a coordinate")


def _term(pair):
    number = isinstance(pair[0], (int, float)) and not isinstance(pair[0], bool)
    if number and isinstance(pair[1], str):
        return pair
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
    """Formulas as printed, for the tables; ``symbolic`` has parameters by name."""

    symbolic: Text = ""
    lagrangian: Text = ""
    wiener_potential: Text = ""
    equation_of_motion: Text = ""
    hamiltonian: Text = ""


# What the keys of a paper hold (:class:`~leastaction_papers.scorecard.case.Key`).
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


class EffortTarget(Settings):
    """A limit, or the values that are allowed."""

    one_of_its_keys = True

    maximum: Number | None = absent()
    median: Number | None = absent()
    minimum: Number | None = absent()
    between: Pair | None = absent()


class Target(EffortTarget):
    """A limit of a number that is compared with a printed one."""

    relative_error: Share | None = absent()
    factor: Annotated[Number, Field(gt=1)] | None = absent(
        "Band around a printed limit of noise, or the ratio of two."
    )


AUTHORS = "What the files that the authors released hold."


class Row(Settings):
    """A printed number."""

    item: Text = Field(description="Table or figure.")
    quantity: Text
    unit: Text
    printed: Number = Field(description="As in the paper.")
    corrected: Number | None = absent(
        "What it should be; of a finding there is no such number."
    )
    authors: Number | None = absent(AUTHORS)
    note: Text = ""
    erratum: Annotated[list[Count], Field(min_length=1), Unique] | None = absent(
        "Numbers of docs/errata.md that explain why the printed number is not what "
        "the recipe as printed gives."
    )
    reason: Text | None = absent(
        "Why the paper's recipe, run by us, does not give the printed number, or what "
        "the paper does not keep equal in a comparison of two methods."
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
    authors: list[Number | None] | None = absent(
        f"{AUTHORS} One for each of the `terms`, null where there is none."
    )
    error: Positive | None = absent(
        "Relative error that the recommended estimate may have."
    )
    reason: Text | None = absent(
        "Why the paper's recipe, run by us, does not give the printed coefficients."
    )
    errata: dict[str, list[Count]] | None = absent(
        "Entries of docs/errata.md that show that a printed term is wrong, by the name "
        "of its function."
    )


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


class _AnySystem:
    """Type of a system of any kind, recognised by its keys."""

    def __get_pydantic_core_schema__(self, source, handler):
        kinds = system_sections()

        def one_of_them(section):
            if not isinstance(section, System):
                keys = section if isinstance(section, Mapping) else ()
                check_one_key(kinds, [key for key in kinds if key in keys])
            return section

        def kind_of(section) -> str:
            if isinstance(section, System):
                return type(section).__name__
            return next(kind.__name__ for key, kind in kinds.items() if key in section)

        tagged = tuple(Annotated[k, Tag(k.__name__)] for k in kinds.values())
        return handler.generate_schema(
            Annotated[
                Union[tagged],  # noqa: UP007
                Discriminator(kind_of),
                BeforeValidator(one_of_them),
            ]
        )


class _WithSections:
    """Type of the section `validate`, with what rollouts of each kind add to it."""

    def __get_pydantic_core_schema__(self, source, handler):
        added = dict(kind.section for kind in declared(Rollout) if kind.section)
        more = {key: (kind | None, absent(kind.__doc__)) for key, kind in added.items()}
        return handler.generate_schema(
            create_model("Validate", __base__=source, **more)
        )


def _names(estimators: dict) -> dict:
    """Check names of estimators, which name folders of results."""
    for name in estimators:
        close = difflib.get_close_matches(name, MEANINGFUL, n=1, cutoff=0.85)
        if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name):
            reason = "use letters, digits and underscores, a letter first"
        elif close and not name.startswith(close[0]):
            reason = f"did you mean {close[0]!r}?"
        else:
            continue
        text = "{name} cannot name an estimator; {reason}"
        words = {"name": repr(name), "reason": reason}
        raise PydanticCustomError("estimator_name", text, words)
    return estimators


class Validate(Settings):
    """Stage validate, rollout.nc."""

    lengths: Count = Field(
        4, description="Length of the rollout in training durations."
    )
    trajectories: Count = Field(200, description="Trajectories of truth and model.")
    samples: Integer = Field(2001, ge=3, description="Stored times.")
    replicates: Count | None = absent(
        "Replicates that are rolled out, the first so many; all if absent."
    )
    cases: Cases | None = absent("Cases of a sweep over noise; all if absent.")
    estimators: Names | None = absent(
        "Estimators whose models are rolled out; all if absent."
    )


class Example(Settings):
    """config/examples/<paper>/<example>.yaml."""

    title: Title = Field(description="Name in figures and tables.")
    section: Text = Field("", description="Section of the paper.")
    system: Annotated[System, _AnySystem()] = Field(
        description="The truth; equations of motion, energy and noise follow from it."
    )
    simulate: Annotated[Simulate, AnyOf("simulate")] = Field(
        description="Stage simulate, observations.nc."
    )
    library: Library | None = absent(
        "Candidates of the Lagrangian, the damping and the squared volatility. Absent "
        "where a Lagrangian is learned from snapshots without candidates."
    )
    estimators: Annotated[
        dict[str, Estimator], Field(min_length=1), AfterValidator(_names)
    ] = Field(
        description="Recipes by name; `published` is the paper's own, `recommended: "
        "{}` takes the methods that suit the data; others have names of your own."
    )
    rollouts: Annotated[Validate, _WithSections()] = Field(
        {},
        alias="validate",
        validate_default=True,
        description="Stage validate, rollout.nc.",
    )
    publish: Publish = Field(
        default_factory=Publish,
        description="Printed numbers of the paper and our own limits.",
    )
    setting: Setting | None = absent(
        "Of a variant, the setting that the paper leaves open, as it has it."
    )
    variants: dict[str, dict[str, Any]] = Field(
        {},
        description="Our own studies: each is this example with the given overrides, "
        "called <example>-<variant> and made by `snakemake beyond`. An override `null` "
        "takes a key away.",
    )


def completed(example: Mapping, where: str) -> dict:
    """Return an example with its recommended methods and all defaults."""
    return complete(with_recommended_methods(_swept(example)), Example, where)


def _swept(example: Mapping) -> Mapping:
    """`example` with the estimators of its sweeps."""
    estimators = example.get("estimators") if isinstance(example, Mapping) else None
    if not isinstance(estimators, Mapping):
        return example
    return {**example, "estimators": with_sweeps(estimators)}


def publish_problems(example: Mapping) -> Iterator[str]:
    """Rows and limits that would be lost without a word.

    A limit in ``targets.by_noise`` at a level that is not simulated, because a run has
    overridden ``simulate.noise``, is no mistake: it gets a row without a verdict.
    """
    publish, known = example.get("publish") or {}, list(example["estimators"])
    for i, row in enumerate(publish.get("rows") or []):
        where, ours = f"publish.rows[{i}]", row["ours"]
        for key in ("largest_noise", "over", "estimator"):
            if key in ours and ours[key] not in known:
                yield f"{where}.ours.{key}: {unknown('estimator', ours[key], known)}"
        if "over" in ours and "largest_noise" not in ours:
            yield f"{where}.ours.over: a ratio needs largest_noise, too"
        if "factor" in (row.get("target") or {}) and "largest_noise" not in ours:
            yield f"{where}: target.factor is for limits of noise"
        yield from _of_rollouts(where, ours, example)
    for i, one in enumerate(publish.get("lagrangians") or []):
        count, terms = len(one.get("authors") or one["terms"]), len(one["terms"])
        if count != terms:
            yield (
                f"publish.lagrangians[{i}].authors: {count} numbers for {terms} terms; "
                "write one for each, null where there is none"
            )
    yield from _left_out(example, (publish.get("targets") or {}).get("by_noise") or [])


def _of_rollouts(where: str, ours: Mapping, example: Mapping) -> Iterator[str]:
    """A number of a learned Lagrangian of no stated estimator, or one not computed."""
    named = {"rollout", "model"} & set(ours)
    if not named and not {"estimator", "order", "unscaled"} & set(ours):
        return
    if len(named) != 1 or "estimator" not in ours:
        yield f"{where}.ours: give an estimator, and one of rollout and model"
    orders = (example["validate"].get("shadow") or {}).get("orders", [0, 2])
    if "order" in ours and ours["order"] not in orders:
        yield (
            f"{where}.ours.order: {ours['order']} is not in validate.shadow.orders, "
            f"which are {orders}"
        )


def _left_out(example: Mapping, entries) -> Iterator[str]:
    """Simulated cases with a limit that the recommended estimator does not do."""
    noise = example["simulate"].get("noise") or {}
    recipe = example["estimators"].get(MAIN)
    if recipe is None or "levels" not in noise:
        return
    cases = recipe["differentiate"].get("cases") or {}
    for i, entry in enumerate(entries):
        mode = entry.get("noise_mode", HONEST_MODE)
        if mode not in noise.get("modes", get_args(NoiseMode)):
            continue
        for level in entry["noise_levels"]:
            done = level in cases.get("levels", [level])
            done = done and mode in cases.get("modes", [mode])
            if level in noise["levels"] and not done:
                yield (
                    f"publish.targets.by_noise[{i}]: estimators.{MAIN}.differentiate"
                    f".cases leaves out {mode} noise of {level:g}; add it there, or "
                    "drop the limit"
                )
