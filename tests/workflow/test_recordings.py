"""A user's YAML, wherever it lives, is the default target; a refusal leaves nothing."""

import re

import pytest
import yaml
from project import ROOT, Project, snakemake
from recorded import rig, rows, write

from leastaction.core.own_data import kinds


@pytest.fixture(scope="module")
def copied(tmp_path_factory) -> Project:
    return Project.copy(tmp_path_factory.mktemp("project"), {})


@pytest.fixture
def lab(tmp_path):
    """Folder of a lab, far from the project, with a table and a YAML."""
    write(tmp_path, rows())
    text = yaml.safe_dump({"recordings": {"arm": rig()}})
    (tmp_path / "my-rig.yaml").write_text(text)
    return tmp_path


def run(project, lab, *arguments, before="") -> str:
    arguments = *arguments, "--configfile", str(lab / "my-rig.yaml")
    sources = *filter(None, [before]), project.folder / "src"
    result = snakemake(arguments, project.folder, *sources)
    return result.stdout + result.stderr


def test_the_recording_is_the_default_target(copied, lab):
    text = run(copied, lab, "-n")
    for job in ("Importing arm", "Identifying arm", "Predicting", "Writing the law"):
        assert job in text, text
    assert "Every law is written" in text
    assert "Simulating" not in text


def test_a_recording_does_without_the_papers(copied, lab, tmp_path):
    absent = "import sys; sys.modules['leastaction_papers'] = None"
    (tmp_path / "sitecustomize.py").write_text(absent)
    planned = run(copied, lab, "-n", before=str(tmp_path))
    assert "Writing the law" in planned and "Every law is written" in planned


def test_a_broken_cell_stops_with_one_message_and_no_result(copied, lab):
    table = rows()
    table[300][2] = "overload"
    write(lab, table)
    text = run(copied, lab, "--cores", "1")
    assert "line 302, column 'theta': the cell holds 'overload'" in text
    assert "Traceback" not in text
    assert not (copied.folder / "results/recordings/arm/observations.nc").exists()


def test_a_missing_column_stops_before_any_job(copied, lab):
    write(lab, rows(), "run,t,angle")
    text = run(copied, lab, "--cores", "1")
    assert "unknown column 'theta'" in text and "Traceback" not in text
    assert "Importing" not in text


def test_machines_whose_data_are_absent_are_named(copied, monkeypatch):
    monkeypatch.delenv("LEASTACTION_DATA", raising=False)
    done = copied.snakemake("--cores", "1", "docs/machines.md")
    assert done.returncode == 0, done.stdout + done.stderr
    page = (copied.folder / "docs/machines.md").read_text()
    assert page.count("The data were not there") == page.count("\n## ") >= 4
    assert "emps/emps_train.csv" in page


def test_a_table_of_another_kind_goes_to_its_law(copied, tmp_path):
    """From the YAML of the page, through import, identify, predict, the law.

    One rule makes the law of any kind: of the others, tests/docs/test_other_tables.py
    compares what it reads.
    """
    table = kinds()["ports"].demo().splitlines(keepends=True)[:1003]  # enough here
    (tmp_path / "ports.csv").write_text("".join(table))
    page = (ROOT / "docs/other_tables.md").read_text()
    yaml_of_ports = r"```yaml\n(recordings:\n  \w+:\n    kind: ports.*?)```"
    given = yaml.safe_load(re.search(yaml_of_ports, page, re.S)[1])
    (given["recordings"],) = ({"ports": one} for one in given["recordings"].values())
    (tmp_path / "my-rig.yaml").write_text(yaml.safe_dump(given))
    law = "results/recordings/ports/law.md"
    text = run(copied, tmp_path, "--cores", "2", law)
    assert "(100%) done" in text, text
    assert "Traceback" not in text, text
    text = (copied.folder / law).read_text()
    assert text.startswith("# ports") and "**No law found" not in text
    assert "`J_12`" in text and "held-out data: " in text
