"""Hostile configurations: nothing executes, hangs or leaves the results folder.

`make attack` tries 10,000 new ones.
"""

import harm
import pytest
import sympy as sp
import yaml
from harm import cases, harmless, parts, try_all
from hostile import BASES, EXPRESSIONS, NAMES, PLACES, examples
from hypothesis import given

from leastaction.core.expressions import ExpressionError, parse
from leastaction.core.library import candidates
from leastaction.core.settings import ConfigError, Quantity, complete
from leastaction.core.units import DimensionError, unit
from leastaction.core.yaml_files import parse_yaml
from leastaction_papers.configuration.checks import accepted as accepted_example
from leastaction_papers.configuration.config import (
    Project,
    check_label,
    check_references,
    with_variants,
)
from leastaction_papers.configuration.jobs import MODULES, SETTINGS


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """The one folder that may be written: where accepted examples are remembered."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEASTACTION_CACHE", str(folder))
        patch.setattr(harm, "writable", str(folder))
        for base in BASES:
            accepted(base)
        yield


def accepted(example):
    """Read an example as the workflow does, up to what each rule takes from it."""
    given = parse_yaml(yaml.safe_dump(example, allow_unicode=True), "it")
    if isinstance(given, dict):
        given.pop("variants", None)
    for name, content in with_variants("name", given):
        content = accepted_example(content, "it") | {"key": f"paper/{name}", "seed": 1}
        for estimator in content["estimators"]:
            for stage in SETTINGS:
                SETTINGS[stage](content, estimator)
                MODULES[stage](content, estimator)


@parts("expressions")
def test_expressions(part, pytestconfig):
    @given(EXPRESSIONS)
    @cases("expressions")
    def reads(text):
        with harmless():
            try:
                assert isinstance(parse(text, NAMES), sp.Expr)
            except ExpressionError as error:
                assert 0 < len(str(error)) < 1000

    try_all(reads, part, pytestconfig)


@parts("examples")
def test_examples(part, pytestconfig):
    @given(examples())
    @cases("examples")
    def reads(example):
        with harmless():
            try:
                accepted(example)
            except ConfigError as error:
                assert "cannot be used" in str(error)

    try_all(reads, part, pytestconfig)


def nested(section: str, merged: str, levels: int) -> str:
    """YAML in which every level holds the one before it nine times."""
    lines = [f"a0: &a0 {section}"]
    for i in range(levels):
        lines.append(f"a{i + 1}: &a{i + 1} {merged % ', '.join([f'*a{i}'] * 9)}")
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        nested("{k: 1}", "{<<: [%s]}", 12),
        nested("[1]", "[%s]", 12),
        "a: &a {<<: [" + "*a, " * 1000 + "]}",
        "a: &a [" + "1," * 9000 + "]\nb: [" + "*a," * 9000 + "]",
        "[" * 300_000,
        "- " * 300_000,
        "a: " + "x" * 10_000_000,
        "title: <script>alert(1)</script>",
        "<img src=x>: 1",
    ],
    ids=range(9),
)
def test_a_small_text_does_not_grow(text):
    with harmless(), pytest.raises(ConfigError):
        parse_yaml(text, "it")


@pytest.mark.parametrize("text", ["9**9**9", "m**9**9**9", "(m**9)**9", "m" * 99])
def test_no_power_of_numbers_is_computed_for_a_unit(text):
    with harmless(), pytest.raises(DimensionError, match="is not a unit"):
        unit(text)


@pytest.mark.parametrize(
    "text",
    [
        "*".join(f"(x+{i})" for i in range(150)),
        "*".join(f"sin({i + 1}*x)" for i in range(99)),
    ]
    + ["x*" * 70 + "x", "(x+m)" + "/(x+m)" * 99, "((x+m)**9+k)**9"],
    ids=range(5),
)
def test_no_term_is_a_huge_sum_if_written_out(text):
    with harmless(), pytest.raises(ExpressionError, match="more than|larger than"):
        parse(text, NAMES)


def test_candidates_are_counted_before_they_are_made():
    polynomial = {"polynomial": {"of": ["x", "xdot"], "degree": 12}}
    nest = {"product": [{"product": [polynomial] * 3}, {"product": [polynomial] * 3}]}
    for entry in (nest, {"functions": {"apply": ["sin"] * 99, "to": ["x"] * 99}}):
        with harmless(), pytest.raises(ValueError, match="candidates; at most"):
            candidates([entry], NAMES)


def test_a_method_that_is_no_text_is_refused():
    for base in BASES:
        with harmless(), pytest.raises(ConfigError):
            accepted({**base, "simulate": {"method": {"x": 1}}})


@pytest.mark.parametrize("title", [r"$\input$", "$x$", "a\nb", "x" * 300])
def test_no_title_breaks_a_figure_when_all_is_computed(title):
    with harmless(), pytest.raises(ConfigError, match="title: "):
        accepted(BASES[0] | {"title": title})


@pytest.mark.parametrize("label", ["x_{", "$", "a_b_c", r"\input", "{" * 39])
def test_no_label_breaks_a_figure_when_all_is_computed(label):
    with harmless(), pytest.raises(ConfigError, match="label: "):
        complete({"unit": "m", "label": label}, Quantity, "it")


@pytest.mark.parametrize("name", PLACES)
def test_no_name_leaves_the_results(name):
    with pytest.raises(ConfigError):
        check_label("example", name)
    paper = {"title": "", "figures": {}, "tables": {}}
    shown = {"shows": "coefficients"}
    study = {"figure": "level_set", "caption": "", "examples": {"p": ["e"]}}
    for names in (
        {"studies": {name: study}},
        {"papers": {"p": {**paper, "figures": {name: shown}}}},
        {"papers": {"p": {**paper, "tables": {name: {"shows": "lagrangian"}}}}},
    ):
        config = complete({"seed": 1, **names}, Project, "it")
        with pytest.raises(ConfigError, match="cannot name a"):
            check_references(config, [("p", "e")])
