"""Sections of a configuration: their defaults, and where a number is refused."""

from typing import Annotated

from pydantic import TypeAdapter, ValidationError

from leastaction.core.settings import Settings


def defaults(kind: type[Settings]) -> dict:
    """What a section has that names nothing but what it needs."""
    return {
        name: value.plain() if isinstance(value, Settings) else value
        for name, field in kind.model_fields.items()
        if name != "method" and not field.is_required()
        for value in [field.get_default(call_default_factory=True)]
    }


def accepts(kind: type[Settings], name: str, value) -> bool:
    """Whether a setting may have a value."""
    field = kind.model_fields[name]
    try:
        TypeAdapter(Annotated[field.annotation, field]).validate_python(value)
    except ValidationError:
        return False
    return True
