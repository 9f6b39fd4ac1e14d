"""The workflow is written as its own rules ask."""

import ast
import json
import re
import tomllib
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
import yaml

from leastaction.core.families import figures
from leastaction.core.sources import ROOT as SRC
from leastaction.core.sources import source_files
from leastaction_papers import PAPERS
from leastaction_papers.configuration.schemas import schemas
from leastaction_papers.scorecard import example_figures

ROOT = Path(__file__).parents[2]


def test_every_figure_is_a_function_of_the_module_that_is_named_for_it():
    assert {"coefficients", "identified_hamiltonian", "level_set"} <= set(figures())
    for name, module in figures().items():
        assert callable(getattr(import_module(module), name)), name


def test_every_kind_of_data_shows_existing_figures():
    for names in example_figures().values():
        assert 1 <= len(set(names)) == len(names) and set(names) <= set(figures())


@pytest.fixture
def generators(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "machines"))
    return import_module("mechanical_classes").generators()


def test_every_simulated_case_has_a_generator(generators):
    """Of the target `classes`, a job for each draw."""
    draws = [
        (case["machine"], seed)
        for page in ("simulated_machines", "fields_at_sensors")
        for table in yaml.safe_load((ROOT / f"config/{page}.yaml").read_text())[
            "tables"
        ]
        for case in table["cases"]
        for seed in case["seeds"]
    ]
    assert {machine for machine, _ in draws} <= set(generators)
    assert len(set(draws)) == len(draws)


@pytest.mark.parametrize(
    ("errors", "correlated", "covered"),
    [
        ([0.1, 0.9, 0.3], 0.0, True),
        ([1.2, 0.9, 0.3], 0.0, True),
        ([1.2, -1.1, 0.3], 0.0, False),
        ([1.2, 1.1, 1.1], 0.999, True),  # one scale of all
        ([1.2, 1.1, 1.1], 0.5, False),
        ([2.5, 0.9, 0.3], 0.0, False),
        ([2.5, 2.5, 2.5], 0.999, False),
        ([1.2, 1.1, 0.3, 0, 0, 0, 0], 0.0, True),
        ([], 0.0, True),
    ],
)
def test_a_draw_whose_intervals_miss_is_not_right(
    generators, errors, correlated, covered
):
    module, n = import_module("blind_machines"), len(errors)
    correlation = np.eye(n) + correlated * (np.ones((n, n)) - np.eye(n))
    assert module.is_covered(np.array(errors), correlation) == covered


@pytest.mark.parametrize(
    ("extra", "value", "error"),
    [
        ("ydot**2", 0.1, 0.5),
        ("ydot**2", -0.38, -1.9),
        ("ydot**2", 0.42, None),
        ("(xdot - ydot)**2", 0.1, 0.5),
        ("Abs(ydot)", 0.1, None),
        ("y**2", 0.1, None),
    ],
)
def test_damping_that_stays_in_a_law_is_a_coefficient_of_zero(
    generators, extra, value, error
):
    """Within twice its half interval, .2; other terms are too many."""
    kind = "L" if extra == "y**2" else "D"
    rows = pd.DataFrame(
        [
            ("xdot**2", "L", 0.5, 0.0),
            ("x**2", "L", 3.3, 0.1),
            (extra, kind, value, 0.1),
        ],
        columns=["term", "of", "value", "std"],
    )
    law = SimpleNamespace(
        terms=rows, interval_factor=2.0, coordinates=("x", "y"), dataset={}
    )
    compared = SimpleNamespace(
        terms=("xdot**2", "x**2"), error=[0.0, 0.1], extra=(extra,)
    )
    names, errors, widths, _ = import_module("blind_machines")._errors(law, compared)
    found = dict(zip(names, errors, strict=True))
    assert found.pop("x**2") == pytest.approx(1.5)
    assert found == ({} if error is None else {f"D: {extra}": pytest.approx(error)})
    assert widths == pytest.approx([0.2 / 3.3])


def test_a_line_is_judged_by_term(generators):
    """A coefficient that misses by 1.5 half intervals, a term too few, one too many."""
    rows = pd.DataFrame(
        [("u_t**2/2", 1.0, 0.0), ("a", 4.3, 0.1), ("b", 0.2, 0.1), ("1", 1.0, 0.5)],
        columns=["term", "value", "std"],
    )
    covariance = np.diag([0.01, 0.01, 0.25])
    covariance[0, 2] = covariance[2, 0] = 0.025
    learned = SimpleNamespace(
        dataset=xr.Dataset({"covariance": (("replicate", "i", "j"), covariance[None])})
    )
    law = SimpleNamespace(terms=rows, interval_factor=2.0, learned=learned)
    missing, extra, names, errors, widths, correlation = import_module(
        "blind_machines"
    )._of_field(law, {"a": 4.0, "c": 1.0, "1": 1.0})
    assert (missing, extra, names) == (["c"], ["b"], ["a", "1"])
    np.testing.assert_allclose([*errors, *widths], [1.5, 0.0, 0.05, 1.0])
    np.testing.assert_allclose(correlation, [[1, 0.5], [0.5, 1]])


def objects(part):
    if isinstance(part, dict):
        if "properties" in part and part.get("type") == "object":
            yield part
        for value in part.values():
            yield from objects(value)
    elif isinstance(part, list):
        for value in part:
            yield from objects(value)


@pytest.mark.parametrize("name", ["config", "example", "recording"])
def test_no_object_of_a_schema_lets_a_misspelt_key_pass(name):
    for part in objects(json.loads(schemas()[f"{name}.json"])):
        assert "additionalProperties" in part, part


def test_environment_and_pyproject_name_the_same_packages():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = set(project["dependencies"])
    for extra in project["optional-dependencies"].values():
        declared |= set(extra)
    conda = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    python = f"python{project['requires-python']}"
    (by_pip,) = (one["pip"] for one in conda if isinstance(one, dict))
    named = {one for one in conda if isinstance(one, str)}
    assert named | set(by_pip) == declared | {python, "pip"}


def test_the_distribution_of_the_papers_lists_every_package():
    project = tomllib.loads((SRC / "leastaction_papers/pyproject.toml").read_text())
    folders = (path.parent for path in SRC.glob("leastaction_papers/**/__init__.py"))
    packages = {".".join(folder.relative_to(SRC).parts) for folder in folders}
    assert packages == set(project["tool"]["setuptools"]["packages"])
    assert project["project"]["version"] == version("leastaction")


def test_lock_pins_every_declared_package_with_hashes_and_names_no_index():
    lock = (ROOT / "requirements.lock").read_text()
    assert "://" not in lock and "--index" not in lock
    entries = re.findall(r"^(\S+)==\S+ \\\n +--hash=sha256:", lock, flags=re.MULTILINE)
    assert len(entries) == lock.count("==")
    pinned = {name.lower().replace("_", "-") for name in entries}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = set(project["dependencies"])
    for extra in project["optional-dependencies"].values():
        declared |= set(extra)
    names = {re.split(r"[<>=]", d)[0].lower() for d in declared}
    assert names <= pinned
    assert "setuptools" in pinned


@pytest.mark.parametrize(
    "script", sorted((ROOT / "workflow" / "scripts").glob("*.py")), ids=lambda p: p.stem
)
def test_what_a_script_imports_is_there(script):
    run_path(str(script), run_name=script.stem)


def test_scripts_are_seams():
    for path in sorted((ROOT / "workflow/scripts").glob("*.py")):
        lines = path.read_text().splitlines()
        assert 15 <= len(lines) <= 50, (path.name, len(lines))
        tree = ast.parse(path.read_text())
        names = [n.name for n in tree.body if isinstance(n, ast.FunctionDef)]
        assert names == ["main"], path.name


def test_package_never_imports_snakemake_and_touches_files_in_one_module():
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text()
        assert "import snakemake" not in text and "from snakemake" not in text
        if path.name in ("files.py", "sources.py", "process.py"):
            continue
        if path.match("recordings/tables.py"):  # those of a user
            continue
        if path.name in ("compiled.py", "cache.py"):  # the cache folder
            continue
        assert not re.search(
            r"(?<!os\.)\bopen\(|\.write_text\(|\.to_netcdf\(|(?<!super\(\))(?<!self)\.savefig\(",
            text,
        ), path


@pytest.mark.parametrize(
    "names", [*zip(figures()), *example_figures().values()], ids="+".join
)
def test_a_job_of_figures_depends_on_few_files_and_on_no_other_family(names):
    """An edit re-runs what it can change: what is drawn by a file, not all figures."""
    modules = [figures()[name] for name in names]
    script = ROOT / "workflow/scripts/plot.py"
    files = source_files(modules, scripts=[script])
    assert len([file for file in files if file.name != "__init__.py"]) <= 36
    own = {SRC.joinpath(*m.split(".")).with_suffix(".py") for m in modules}
    assert own <= set(files)
    folders = {f.relative_to(SRC).parts[1] for f in files if f != script}
    papers = {f.relative_to(SRC).parts[1] for f in own}
    families = {name for name, p in PAPERS.items() if p.split(".")[1] in papers}
    general = {"__init__.py", "core", "figures", "scorecard"}
    assert folders <= general | papers | families
