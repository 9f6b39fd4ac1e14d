"""A file that is no longer what was written: found when it is read."""

import os

import netCDF4
from disturbed import DERIVATIVES, OBSERVATIONS

from leastaction.core.files import add_mark


def test_lost_last_block(disturbed):
    project = disturbed(DERIVATIVES)
    path = project.folder / OBSERVATIONS
    content, times = path.read_bytes(), path.stat().st_mtime_ns
    project.without(DERIVATIVES)
    command = f"snakemake --forcerun {OBSERVATIONS}"
    path.write_bytes(content[:-4096] + bytes(4096))
    os.utime(path, ns=(times, times))
    project.fails(f"{OBSERVATIONS} is damaged", f"make it again with: {command}")
    project.completes(*command.split()[1:])


def test_a_result_of_another_example(disturbed):
    """A valid file that was copied into the wrong folder."""
    project = disturbed(DERIVATIVES)
    path = project.folder / OBSERVATIONS
    times = path.stat().st_mtime_ns
    project.without(DERIVATIVES)
    with netCDF4.Dataset(path, "a") as file:
        assert file.result_of == "stochastic_lagrangian/harmonic"
        file.result_of = "stochastic_lagrangian/duffing"
    add_mark(path)
    os.utime(path, ns=(times, times))
    project.fails("is a result of stochastic_lagrangian/duffing; expected one of stoch")
    project.completes("--forcerun", OBSERVATIONS)
