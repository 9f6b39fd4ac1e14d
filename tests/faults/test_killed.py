"""Killed without warning (kill -9), and two Snakemakes at once: nothing is lost."""

import signal

from disturbed import OBSERVATIONS


def test_killed_worker(disturbed):
    project = disturbed(OBSERVATIONS)
    project.without(OBSERVATIONS)
    with project.caught() as (snakemake, worker):
        worker.kill()
        assert snakemake.wait(60) != 0
    assert "Error in rule simulate" in project.told()
    assert "Traceback" not in project.told()
    assert not (project.folder / OBSERVATIONS).exists()
    project.completes()


def test_killed_snakemake(disturbed):
    """Its job goes on writing; the job of the next Snakemake wins."""
    project = disturbed(OBSERVATIONS)
    project.without(OBSERVATIONS)
    with project.caught() as (snakemake, orphan):
        snakemake.kill()
        snakemake.wait()
        assert project.snakemake("--unlock").returncode == 0
        project.completes()
        orphan.send_signal(signal.SIGCONT)
        orphan.wait(60)
    assert "another job has begun to write this file" in project.told()
    project.is_whole()


def test_two_at_once(disturbed):
    project = disturbed(OBSERVATIONS)
    project.without(OBSERVATIONS)
    with project.caught() as (first, worker):
        project.fails(
            "Directory cannot be locked", "no other Snakemake process", "--unlock"
        )
        worker.send_signal(signal.SIGCONT)
        assert first.wait(60) == 0, project.told()
    project.is_whole()
