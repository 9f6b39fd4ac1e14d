"""A file that is no longer what was written: found when it is read."""

import os

import netCDF4
from disturbed import MODEL, OBSERVATIONS

from leastaction.core.files import add_mark


def test_other_settings_and_a_lost_last_block(disturbed):
    """A valid file of other settings in its place, then half a file; then made again.

    All that a file may belong to instead: tests/core/test_files.py.
    """
    project = disturbed(MODEL)
    path = project.folder / OBSERVATIONS
    content, times = path.read_bytes(), path.stat().st_mtime_ns
    project.without(MODEL)
    command = f"snakemake --forcerun {OBSERVATIONS}"
    with netCDF4.Dataset(path, "a") as file:
        file.setncattr("made_with", 16 * "0")
    add_mark(path)
    os.utime(path, ns=(times, times))
    project.fails("was made with other settings than those of the conf", command)
    path.write_bytes(content[:-4096] + bytes(4096))
    os.utime(path, ns=(times, times))
    project.fails(f"{OBSERVATIONS} is damaged", f"make it again with: {command}")
    project.completes(*command.split()[1:])
