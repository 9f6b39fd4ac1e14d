"""Source files of this package that a piece of work depends on.

Snakemake does not see what a script imports. Each rule therefore has as input a list of
the files that its script and its methods import, directly or not, with their digests.
Snakemake compares files of this size by content, so an edit re-runs exactly what it can
change and a touched file re-runs nothing. The files themselves would be thirty inputs
per job, and most of the time that planning takes.
"""

import ast
import hashlib
import os
import time
import uuid
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from leastaction.core.cache import cached

PACKAGE = Path(__file__).parents[1]


def source_files(modules: Iterable[str], scripts: Iterable[Path] = ()) -> list[Path]:
    """Files of this package that `modules` and `scripts` consist of and import.

    Raises
    ------
    FileNotFoundError
        If a module of this package does not exist.
    """
    files: set[Path] = set()
    waiting = [name for name in modules]
    for script in scripts:
        files.add(Path(script))
        waiting += _imports(Path(script))
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        path = _path(name)
        files.add(path)
        waiting += _imports(path)
        if "." in name:
            waiting.append(name.rpartition(".")[0])
    return sorted(files)


def write_listing(files: Iterable[Path], path: Path) -> None:
    """List files with the SHA-256 of each in `path`, which is left alone if it does so.

    A new list is as old as the newest of its files, so that it is older than what was
    made of them before there was a list.
    """
    files = list(files)
    text = "".join(
        f"{_digest(file)}  {os.path.relpath(file, PACKAGE.parent)}\n" for file in files
    )
    before = path.read_text() if path.exists() else None
    if text == before:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")
    part.write_text(text)
    if before is None:
        newest = min(time.time(), max(file.stat().st_mtime for file in files))
        os.utime(part, (newest, newest))
    os.replace(part, path)


@lru_cache(maxsize=1024)
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@lru_cache(maxsize=1)
def package_digest() -> str:
    """Digest of the name and the content of every source file of this package."""
    digest = hashlib.sha256()
    for path in _package():
        digest.update(f"{path.relative_to(PACKAGE)} {_digest(path)}\n".encode())
    return digest.hexdigest()


def _package() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def _path(module: str) -> Path:
    base = PACKAGE.parent.joinpath(*module.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    raise FileNotFoundError(f"{module!r} is not a module of leastaction")


def _imports(path: Path) -> list[str]:
    """Modules of this package that a file imports, also inside functions."""
    if path.is_relative_to(PACKAGE):
        return _imports_of_package()[str(path.relative_to(PACKAGE))]
    return _read_imports(path)


@lru_cache(maxsize=1)
def _imports_of_package() -> dict[str, list[str]]:
    """Imports of each of its files; remembered, for reading all takes a second."""
    return cached(
        f"imports of {package_digest()}",
        [__file__],
        lambda: {str(p.relative_to(PACKAGE)): _read_imports(p) for p in _package()},
    )


def _read_imports(path: Path) -> list[str]:
    found = []
    for node in _statements(ast.parse(path.read_bytes()).body):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            ours = str(node.module).partition(".")[0] == PACKAGE.name
            found += [n if _is_module(n) else node.module for n in names if ours]
    return [name for name in found if name.partition(".")[0] == PACKAGE.name]


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """All statements, those inside others too; no expression holds an import."""
    for node in body:
        yield node
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from _statements(getattr(node, block, ()))


def _is_module(name: str) -> bool:
    base = PACKAGE.parent.joinpath(*name.split("."))
    return base.with_suffix(".py").is_file() or (base / "__init__.py").is_file()
