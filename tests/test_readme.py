"""The Python of the README runs as it stands there."""

import re
from pathlib import Path

import matplotlib

README = Path(__file__).parents[1] / "README.md"


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch):
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    names = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)
    assert len(blocks) == 3
    assert names["law"].verdict == "found"
    assert names["model"].score(names["truth"]).exact
