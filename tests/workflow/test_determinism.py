"""The same bytes however jobs are run, and other numbers for another seed."""

import time

from project import TINY, Project

FOLDER = "results/stochastic_lagrangian/harmonic"


def test_one_core_gives_the_same_bytes_as_two(finished, tmp_path):
    alone = Project.copy(tmp_path)
    result = alone.snakemake(
        f"{FOLDER}/recommended/rollout.nc",
        *("--cores", "1"),
    )
    ended = time.time()
    assert result.returncode == 0, result.stdout + result.stderr
    # It does not wait for the ten seconds of a timer (profiles/default).
    (log,) = alone.folder.glob(".snakemake/log/*.log")
    assert ended - log.stat().st_mtime < 5
    one, two = alone.digests(), finished.digests()
    assert len(one) == 3
    assert one == {path: two[path] for path in one}


def test_another_seed_gives_another_ensemble(finished, tmp_path):
    other = Project.copy(tmp_path, {**TINY, "seed": 7})
    target = f"{FOLDER}/observations.nc"
    result = other.snakemake(target, "--cores", "1")
    assert result.returncode == 0, result.stdout + result.stderr
    assert other.digests()[target] != finished.digests()[target]
