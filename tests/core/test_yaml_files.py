"""YAML of strangers: what is data, and every limit from both sides."""

import pytest

from leastaction.core import yaml_files
from leastaction.core.settings import ConfigError
from leastaction.core.yaml_files import (
    MOST_VALUES,
    check_data,
    check_label,
    parse_yaml,
    read_yaml,
)


def merged(count):
    return f"a: &a {{k: 1}}\nb:\n  <<: [{', '.join(['*a'] * count)}]\n"


def shared(count):
    """Two lists of aliases of `count` values: many values in a short text."""
    return f"a: &a [{'1,' * (count // 4)}]\nb: [*a, *a, *a]\n"


LIMITS = {
    "characters": (lambda n: "a: " + "x" * (n - 3), 10**6, "characters"),
    "levels": (lambda n: "[" * n + "]" * n, 100, "deeper than 100 levels"),
    "values": (lambda n: f"[{'1,' * (n - 1)}]", 20_000, "20000 values"),
    "merged": (lambda n: merged(n - 1), 20, "more than 20 sections"),
}


@pytest.mark.parametrize("kind", LIMITS)
def test_a_limit_holds_from_both_sides(kind):
    text, most, words = LIMITS[kind]
    parse_yaml(text(most), "here")
    with pytest.raises(ConfigError, match=f"^here cannot be used:(.|\n)*{words}"):
        parse_yaml(text(most + 1), "here")


def test_what_is_written_once_may_stand_for_too_many_values():
    parse_yaml(shared(MOST_VALUES - 100), "here")
    with pytest.raises(ConfigError, match="more than 20000 values; is an alias"):
        parse_yaml(shared(MOST_VALUES + 100), "here")
    itself = []
    itself.append(itself)
    with pytest.raises(ConfigError, match="more than 100 levels"):
        check_data(itself, "here")


def test_events_that_are_no_values_are_counted_before_anything_is_made():
    text = "[" + "[]," * (MOST_VALUES - 1) + "]"
    parse_yaml(text, "here")
    with pytest.raises(ConfigError, match="it has more than 20000 values"):
        parse_yaml("[" + "[]," * (3 * MOST_VALUES // 2) + "]", "here")


def test_keys_that_are_merged_are_counted():
    keys = ", ".join(f"k{i}: 1" for i in range(1900))
    many = "\n".join(
        f"  - {{{', '.join(f'k{j}_{i}: 1' for i in range(1900))}}}" for j in range(11)
    )
    parse_yaml(f"a: &a {{{keys}}}\nb: {{<<: *a}}", "here")
    with pytest.raises(ConfigError, match="more than 20000"):
        parse_yaml(f"b:\n  <<:\n{many}", "here")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [1", "it is not YAML"),
        ("a: !!bool maybe", "does not fit its tag"),
        ("a: !!python/name:os.system x", "it is not YAML"),
        ("1: a", "the key 1 is no text; write it in quotes"),
        ("a: {b: 2020-01-01}", "a.b: '2020-01-01' is no number, text or list"),
        ("a: .inf", "a: a number that is not finite, or beyond 1e.300"),
        ("a: .nan", "a: a number that is not finite"),
        ("a: -1.0e+300", "beyond 1e.300"),
        ('a: "x\\u0007"', r"the character U\+0007 cannot be written"),
        ('"x\\u0007": 1', r"the character U\+0007 cannot be written"),
        ("a: [0, '<b']", "a.1: '<b' holds markup"),
        ("'<b': 1", "top level: '<b' holds markup"),
    ],
)
def test_what_is_no_data_is_refused_in_its_place(text, words):
    with pytest.raises(ConfigError, match=words):
        parse_yaml(text, "here")


def test_data_are_numbers_texts_lists_and_nothing(tmp_path):
    text = "a: [1, 2.5, -9.9e+299, true, null, 'x < 3 and <', {b: y}]\nc: é\n"
    data = {"a": [1, 2.5, -9.9e299, True, None, "x < 3 and <", {"b": "y"}], "c": "é"}
    assert parse_yaml(text, "here") == data
    path = tmp_path / "a.yaml"
    path.write_text(text, "utf-8")
    assert read_yaml(path) == data
    path.write_bytes(b"a: \xff\n")
    assert read_yaml(path) == {"a": "�"}


def test_a_path_of_a_problem_ends_with_its_last_keys():
    data = 1e301
    for _ in range(60):
        data = {"abc": data}
    with pytest.raises(ConfigError) as error:
        check_data(data, "here")
    place = error.value.problems[0].partition(": ")[0]
    assert place == ".".join(["abc"] * 20) and len(place) == 79


@pytest.mark.parametrize(
    ("kind", "name", "usable"),
    [
        ("paper", "my_paper2", True),
        ("paper", "my-paper", False),
        ("recording", "my-paper", True),
        ("recording", "2paper", False),
        ("example", "figures", False),
        ("recording", "import", False),
        ("example", "a b", False),
    ],
)
def test_a_label_can_name_files(kind, name, usable):
    if usable:
        check_label(kind, name)
        return
    with pytest.raises(ConfigError, match=f"cannot name a {kind}: use") as error:
        check_label(kind, name)
    signs = "digits, underscores and hyphens" if kind == "recording" else "digits and"
    assert f"use letters, {signs}" in str(error.value)
    assert all(target in str(error.value) for target in yaml_files.RESERVED)
