"""The same bytes whatever the jobs, the blocks and their order; BLAS to round-off."""

import os
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
import xarray as xr
import yaml
from chain import FILES, ROOT, make

from leastaction_papers.configuration.config import merge

CASES = {
    "an ensemble": (
        "stochastic_lagrangian/harmonic",
        "recommended",
        {
            "simulate": {"replicates": 2, "trajectories": 10, "duration": 0.2},
            "validate": {"trajectories": 3, "samples": 11},
        },
    ),
    "a sweep over noise": (
        "xl_sindy/single",
        "recommended",
        {
            "simulate": {
                "replicates": 2,
                "trajectories": 5,
                "duration": 2.0,
                "noise": {"levels": [0.0, 0.1], "modes": ["independent"]},
            },
            "estimators": {
                "recommended": {"differentiate": {"cases": {"levels": [0.0, 0.1]}}}
            },
            "validate": {
                "trajectories": 2,
                "samples": 11,
                "cases": {"levels": [0.1]},
                "replicates": 2,
            },
        },
    ),
    "a histogram": (
        "fokker_planck/linear_additive",
        "recommended",
        {
            "simulate": {"replicates": 2, "duration": 31.25},
            "validate": {"trajectories": 8, "replicates": 2},
        },
    ),
}


def example(name):
    path, estimator, smaller = CASES[name]
    given = yaml.safe_load((ROOT / f"config/examples/{path}.yaml").read_text())
    del given["variants"], given["publish"]
    given = merge(given, smaller)
    given["estimators"] = {estimator: given["estimators"][estimator]}
    given["validate"].pop("estimators", None)
    return given, estimator


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Folder with the files of a case made without blocks, for each asked for."""

    @cache
    def made(name):
        folder = tmp_path_factory.mktemp("whole")
        make(*example(name), folder)
        return folder

    return made


@pytest.mark.parametrize("name", CASES)
def test_blocks_change_no_byte(name, whole, tmp_path):
    make(*example(name), tmp_path, 2)
    for file in ("observations", *FILES, "rollout"):
        again = (tmp_path / f"{file}.nc").read_bytes()
        assert again == (whole(name) / f"{file}.nc").read_bytes(), file


def test_threads_of_blas_change_less_than_the_noise(whole, tmp_path):
    """The same terms; estimates within a tenth of a standard error."""
    name = "a sweep over noise"
    given, estimator = example(name)
    given["simulate"]["replicates"] = 1
    (tmp_path / "it.yaml").write_text(yaml.safe_dump(given))
    here = os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS")
    subprocess.run(
        [sys.executable, ROOT / "tests/workflow/chain.py", tmp_path / "it.yaml"]
        + [estimator, tmp_path],
        env={
            **os.environ,
            "OPENBLAS_NUM_THREADS": "2" if here == "1" else "1",
            "OPENBLAS_THREAD_TIMEOUT": "4",  # a thread that waits sleeps at once
        },
        check=True,
    )
    models = (xr.load_dataset(f / "model.nc") for f in (tmp_path, whole(name)))
    one, two = (model.isel(replicate=[0]) for model in models)
    np.testing.assert_array_equal(one["support"], two["support"])
    noisy = {"noise_level": one["noise_level"] > 0}
    error = one["coefficient_std"].where(one["support"]).isel(noisy)
    change = abs(one["coefficient_estimate"] - two["coefficient_estimate"]).isel(noisy)
    assert float((change / error).max()) < 0.1
