"""One example of each paper through SLURM: byte for byte what a workstation makes."""

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
TARGETS = [
    f"results/{paper}/{example}/recommended/rollout.nc"
    for paper, (example, _) in EXAMPLES.items()
]
FILES = len(EXAMPLES) * len(RULES)


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


@pytest.fixture(scope="module")
def workstation(fresh, tmp_path_factory):
    """What a workstation makes."""
    local = twin(fresh, tmp_path_factory.mktemp("workstation"))
    made = local.snakemake(*TARGETS)
    assert made.returncode == 0, made.stdout + made.stderr
    digests = local.digests()
    assert len(digests) == FILES
    return digests


@pytest.mark.parametrize(
    ("groups", "jobs"),
    [
        pytest.param([f"{s}=example" for s in RULES], len(EXAMPLES), id="example"),
        pytest.param([], FILES, id="stage"),
    ],
)
def test_one_job_each(slurm, fresh, request, tmp_path, groups, jobs):
    cluster = on_cluster(twin(fresh, tmp_path / "cluster"))
    grouped = ["--groups", *groups] if groups else []
    told = tmp_path / "cluster.txt"
    process = cluster.start(told, *TARGETS, *PROFILE, *grouped)
    try:
        expected = request.getfixturevalue("workstation")  # meanwhile
        code = process.wait(600)
    finally:
        process.kill()
    text = told.read_text()
    assert code == 0, text
    assert text.count("SLURM jobid") == jobs, text
    assert cluster.digests() == expected
