"""CPU of the workflow beside that of the same stages in one process.

    python benchmarks/workflow.py

Two examples of `config/quick.yaml` from simulation to validation, in a folder that is
thrown away: job by job with an empty cache of kernels, then both ways in turn with a
full one, the lowest of three. Seconds are user + system of a process and its children.
A loop of plain Python stands beside them: on another machine, or beside other work, all
grow. Of a finished `make reproduce` in this folder, CPU of the jobs and results are
added up; the work of a stage is what its log says, with what it imports on its way.
"""

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import yaml
from cpu import save, seconds_of

from leastaction.core.files import job_usage
from leastaction.core.jobs import FILES, STAGES, jobs_of
from leastaction_papers.configuration.config import read_examples
from leastaction_papers.configuration.jobs import SETTINGS, rolled_out

ROOT = Path(__file__).parents[1]
QUICK = ROOT / "config" / "quick.yaml"
SET = ("stochastic_lagrangian/harmonic", "fokker_planck/linear_additive_1e9")
REPEATS = 3


def of_child(*command: str, **environment: str) -> float:
    """CPU seconds of a command and all that it starts; byte code is written."""
    environment = os.environ | environment
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(after[:2]) - sum(before[:2])


def workflow(folder: Path, *more: str) -> float:
    """CPU seconds of Snakemake and its jobs, on one core."""
    command = [sys.executable, "-m", "snakemake", *more, "--cores", "1", "-q", "all"]
    where = ["--directory", str(folder), "--configfile", str(QUICK)]
    cache = str(folder / "cache")
    return of_child(*command, *where, LEASTACTION_CACHE=cache)


def examples() -> dict[str, dict]:
    """The examples of the set, by paper and name."""
    base = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    quick = yaml.safe_load(QUICK.read_text())
    of_all = read_examples(ROOT / "config" / "examples", base | quick)
    return {name: of_all[tuple(name.split("/"))] for name in SET}


def last_files() -> list[str]:
    """Models of the set, and rollouts of those that are validated."""
    return [
        f"results/{name}/{estimator}/{file}.nc"
        for name, example in examples().items()
        for estimator in example["estimators"]
        for file in ("model", "rollout")
        if file == "model" or estimator in rolled_out(example)
    ]


def script(stage: str):
    """`main` of a script of the workflow."""
    path = ROOT / "workflow" / "scripts" / f"{stage}.py"
    spec = spec_from_file_location(f"script_{stage}", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main


def one_process(folder: Path) -> None:
    """The same stages here, on the same files."""
    simulate, estimate, validate = map(script, ("simulate", "estimate", "validate"))
    for name, example in examples().items():
        base = folder / name
        recipes, observations = example["estimators"], base / "observations.nc"
        simulate(SETTINGS["simulate"](example), observations)
        for job in jobs_of(recipes).values():
            done = [(name, stage) for name, stages in job.items() for stage in stages]
            settings = {
                name: {stage: SETTINGS[stage](example, name) for stage in stages}
                for name, stages in job.items()
            }
            made = [
                base / name / f"{FILES[STAGES.index(stage)]}.nc" for name, stage in done
            ]
            estimate(observations, settings, made)
        for estimator in rolled_out(example):
            model, rollout = (
                base / estimator / f"{f}.nc" for f in ("model", "rollout")
            )
            validate(model, SETTINGS["validate"](example, estimator), rollout)


def measured(folder: Path) -> dict[str, float]:
    """CPU seconds by what is measured."""
    loop = min(
        seconds_of(lambda: sum(i * i for i in range(3_000_000)))[0] for _ in "123"
    )
    found = {"calibration: 3·10⁶ squares added in Python": loop}
    targets = last_files()
    cold = workflow(folder, *targets)
    jobs, alone, own = [], [], []
    for _ in range(REPEATS):
        shutil.rmtree(folder / "results")
        shutil.rmtree(folder / "logs")
        jobs.append(workflow(folder, *targets))
        used = [job_usage(path) for path in (folder / "logs").rglob("*.tsv")]
        by_jobs = [one["user"] + one["system"] for one in used]
        own.append(jobs[-1] - sum(by_jobs))
        here = [sys.executable, __file__, str(folder / "one")]
        alone.append(of_child(*here, LEASTACTION_CACHE=str(folder / "cache")))
    found |= {
        "small set, job by job, no kernel compiled": cold,
        "small set, job by job": min(jobs),
        "small set, stages in one process": min(alone),
        "R: job by job over one process": min(jobs) / min(alone),
        "jobs of the small set": len(by_jobs),
        "the smallest job": min(by_jobs),
        "Snakemake itself, small set": min(own),
        "the small set where nothing is to be done": workflow(folder, *targets),
        "plan of the whole of quick.yaml": workflow(folder, "-n", "papers"),
        "import of `leastaction.learn`": of_child(
            sys.executable, "-c", "import leastaction; leastaction.learn"
        ),
    }
    return found


def reproduced() -> dict[str, float]:
    """CPU of the jobs of the last reproduction in this folder, and what it left."""
    if not (ROOT / "results" / "scorecard.csv").exists():
        return {}
    by_jobs, of_stages, work = [], [], 0.0
    for path in (ROOT / "logs").rglob("*.tsv"):
        used = job_usage(path)
        by_jobs.append(used["user"] + used["system"])
        text = path.with_suffix(".log").read_text()
        if done := re.findall(r"done in [\d.]+ s, ([\d.]+) s of CPU", text):
            of_stages.append(by_jobs[-1])
            work += sum(map(float, done))
    files = [path for path in (ROOT / "results").rglob("*") if path.is_file()]
    return {
        "reproduction, its jobs together": sum(by_jobs),
        "reproduction, jobs": len(by_jobs),
        "reproduction, jobs of stages": sum(of_stages),
        "reproduction, work of these stages": work,
        "R: jobs of stages over their work": sum(of_stages) / work,
        "reproduction, its results, GB": sum(f.stat().st_size for f in files) / 1e9,
    }


def main(arguments: list[str]) -> None:
    """Print and keep what is measured; with a folder, only make the stages there."""
    if arguments:
        one_process(Path(arguments[0]))
        return
    with tempfile.TemporaryDirectory() as folder:
        seconds = measured(Path(folder)) | reproduced()
    for name, value in seconds.items():
        print(f"{name:50} {value:8.2f}")
    save("workflow", seconds=seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
