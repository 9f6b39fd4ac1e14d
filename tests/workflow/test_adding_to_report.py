"""A figure and a row of the scorecard take two places each, as the README says."""

import re
import shutil
from textwrap import indent

import pandas as pd
import yaml
from PIL import Image
from project import PAPER, ROOT, Project

HARMONIC = f"config/examples/{PAPER}/harmonic.yaml"
ROWS = "src/leastaction_papers/scorecard/law_rows.py"
FIGURE = "src/leastaction_papers/stochastic_lagrangian/figures/law_sizes.py"


def block(beginning):
    """The block of code of the README that begins like this."""
    page = (ROOT / "src/leastaction_papers/scorecard/README.md").read_text()
    (code,) = re.findall(rf"```python\n({beginning}.*?)```", page, flags=re.DOTALL)
    return code


def edited(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1, (path, old)
    path.write_text(text.replace(old, new))


def test_a_row_and_a_figure_are_added(finished, tmp_path):
    shutil.copytree(finished.folder, tmp_path / "project", symlinks=True)
    project = Project(tmp_path / "project")
    # The row: an entry of a table, and a limit of an example.
    first = "FIT_AND_ROLLOUT = (\n"
    edited(
        project.folder / ROWS,
        first,
        first + indent(block("Row"), "    ").rstrip() + ",\n",
    )
    first = "    exact_support: 1.0\n"
    edited(project.folder / HARMONIC, first, first + "    energy_rms: 0.5\n")
    # The figure: a file, and what it shows.
    (project.folder / FIGURE).write_text(block('"""How many'))
    path = project.folder / "config/config.yaml"
    config = yaml.safe_load(path.read_text())
    shown = {"examples": {PAPER: ["harmonic", "duffing"]}, "caption": "Sizes."}
    config["studies"]["sizes"] = {"figure": "law_sizes", **shown}
    path.write_text(yaml.safe_dump(config))
    scores, figure = f"results/{PAPER}/harmonic/scores.csv", "results/studies/sizes.png"
    made = project.snakemake(scores, figure, "--cores", "1")
    assert made.returncode == 0, made.stdout + made.stderr
    assert "2 of 2 steps" in made.stderr + made.stdout
    rows = pd.read_csv(project.folder / scores)
    rows = rows[rows["quantity"] == "relative error of the mean energy at the end"]
    ours = rows[rows["estimator"] == "recommended"]
    assert list(ours["verdict"]) == ["meets"]
    with Image.open(project.folder / figure) as picture:
        assert picture.width > 1000
    told = (project.folder / figure).with_suffix(".txt").read_text()
    assert told.startswith("The recommended laws have")
