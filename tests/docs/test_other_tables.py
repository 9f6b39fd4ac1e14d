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
from leastaction.recordings.configuration import import_settings, read_recordings
from leastaction.recordings.import_samples import imported

PAGE = (Path(__file__).parents[2] / "docs/other_tables.md").read_text()


def blocks(kind: str, words: str) -> list[str]:
    found = re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    return [block for block in found if words in block]


class Stop(Exception):
    """Ends `learn` where a table would be read."""


@pytest.mark.parametrize("kind", list(kinds()))
def test_the_page_is_typed(kind, tmp_path, monkeypatch, capsys):
    """The shell prints what stands there; Python and YAML read the same table."""
    monkeypatch.chdir(tmp_path)
    (session,) = blocks("console", f"demo {kind}")
    for part in session.split("$ ")[1:]:
        line, _, shown = part.partition("\n")
        assert main([*shlex.split(line)[1:]]) == 0
        agree(shown, capsys.readouterr().out)
    law = la.load("law/model.nc")
    (text,) = blocks("yaml", f"kind: {kind}")
    ((_, recording),) = read_recordings(yaml.safe_load(text) | {"seed": 1}, {}).items()
    wanted = import_settings(recording)
    observations, parts = imported(wanted)
    assert observations.drop_attrs().equals(law.observations.drop_attrs())
    assert parts["held_out"].attrs["contract"] == observations.attrs["contract"]
    asked = {}

    def read(settings):
        asked.update(settings)
        raise Stop

    monkeypatch.setattr("leastaction.recordings.import_samples.imported", read)
    (program,) = blocks("python", f'kind="{kind}"')
    with pytest.raises(Stop):
        exec(program, {"la": la})  # the page itself
    files = asked["import"].pop("files"), wanted["import"].pop("files")
    assert [Path(one).name for one in files[0]] == [Path(o).name for o in files[1]]
    assert asked == wanted
