"""Typed settings: what a YAML file may say, with defaults, bounds and meanings.

A class of settings is a section of a configuration. Its fields are the keys, in the
words of the YAML; a key that is ``null`` counts as not given. :meth:`Settings.plain`
is the section with its defaults, as plain data.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    Strict,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError


class Settings(BaseModel):
    """A section of a configuration; other keys than its fields are errors.

    Attributes
    ----------
    one_of_its_keys
        Whether exactly one of the keys is to be given.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True, protected_namespaces=())
    one_of_its_keys: ClassVar[bool] = False

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        fields = cls.model_fields
        if cls.one_of_its_keys and len(given) != 1 and set(given) <= set(fields):
            raise PydanticCustomError(
                "one_key",
                "expected exactly one of the keys {known}, got {given}",
                {
                    "known": " or ".join(map(repr, fields)),
                    "given": " and ".join(map(repr, given)) or "neither",
                },
            )
        return {
            key: value
            for key, value in given.items()
            if value is not None or key not in fields or fields[key].is_required()
        }

    def plain(self) -> dict:
        """Return the section as plain data, defaults included."""
        return self.model_dump(by_alias=True, warnings=False)


def absent(description: str | None = None, **more):
    """Field of a key that a section may lack, and then has no default."""
    return Field(
        None, description=description, exclude_if=lambda value: value is None, **more
    )


def _as_written(value, validate):
    validate(value)
    return value


def _whole(value):
    is_whole = isinstance(value, float) and value.is_integer()
    return int(value) if is_whole else value


def _expression(value):
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return value
    raise PydanticCustomError("expression_type", "expected an expression or a number")


def _unique(values: list) -> list:
    if any(value in values[:i] for i, value in enumerate(values)):
        raise PydanticCustomError(
            "not_unique", "{values} names an entry twice", {"values": repr(values)}
        )
    return values


# A whole number stays one, so that it is written in a file of results as in the YAML.
Number = Annotated[float, Strict(), WrapValidator(_as_written)]
Integer = Annotated[int, Strict(), BeforeValidator(_whole)]
Text = Annotated[str, Strict()]
Flag = Annotated[bool, Strict()]
Expression = Annotated[
    str | float, PlainValidator(_expression, json_schema_input_type=str | float)
]
Positive = Annotated[Number, Field(gt=0)]
Share = Annotated[Number, Field(ge=0)]
Count = Annotated[Integer, Field(ge=1)]
Names = list[Text]
Pair = Annotated[list[Number], Field(min_length=2, max_length=2)]
Unique = AfterValidator(_unique)


def choice(*values) -> Any:
    """Type of a setting with one of these values, which may be lists.

    Texts alone are better written as a :data:`~typing.Literal`.
    """

    def chosen(value):
        if value in values:
            return value
        raise PydanticCustomError(
            "choice",
            "{given} is not one of {values}",
            {"given": repr(value), "values": repr(list(values))},
        )

    schema = {"enum": list(values)}
    return Annotated[
        Any, PlainValidator(chosen, json_schema_input_type=Any), _Shown(schema)
    ]


class _Shown:
    """JSON schema of a type that is checked by a function."""

    def __init__(self, schema: dict):
        self.schema = schema

    def __get_pydantic_json_schema__(self, core_schema, handler):
        return self.schema


def or_word(kind, *words: str) -> Any:
    """Type of a setting that is of this kind, or one of these words."""

    def checked(value, validate):
        return value if isinstance(value, str) and value in words else validate(value)

    return Annotated[
        kind, WrapValidator(checked, json_schema_input_type=kind | Literal[words])
    ]
