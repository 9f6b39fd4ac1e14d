"""The page of other tables than motions, typed: what it shows is what is printed."""

import re
import shlex
from pathlib import Path

import pytest
import yaml
from test_typed import agree

import leastaction as la
from leastaction.__main__ import main
from leastaction.core.own_data import kinds
from leastaction.core.recipe import Recipe
from leastaction.recordings.configuration import import_settings, read_recordings
from leastaction.recordings.import_samples import imported

PAGE = (Path(__file__).parents[2] / "docs/other_tables.md").read_text()


def blocks(kind: str, words: str) -> list[str]:
    found = re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    return [block for block in found if words in block]


@pytest.mark.parametrize("kind", list(kinds()))
def test_shell_python_and_yaml_give_the_same_law(kind, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (session,) = blocks("console", f"demo {kind}")
    for part in session.split("$ ")[1:]:
        line, _, shown = part.partition("\n")
        assert main([*shlex.split(line)[1:]]) == 0
        agree(shown, capsys.readouterr().out)
    law = la.load("law/model.nc")
    names: dict = {"la": la}
    (program,) = blocks("python", f'kind="{kind}"')
    exec(program, names)  # the page itself
    assert names["law"].terms.equals(law.terms)
    (text,) = blocks("yaml", f"kind: {kind}")
    config = yaml.safe_load(text) | {"seed": 1}
    ((_, recording),) = read_recordings(config, {}).items()
    observations, parts = imported(import_settings(recording))
    recipe = Recipe(**recording["estimators"]["recommended"])
    model = recipe.dataset(observations, recording["library"])
    assert model.drop_attrs().equals(law.model.drop_attrs())
    assert parts["held_out"].attrs["contract"] == observations.attrs["contract"]
