"""A working copy of the project, how to call Snakemake in it, and what its jobs say."""

import gc
import hashlib
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
COPIED = ["Snakefile", "config", "workflow", "profiles", "src", "environment.yml"]
PAPER = "stochastic_lagrangian"
# Two systems: what each rule does, at little cost.
EXAMPLES = ("harmonic", "duffing")
FIGURES = ("coefficients", "response", "hamiltonian")
SMALLER = {
    "simulate": {"trajectories": 20},
    "validate": {"trajectories": 10, "samples": 401},
}
# What the authors released is scored by its model alone.
RELEASED = {"variants": {"as_released": {"validate": {"estimators": []}}}}
# The second without it, and without a sweep.
PLAIN = {"variants": None, "estimators": {"published": {"sweep": None}}}
TINY = {
    "replicates": 2,
    "examples": {PAPER: {"harmonic": SMALLER | RELEASED, "duffing": SMALLER | PLAIN}},
}


FURTHER_VARIANTS = r"^(variants:[^\n]*\n  as_released:.*?\n)  \w+:.*"


# Snakemake is forked from a process that has imported it and what it imports later, its
# plugins for instance: half of a plan is its import.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    ["snakemake.cli", "snakemake.report.html_reporter", "grimp", "requests"]
    + ["smart_open", "sympy", "pint", "xarray", "nbformat"]
    + ["matplotlib.mathtext", "matplotlib.backends.backend_agg"]
)
LONGEST = 900


class Running:
    """A Snakemake in `folder` with the packages in `sources`, writing to `files`."""

    def __init__(self, arguments, folder, files, *sources: str | Path):
        given = arguments, folder, _environment(*sources), files
        self._process = FORKS.Process(target=_main, args=given)
        self._process.start()
        self.pid = self._process.pid

    def send_signal(self, number: int) -> None:
        if self._process.exitcode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self, longest: float = LONGEST) -> int:
        """How it ended."""
        self._process.join(longest)
        assert self._process.exitcode is not None, "Snakemake goes on"
        return self._process.exitcode


def snakemake(
    arguments: Sequence[str], folder: Path, *sources: str | Path
) -> subprocess.CompletedProcess:
    """Run Snakemake in `folder` with the packages in `sources`."""
    with tempfile.TemporaryDirectory() as told:
        files = [Path(told, name) for name in ("out", "err")]
        running = Running(arguments, folder, files, *sources)
        try:
            code = running.wait()
        finally:
            running.kill()
        texts = [file.read_text() for file in files]
    return subprocess.CompletedProcess(arguments, code, *texts)


def _main(arguments, folder, environment, files):
    """The command of Snakemake, in a process that was forked for it."""
    for number, file in enumerate(files, start=1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    # A shell in the background has its children ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
    sys.dont_write_bytecode = False
    from snakemake.cli import main

    main(arguments)


def _environment(*sources: str | Path) -> dict[str, str]:
    packages = os.pathsep.join(map(str, sources))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    found = {**os.environ, "PYTHONPATH": packages, "PATH": path}
    # With it every job would compile the package anew.
    found.pop("PYTHONDONTWRITEBYTECODE", None)
    return found


@dataclass(frozen=True)
class Project:
    """A working copy and how to call Snakemake in it."""

    folder: Path

    @classmethod
    def copy(
        cls,
        folder: Path,
        config: dict = TINY,
        examples: tuple[str, ...] | None = EXAMPLES,
    ) -> "Project":
        """Copy the project's files into `folder`, with these examples of a paper.

        Byte code comes with them: to compile the package takes seconds.
        """
        ignored = shutil.ignore_patterns("*.egg-info")
        folder.mkdir(parents=True, exist_ok=True)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=ignored)
            else:
                shutil.copy2(source, folder / name)
        project = cls(folder)
        if examples is not None:
            project._keep(examples)
        project.configure(config)
        return project

    def _keep(self, examples: tuple[str, ...]) -> None:
        """Leave the other examples out, and what compares or shows them.

        Of the variants the first one stays, which a table of the paper shows: a plan
        checks every example, and the others are like it.
        """
        for path in self.folder.glob("config/examples/*/*.yaml"):
            if path.parent.name != PAPER or path.stem not in examples:
                path.unlink()
                continue
            text = path.read_text()
            path.write_text(re.sub(FURTHER_VARIANTS, r"\1", text, flags=re.M | re.S))
        path = self.folder / "config" / "config.yaml"
        config = yaml.safe_load(path.read_text())
        for study in config["studies"].values():
            study["examples"] = {
                paper: kept
                for paper, names in study["examples"].items()
                if paper == PAPER and (kept := [n for n in names if n in examples])
            }
        studies = config["studies"]
        config["studies"] = {k: v for k, v in studies.items() if v["examples"]}
        there = {p.parent.name for p in self.folder.glob("config/examples/*/*.yaml")}
        config["papers"] = {k: v for k, v in config["papers"].items() if k in there}
        for part in ("figures", "tables"):
            config["papers"][PAPER][part] = {
                number: entry
                for number, entry in config["papers"][PAPER][part].items()
                if all(n.split("-")[0] in examples for n in entry.get("examples", []))
            }
        config.pop("matrix", None)  # it compares examples that are left out
        path.write_text(yaml.safe_dump(config))

    def configure(self, config: dict) -> None:
        """Write the overrides that every later call uses."""
        (self.folder / "overrides.yaml").write_text(yaml.safe_dump(config))

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess:
        """Run Snakemake with the package of this copy."""
        arguments = *arguments, "--configfile", "overrides.yaml"
        return snakemake(arguments, self.folder, self.folder / "src")

    def start(self, output: Path, *arguments: str) -> Running:
        """Start Snakemake, which writes to `output`, and do not wait for it."""
        arguments = *arguments, "--configfile", "overrides.yaml"
        output.write_text("")
        return Running(arguments, self.folder, [output, output], self.folder / "src")

    def digests(self) -> dict[str, str]:
        """SHA-256 of every NetCDF file of the results."""
        return {
            str(path.relative_to(self.folder)): hashlib.sha256(
                path.read_bytes()
            ).hexdigest()
            for path in sorted((self.folder / "results").rglob("*.nc"))
        }

    def plan(self, *arguments: str) -> set[str]:
        """Messages of the jobs that would run, without the target itself."""
        result = self.snakemake(*arguments, "-n")
        text = result.stdout + result.stderr
        assert result.returncode == 0, text
        jobs = set(re.findall(r"^Job \d+: (.*)$", text, flags=re.MULTILINE))
        return {message for message in jobs if not message.startswith("All ")}


BELOW_PAPER = {
    *(f"Drawing figure_{n} of stochastic_lagrangian" for n in (1, 2, 4)),
    "Tabulating table_1, table_2, table_3 of stochastic_lagrangian",
    "Collecting the scorecard",
    "Summarising the papers on one page",
}


def below(example: str, estimator: str) -> set[str]:
    """Jobs of one example that use the model of one estimator."""
    return {
        f"Rolling out {example} ({estimator})",
        f"Scoring and drawing {example}",
    }
