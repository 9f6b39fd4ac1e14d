"""An example: what config/examples/<paper>/<example>.yaml may say."""

import difflib
import re
from collections.abc import Mapping
from typing import Annotated, Any, Union

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    create_model,
)
from pydantic_core import PydanticCustomError

from leastaction.configuration.publish import Publish
from leastaction.configuration.validation import complete
from leastaction.core.method import AnyOf, Rollout, Simulate, declared
from leastaction.core.recipe import (
    Recipe,
    kind_of_data,
    recommended_settings,
    recommended_steps,
)
from leastaction.core.settings import (
    Cases,
    CoordinateSystem,
    Count,
    Integer,
    Library,
    Names,
    Settings,
    System,
    Text,
    absent,
)

# Names that mean something; a name that is nearly one of them is a misspelling.
MEANINGFUL = ("published", "recommended")


class _AnySystem:
    """Type of a system of any kind, told by its keys."""

    def __get_pydantic_core_schema__(self, source, handler):
        kinds = {kind.key: kind for kind in (CoordinateSystem, *declared(System))}

        def one_of_them(given):
            keys = given if isinstance(given, Mapping) else ()
            found = [key for key in kinds if key in keys]
            if isinstance(given, System) or len(found) == 1:
                return given
            raise PydanticCustomError(
                "one_key",
                "expected exactly one of the keys {known}, got {given}",
                {
                    "known": " or ".join(map(repr, kinds)),
                    "given": " and ".join(map(repr, found)) or "neither",
                },
            )

        def kind_of(given) -> str:
            if isinstance(given, System):
                return type(given).__name__
            return next(kind.__name__ for key, kind in kinds.items() if key in given)

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
        raise PydanticCustomError(
            "estimator_name",
            "{name} cannot name an estimator; {reason}",
            {"name": repr(name), "reason": reason},
        )
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

    title: Text = Field(description="Name in figures and tables.")
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
        dict[str, Recipe], Field(min_length=1), AfterValidator(_names)
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
    variants: dict[str, dict[str, Any]] = Field(
        {},
        description="Our own studies: each is this example with the given overrides, "
        "called <example>-<variant> and made by `snakemake beyond`. An override `null` "
        "takes a key away.",
    )


def completed(given: Mapping, where: str) -> dict:
    """Return an example with its recommended methods and all defaults.

    Raises
    ------
    ConfigError
        Listing all problems of its shape.
    """
    return complete(with_recommended_methods(given), Example, where)


def with_recommended_methods(example: Mapping) -> dict:
    """`example` with the recommended method wherever a recipe names none."""
    if not isinstance(example, Mapping):
        return example
    given = example.get("estimators")
    if not given or not isinstance(given, Mapping):
        return dict(example)
    usual = recommended_settings(recommended_steps(kind_of_data(example)))
    return {
        **example,
        "estimators": {
            name: _completed(recipe, usual) if isinstance(recipe, Mapping) else recipe
            for name, recipe in given.items()
        },
    }


def _completed(recipe: Mapping, usual: Mapping) -> dict:
    """A recipe, or a part of one, with the methods of `usual` that it does not name.

    What stands beside a method in `usual` goes with that method alone.
    """
    filled = dict(recipe)
    for key, value in usual.items():
        if not isinstance(value, Mapping):
            filled.setdefault(key, value)
    if filled.get("method") != usual.get("method"):
        return filled
    for key, value in usual.items():
        given = {} if filled.get(key) is None else filled[key]
        if isinstance(value, Mapping) and isinstance(given, Mapping):
            filled[key] = _completed(given, value)
    return filled
