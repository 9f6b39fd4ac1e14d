"""A SLURM of one node, and copies of the project that know its name."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("one_node.sh")
# Asked soon whether they have ended: these jobs are short.
PROFILE = [
    "--workflow-profile",
    "profiles/slurm",
    "--slurm-init-seconds-before-status-checks",
    "3",
]


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


def on_cluster(project):
    """What a user of a cluster does: change two lines of the profile."""
    path = project.folder / "profiles" / "slurm" / "profile.yaml"
    text = path.read_text()
    assert text.count(": my_") == 2
    text = text.replace(": my_account", ": tests").replace(": my_partition", ": tests")
    path.write_text(text)
    return project


def twin(project, folder):
    """A copy of a project as it is."""
    shutil.copytree(project.folder, folder, dirs_exist_ok=True)
    return type(project)(folder)
