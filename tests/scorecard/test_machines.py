"""Real machines: what a page says of them, with and without their data."""

import numpy as np
import pytest
import yaml
from recorded import ROOT

import leastaction as la
from leastaction.core.settings import complete
from leastaction.recordings.configuration import Published, are_there
from leastaction_papers.scorecard.machines import machine, machines_document

FILES = sorted((ROOT / "config" / "recordings").glob("*.yaml"))
TIME = np.arange(0, 20, 0.02)
PUBLISHED = {
    "about": "A cart.",
    "source": "Nobody",
    "url": "https://example.org",
    "files": {"cart.csv": "columns t and x"},
    "numbers": [
        {"quantity": "stiffness", "value": 9.0, "term": "x**2", "factor": -2.0},
        {"quantity": "wrong", "value": 6.0, "term": "x**2", "factor": -2.0},
        {"quantity": "frequency²", "value": 9.0, "term": "x**2", "factor": -1.0}
        | {"over": "xdot**2", "error": 0.1, "unit": "1/s²"},
        {"quantity": "friction", "value": 1.0, "of": "D", "term": "abs(xdot)"},
    ],
    "numbers_from": "a letter",
    "runs": [{"model": "linear", "value": 14.0, "source": "a table"}],
    "runs_in": "mm",
}


@pytest.fixture(scope="module")
def law():
    rng = np.random.default_rng(2)
    swings = [
        a * np.cos(3 * TIME) + 1e-3 * rng.standard_normal(len(TIME))
        for a in (0.1, 0.2, 0.3, 0.4, 0.5)
    ]
    return la.learn({"x": swings}, time=TIME, progress=False)


def published():
    return complete(PUBLISHED, Published, "the cart")


def test_a_reference_number_stands_beside_ours(law):
    rows = machine("cart", "A cart", published(), law)["numbers"]
    stiffness, wrong, ratio, friction = rows
    assert (stiffness["inside"], wrong["inside"]) == ("yes", "no")
    assert wrong["difference"] == "+50 %" and ratio["inside"] == "yes"
    width = float(ratio["ours"].split("±")[1].split()[0])
    assert width == pytest.approx(
        2 * law.interval_factor * law.standard_error("x**2"), rel=0.1
    )
    assert friction["ours"] == "not in the law" and friction["inside"] == ""


def test_free_runs_are_in_the_unit_of_the_others(law):
    ours, theirs = machine("cart", "A cart", published(), law)["runs"]
    found = law.rollout
    rms = 1e3 * np.sqrt(float(((found.q_measured - found.q_estimate) ** 2).mean()))
    assert ours["rms error"] == f"{rms:.3g} mm" and "held out" in ours["model"]
    law.rollout["force_error"] = (("replicate", "dof"), [[0.021]])
    _, missed, _ = machine("cart", "A cart", published(), law)["runs"]
    del law.rollout["force_error"]
    assert missed["rms error"] == "2.1 %" and "force" in missed["model"]
    assert theirs == {"model": "linear", "rms error": "14 mm", "source": "a table"}


def test_the_page_has_the_law_and_the_missing_data(law):
    told = [
        machine("cart", "A cart", published(), law),
        machine("rod", "A rod", published(), None),
    ]
    text = machines_document(told)
    assert "A cart" in text and "not in the law" in text and "cart.csv" in text
    assert text.count("The data were not there") == 1
    assert "| `x**2`" in text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_machine_states_where_its_files_come_from(path, tmp_path, monkeypatch):
    (given,) = yaml.safe_load(path.read_text())["recordings"].items()
    name, entry = given
    assert name == path.stem and entry["title"]
    told = complete(entry["published"], Published, name)
    files = entry["import"]["files"]
    files = [files] if isinstance(files, str) else files
    assert {f"$LEASTACTION_DATA/{file}" for file in told["files"]} == set(files)
    monkeypatch.delenv("LEASTACTION_DATA", raising=False)
    assert not are_there(entry, path.parent)
    monkeypatch.setenv("LEASTACTION_DATA", str(tmp_path))
    for file in told["files"]:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    assert are_there(entry, path.parent)
