"""Jobs killed, over memory and over time: each second attempt succeeds."""

import signal
import subprocess
import time
from contextlib import suppress

import psutil
from cluster import PROFILE, on_cluster, twin
from project import EXAMPLES, PAPER, TINY, Project

from leastaction.configuration.config import merge

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
    with open(cluster_log, "w") as told:
        process = cluster.start(
            *TARGETS, *PROFILE, stdout=told, stderr=subprocess.STDOUT
        )
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
