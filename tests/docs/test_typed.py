"""What stands on pages and in notebooks, typed: it gives the output that is shown."""

import ast
import json
import re
import shlex
import shutil
from contextlib import chdir, redirect_stdout
from decimal import Decimal
from functools import cache
from io import BytesIO, StringIO, TextIOWrapper

import pytest
from project import ROOT

import leastaction as la
from leastaction.__main__ import main

README, FIRST_LAW = ROOT / "README.md", ROOT / "docs/your_own_data.md"
NOTEBOOKS = sorted((ROOT / "docs").glob("*.ipynb"))
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]\d+)?")
# How long something took, and whether it was measured in 9 s or in 10.
SECONDS = re.compile(r"computing time: \d+ s")
# Relative difference of a number between processors: a tenth of what is printed as ±.
DIFFERENCE = 0.1
# That of a whole number: a count below 1000 is the same.
COUNTED = 1e-3


def blocks(page, kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", page.read_text(), re.DOTALL)


def agree(shown: str, printed: str) -> None:
    """Words and numbers of both; `...` at the end of a page stands for more."""
    shown, more, _ = SECONDS.sub("", shown).partition("...\n")
    printed = SECONDS.sub("", printed)[: len(shown) + 40 if more else None]
    words, others = NUMBER.split(shown.strip()), NUMBER.split(printed.strip())
    count = len(words) - 1 if more else None
    bare = ["".join(text.split()) for text in words[:count]]
    assert bare == ["".join(text.split()) for text in others[: count or len(others)]]
    numbers = NUMBER.findall(shown)
    for k, (number, seen) in enumerate(
        zip(numbers, NUMBER.findall(printed)[: len(numbers)], strict=True)
    ):
        # A rounded number may differ by one in its last digit, a count by nothing.
        rounded = any(mark in number for mark in ".e")
        last_digit = float(Decimal(1).scaleb(Decimal(number).as_tuple().exponent))
        relative, least = (
            DIFFERENCE if rounded else COUNTED,
            1.01 * rounded * last_digit,
        )
        if k + 1 < len(numbers) and words[k + 1].strip(" |") == "±":
            relative, least = 0, max(least, DIFFERENCE * float(numbers[k + 1]))
        assert float(seen) == pytest.approx(float(number), relative, least)


@pytest.mark.parametrize("other", ["40.9 | ± 0.5", "40.2 | ± 0.7", "40 | ± 0.5", ""])
def test_another_number_is_noticed(other):
    agree("40.2 | ± 0.5", "40.1 | ± 0.5")  # the last digit
    with pytest.raises(AssertionError):
        agree("40.2 | ± 0.5", other)


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory):
    """A folder, and what a command or a program prints there; each is run once."""
    folder = tmp_path_factory.mktemp("laboratory")

    @cache
    def run(line):
        printed = TextIOWrapper(BytesIO(), encoding="utf-8")
        with chdir(folder), redirect_stdout(printed):
            if line.startswith("leastaction "):
                assert main(shlex.split(line)[1:]) == 0
            else:
                exec(line, {})  # the page itself
        printed.flush()
        return printed.buffer.getvalue().decode()

    return folder, run


@pytest.mark.parametrize("page", [README, FIRST_LAW], ids=lambda path: path.stem)
def test_a_page_runs_as_typed(page, laboratory):
    folder, run = laboratory
    lines = [part for text in blocks(page, "console") for part in text.split("$ ")[1:]]
    typed = [part.partition("\n") for part in lines if part.startswith("leastaction")]
    assert len(typed) >= 2
    for line, _, shown in typed:
        agree(shown, run(line))
    program, shown = blocks(page, "python")[0], blocks(page, "text")[0]
    agree(shown, run(program))


def test_the_files_that_the_first_page_made(laboratory, monkeypatch, capsys):
    folder, run = laboratory
    learn = "leastaction learn swings.csv --time t --trajectory run"
    learn += " --coordinate theta:rad"
    run("leastaction demo swings.csv")
    printed = run(learn)
    made = sorted(path.name for path in (folder / "law").iterdir())
    figures = ["dynamics.png", "prediction.png", "residuals.png"]
    assert made == sorted(["law.md", "model.nc", *figures])
    law = la.load(folder / "law/model.nc")
    assert law.to_markdown() == (folder / "law/law.md").read_text() == printed
    law.save(folder / "again.nc")
    again = la.load(folder / "again.nc")
    assert again.terms.equals(law.terms) and again.source == law.source
    monkeypatch.chdir(folder)
    shutil.copy("swings.csv", "other.csv")
    other = learn.replace("swings.csv", "other.csv")
    assert main(shlex.split(other)[1:]) == 1
    assert "law/ holds the law of swings.csv" in capsys.readouterr().err


def test_the_readme_is_short():
    assert len(README.read_text().splitlines()) <= 120


def typed_cell(source: str, names: dict) -> str:
    """What a cell prints, and how its last expression is shown, if it has one."""
    tree, printed = ast.parse(source), StringIO()
    names["_"], last = None, tree.body[-1]
    if isinstance(last, ast.Expr):
        tree.body[-1] = ast.Assign([ast.Name("_", ast.Store())], last.value)
    with redirect_stdout(printed):
        exec(compile(ast.fix_missing_locations(tree), "cell", "exec"), names)
    shown = "" if names["_"] is None else repr(names["_"])
    return printed.getvalue() + shown


def shown_by(output: dict) -> str:
    """Text of an output as it is stored."""
    text = output.get("text") or output["data"]["text/plain"]
    return "".join(text)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_gives_the_outputs_that_it_carries(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = json.loads(path.read_text())["cells"]
    names: dict = {}
    pictures = 0
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        printed = typed_cell("".join(cell["source"]), names)
        agree("".join(map(shown_by, cell["outputs"])), printed)
        pictures += sum("image/png" in o.get("data", {}) for o in cell["outputs"])
    assert pictures
