"""Settings that a paper leaves open: swept, each value an estimator of its own.

``sweep: {identify.threshold: [400, 500]}`` of the estimator `published` makes
``published_threshold_400`` and ``published_threshold_500``. They are *readings* of the
numbers that the paper prints beside `published`, each with its setting.
"""

import copy
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from leastaction.core.recipe import Recipe
from leastaction.core.settings import Number, Settings, Text, Unique, absent

# Stages of an estimator, each of which reads the files of those before it.
STAGES = ("differentiate", "assemble", "identify")

Values = Annotated[list[Number], Unique, Field(min_length=1)]


class Setting(Settings):
    """A setting that the paper does not state, and its value."""

    name: Text = Field(description="What a reader calls it.")
    value: Number
    unit: Text = "1"
    of: Text | None = absent(
        "Estimator, or for a whole example the example, that it is a reading of."
    )


class Swept(Settings):
    """Values of a setting that the paper does not state."""

    values: Values
    name: Text | None = absent(
        "What a reader calls it; by itself the last word of the key."
    )
    unit: Text = "1"


def _keys(sweep: dict) -> dict:
    """Check that every key leads into a step."""
    for key in sweep:
        if key.partition(".")[0] not in STAGES or not key.partition(".")[2]:
            raise PydanticCustomError(
                "swept_key",
                "{key} is no setting of a step; write one such as identify.threshold",
                {"key": repr(key)},
            )
    return sweep


class Estimator(Recipe):
    """A recipe of an example; `sweep` makes further ones of it."""

    sweep: Annotated[dict[str, Values | Swept], AfterValidator(_keys)] | None = absent(
        "Settings that the paper leaves open, by key: `identify.threshold: [400, 500]` "
        "makes an estimator of each value, which is not rolled out unless `validate` "
        "names it."
    )
    setting: Setting | None = absent(
        "Setting that the paper leaves open, as this estimator has it."
    )


def with_sweeps(estimators: Mapping) -> dict:
    """`estimators` with those that their sweeps make after each of them.

    >>> recipe = {"identify": {"threshold": 500}}
    >>> recipe["sweep"] = {"identify.threshold": [400]}
    >>> made = with_sweeps({"published": recipe})["published_threshold_400"]
    >>> made["identify"], made["setting"]["value"]
    ({'threshold': 400}, 400)
    """
    found = {}
    for name, recipe in estimators.items():
        found[name] = recipe
        if isinstance(recipe, Mapping) and isinstance(recipe.get("sweep"), Mapping):
            found |= {n: r for n, r in _swept(name, recipe) if n not in estimators}
    return found


def _swept(name: str, recipe: Mapping) -> Iterator[tuple[str, dict]]:
    """Estimators of a sweep; what has the wrong type is left to the typed section."""
    for key, swept in recipe["sweep"].items():
        swept = swept if isinstance(swept, Mapping) else {"values": swept}
        values = swept.get("values")
        *path, last = key.split(".")
        for value in values if isinstance(values, list) else ():
            made = copy.deepcopy({k: v for k, v in recipe.items() if k != "sweep"})
            part = made
            for step in path:
                part[step] = dict(part.get(step) or {})
                part = part[step]
            part[last] = value
            made["setting"] = {
                "name": swept.get("name") or last.replace("_", " "),
                "value": value,
                "unit": swept.get("unit") or "1",
                "of": name,
            }
            yield f"{name}_{last}_{_in_a_name(value)}", made


def _in_a_name(value) -> str:
    """A number as it stands in a name: 400, 0_5, 1e_4.

    >>> [_in_a_name(value) for value in (400, 18.5, 0.5, 1.0e-4, 2.5e-3)]
    ['400', '18_5', '0_5', '1e_4', '2_5e_3']
    """
    if not isinstance(value, int | float):
        return str(value)
    text = f"{value:.10g}"
    if 0 < abs(value) < 0.1:
        mantissa, _, power = f"{value:.9e}".partition("e")
        text = f"{float(mantissa):g}e{int(power)}"
    return text.replace("+", "").replace("-", "_").replace(".", "_")


def without_sweeps(example: Mapping) -> dict:
    """`example` whose estimators are not swept."""
    given = example.get("estimators")
    if not isinstance(given, Mapping):
        return dict(example)
    alone = {
        name: {k: v for k, v in recipe.items() if k != "sweep"}
        if isinstance(recipe, Mapping)
        else recipe
        for name, recipe in given.items()
    }
    return {**example, "estimators": alone}


def shown(estimators: Mapping) -> list[str]:
    """Names of the estimators that figures and tables show: readings are not."""
    return [name for name, recipe in estimators.items() if not recipe.get("setting")]


def maker(estimators: Mapping, name: str, stage: str) -> str:
    """Estimator whose file of a stage this one reads.

    That of which it is a reading, where nothing differs up to this stage.
    """
    of = (estimators[name].get("setting") or {}).get("of")
    upto = STAGES[: STAGES.index(stage) + 1]
    if of in estimators and all(estimators[name][s] == estimators[of][s] for s in upto):
        return of
    return name
