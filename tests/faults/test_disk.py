"""A disk that is full, or that cannot be written."""

from disturbed import FOLDER


def test_full_disk(small_disk):
    project, remount = small_disk
    project.fails("the disk is full", "make room", FOLDER)
    assert not list((project.folder / "results").rglob("*.nc"))
    remount("size=64m")
    project.completes()


def test_read_only_results(small_disk):
    project, remount = small_disk
    remount("size=64m,ro")
    project.fails("Read-only file system", FOLDER)
    remount("size=64m,rw")
    project.completes()
