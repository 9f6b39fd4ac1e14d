"""Hostile configurations: nothing executes, hangs or leaves the results folder.

    pytest tests/faults/test_hostile.py -n 0 --hypothesis-profile=ten_thousand

tries 10 000 new ones.
"""

import re
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import sympy as sp
import yaml
from hostile import BASES, CANARY, EXPRESSIONS, NAMES, PLACES, ROOT, examples
from hypothesis import given, settings

from leastaction.configuration.checks import accepted as accepted_example
from leastaction.configuration.config import (
    Project,
    check_label,
    check_references,
    parse_yaml,
    with_variants,
)
from leastaction.configuration.jobs import MODULES, SETTINGS
from leastaction.core.expressions import ExpressionError, parse
from leastaction.core.settings import ConfigError, complete

LONGEST = 2.0
SHARE = settings.default.max_examples // 10
FORBIDDEN = re.compile(
    r"os\.(system|exec|spawn|posix_spawn|fork|remove|rename|rmdir|mkdir|link|symlink|"
    r"chmod|truncate)|subprocess|socket|shutil|ctypes|urllib|webbrowser|pty"
)
watched: list[str] = []
watching = False
remembering = Path("/dev/null")


def _watch(event, arguments):
    if not watching:
        return
    writes = event == "open" and set(str(arguments[1])) & set("wax+")
    remembers = arguments and str(arguments[0]).startswith(str(remembering))
    if (FORBIDDEN.match(event) or writes) and not remembers:
        watched.append(f"{event} {arguments!r}"[:200])


sys.addaudithook(_watch)


def _too_long(number, frame):
    raise TimeoutError("it hangs")


@contextmanager
def harmless():
    """Nothing is run or written, and what happens is over soon."""
    global watching
    watched.clear()
    before = signal.signal(signal.SIGVTALRM, _too_long)
    start = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, 10 * LONGEST)
    watching = True
    try:
        yield
    finally:
        watching = False
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    assert time.process_time() - start < LONGEST
    assert not watched
    assert not (ROOT / CANARY).exists()


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """The one folder that may be written: where accepted examples are remembered."""
    global remembering
    remembering = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEASTACTION_CACHE", str(remembering))
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


@given(EXPRESSIONS)
@settings(max_examples=6 * SHARE)
def test_expressions(text):
    with harmless():
        try:
            assert isinstance(parse(text, NAMES), sp.Expr)
        except ExpressionError as error:
            assert 0 < len(str(error)) < 1000


@given(examples())
@settings(max_examples=SHARE)
def test_examples(example):
    with harmless():
        try:
            accepted(example)
        except ConfigError as error:
            assert "cannot be used" in str(error)


@pytest.mark.parametrize("name", PLACES)
def test_no_name_leaves_the_results(name):
    with pytest.raises(ConfigError):
        check_label("example", name)
    paper = {"title": "", "figures": {}, "tables": {}}
    shown = {"shows": "coefficients"}
    study = {"figure": "bins_study", "caption": "", "examples": {"p": ["e"]}}
    for names in (
        {"studies": {name: study}},
        {"papers": {"p": {**paper, "figures": {name: shown}}}},
        {"papers": {"p": {**paper, "tables": {name: {"shows": "lagrangian"}}}}},
    ):
        config = complete({"seed": 1, **names}, Project, "it")
        with pytest.raises(ConfigError, match="cannot name a"):
            check_references(config, [("p", "e")])
