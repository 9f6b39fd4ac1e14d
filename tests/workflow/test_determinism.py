"""The same bytes whatever the number of cores, and other numbers for another seed."""

import hashlib

from project import TINY, Project

TARGETS = [
    f"results/stochastic_lagrangian/harmonic/{estimator}/rollout.nc"
    for estimator in ("published", "recommended")
]


def digests(project):
    return {
        str(path.relative_to(project.folder)): hashlib.sha256(
            path.read_bytes()
        ).hexdigest()
        for path in sorted((project.folder / "results").rglob("*.nc"))
    }


def test_one_core_gives_the_same_bytes_as_two(finished, tmp_path):
    alone = Project.copy(tmp_path)
    result = alone.snakemake(*TARGETS, "--cores", "1")
    assert result.returncode == 0, result.stdout + result.stderr
    one, two = digests(alone), digests(finished)
    assert len(one) == 1 + 2 * 4
    assert one == {path: two[path] for path in one}


def test_another_seed_gives_another_ensemble(finished, tmp_path):
    other = Project.copy(tmp_path, {**TINY, "seed": 7})
    target = "results/stochastic_lagrangian/harmonic/observations.nc"
    result = other.snakemake(target, "--cores", "1")
    assert result.returncode == 0, result.stdout + result.stderr
    assert digests(other)[target] != digests(finished)[target]
