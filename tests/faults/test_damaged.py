"""Files that are no longer what was written: found before they are used."""

import os

import pytest
from disturbed import DERIVATIVES, OBSERVATIONS


def truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flipped(content: bytes) -> bytes:
    """One bit of a number: HDF5 reads the file without complaint."""
    place = len(content) * 3 // 4
    return content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :]


@pytest.mark.parametrize("damage", [truncated, flipped])
def test_damaged_input(disturbed, damage):
    project = disturbed(DERIVATIVES)
    path = project.folder / OBSERVATIONS
    times = path.stat().st_mtime_ns
    path.write_bytes(damage(path.read_bytes()))
    os.utime(path, ns=(times, times))
    project.without(DERIVATIVES)
    command = f"snakemake --forcerun {OBSERVATIONS}"
    project.fails(f"{OBSERVATIONS} is ", f"make it again with: {command}")
    project.completes(*command.split()[1:])
