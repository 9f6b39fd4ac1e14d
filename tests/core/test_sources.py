"""Lists of source files: what counts as a source, and what changes its digest."""

import ast
import hashlib
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from leastaction.core import sources
from leastaction.core.sources import package_digest, source_files, write_listing

TREE = {
    "leastaction/__init__.py": "",
    "leastaction/a.py": "x = 1",
    "leastaction/sub/__init__.py": "",
    "leastaction/sub/b.py": "y = 2",
    "leastaction/sub/page/__init__.py": "",
    "leastaction/sub/page/two.html": "<p>",
    "leastaction/sub/page/one.html": "<b>",
    "leastaction_papers/c.py": "z = 3",
}
IMPORTS = {"leastaction.a": {"leastaction.sub.b"}, "leastaction.sub.b": set()}
IMPORTS["leastaction.sub.page"] = set()


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A package of a few files, in the place of ours."""
    for name, text in TREE.items():
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    graph = SimpleNamespace(
        modules=set(IMPORTS), find_upstream_modules=lambda name: IMPORTS[name]
    )
    monkeypatch.setattr(sources, "ROOT", tmp_path / "src")
    monkeypatch.setattr(sources, "_graph", lambda: graph)
    caches = sources._imported_by, sources._files, sources._imports, package_digest
    for one in (*caches, sources._digest):
        one.cache_clear()
    yield tmp_path / "src"
    for one in (*caches, sources._digest):
        one.cache_clear()


def test_paths_are_relative_to_the_folder_of_the_packages():
    assert (
        Path(sources.__file__) == sources.ROOT / "leastaction" / "core" / "sources.py"
    )


def names(files, root):
    return [os.path.relpath(file, root) for file in files]


def test_sources_are_the_files_of_a_module_of_its_packages_and_of_its_imports(root):
    assert names(source_files(["leastaction.a"]), root) == [
        "leastaction/__init__.py",
        "leastaction/a.py",
        "leastaction/sub/__init__.py",
        "leastaction/sub/b.py",
    ]
    page = names(source_files(["leastaction.sub.page"]), root)
    assert page == [
        "leastaction/__init__.py",
        "leastaction/sub/__init__.py",
        *(f"leastaction/sub/page/{n}" for n in ("__init__.py", "one.html", "two.html")),
    ]
    assert source_files([]) == []
    words = "'leastaction.z' is no module of leastaction"
    with pytest.raises(ValueError, match=words):
        source_files(["leastaction.z"])


def test_a_script_counts_with_what_it_imports_by_name_at_its_top(root):
    script = root / "script.py"
    script.write_text(
        "import leastaction.a\nfrom math import pi\nfrom . import other\n"
        "from leastaction.sub.b import y\n"
        "def f():\n    from leastaction.a import x\n"
    )
    assert names(source_files([], [str(script)]), root) == [
        *("leastaction/__init__.py", "leastaction/sub/__init__.py"),
        *("leastaction/sub/b.py", "script.py"),
    ]


def test_a_listing_is_written_if_it_says_something_else(root):
    path, module = root / "lists" / "deep" / "list.txt", root / "leastaction" / "a.py"
    write_listing([module], path)
    digest, name = path.read_text().split()
    code = ast.dump(ast.parse("x = 1")).encode()
    assert name == "leastaction/a.py" and digest == hashlib.sha256(code).hexdigest()
    os.utime(path, (1, 1))
    write_listing([module], path)
    assert path.stat().st_mtime == 1
    write_listing([module, root / "leastaction" / "sub" / "b.py"], path)
    assert path.stat().st_mtime > 1 and len(path.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("name", "text", "same"),
    [
        ("a.py", "x  =  1  # one\n", True),
        ("a.py", "x = 2", False),
        ("sub/page/one.html", "<b> ", None),
    ],
)
def test_a_digest_is_that_of_code_and_of_all_letters_of_a_template(
    root, name, text, same
):
    path, every = root / "leastaction" / name, package_digest()
    before = sources._digest(path)
    path.write_text(text)
    sources._digest.cache_clear()
    package_digest.cache_clear()
    assert (sources._digest(path) == before) == bool(same)
    if same is None:
        assert sources._digest(path) == hashlib.sha256(text.encode()).hexdigest()
    assert (package_digest() == every) == (same is not False)
    lines = [
        f"{one} {sources._digest(root / one)}\n"
        for one in sorted(TREE)
        if one.endswith(".py")
    ]
    package_digest.cache_clear()
    expected = hashlib.sha256("".join(lines).encode()).hexdigest()
    assert package_digest() == expected
