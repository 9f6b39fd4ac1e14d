"""Laws of the lists of source files that jobs have as input."""

import os

import pytest

from leastaction.core.method import steps
from leastaction.core.sources import ROOT, source_files, write_listing
from leastaction_papers import PAPERS

STAGES = ("simulate", "differentiate", "assemble", "identify", "volatility")
FILES = source_files(["leastaction.ensembles.moment_gmm"])


def test_a_list_names_every_file_that_is_imported(tmp_path):
    write_listing(FILES, tmp_path / "list.txt")
    named = [line.split()[1] for line in (tmp_path / "list.txt").open()]
    assert named == [str(f.relative_to(ROOT)) for f in FILES]
    assert {
        "leastaction/__init__.py",
        "leastaction/ensembles/__init__.py",
        "leastaction/ensembles/moment_gmm.py",
    } <= set(named)


def test_imports_of_a_script_and_those_inside_functions_count(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("from leastaction.core.files import save\nimport numpy\n")
    found = source_files([], [script])
    assert script in found and ROOT / "leastaction" / "core" / "contracts.py" in found


def test_a_module_that_does_not_exist_is_named():
    with pytest.raises(ValueError, match="core.nothing"):
        source_files(["leastaction.core.nothing"])


def test_an_old_list_is_left_alone(tmp_path):
    path = tmp_path / "list.txt"
    write_listing(FILES, path)
    os.utime(path, (1, 1))
    write_listing(FILES, path)
    assert path.stat().st_mtime == 1


def test_another_content_is_another_list(tmp_path):
    source, path = tmp_path / "new.py", tmp_path / "list.txt"
    source.write_text("a = 1")
    write_listing([source], path)
    before = path.read_text()
    source = source.rename(tmp_path / "old.py")
    source.write_text("a = 2")
    write_listing([source], path)
    assert path.read_text() != before


STEPS = [step for stage in STAGES for step in steps(stage).values()]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step.stage} {step.name()}")
def test_a_method_depends_on_its_family_and_the_core_only(step):
    """An edit in one family re-runs nothing of another."""
    package = ".".join(step.module().split(".")[:2])
    families = [
        f"leastaction.{name}"
        for name, paper in PAPERS.items()
        if paper.startswith(package)
    ]
    allowed = {"leastaction.core", "leastaction_papers.scorecard", package, *families}
    if package == "leastaction.recordings":
        allowed |= {
            f"leastaction.{n}" for n in ("ensembles", "likelihood", "trajectories")
        }
    if package == "leastaction.likelihood":
        allowed.add("leastaction.ensembles")  # the filter, and the tests of innovations
    inside = [f.relative_to(ROOT).parts for f in source_files([step.module()])]
    assert {".".join(parts[:2]) for parts in inside if len(parts) > 2} <= allowed
