"""A method is added as docs/adding_a_method.md says: in three places."""

import re

import pytest
import yaml
from project import PAPER, ROOT, Project

HARMONIC = f"config/examples/{PAPER}/harmonic.yaml"
RECIPES = "src/leastaction_papers/stochastic_lagrangian/recipes.py"


def blocks():
    """(Title of the section, code) of every block of the page."""
    page = (ROOT / "docs/adding_a_method.md").read_text()
    for section in re.split("^#+ ", page, flags=re.MULTILINE):
        for code in re.findall(r"```\w+\n(.*?)```", section, flags=re.DOTALL):
            yield section.splitlines()[0], code


def edited(path, old, new):
    text, count = re.subn(old, lambda match: new, path.read_text(), flags=re.MULTILINE)
    assert count == 1, (path, old)
    path.write_text(text)


def test_a_method_takes_a_file_a_class_and_a_line_of_yaml(tmp_path):
    project = Project.copy(tmp_path / "project")
    (file, method), (_, step), (_, after), (line, recipe) = list(blocks())[:4]
    assert line == f"3. `{HARMONIC}`"
    (project.folder / file.split("`")[1]).write_text(method)
    recipes = project.folder / RECIPES
    edited(recipes, "^class EnsembleRollout", f"{step}\n\nclass EnsembleRollout")
    edited(recipes, '^    after = .*"stlsq", .*\n', after)
    edited(project.folder / HARMONIC, "^variants:.*\n", f"variants:\n{recipe}")
    model = f"results/{PAPER}/harmonic-again/ridge/model.nc"
    made = project.snakemake(model, "--cores", "1")
    assert made.returncode == 0, made.stdout + made.stderr
    assert (project.folder / model).is_file()


def test_a_folder_of_ones_own_has_laws_figures_and_a_page(tmp_path):
    """Of variants, too, and without a section `publish`; found by its name."""
    project = Project.copy(tmp_path / "project")
    mine = project.folder / "config/examples/beyond_mine"
    mine.mkdir()
    given = yaml.safe_load((ROOT / HARMONIC).read_text())
    given.pop("publish")
    given["variants"] = {"slow": {"simulate": {"trajectories": 5}}}
    (mine / "spring.yaml").write_text(yaml.safe_dump(given))
    page = "results/beyond.html"
    planned = project.snakemake("-n", "beyond_mine", page).stdout
    for name in ("spring", "spring-slow"):
        for job in ("Describing the laws of", "Scoring and drawing"):
            assert f"{job} {name}\n" in planned, planned
    assert "Summarising what goes beyond the papers" in planned


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """Plan of all papers but one, whose examples are removed, and of three studies."""
    project = Project.copy(tmp_path_factory.mktemp("project"), {}, None)
    paths = project.folder.glob("config/examples/fokker_planck/*.yaml")
    removed = {path.stem: None for path in paths}
    project.configure({"examples": {"fokker_planck": removed}})
    studies = "symmetries", "fields", "port_structures"
    result = project.snakemake(
        "-n", "papers", *(f"results/studies/{s}.png" for s in studies)
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout + result.stderr


def test_a_study_of_laws_without_candidates_reads_their_rollouts(planned):
    for name in ("isotropic", "klein_gordon", "dc_motor"):
        assert f"Rolling out {name} (recommended)" in planned


def test_removing_all_examples_of_a_paper(planned):
    assert "stochastic_lagrangian" in planned and "fokker_planck" not in planned
