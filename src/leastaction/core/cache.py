"""Results of long computations, cached on disk between jobs.

A result is a JSON document under a name made of its key and of the source that computes
it: an edit of that source invalidates it. Jobs that race write the same bytes; where
nothing can be written, nothing is cached.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path


def cache_folder() -> Path:
    """Folder of compiled kernels and results: ``LEASTACTION_CACHE``, or the user's."""
    given = os.environ.get("LEASTACTION_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "leastaction"


def cached(key: str, sources: Sequence[str | Path], compute: Callable[[], dict | None]):
    """Result of `compute`, from the cache if it was computed before.

    Parameters
    ----------
    key
        Everything that the result depends on.
    sources
        Files of the algorithm, ``__file__`` among them.
    compute
        Returns a JSON document, or None if the result has no exact JSON form.
    """
    digest = hashlib.sha256(key.encode())
    for source in sources:
        digest.update(Path(source).read_bytes())
    path = cache_folder() / f"result_{digest.hexdigest()[:24]}.json"
    try:
        return json.loads(path.read_text())
    except (OSError, json.JSONDecodeError):
        result = compute()
    if result is not None:
        with contextlib.suppress(OSError):
            write_to_cache(json.dumps(result), path)
    return result


def write_to_cache(text: str, path: Path) -> None:
    """Write a file of the cache atomically, with a time stamp that is always the same.

    Numba knows the source of a compiled kernel by its size and its time.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_text(text)
    os.utime(part, (0, 0))
    os.replace(part, path)
