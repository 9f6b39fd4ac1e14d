"""A tiny finished run, copied for every fault."""

import os
import shutil
import subprocess

import pytest
from disturbed import OBSERVATIONS, SMALL, WRITTEN, Disturbed
from project import Project


@pytest.fixture(scope="session")
def run(tmp_path_factory) -> Project:
    """The undisturbed run."""
    project = Project.copy(tmp_path_factory.mktemp("run"), SMALL, ("harmonic",))
    result = project.snakemake(WRITTEN[-1], "--cores", "1")
    assert result.returncode == 0, result.stdout + result.stderr
    return project


@pytest.fixture
def disturbed(run, tmp_path):
    """A copy of the undisturbed run, to be made up to a target."""

    def copy(target: str) -> Disturbed:
        shutil.copytree(run.folder, tmp_path, dirs_exist_ok=True)
        made = run.digests()
        later_ones = WRITTEN[WRITTEN.index(target) + 1 :]
        if target == OBSERVATIONS:  # the job of the law makes its readings, too
            later_ones += tuple(name for name in made if "/published_" in name)
        for later in later_ones:
            (tmp_path / later).unlink()
            del made[later]
        return Disturbed(tmp_path, target, made)

    return copy


@pytest.fixture
def small_disk(disturbed):
    """(project, remount): results on a disk of their own, too small for them."""
    if os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("only root can mount a small disk")
    project = disturbed(OBSERVATIONS)
    folder = project.folder / "results"

    def mount(options: str) -> None:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder]
        subprocess.run(command, check=True, capture_output=True, text=True)

    shutil.rmtree(folder)
    folder.mkdir()
    try:
        mount("size=512k")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"a small disk cannot be mounted here: {error.stderr.strip()}")
    yield project, lambda options: mount(f"remount,{options}")
    subprocess.run(["umount", folder], check=True)
