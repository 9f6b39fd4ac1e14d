"""Sweeps: each value of a setting makes an estimator, or a variant, of its own.

``sweep: {identify.threshold: [400, 500]}`` of the estimator `published` makes
``published_threshold_400`` and ``published_threshold_500``. They are *readings* of the
numbers that the paper prints beside `published`, each with its setting.

``sweep: {simulate.sensor.noise.q: [1.0e-3, 1.0e-2]}`` of the variant `noisy` makes the
variants ``noisy_1e_3`` and ``noisy_1e_2``.
"""

import copy
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from leastaction.core.jobs import STAGES
from leastaction.core.recipe import Recipe
from leastaction.core.settings import Number, Settings, Text, Unique, absent, complete

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
    """Values of a setting, and what changes together with it."""

    values: Values
    name: Text | None = absent(
        "What a reader calls a setting that the paper does not state; of an estimator "
        "by itself the last word of the key."
    )
    unit: Text = "1"
    together: dict[str, list[Any]] | None = absent(
        "Other keys that change with it: one value for each of its own."
    )

    @model_validator(mode="after")
    def _one_each(self):
        for key, values in (self.together or {}).items():
            if len(values) != len(self.values):
                raise PydanticCustomError(
                    "together",
                    "{key} has {count} values, {expected} expected: one for each value",
                    {
                        "key": f"together.{key}",
                        "count": len(values),
                        "expected": len(self.values),
                    },
                )
        return self


class Sweep(Settings):
    """The sweep of a variant."""

    sweep: dict[str, Values | Swept]


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
    complete = {}
    for name, recipe in estimators.items():
        complete[name] = recipe
        if isinstance(recipe, Mapping) and isinstance(recipe.get("sweep"), Mapping):
            complete |= {n: r for n, r in _swept(name, recipe) if n not in estimators}
    return complete


def _swept(name: str, recipe: Mapping) -> Iterator[tuple[str, dict]]:
    """Estimators of a sweep; what has the wrong type is left to the typed section."""
    for key, swept, value, made in _made(recipe):
        last = key.rpartition(".")[2]
        made["setting"] = _setting(swept, value, name, last.replace("_", " "))
        yield f"{name}_{last}_{_in_a_name(value)}", made


def swept_variants(
    example: str, variant: str, overrides: Mapping
) -> Iterator[tuple[str, dict]]:
    """Names and overrides of the variants that a sweep makes; or of the one given.

    A sweep with a `name` is of a setting that the paper leaves open.

    ConfigError if `sweep` is no such section.

    >>> noisy = {"sweep": {"simulate.sensor.noise.q": [1e-3, 1e-2]}}
    >>> [name for name, _ in swept_variants("cart", "noisy", noisy)]
    ['noisy_1e_3', 'noisy_1e_2']
    """
    if not isinstance(overrides, Mapping) or "sweep" not in overrides:
        yield variant, overrides
        return
    where = f"example {example}, variant {variant}"
    checked = complete({"sweep": overrides["sweep"]}, Sweep, where)
    for _, swept, value, made in _made({**overrides, **checked}):
        if swept.get("name"):
            made["setting"] = _setting(swept, value, example)
        yield f"{variant}_{_in_a_name(value)}", made


def _made(content: Mapping) -> Iterator[tuple[str, Mapping, float, dict]]:
    """(key, its section, value, content with it) of each value of a sweep."""
    for key, swept in content["sweep"].items():
        swept = swept if isinstance(swept, Mapping) else {"values": swept}
        values, together = swept.get("values"), swept.get("together") or {}
        for i, value in enumerate(values if isinstance(values, list) else ()):
            made = {k: v for k, v in content.items() if k != "sweep"}
            made = _with(made, key, value)
            for other, others in together.items():
                made = _with(made, other, others[i])
            yield key, swept, value, made


def _with(content: Mapping, key: str, value) -> dict:
    """A copy of `content` with a value under a key such as ``identify.threshold``.

    A section that is none stays as it is, for the typed section to refuse.
    """
    made = part = copy.deepcopy(dict(content))
    *path, last = key.split(".")
    for step in path:
        section = part.get(step) or {}
        if not isinstance(section, Mapping):
            return made
        part[step] = dict(section)
        part = part[step]
    part[last] = value
    return made


def _setting(swept: Mapping, value, of: str, name: str = "") -> dict:
    about = {"name": swept.get("name") or name, "value": value}
    return about | {"unit": swept.get("unit") or "1", "of": of}


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
    estimators = example.get("estimators")
    if not isinstance(estimators, Mapping):
        return dict(example)
    alone = {
        name: {k: v for k, v in recipe.items() if k != "sweep"}
        if isinstance(recipe, Mapping)
        else recipe
        for name, recipe in estimators.items()
    }
    return {**example, "estimators": alone}
