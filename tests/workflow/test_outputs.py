"""What the default target leaves behind."""

import pandas as pd
import pytest
import xarray as xr
from project import EXAMPLES, FIGURES

from leastaction import load
from leastaction_papers.scorecard import verdict
from leastaction_papers.scorecard.scorecard import COLUMNS

PAPER = "results/stochastic_lagrangian"


def test_every_promised_file_is_there(finished):
    expected = [f"results/scorecard.{kind}" for kind in ("csv", "html")]
    expected.append("results/index.html")
    for number in (1, 2, 4):  # the third is of fields
        for kind in ("svg", "png"):
            expected.append(f"{PAPER}/figures/figure_{number}.{kind}")
    for number in (1, 2, 3):
        for kind in ("csv", "md", "tex", "html"):
            expected.append(f"{PAPER}/tables/table_{number}.{kind}")
    for example in EXAMPLES:
        for figure in FIGURES:
            expected.append(f"{PAPER}/{example}/figures/{figure}.svg")
    missing = [path for path in expected if not (finished.folder / path).is_file()]
    assert not missing


def test_every_variable_has_units_and_a_name(finished):
    files = sorted((finished.folder / "results").rglob("*.nc"))
    assert len(files) >= len(EXAMPLES) * (1 + 3 + 2)
    for path in files:
        with xr.open_dataset(path, decode_times=False) as dataset:
            for name, variable in dataset.data_vars.items():
                assert {"units", "long_name"} <= set(variable.attrs), (path, name)


def test_model_file_is_self_contained(finished):
    path = finished.folder / PAPER / "duffing/recommended/model.nc"
    text = str(load(path))
    for word in ("x**4", "Equations of motion", "Hamiltonian", "±"):
        assert word in text


def test_scorecard_has_the_columns_of_the_design(finished):
    table = pd.read_csv(finished.folder / "results/scorecard.csv")
    assert tuple(table.columns) == COLUMNS
    numbers = table[table["stands_for"] == "recipe"]["number"]
    assert len(numbers) and not numbers.duplicated().any()
    assert set(table["verdict"].dropna()) <= set(verdict.VERDICTS)
    assert {"published", "recommended"} <= set(table["estimator"])


def test_each_job_leaves_a_log_and_a_benchmark(finished):
    results = finished.folder / "results"
    for model in sorted(results.rglob("model.nc")):
        # A reading is made with its estimator.
        estimator = model.parent.name.partition("_threshold_")[0]
        example = model.parents[1].relative_to(results)
        logs = finished.folder / "logs" / example / estimator
        assert "done" in (logs / "identify.log").read_text()
        assert (logs / "identify.tsv").is_file()


@pytest.mark.parametrize("suffix", ["*.part", ".*.part"])
def test_nothing_half_written_remains(finished, suffix):
    assert not list((finished.folder / "results").rglob(suffix))


def test_an_example_of_any_folder_can_be_described(finished):
    law = f"{PAPER}/harmonic/law.md"
    done = finished.snakemake("--cores", "1", law)
    assert done.returncode == 0, done.stdout + done.stderr
    text = (finished.folder / law).read_text()
    assert "## The truth" in text and "## recommended, replicate 1 of 2" in text
    assert "±" in text and "500.0*x**2" in text
