"""Recipes that would fail in the middle of a run, or mislead, are refused before it."""

from pathlib import Path

import pytest

from leastaction.core.settings import ConfigError
from leastaction.core.yaml_files import read_yaml
from leastaction_papers.configuration.checks import check_example
from leastaction_papers.configuration.config import merge
from leastaction_papers.configuration.example import completed, with_recommended_methods

ROOT = Path(__file__).parents[2]
DRIVEN = {"input": {"th": "cos(time)"}}
GRAM = {"differentiate": {"method": "measured"}, "assemble": {"method": "gram"}}
STAGES = [{"rate": 1e-4, "penalty": 0.1, "threshold": 0.1}]
PRIOR = {"method": "proximal_gradient", "prior": "thdot**2", "stages": STAGES}
CASE_2 = {
    "differentiate": {"method": "measured"},
    "assemble": {"method": "gram"},
    "identify": {"method": "acceleration_gradient", "stages": STAGES},
}
SINDY_PI = {
    "differentiate": {"method": "measured"},
    "assemble": {"method": "implicit_library"},
    "identify": {"method": "sindy_pi"},
}
ENERGY = {
    "differentiate": {"method": "measured"},
    "assemble": {"method": "energy_gram"},
    "identify": {"method": "lagrangian_sindy"},
}


def problems(estimator, library=None, **simulate):
    """What is wrong with the single pendulum, with this estimator alone."""
    path = ROOT / "config/examples/xl_sindy/single.yaml"
    content = read_yaml(path)
    content = merge(content, {"simulate": simulate, "library": library or {}})
    content["library"] = {k: v for k, v in content["library"].items() if v}
    content["estimators"] = {"recommended": estimator}
    for part in ("validate", "publish", "variants"):
        del content[part]
    content = with_recommended_methods(content)
    try:
        check_example(completed(content, "x"), "x")
    except ConfigError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        (SINDY_PI, "drives th, but no candidate of library.implicit holds th_input"),
        (ENERGY, "knows no input, but simulate.input drives th"),
        (CASE_2, "knows no input, but simulate.input drives th"),
    ],
)
def test_an_input_is_not_passed_over(estimator, said):
    assert said in problems(estimator, **DRIVEN)
    assert problems(estimator) == ""


def test_the_prior_term_and_the_input_exclude_each_other():
    with_prior = {**GRAM, "identify": PRIOR}
    without = {**GRAM, "identify": {**PRIOR, "prior": None}}
    assert "prior term 'thdot**2' knows no input" in problems(with_prior, **DRIVEN)
    assert "without a prior term needs an input" in problems(without)
    assert problems(with_prior) == problems(without, **DRIVEN) == ""


def test_measured_needs_all_channels():
    found = problems(ENERGY, noise={"channels": ["q", "qdot"]})
    assert "'measured' needs q, qdot, qddot" in found
    assert "records q, qdot; use 'joint_spline'" in found


@pytest.mark.parametrize(
    ("key", "value"), [("levels", 0.3), ("modes", "shared")], ids=["level", "mode"]
)
def test_cases_must_be_simulated(key, value):
    estimator = merge(ENERGY, {"differentiate": {"cases": {key: [value]}}})
    noise = {"modes": ["independent"], "levels": [1e-3, 0.1]}
    found = problems(estimator, noise=noise)
    assert f"differentiate.cases.{key} names [{value!r}]" in found
    assert f"has {noise[key]}" in found
    assert problems(estimator, noise={**noise, key: [value]}) == ""


def test_every_coordinate_needs_implicit_candidates():
    found = problems(SINDY_PI, {"implicit": None})
    assert "needs library.implicit for every coordinate" in found
    assert "lists none; add candidates for th" in found
