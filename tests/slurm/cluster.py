"""Copies of the project that know the name of a cluster."""

import shutil

# Asked soon whether they have ended: these jobs are short.
PROFILE = [
    "--workflow-profile",
    "profiles/slurm",
    "--slurm-init-seconds-before-status-checks",
    "3",
]


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
