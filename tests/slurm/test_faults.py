"""Jobs killed, over memory and over time, a node that dies: second attempts succeed.

A partition that does not exist and an account that it refuses are told in a sentence.
"""

import signal
import socket
import subprocess
import time
from contextlib import suppress

import psutil
import pytest
from cluster import PROFILE, on_cluster, twin
from project import EXAMPLES, PAPER, TINY, Project

from leastaction_papers.configuration.config import merge

FOLDER = "results/stochastic_lagrangian"
KILLED, STUCK, LARGE = "duffing", "harmonic", "wave"
TARGETS = [f"{FOLDER}/{name}/observations.nc" for name in (KILLED, STUCK, LARGE)]
CONFIG = merge(
    TINY,
    {"replicates": 20, "examples": {PAPER: {LARGE: {"simulate": {"trajectories": 2}}}}},
)


def with_limits(project):
    """Tight limits: one minute, and memory that one attempt exceeds, but not two."""
    for path, old, new in (
        ("profiles/slurm/profile.yaml", "runtime: 30 * attempt", "runtime: attempt"),
        ("workflow/rules/common.smk", "2000 if", "350 if"),
    ):
        text = (project.folder / path).read_text()
        assert old in text
        (project.folder / path).write_text(text.replace(old, new))
    return project


def disturb(project, signals):
    """Send a signal to the job of each example as soon as it writes its log."""
    end = time.monotonic() + 180
    waiting = {
        f"{project.folder}/logs/stochastic_lagrangian/{name}/simulate.log": number
        for name, number in signals.items()
    }
    while waiting:
        assert time.monotonic() < end, f"no process writes {list(waiting)}"
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if (process.cmdline() or [""])[-1].endswith("simulate.py"):
                    for file in process.open_files():
                        if file.path in waiting:
                            process.send_signal(waiting.pop(file.path))
        time.sleep(0.05)


def test_second_attempts(slurm, tmp_path):
    local = Project.copy(tmp_path / "local", CONFIG, (*EXAMPLES, LARGE))
    local = with_limits(local)
    cluster = on_cluster(twin(local, tmp_path / "cluster"))
    cluster_log = tmp_path / "cluster.txt"
    process = cluster.start(cluster_log, *TARGETS, *PROFILE)
    try:
        disturb(cluster, {KILLED: signal.SIGKILL, STUCK: signal.SIGSTOP})
        made = local.snakemake(*TARGETS)
        assert made.returncode == 0, made.stdout + made.stderr
        code = process.wait(400)
    finally:
        process.kill()
    text = cluster_log.read_text()
    assert code == 0, text
    assert text.count("Trying to restart job") == 3, text
    assert "TIMEOUT" in text
    logs = (cluster.folder / ".snakemake" / "slurm_logs").rglob("*.log")
    assert "exceeded memory limit" in "".join(log.read_text() for log in logs)
    assert cluster.digests() == local.digests()


SMALL = f"{FOLDER}/harmonic/observations.nc"


@pytest.mark.parametrize(
    ("partition", "words"),
    [
        ("nowhere", "invalid partition specified: nowhere"),
        ("closed", "Invalid account or account/partition combination"),
    ],
)
def test_what_slurm_refuses(slurm, tmp_path, partition, words):
    project = Project.copy(tmp_path, {"replicates": 1}, ("harmonic",))
    project = on_cluster(project)
    path = project.folder / "profiles/slurm/profile.yaml"
    text = path.read_text().replace("partition: tests", f"partition: {partition}")
    path.write_text(text.replace("retries: 1", "retries: 0"))
    result = project.snakemake(SMALL, *PROFILE)
    assert result.returncode != 0
    assert words in result.stdout + result.stderr
    assert "Traceback" not in result.stdout + result.stderr


def job_ids() -> list[str]:
    listed = ["squeue", "--noheader", "--format=%A", "--states=running"]
    return subprocess.check_output(listed, text=True).split()


def dies():
    """The node."""
    node = ["scontrol", "update", f"NodeName={socket.gethostname()}"]
    subprocess.run([*node, "State=DOWN", "Reason=test"], check=True)
    time.sleep(3)
    # It may have come back by itself.
    subprocess.run([*node, "State=RESUME"], check=False)


def cancelled():
    subprocess.run(["scancel", *job_ids()], check=True)


def requeued():
    (job,) = job_ids()
    subprocess.run(["scontrol", "requeue", job], check=True)  # waits for two minutes


@pytest.mark.parametrize(
    ("happens", "says", "options"),
    [
        (dies, "NODE_FAIL", []),
        (cancelled, "CANCELLED", []),
        (requeued, "", ["--slurm-requeue"]),
    ],
)
def test_a_job_that_is_lost_runs_again(slurm, tmp_path, happens, says, options):
    local = Project.copy(tmp_path / "local", merge(TINY, {"replicates": 100}))
    cluster = on_cluster(twin(local, tmp_path / "cluster"))
    told = tmp_path / "told.txt"
    process = cluster.start(told, SMALL, *PROFILE, *options)
    try:
        end = time.monotonic() + 180
        while not list((cluster.folder / SMALL).parent.glob(".*.part")):
            assert time.monotonic() < end, told.read_text()
            time.sleep(0.2)
        happens()
        made = local.snakemake(SMALL)
        assert made.returncode == 0, made.stdout + made.stderr
        assert process.wait(400) == 0, told.read_text()
    finally:
        process.kill()
    text = told.read_text()
    assert says in text
    assert text.count("SLURM jobid") == (1 if options else 2), text
    assert cluster.digests() == local.digests()
