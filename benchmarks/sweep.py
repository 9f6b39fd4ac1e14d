"""A sweep of 1000 points as one job per stage, and in chunks on one and two cores.

    python benchmarks/sweep.py [REPLICATES [CHUNKS]]

Prints jobs, wall and CPU time of each way, what a host of virtual machines took of it,
and the share of the rest that was not spent on the sweep itself; checks that all files
have the same bytes. As many chunks as cores are best: each job costs two seconds of its
own.
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
FOLDER = "results/xl_sindy/sweep"
# What tables and figures read; the others are gathered after the clock has stopped.
TARGETS = ("recommended/model", "recommended/rollout")
OTHERS = ("observations", "recommended/derivatives", "recommended/library")


@dataclass(frozen=True)
class Run:
    """What one way of doing the sweep took."""

    jobs: int
    wall: float
    cpu: float
    computing: float
    stolen: float
    digests: dict


def run(chunks: int, cores: int, replicates: int) -> Run:
    """Do the sweep from an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        config = yaml.safe_load((ROOT / "benchmarks" / "sweep.yaml").read_text())
        config["examples"]["xl_sindy"]["sweep"]["simulate"]["replicates"] = replicates
        given = Path(folder, "sweep.yaml")
        given.write_text(yaml.safe_dump(config | {"chunks": chunks}))
        start, before, taken = time.monotonic(), _spent(), _stolen()
        done = _snakemake(TARGETS, cores, folder, given)
        wall, cpu = time.monotonic() - start, _spent() - before
        stolen = _stolen() - taken
        jobs = int(re.search(r"^total +(\d+)", done.stdout + done.stderr, re.M)[1])
        logs = "".join(path.read_text() for path in Path(folder).rglob("logs/**/*.log"))
        _snakemake(OTHERS, cores, folder, given)
        digests = {
            name: hashlib.sha256(
                Path(folder, FOLDER, f"{name}.nc").read_bytes()
            ).digest()
            for name in (*TARGETS, *OTHERS)
        }
    computing = sum(
        map(float, re.findall(r"done in [\d.]+ s, ([\d.]+) s of CPU", logs))
    )
    return Run(jobs, wall, cpu, computing, stolen, digests)


def _snakemake(names, cores: int, folder: str, given: Path):
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", str(cores)]
        + [f"{FOLDER}/{name}.nc" for name in names]
        + ["--directory", folder, "--configfile", given],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return done


def _spent() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _stolen() -> float:
    """Seconds in which a core was wanted and the host ran something else on it."""
    try:
        first = Path("/proc/stat").read_text().split("\n", 1)[0]
    except OSError:
        return 0.0
    return int(first.split()[8]) / os.sysconf("SC_CLK_TCK")


def main(replicates: int = 50, chunks: int = 2) -> None:
    """Compare the ways."""
    print(f"{20 * replicates} points")
    columns = ("chunks", "cores", "jobs", "wall, s", "CPU, s", "computing, s")
    columns += ("taken by the host, s", "lost, %")
    print("|", " | ".join(columns), "|")
    print("|", " | ".join("---" for _ in columns), "|")
    runs = {}
    for ways in ((1, 1), (chunks, 1), (chunks, 2)):
        done = runs[ways] = run(*ways, replicates)
        had = done.wall * ways[1] - done.stolen
        lost = 100 * (1 - done.computing / had)
        numbers = (done.jobs, done.wall, done.cpu, done.computing, done.stolen, lost)
        print("|", " | ".join(f"{x:.0f}" for x in (*ways, *numbers)), "|", flush=True)
    same = all(done.digests == runs[1, 1].digests for done in runs.values())
    print("the same bytes" if same else "DIFFERENT BYTES")
    print(f"1 -> 2 cores: {runs[chunks, 1].wall / runs[chunks, 2].wall:.2f} times")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
