"""A file that is no longer what was written: found when it is read."""

import os

from disturbed import DERIVATIVES, OBSERVATIONS


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
