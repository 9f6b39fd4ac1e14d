"""One example of each paper through SLURM: byte for byte what a workstation makes.

The gate takes the first alone, whose chain has all stages, with a job for each: what
SLURM does with a job does not depend on the paper.
"""

import re
import subprocess
from functools import cache

import pytest
import yaml
from cluster import PROFILE, on_cluster, twin
from project import ROOT, Project

from leastaction_papers.configuration.config import merge

# Small, since bytes are compared and no numbers.
EXAMPLES = {
    "stochastic_lagrangian": (
        "harmonic",
        {"simulate": {"trajectories": 20}, "validate": {"trajectories": 10}},
    ),
    "xl_sindy": ("cart", {"simulate": {"trajectories": 10, "duration": 2.0}}),
    "shadow_integration": ("pendulum", {}),
    "fokker_planck": ("linear_additive_1e9", {"simulate": {"duration": 156.25}}),
    "port_hamiltonian": (
        "constrained_pendulum",
        {
            "simulate": {"training": {"sizes": [8, 32, 64, 128]}},
            "validate": {
                "port": {
                    "scenarios": {
                        "training": {"duration": 2.0},
                        "unseen": {"duration": 2.0},
                    }
                }
            },
        },
    ),
}

RULES = ("simulate", "estimate", "validate")
FIRST = next(iter(EXAMPLES))
# What the profile requests for a job.
REQUESTED = {
    "Account=tests",
    "Partition=tests",
    "TimeLimit=00:30:00",
    "MinMemoryNode=1000M",
}


def configuration():
    quick = yaml.safe_load((ROOT / "config" / "quick.yaml").read_text())
    examples = {paper: {} for paper in EXAMPLES}
    for paper, (example, smaller) in EXAMPLES.items():
        given = quick["examples"].get(paper, {}).get(example) or {}
        examples[paper][example] = merge(given, smaller)
    return {"replicates": quick["replicates"], "examples": examples}


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A copy in which nothing was run."""
    return Project.copy(tmp_path_factory.mktemp("fresh"), configuration(), None)


def targets(papers):
    return [f"results/{p}/{EXAMPLES[p][0]}/recommended/rollout.nc" for p in papers]


def reports(project):
    """Logs of the jobs, and what they used."""
    logs = project.folder / "logs"
    found = (path for kind in ("log", "tsv") for path in logs.rglob(f"*.{kind}"))
    return {str(path.relative_to(logs)) for path in found}


@pytest.fixture(scope="module")
def workstation(fresh, tmp_path_factory):
    """What a workstation makes of some papers: digests, names of logs."""

    @cache
    def made(*papers):
        local = twin(fresh, tmp_path_factory.mktemp("workstation"))
        done = local.snakemake(*targets(papers))
        assert done.returncode == 0, done.stdout + done.stderr
        digests = local.digests()
        assert len(digests) == len(papers) * len(RULES)
        return digests, reports(local)

    return made


@pytest.mark.parametrize(
    ("papers", "groups", "jobs"),
    [
        pytest.param([FIRST], [], len(RULES), id="one"),
        pytest.param(
            EXAMPLES, [f"{s}=example" for s in RULES], len(EXAMPLES), id="example"
        ),
        pytest.param(EXAMPLES, [], len(EXAMPLES) * len(RULES), id="stage"),
    ],
)
def test_one_job_each(slurm, fresh, workstation, tmp_path, papers, groups, jobs):
    cluster = on_cluster(twin(fresh, tmp_path / "cluster"))
    grouped = ["--groups", *groups] if groups else []
    told = tmp_path / "cluster.txt"
    process = cluster.start(told, *targets(papers), *PROFILE, *grouped)
    try:
        expected, logs = workstation(*papers)  # meanwhile
        code = process.wait(600)
    finally:
        process.kill()
    text = told.read_text()
    assert code == 0, text
    submitted = re.findall(r"SLURM jobid (\d+)", text)
    assert len(submitted) == jobs, text
    assert cluster.digests() == expected
    assert reports(cluster) == logs
    for number in submitted if papers == [FIRST] else ():
        asked = subprocess.check_output(["scontrol", "show", "job", number], text=True)
        assert set(asked.split()) >= REQUESTED, asked
