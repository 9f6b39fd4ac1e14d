"""JSON schemas of the YAML files, for editors: written from the typed sections.

python -m leastaction_papers.configuration.schemas workflow/schemas
"""

import json
import sys
from pathlib import Path

from leastaction.core import families, files
from leastaction_papers.configuration.config import Project
from leastaction_papers.configuration.example import Example

KEYWORDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "min_length": "minItems",
}


def schemas() -> dict[str, str]:
    """Text of each schema by the name of its file; one definition a line."""
    recording = families.implementation(
        "leastaction.recordings.configuration:Recording"
    )
    kinds = {"config": Project, "example": Example, "recording": recording}
    return {f"{name}.json": _text(kind) for name, kind in kinds.items()}


def _text(kind) -> str:
    schema = _plain(kind.model_json_schema())
    definitions = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(part, ensure_ascii=False)}"
        for name, part in schema.pop("$defs").items()
    )
    head = json.dumps(schema, ensure_ascii=False)[:-1]
    return f'{head},\n"$defs": {{\n{definitions}\n}}}}\n'


def _plain(part):
    """A part of a schema without titles, in the words of JSON schema."""
    if isinstance(part, list):
        return [_plain(value) for value in part]
    if not isinstance(part, dict):
        return part
    return {
        KEYWORDS.get(key, key): _plain(value)
        for key, value in part.items()
        if key != "title" or isinstance(value, dict)
    }


if __name__ == "__main__":
    for file, text in schemas().items():
        files.save_text(text, Path(sys.argv[1], file))
