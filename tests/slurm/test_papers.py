"""One example of each paper through SLURM: byte for byte what a workstation makes."""

import pytest
import yaml
from cluster import PROFILE, on_cluster, twin
from project import ROOT, Project

# The sizes of the quick workflow, and below.
EXAMPLES = {
    "stochastic_lagrangian": ("harmonic", {"simulate": {"trajectories": 50}}),
    "xl_sindy": ("cart", {}),
    "shadow_integration": ("pendulum", {}),
    "fokker_planck": ("linear_additive_1e9", {}),
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


@pytest.fixture(scope="module")
def targets():
    return [
        f"results/{paper}/{example}/recommended/rollout.nc"
        for paper, (example, _) in EXAMPLES.items()
    ]


def configuration():
    quick = yaml.safe_load((ROOT / "config" / "quick.yaml").read_text())
    examples = {paper: {} for paper in EXAMPLES}
    for paper, (example, smaller) in EXAMPLES.items():
        given = quick["examples"].get(paper, {}).get(example) or {}
        examples[paper][example] = {**given, **smaller}
    return {"replicates": quick["replicates"], "examples": examples}


def test_slurm_gives_the_bytes_of_a_workstation(slurm, tmp_path, targets):
    local = Project.copy(tmp_path / "local", configuration(), None)
    cluster = on_cluster(twin(local, tmp_path / "cluster"))
    made = local.snakemake(*targets)
    assert made.returncode == 0, made.stdout + made.stderr
    sent = cluster.snakemake(*targets, *PROFILE)
    assert sent.returncode == 0, sent.stdout + sent.stderr
    jobs = len(EXAMPLES) * 5
    assert (sent.stdout + sent.stderr).count("SLURM jobid") >= jobs
    assert len(local.digests()) == jobs
    assert cluster.digests() == local.digests()
