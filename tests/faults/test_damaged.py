"""Files that are no longer what was written: found before they are used."""

import os

from disturbed import DERIVATIVES, OBSERVATIONS


def truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flipped(content: bytes) -> bytes:
    """One bit of a number: HDF5 reads the file without complaint."""
    place = len(content) * 3 // 4
    return content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :]


def test_damaged_input(disturbed):
    project = disturbed(DERIVATIVES)
    path = project.folder / OBSERVATIONS
    whole, times = path.read_bytes(), path.stat().st_mtime_ns
    project.without(DERIVATIVES)
    command = f"snakemake --forcerun {OBSERVATIONS}"
    for damage in (truncated, flipped):
        path.write_bytes(damage(whole))
        os.utime(path, ns=(times, times))
        project.fails(f"{OBSERVATIONS} is ", f"make it again with: {command}")
    project.completes(*command.split()[1:])
