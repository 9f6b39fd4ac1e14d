"""A file that is no longer what was written: found when it is read."""

import os

import netCDF4
from disturbed import MODEL, OBSERVATIONS

from leastaction.core.files import add_mark


def test_lost_last_block(disturbed):
    project = disturbed(MODEL)
    path = project.folder / OBSERVATIONS
    content, times = path.read_bytes(), path.stat().st_mtime_ns
    project.without(MODEL)
    command = f"snakemake --forcerun {OBSERVATIONS}"
    path.write_bytes(content[:-4096] + bytes(4096))
    os.utime(path, ns=(times, times))
    project.fails(f"{OBSERVATIONS} is damaged", f"make it again with: {command}")
    project.completes(*command.split()[1:])


BELONGS_ELSEWHERE = {
    "result": (
        "stochastic_lagrangian/duffing/observations",
        "is the result stochastic_lagrangian/duffing/observations; expected stoch",
    ),
    "made_with": (16 * "0", "was made with other settings than those of the conf"),
}


def test_a_result_that_belongs_elsewhere(disturbed):
    """A valid file of another example, or of other settings, copied into its place."""
    project = disturbed(MODEL)
    path = project.folder / OBSERVATIONS
    content, times = path.read_bytes(), path.stat().st_mtime_ns
    project.without(MODEL)
    for attribute, (other, says) in BELONGS_ELSEWHERE.items():
        path.write_bytes(content)
        with netCDF4.Dataset(path, "a") as file:
            assert file.getncattr(attribute) != other
            file.setncattr(attribute, other)
        add_mark(path)
        os.utime(path, ns=(times, times))
        project.fails(says, f"snakemake --forcerun {OBSERVATIONS}")
