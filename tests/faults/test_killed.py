"""Jobs and Snakemake ended by a signal, two Snakemakes at once: nothing is lost."""

import signal
from itertools import product

import pytest
from disturbed import OBSERVATIONS, WRITTEN
from harm import WHOLE

# (who is ended, by what, what is then said)
ENDED = (
    ("worker", signal.SIGKILL, "Error in rule"),
    ("worker", signal.SIGTERM, "Error in rule"),
    ("snakemake", signal.SIGTERM, "Will exit after finishing currently running jobs"),
    ("snakemake", signal.SIGINT, "Terminating processes on user request"),
)
# Every stage in every way in `make attack`; in `make test` one for each message.
FEW = list(zip(WRITTEN, (ENDED[0], ENDED[2], ENDED[3]), strict=True))
CASES = list(product(WRITTEN, ENDED)) if WHOLE else FEW


@pytest.mark.parametrize(("written", "ended"), CASES)
def test_ended_while_a_stage_writes(disturbed, written, ended):
    who, number, said = ended
    project = disturbed(written)
    project.without(written)
    with project.caught() as (snakemake, worker):
        {"worker": worker, "snakemake": snakemake}[who].send_signal(number)
        worker.send_signal(signal.SIGCONT)
        code = snakemake.wait(60)
    assert said in project.told()
    assert "Traceback" not in project.told()
    assert (code == 0) <= (project.folder / written).exists()
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
