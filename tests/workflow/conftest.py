"""A copy of the project in which the whole workflow has run at a tiny size."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
COPIED = ["Snakefile", "config", "workflow", "profiles", "src", "environment.yml"]
EXAMPLES = ("harmonic", "pendulum", "duffing")
TINY = {
    "replicates": 2,
    "examples": {
        "stochastic_lagrangian": {
            name: {
                "simulate": {"trajectories": 20},
                "validate": {"trajectories": 10, "samples": 401},
            }
            for name in EXAMPLES
        }
    },
}


@dataclass(frozen=True)
class Project:
    """A working copy and how to call Snakemake in it."""

    folder: Path

    @classmethod
    def copy(cls, folder: Path, config: dict = TINY) -> "Project":
        """Copy the project's files into `folder`."""
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=ignored)
            else:
                shutil.copy2(source, folder / name)
        project = cls(folder)
        project.configure(config)
        return project

    def configure(self, config: dict) -> None:
        """Write the overrides that every later call uses."""
        (self.folder / "overrides.yaml").write_text(yaml.safe_dump(config))

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess:
        """Run Snakemake with the package of this copy."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.folder / "src"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        return subprocess.run(
            [sys.executable, "-m", "snakemake", *arguments]
            + ["--configfile", "overrides.yaml"],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
        )

    def plan(self, *arguments: str) -> set[str]:
        """Messages of the jobs that would run."""
        result = self.snakemake(*arguments, "-n")
        text = result.stdout + result.stderr
        assert result.returncode == 0, text
        return set(re.findall(r"^Job \d+: (.*)$", text, flags=re.MULTILINE))


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
