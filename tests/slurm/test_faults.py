"""Jobs that SLURM ends: killed, over memory, over time; each second attempt succeeds."""

import signal
import subprocess
import time

import psutil
from conftest import PROFILE, on_cluster, twin
from project import Project

FOLDER = "results/stochastic_lagrangian"
KILLED, STUCK, LARGE = "duffing", "harmonic", "wave"
TARGETS = [f"{FOLDER}/{name}/observations.nc" for name in (KILLED, STUCK, LARGE)]


def with_limits(project):
    """Tight limits: one minute, and memory that one attempt exceeds, but not two."""
    path = project.folder / "workflow" / "rules" / "common.smk"
    text = path.read_text()
    for old, new in (("return 30 * attempt", "return attempt"), ("2000 if", "350 if")):
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return project


def worker(project, example):
    """The process of a job, once it has begun to write."""
    end = time.monotonic() + 120
    folder = project.folder / FOLDER / example
    while not list(folder.glob(".observations.nc.*.part")):
        assert time.monotonic() < end, f"no job writes into {folder}"
        time.sleep(0.01)
    log = f"logs/stochastic_lagrangian/{example}/simulate.log"
    for process in psutil.process_iter():
        try:
            words, files = process.cmdline(), process.open_files()
        except psutil.Error:
            continue
        if words and words[-1].endswith("simulate.py"):
            if any(file.path.endswith(log) for file in files):
                return process
    raise AssertionError(f"no process writes {log}")


def test_second_attempts(slurm, tmp_path):
    local = with_limits(Project.copy(tmp_path / "local"))
    cluster = on_cluster(twin(local, tmp_path / "cluster"))
    cluster_log = tmp_path / "cluster.txt"
    with open(cluster_log, "w") as told:
        process = cluster.start(
            *TARGETS, *PROFILE, stdout=told, stderr=subprocess.STDOUT
        )
        try:
            worker(cluster, KILLED).kill()
            worker(cluster, STUCK).send_signal(signal.SIGSTOP)
            made = local.snakemake(*TARGETS)
            assert made.returncode == 0, made.stdout + made.stderr
            code = process.wait(400)
        finally:
            process.kill()
    text = cluster_log.read_text()
    assert code == 0, text
    assert text.count("Trying to restart job") == 3, text
    assert "TIMEOUT" in text
    assert cluster.digests() == local.digests()
