"""A sweep of 1000 points as one job per stage, and in chunks on one and two cores.

    python benchmarks/sweep.py [REPLICATES [CHUNKS]]

Prints jobs, wall and CPU time of each way, checks that all files have the same bytes,
and the share of the cores that was not spent on the sweep itself. As many chunks as
cores are best: each job costs about two seconds of its own.
"""

import hashlib
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
TARGET = "results/xl_sindy/sweep/recommended/rollout.nc"


@dataclass(frozen=True)
class Run:
    """What one way of doing the sweep took."""

    jobs: int
    wall: float
    cpu: float
    computing: float
    digests: dict


def run(chunks: int, cores: int, replicates: int) -> Run:
    """Do the sweep from an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        config = yaml.safe_load((ROOT / "benchmarks" / "sweep.yaml").read_text())
        config["examples"]["xl_sindy"]["sweep"]["simulate"]["replicates"] = replicates
        given = Path(folder, "sweep.yaml")
        given.write_text(yaml.safe_dump(config | {"chunks": chunks}))
        start, before = time.monotonic(), _spent()
        done = subprocess.run(
            [sys.executable, "-m", "snakemake", TARGET, "--cores", str(cores)]
            + ["--directory", folder, "--configfile", given],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")},
            capture_output=True,
            text=True,
        )
        wall, cpu = time.monotonic() - start, _spent() - before
        if done.returncode:
            sys.exit(done.stdout + done.stderr)
        jobs = int(re.search(r"^total +(\d+)", done.stdout + done.stderr, re.M)[1])
        digests = {
            str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).digest()
            for path in Path(folder, "results").rglob("*.nc")
        }
        logs = "".join(path.read_text() for path in Path(folder).rglob("logs/**/*.log"))
    computing = sum(
        map(float, re.findall(r"done in [\d.]+ s, ([\d.]+) s of CPU", logs))
    )
    return Run(jobs, wall, cpu, computing, digests)


def _spent() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main(replicates: int = 50, chunks: int = 2) -> None:
    """Compare the ways."""
    print(f"{20 * replicates} points")
    print("| chunks | cores | jobs | wall, s | CPU, s | computing, s | lost, % |")
    print("|---|---|---|---|---|---|---|")
    runs = {}
    for ways in ((1, 1), (chunks, 1), (chunks, 2)):
        done = runs[ways] = run(*ways, replicates)
        lost = 100 * (1 - done.computing / (done.wall * ways[1]))
        numbers = (done.jobs, done.wall, done.cpu, done.computing, lost)
        print("|", " | ".join(f"{x:.0f}" for x in (*ways, *numbers)), "|", flush=True)
    same = all(done.digests == runs[1, 1].digests for done in runs.values())
    print("the same bytes" if same else "DIFFERENT BYTES")
    print(f"1 -> 2 cores: {runs[chunks, 1].wall / runs[chunks, 2].wall:.2f} times")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
