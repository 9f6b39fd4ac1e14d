"""A method is added as docs/adding_a_method.md says: in three places."""

import re

from project import PAPER, ROOT, Project

HARMONIC = f"config/examples/{PAPER}/harmonic.yaml"
RECIPES = "src/leastaction/ensembles/recipes.py"


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
    (file, method), (_, step), (_, after), (yaml, recipe) = list(blocks())[:4]
    assert yaml == f"3. `{HARMONIC}`"
    (project.folder / file.split("`")[1]).write_text(method)
    recipes = project.folder / RECIPES
    edited(recipes, "^class EnsembleRollout", f"{step}\n\nclass EnsembleRollout")
    edited(recipes, '^    after = .*"stlsq", .*\n', after)
    edited(project.folder / HARMONIC, "^variants:.*\n", f"variants:\n{recipe}")
    model = f"results/{PAPER}/harmonic-again/ridge/model.nc"
    made = project.snakemake(model, "--cores", "1")
    assert made.returncode == 0, made.stdout + made.stderr
    assert (project.folder / model).is_file()
