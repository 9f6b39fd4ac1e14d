"""Long answers, remembered on disk between jobs.

An answer is a JSON document in the cache folder under a name made of its question and
of the source that answers it: an edit of that source forgets its answers. Jobs that
race write the same bytes; where nothing can be written, nothing is remembered.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path


def cache_folder() -> Path:
    """Folder of kernels and answers: ``LEASTACTION_CACHE``, or the user's cache."""
    given = os.environ.get("LEASTACTION_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "leastaction"


def remembered(
    question: str, sources: Sequence[str | Path], answer: Callable[[], dict | None]
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
    path = cache_folder() / f"answer_{digest.hexdigest()[:24]}.json"
    try:
        return json.loads(path.read_text())
    except (OSError, json.JSONDecodeError):
        found = answer()
    if found is not None:
        with contextlib.suppress(OSError):
            _keep(json.dumps(found), path)
    return found


def _keep(text: str, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_text(text)
    os.replace(part, path)
