"""Source files of this package, and of those beside it, that work depends on.

Snakemake does not see what a script imports. Each rule therefore has as input a list of
the files that its script and its methods import, directly or not, with digests of their
code. Snakemake compares files of this size by content, so an edit re-runs exactly what
it can change; a touched file, a comment or another layout re-run nothing. The files
themselves would be thirty inputs per job, and most of the time that planning takes.
"""

import ast
import hashlib
import os
import sys
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from leastaction.core.cache import cached
from leastaction.core.families import EXTENSIONS

ROOT = Path(__file__).parents[2]


def source_files(modules: Iterable[str], scripts: Iterable[Path] = ()) -> list[Path]:
    """Files of the packages that `modules` and `scripts` consist of and import.

    ValueError if a module does not exist.
    """
    scripts = [Path(script) for script in scripts]
    roots = {*modules, *(name for script in scripts for name in _imports(script))}
    imported = roots.union(*map(_imported_by, roots))
    return sorted({*scripts, *(path for name in imported for path in _files(name))})


@cache
def _graph():
    """Which module of the packages imports which."""
    import grimp

    return grimp.build_graph(*_packages(), cache_dir=None)


@cache
def _packages() -> list[str]:
    """Names of the package and of those that extend it, if installed."""
    names = (__name__.partition(".")[0], *EXTENSIONS)
    return [name for name in names if find_spec(name)]


@cache
def _imported_by(module: str) -> set[str]:
    if module not in _graph().modules:
        raise ValueError(f"{module!r} is no module of {' or '.join(_packages())}")
    return _graph().find_upstream_modules(module)


@cache
def _imports(script: Path) -> list[str]:
    """Modules of the packages from which a script imports, at its top.

    That of the process (``import leastaction.core.process``) changes no result.
    """
    return [
        node.module
        for node in ast.parse(script.read_bytes()).body
        if isinstance(node, ast.ImportFrom)
        and str(node.module).partition(".")[0] in _packages()
    ]


@cache
def _files(module: str) -> list[Path]:
    """File of a module, those of the packages around it, and its templates."""
    names = module.split(".")
    folders = [ROOT.joinpath(*names[:i]) for i in range(1, len(names))]
    path = ROOT.joinpath(*names)
    files = [path / "__init__.py"] if path.is_dir() else [path.with_suffix(".py")]
    return [*(f / "__init__.py" for f in folders), *files, *sorted(path.glob("*.html"))]


def write_listing(files: Iterable[Path], path: Path) -> None:
    """List files with the digest of each in `path`, which is left alone if it does so.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "files.txt")
    >>> write_listing(source_files(["leastaction.core.units"]), path)
    >>> path.read_text().split()[-1]
    'leastaction/core/units.py'
    """
    text = "".join(
        f"{_digest(file)}  {os.path.relpath(file, ROOT)}\n" for file in files
    )
    if not path.exists() or path.read_text("utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


@cache
def _digest(path: Path) -> str:
    """Digest of a file; of Python that of its code, as this Python reads it."""
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if path.suffix != ".py":
        return digest

    def of_code() -> str:
        return hashlib.sha256(ast.dump(ast.parse(content)).encode()).hexdigest()

    return cached(f"{sys.implementation.cache_tag} {digest}", (), of_code)


@cache
def package_digest() -> str:
    """Digest of the name and the code of every source file of the packages."""
    digest = hashlib.sha256()
    for package in _packages():
        for path in sorted(ROOT.joinpath(package).rglob("*.py")):
            digest.update(f"{path.relative_to(ROOT)} {_digest(path)}\n".encode())
    return digest.hexdigest()
