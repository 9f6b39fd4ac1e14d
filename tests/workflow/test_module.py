"""Our rules inside another workflow: in its folder, with its config and its results."""

import yaml
from project import ROOT, snakemake
from recorded import rig, rows, write

from leastaction.core.files import sizes

SNAKEFILE = """
configfile: "mine.yaml"

rule all:
    input:
        "{0}/recordings/arm/law.md",
        "{0}/stochastic_lagrangian/harmonic/recommended/model.nc",


module leastaction:
    snakefile:
        "{1}"
    config:
        config["leastaction"]
    {2}


use rule * from leastaction as la_*

use rule simulate from leastaction as la_simulate with:
    priority: 7
"""


def another(folder, way, results):
    """Snakemake in the folder of another workflow, with our results in `results`."""
    ours = ROOT / "workflow" / "Snakefile"
    (folder / "Snakefile").write_text(SNAKEFILE.format(results, ours, way))
    tiny = {"harmonic": {"simulate": {"trajectories": 20}}}
    config = {
        "seed": 1,
        "replicates": 2,
        "examples": {"stochastic_lagrangian": tiny},
        "recordings": {"arm": rig()},
    }
    (folder / "mine.yaml").write_text(yaml.safe_dump({"leastaction": config}))
    write(folder, rows())

    def run(*arguments):
        done = snakemake(["--cores", "1", *arguments], folder, ROOT / "src")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


def test_our_rules_in_another_workflow(tmp_path):
    run = another(tmp_path, "pathvars: results='laws', logs='told'", "laws")
    made = "laws/stochastic_lagrangian/harmonic/observations.nc"
    run(made)
    assert sizes(tmp_path / made)["replicate"] == 2
    plan = run("-n")
    for job in (
        "all",
        "la_estimate",
        "la_import_recording",
        "la_write_law",
    ):
        assert f"\n{job} " in plan, plan
    for job in ("la_papers", "la_simulate"):
        assert f"\n{job} " not in plan, plan
    own = {".snakemake", "Snakefile", "mine.yaml", "rig.csv"}
    assert {path.name for path in tmp_path.iterdir()} == {*own, "laws", "told"}


def test_our_rules_under_a_prefix(tmp_path):
    plan = another(tmp_path, "prefix: 'ours'", "ours/results")("-n")
    for job in ("all", "la_simulate", "la_import_recording", "la_write_law"):
        assert f"\n{job} " in plan, plan
