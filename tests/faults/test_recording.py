"""An import killed, and a recording that changes while it is read."""

import os
import signal

import pytest
from disturbed import Disturbed
from project import Project
from recorded import rig, rows, write

OBSERVATIONS = "results/recordings/arm/observations.nc"


@pytest.fixture(scope="module")
def imported(tmp_path_factory) -> Project:
    """A project in which a recording has been imported, with its table beside it."""
    project = Project.copy(tmp_path_factory.mktemp("imported"), {}, ("harmonic",))
    part = rig()
    part["import"]["files"] = str(write(project.folder, rows(rate=2500.0)))
    project.configure({"recordings": {"arm": part}})
    result = project.snakemake(OBSERVATIONS, "--cores", "1")
    assert result.returncode == 0, result.stdout + result.stderr
    return project


@pytest.fixture
def disturbed(imported):
    """The project, to be imported once more."""
    project = Disturbed(imported.folder, OBSERVATIONS, imported.digests())
    (imported.folder / OBSERVATIONS).unlink()
    yield project
    project.is_whole()


@pytest.fixture
def table(imported):
    """The recording; what a test does to it is undone."""
    path = imported.folder / "rig.csv"
    content, state = path.read_bytes(), path.stat()

    def restore():
        path.write_bytes(content)
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))

    yield path, content, restore
    restore()


def reading(project):
    """Whether a process has the recording open."""
    path = str(project.folder / "rig.csv")
    return lambda worker: any(file.path == path for file in worker.open_files())


def test_killed_with_its_snakemake(disturbed):
    """First while it reads, then while it writes."""
    for amid in (reading(disturbed), None):
        with disturbed.caught(amid) as (snakemake, worker):
            snakemake.kill()
            worker.kill()
            snakemake.wait()
        assert not (disturbed.folder / OBSERVATIONS).exists()
        assert disturbed.snakemake("--unlock").returncode == 0
    disturbed.completes()


def cut(path, content):
    """As an export that is copied once more to the same place."""
    with open(path, "r+b") as file:
        file.truncate(len(content) // 2)


def replaced(path, content):
    """By a recording of the same length, under the same name."""
    other = path.with_suffix(".new")
    other.write_bytes(content.replace(b".99", b".98"))
    os.replace(other, path)


def test_changed_meanwhile(disturbed, table):
    """Cut while it is read, then replaced while its observations are written."""
    path, content, restore = table
    for change, amid in ((cut, reading(disturbed)), (replaced, None)):
        with disturbed.caught(amid) as (snakemake, worker):
            change(path, content)
            worker.send_signal(signal.SIGCONT)
            assert snakemake.wait(120) != 0
        text = disturbed.told()
        assert f"{path}: it changed while it was read" in text, text
        assert "Run again when nothing writes to it any more" in text
        assert "Traceback" not in text
        assert not (disturbed.folder / OBSERVATIONS).exists()
        restore()
    disturbed.completes()
