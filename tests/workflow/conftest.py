"""A copy of the project in which the whole workflow has run at a tiny size."""

import pytest
from project import Project


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Project:
    """The tiny workflow, run once from an empty folder."""
    project = Project.copy(tmp_path_factory.mktemp("project"))
    result = project.snakemake("--cores", "2")
    assert result.returncode == 0, result.stdout + result.stderr
    return project


@pytest.fixture
def restored(finished) -> Project:
    """The finished project; what a test edits in it is put back afterwards."""
    kept = {
        path: path.read_bytes()
        for top in ("config", "src", "workflow", "overrides.yaml")
        for path in sorted((finished.folder / top).rglob("*")) + [finished.folder / top]
        if path.is_file() and "__pycache__" not in path.parts
    }
    yield finished
    for path, content in kept.items():
        if path.read_bytes() != content:
            path.write_bytes(content)
