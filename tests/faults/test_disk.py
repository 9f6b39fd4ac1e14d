"""A disk that is full, or that cannot be written."""

import re

from disturbed import FOLDER
from project import Project


def test_a_disk_that_is_full_then_read_only(small_disk):
    project, remount = small_disk
    project.fails("this run needs about 0.0026 GB of disk", "make room")
    remount("size=2508k")  # the paths fit, their file does not
    project.fails("the disk is full", "make room", FOLDER)
    assert not list((project.folder / "results").rglob("*.nc"))
    remount("size=64m,ro")
    project.fails("Read-only file system", FOLDER)
    remount("size=64m,rw")
    project.completes()


def test_large_ensembles_are_dropped_after_use(tmp_path):
    """What the beam was learned from; else what only the job reads that makes it."""
    project = Project.copy(tmp_path, {"replicates": 2}, ("beam", "harmonic"))
    folders = ["results/stochastic_lagrangian/beam", FOLDER]
    result = project.snakemake("-n", *(f"{folder}/scores.csv" for folder in folders))
    dropped = re.findall(r"Would remove temporary output (\S+)", result.stdout)
    always = {
        f"{folder}/{file}.nc"
        for folder in folders
        for file in (
            "published/derivatives",
            "published/library",
            "recommended/derivatives",
            "recommended/library",
        )
    }
    assert set(dropped) == always | {f"{folders[0]}/observations.nc"}
