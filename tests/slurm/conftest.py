"""A SLURM of one node."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("one_node.sh")


@pytest.fixture(scope="session")
def slurm(tmp_path_factory):
    """Start SLURM, or skip with the reason; stop it at the end."""
    if not os.environ.get("LEASTACTION_SLURM"):
        pytest.skip("`make cluster`, as root, installs SLURM and runs this test")
    folder = tmp_path_factory.mktemp("slurm")
    started = subprocess.run(
        [SCRIPT, "start", folder], capture_output=True, text=True, timeout=300
    )
    if started.returncode != 0:
        pytest.skip(started.stderr.strip().splitlines()[0])
    yield folder
    subprocess.run([SCRIPT, "stop", folder], check=True)
