"""Laws of accepted examples: read twice alike, never accepted when wrong, light."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from leastaction.core.cache import cache_folder
from leastaction.core.settings import ConfigError
from leastaction.core.yaml_files import read_yaml
from leastaction_papers.configuration import example as module
from leastaction_papers.configuration.checks import accepted, check_example
from leastaction_papers.configuration.config import merge
from leastaction_papers.configuration.example import completed

ROOT = Path(__file__).parents[2]


@pytest.fixture
def pendulum(tmp_path, monkeypatch):
    monkeypatch.setenv("LEASTACTION_CACHE", str(tmp_path))
    path = ROOT / "config/examples/stochastic_lagrangian/pendulum.yaml"
    content = read_yaml(path)
    del content["variants"]
    return content


def test_memory_changes_nothing(pendulum):
    direct = completed(pendulum, "x")
    check_example(direct, "x")
    first, second = (accepted(pendulum, "x") for _ in range(2))
    assert first == second == direct
    assert list(second["estimators"]) == list(direct["estimators"])


def test_an_example_is_checked_once(pendulum, monkeypatch):
    accepted(pendulum, "x")
    monkeypatch.setattr(module, "completed", None)
    assert accepted(pendulum, "x")
    with pytest.raises(TypeError):
        accepted(merge(pendulum, {"title": "another"}), "x")


def test_a_wrong_example_is_refused_every_time(pendulum):
    wrong = merge(pendulum, {"system": {"lagrangian": "unheard_of**2"}})
    for _ in range(2):
        with pytest.raises(ConfigError, match="unheard_of"):
            accepted(wrong, "x")
    assert not list(cache_folder().glob("answer_*.json"))


def test_the_plan_needs_no_algebra():
    """Snakemake reads the workflow in every job on a cluster: it has to be quick."""
    heavy = ("sympy", "numba", "scipy", "xarray", "pandas", "matplotlib")
    rules = ROOT / "workflow" / "rules"
    functions = "".join((rules / f"{n}.smk").read_text() for n in ("common", "shown"))
    used = re.findall(r"^from (leastaction\S*) import", functions, re.MULTILINE)
    assert "leastaction.recordings.configuration" in used
    code = (
        f"import sys, {', '.join(used)}\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stdout.strip() == "[]", ran.stdout + ran.stderr
