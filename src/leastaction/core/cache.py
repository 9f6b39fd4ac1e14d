"""Results of long computations, stored on disk between jobs.

An entry is a JSON document under a name made of its key and of the source that computes
it. It begins with its checksum; one that does not match is computed again. A folder
that others may write to is not used. Jobs that race write the same bytes.
"""

import contextlib
import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

# Bytes that the disk must have for a cache to be used: those of a few kernels.
ROOM = 2**22


def cache_folder() -> Path:
    """Folder of compiled kernels and results: ``LEASTACTION_CACHE``, or the user's."""
    folder = os.environ.get("LEASTACTION_CACHE")
    if folder:
        return Path(folder)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "leastaction"


@lru_cache(maxsize=8)
def private(folder: Path) -> bool:
    """Whether a folder, made if it is not there, is ours alone and has room."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        result = folder.stat()
        if result.st_uid != os.geteuid() or result.st_mode & 0o022:
            reason = f"others can write to it; chmod 700 {folder}, if it is yours"
        else:
            with tempfile.TemporaryFile(dir=folder) as file:
                os.posix_fallocate(file.fileno(), 0, ROOM)
            return True
    except OSError as error:
        reason = error.strerror
    warnings.warn(f"the cache {folder} is not used: {reason}", stacklevel=2)
    return False


def cached(key: str, sources: Sequence[str | Path], compute: Callable[[], dict | None]):
    """Result of `compute`, from the cache if it was computed before.

    `key` is everything that the result depends on, `sources` are the files of the
    algorithm. `compute` returns a JSON document, or None if it has no exact JSON form.
    """
    digest = hashlib.sha256(key.encode())
    for source in sources:
        digest.update(Path(source).read_bytes())
    path = cache_folder() / f"result_{digest.hexdigest()}.json"

    def sealed(text: str) -> str:
        """The text after its checksum, which no other key gives."""
        checksum = hashlib.blake2b(text.encode(), key=digest.digest())
        return f"{checksum.hexdigest()}\n{text}"

    if private(path.parent):
        with contextlib.suppress(OSError, UnicodeDecodeError):  # absent or damaged
            entry = path.read_text("utf-8")
            text = entry.partition("\n")[2]
            if entry == sealed(text):
                return json.loads(text)
    result = compute()
    if result is not None:
        write_to_cache(sealed(json.dumps(result)), path)
    return result


def write_to_cache(text: str, path: Path) -> bool:
    """Write a file of the cache atomically; False if it cannot be written.

    Its time stamp is always the same: Numba knows a source by its size and its time.
    """
    if not private(path.parent):
        return False
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, "utf-8")
        os.utime(part, (0, 0))
        os.replace(part, path)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink()
        return False
    return True
