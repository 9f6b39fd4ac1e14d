"""The first page, typed: shell and Python of the README give what stands there."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import leastaction as la
from leastaction.__main__ import main

README = Path(__file__).parents[1] / "README.md"
NUMBER = re.compile(r"-?\d+\.?\d*")
# Relative difference of a number between processors: a tenth of what is printed as ±.
DIFFERENCE = 0.1


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", README.read_text(), re.DOTALL)


def agree(shown: str, printed: str) -> None:
    """Text and numbers that the page shows; `...` stands for more."""
    shown, more, _ = shown.partition("...\n")
    printed = printed[: len(shown) + 40 if more else None]
    words, others = NUMBER.split(shown.strip()), NUMBER.split(printed.strip())
    assert words[:-1] == others[: len(words) - 1]
    numbers = list(map(float, NUMBER.findall(shown)))
    found = list(map(float, NUMBER.findall(printed)))[: len(numbers)]
    assert found == pytest.approx(numbers, rel=DIFFERENCE)


def run(*words, folder):
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_page_runs_as_typed(tmp_path, monkeypatch, capsys):
    (session,) = blocks("console")
    for part in session.split("$ ")[1:]:
        line, _, shown = part.partition("\n")
        command, *words = shlex.split(line)
        assert command == "leastaction"
        agree(shown, run("-m", command, *words, folder=tmp_path))
    ((program,), (shown,)) = blocks("python"), blocks("text")
    agree(shown, run("-c", program, folder=tmp_path))
    made = sorted(path.name for path in (tmp_path / "law").iterdir())
    figures = ["dynamics.png", "prediction.png", "residuals.png"]
    assert made == sorted(["law.md", "model.nc", *figures])
    law = la.load(tmp_path / "law/model.nc")
    assert law.to_markdown() == (tmp_path / "law/law.md").read_text()
    again = la.load(tmp_path / "pendulum.nc")
    assert again.terms.equals(law.terms) and again.source == law.source
    monkeypatch.chdir(tmp_path)
    shutil.copy("swings.csv", "other.csv")
    assert main([*words[:1], "other.csv", *words[2:]]) == 1
    assert "law/ holds the law of swings.csv" in capsys.readouterr().err


def test_the_readme_is_short():
    assert len(README.read_text().splitlines()) <= 120
