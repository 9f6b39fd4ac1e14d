"""An import killed, and a recording that changes while it is read."""

import os
import signal
from pathlib import Path

import pytest
from disturbed import Disturbed
from project import Project
from recorded import rig, rows, write

from leastaction.recordings.refusals import RecordingError
from leastaction.recordings.tables import unchanged

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
    path = imported.folder / OBSERVATIONS
    content, digests = path.read_bytes(), imported.digests()
    path.unlink()
    yield Disturbed(imported.folder, OBSERVATIONS, digests)
    path.parent.mkdir(parents=True, exist_ok=True)  # Snakemake removes an empty one
    path.write_bytes(content)


@pytest.fixture
def table(imported):
    """The recording; what a test does to it is undone."""
    path = imported.folder / "rig.csv"
    content, state = path.read_bytes(), path.stat()
    yield path
    path.write_bytes(content)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def reading(project):
    """Whether a process has the recording open."""
    path = str(project.folder / "rig.csv")
    return lambda worker: any(file.path == path for file in worker.open_files())


def test_killed_while_it_reads(disturbed):
    with disturbed.caught(reading(disturbed)) as (snakemake, worker):
        snakemake.kill()
        worker.kill()
        snakemake.wait()
    assert not (disturbed.folder / OBSERVATIONS).exists()
    assert disturbed.snakemake("--unlock").returncode == 0
    disturbed.completes()


def cut(path):
    """As an export that is copied once more to the same place."""
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size // 2)


def replaced(path):
    """By a recording of the same length, under the same name."""
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes().replace(b".99", b".98"))
    os.replace(other, path)


def test_replaced_while_its_observations_are_written(disturbed, table):
    with disturbed.caught() as (snakemake, worker):
        replaced(table)
        worker.send_signal(signal.SIGCONT)
        assert snakemake.wait(120) != 0
    text = disturbed.told()
    assert f"{table}: it changed while it was read" in text, text
    assert "Run again when nothing writes to it any more" in text
    assert "Traceback" not in text
    assert not (disturbed.folder / OBSERVATIONS).exists()


def appended(path):
    with path.open("a") as file:
        file.write("4,99.0,0.1\n")


@pytest.mark.parametrize("change", [appended, cut, replaced, Path.unlink])
def test_changed_while_it_is_read(tmp_path, change):
    """Whatever half a file led to is not what is said."""
    path = write(tmp_path, rows())
    refused = pytest.raises(RecordingError, match="changed while it was read")
    with refused, unchanged([path]):
        change(path)
        raise ValueError("of half a file")
