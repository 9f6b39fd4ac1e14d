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
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def source_files(modules: Iterable[str], scripts: Iterable[Path] = ()) -> list[Path]:
    """Files of this package that `modules` and `scripts` consist of and import.

    ValueError if a module of this package does not exist.
    """
    scripts = [Path(script) for script in scripts]
    roots = {*modules, *(name for script in scripts for name in _imports(script))}
    imported = roots.union(*map(_imported_by, roots))
    return sorted({*scripts, *(path for name in imported for path in _files(name))})


@cache
def _graph():
    """Which module of this package imports which."""
    import grimp

    return grimp.build_graph(PACKAGE.name, cache_dir=None)


@cache
def _imported_by(module: str) -> set[str]:
    if module not in _graph().modules:
        raise ValueError(f"{module!r} is not a module of leastaction")
    return _graph().find_upstream_modules(module)


@cache
def _imports(script: Path) -> list[str]:
    """Modules of this package that a script imports, at its top."""
    return [
        node.module
        for node in ast.parse(script.read_bytes()).body
        if isinstance(node, ast.ImportFrom)
        and str(node.module).partition(".")[0] == PACKAGE.name
    ]


@cache
def _files(module: str) -> list[Path]:
    """File of a module, those of the packages around it, and its templates."""
    names = module.split(".")
    folders = [PACKAGE.parent.joinpath(*names[:i]) for i in range(1, len(names))]
    path = PACKAGE.parent.joinpath(*names)
    own = [path / "__init__.py"] if path.is_dir() else [path.with_suffix(".py")]
    return [*(f / "__init__.py" for f in folders), *own, *sorted(path.glob("*.html"))]


def write_listing(files: Iterable[Path], path: Path) -> None:
    """List files with the SHA-256 of each in `path`, which is left alone if it does so.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "files.txt")
    >>> write_listing(source_files(["leastaction.core.units"]), path)
    >>> path.read_text().split()[-1]
    'leastaction/core/units.py'
    """
    text = "".join(
        f"{_digest(file)}  {os.path.relpath(file, PACKAGE.parent)}\n" for file in files
    )
    if not path.exists() or path.read_text("utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


@cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def package_digest() -> str:
    """Digest of the name and the content of every source file of this package."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(f"{path.relative_to(PACKAGE)} {_digest(path)}\n".encode())
    return digest.hexdigest()
