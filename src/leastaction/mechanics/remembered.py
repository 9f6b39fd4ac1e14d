"""Results of long algebra, remembered on disk between jobs.

A result is a JSON document in the cache folder (:func:`compiled.cache_folder`) under a
name made of its question and of the source that answers it: an edit of that source
forgets its answers. Jobs that race write the same bytes.
"""

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from leastaction.mechanics.compiled import cache_folder


def remembered(
    question: str, sources: Sequence[str], answer: Callable[[], dict | None]
):
    """Answer to a question, from the cache if it was asked before.

    Parameters
    ----------
    question
        Everything that the answer depends on.
    sources
        Files of the algorithm, ``__file__`` among them.
    answer
        Computes it: a JSON document, or None if it has no exact JSON form.
    """
    digest = hashlib.sha256(question.encode())
    for source in sources:
        digest.update(Path(source).read_bytes())
    path = cache_folder() / f"algebra_{digest.hexdigest()[:24]}.json"
    try:
        return json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        found = answer()
    if found is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        part.write_text(json.dumps(found))
        os.replace(part, path)
    return found
