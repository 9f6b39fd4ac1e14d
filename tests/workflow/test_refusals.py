"""A wrong configuration gets one clear message before any job runs."""

import pytest
from project import PAPER, ROOT, Project

from leastaction.core.settings import ConfigError
from leastaction.core.yaml_files import read_yaml
from leastaction_papers.configuration.checks import accepted
from leastaction_papers.configuration.config import merge

HARMONIC = ("examples", "stochastic_lagrangian", "harmonic")

CASES = {
    "misspelt key": (
        {"simulate": {"time_stepp": 1.0e-4}},
        ["simulate", "time_stepp", "did you mean 'time_step'"],
    ),
    "unknown estimator": (
        {"estimators": {"recomended": {}}},
        ["estimators", "recomended", "did you mean 'recommended'"],
    ),
    "unknown method": (
        {"estimators": {"recommended": {"identify": {"method": "moment_gm"}}}},
        ["estimators.recommended.identify", "did you mean 'moment_gmm'"],
    ),
    "code instead of a Lagrangian": (
        {"system": {"lagrangian": "__import__('os').system('touch hacked')"}},
        ["system", "lagrangian", "character 1", "only numbers"],
    ),
    "missing parameter": (
        {"system": {"lagrangian": "m*xdot**2/2 - k*x**2/2 - alpha*x**4/4"}},
        ["system", "lagrangian", "unknown name 'alpha'"],
    ),
    "missing entry": (
        {"system": {"parameters": {"k": {"value": None, "unit": "N/m"}}}},
        ["system.parameters.k.value", "expected a number"],
    ),
    "text instead of seconds": (
        {"simulate": {"duration": "one second"}},
        ["simulate.duration", "expected a number", "one second", "Duration, s"],
    ),
    "exponent without a point": (
        {"simulate": {"time_step": "1e-4"}},
        ["simulate.time_step", "write 1.0e-04"],
    ),
    "unit of the wrong type": (
        {"system": {"parameters": {"k": {"value": 1000.0, "unit": 5}}}},
        ["system.parameters.k.unit", "expected text", "N/m"],
    ),
    "unit of the wrong dimension": (
        {"system": {"parameters": {"k": {"value": 1000.0, "unit": "N"}}}},
        ["lagrangian", "cannot be added", "kg*m**2/s**2"],
    ),
    "unit that does not exist": (
        {"system": {"parameters": {"k": {"value": 1000.0, "unit": "N/metre-ish"}}}},
        ["'N/metre-ish' is not a unit"],
    ),
    "duration that is no multiple": (
        {"simulate": {"duration": 1.00005}},
        ["not a multiple", "time_step"],
    ),
    "methods that do not fit": (
        {"estimators": {"recommended": {"assemble": {"method": "ensemble_mean"}}}},
        ["ensemble_mean", "needs differentiate method 'central_difference'"],
    ),
    "polynomial that is no mapping": (
        {
            "library": {
                "lagrangian": [{"product": [{"polynomial": 3}, {"terms": ["x"]}]}]
            }
        },
        [
            "library.lagrangian.0.product.0.polynomial",
            "expected 'key: value', got int 3",
        ],
    ),
    "candidates of no kind": (
        {"library": {"lagrangian": [{"polynomial": None}]}},
        ["library.lagrangian.0", "exactly one of the keys", "got neither"],
    ),
    "initial state of another coordinate": (
        {"simulate": {"initial_state": {"y": 0.0}}},
        ["initial_state", "['x', 'xdot']"],
    ),
}


@pytest.fixture(scope="module")
def copied(tmp_path_factory) -> Project:
    return Project.copy(tmp_path_factory.mktemp("untouched"), {})


@pytest.fixture
def untouched(copied) -> Project:
    """The copy as it was made, whatever the test before it configured."""
    copied.configure({})
    return copied


# These go through Snakemake: of the YAML, and of what it means.
SHOWN = [
    ["misspelt key"],
    ["code instead of a Lagrangian", "duration that is no multiple"],
]


def refused(project, *arguments) -> str:
    """What Snakemake says of a configuration that it does not accept."""
    result = project.snakemake(*arguments)
    text = result.stdout + result.stderr
    assert result.returncode != 0
    assert "Traceback" not in text
    return text


def overridden(overrides):
    """The example with its overrides, as the workflow reads it."""
    folder = ROOT / "config" / "examples" / HARMONIC[1]
    written = read_yaml(folder / f"{HARMONIC[2]}.yaml")
    written.pop("variants", None)
    return merge(written, overrides)


@pytest.mark.parametrize("name", CASES)
def test_wrong_example(name):
    overrides, words = CASES[name]
    with pytest.raises(ConfigError) as caught:
        accepted(overridden(overrides), "example stochastic_lagrangian/harmonic")
    text = str(caught.value)
    for word in words:
        assert word in text
    assert text.count("cannot be used") == 1, text


@pytest.mark.parametrize("names", SHOWN, ids=" and ".join)
def test_wrong_example_stops_snakemake(untouched, names):
    config, words = {}, []
    for name in names:
        config, words = merge(config, CASES[name][0]), words + CASES[name][1]
    for key in reversed(HARMONIC):
        config = {key: config}
    untouched.configure(config)
    text = refused(untouched, "--cores", "1")
    for word in (*words, "stochastic_lagrangian/harmonic"):
        assert word in text, text
    assert text.count("cannot be used") == 1, text
    assert not (untouched.folder / "results").exists()
    assert not (untouched.folder / "hacked").exists()


HOSTILE = {
    "a study outside the results": (
        {
            "studies": {
                "../../evil": {
                    "figure": "level_set",
                    "caption": "",
                    "examples": {PAPER: ["harmonic"]},
                }
            }
        },
        "'../../evil' cannot name a study",
    ),
    "a folder outside the results": (
        {"examples": {"../evil": {"it": {"title": "it", "system": {}}}}},
        "'../evil' cannot name a paper",
    ),
    "no number": (
        {"seed": float("nan")},
        "seed: a number that is not finite",
    ),
    "a misspelt key": ({"sed": 7}, "unknown key 'sed'; did you mean 'seed'"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_configuration(untouched, name):
    """Many more are tried without Snakemake in tests/faults/test_hostile.py."""
    config, words = HOSTILE[name]
    untouched.configure(config)
    assert words in refused(untouched, "-n")


def test_broken_yaml(untouched):
    file = untouched.folder / "config/examples/stochastic_lagrangian/broken.yaml"
    file.write_text("title: [unclosed\n")
    try:
        text = refused(untouched, "-n")
    finally:
        file.unlink()
    assert "broken.yaml" in text and "not YAML" in text


def test_braces_in_the_path_of_the_project(tmp_path):
    project = Project.copy(tmp_path / "a {x} b", {}, ("harmonic",))
    assert "has a brace in its path" in refused(project, "-n")


def test_figures_of_an_example_without_the_recommended_estimator(untouched):
    plan = untouched.snakemake("-n", f"results/{PAPER}/harmonic-as_released/figures")
    text = plan.stdout + plan.stderr
    assert plan.returncode != 0
    assert "harmonic-as_released has no figures of its own" in text
    assert "it has published: ask for its scores.csv" in text


def test_runs_from_another_folder(untouched, tmp_path):
    (tmp_path / "overrides.yaml").write_text("replicates: 2\n")
    plan = untouched.snakemake("--directory", str(tmp_path), "--cores", "1", "-n")
    text = plan.stdout + plan.stderr
    assert plan.returncode == 0, text
    assert "Simulating harmonic" in text
