"""Every example of a docstring gives what stands there."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src"
MODULES = sorted(
    ".".join(path.relative_to(SOURCES).with_suffix("").parts)
    for path in SOURCES.rglob("*.py")
    if path.name not in ("__init__.py", "__main__.py") and ">>>" in path.read_text()
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module_run(name):
    found = doctest.testmod(
        import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert found.attempted and not found.failed
