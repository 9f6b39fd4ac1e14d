"""Names, families and wrong calls."""

import pytest

from leastaction.core import families
from leastaction.core.families import (
    LONGEST_NAME,
    MOST_SHOWN,
    declared_units,
    is_plain,
    states_arguments,
    system_reference,
    unknown,
)


@pytest.mark.parametrize(
    ("entry", "known", "expected"),
    [
        (
            "mas",
            ["mass", "k"],
            "unknown term 'mas'; did you mean 'mass'? Known: mass, k",
        ),
        ("zzz", ["mass"], "unknown term 'zzz'. Known: mass"),
        ("a", [], "unknown term 'a'. Known: none"),
        (7, [1], "unknown term '7'. Known: 1"),
    ],
)
def test_an_unknown_name_is_answered_with_the_closest(entry, known, expected):
    assert unknown("term", entry, known) == expected


@pytest.mark.parametrize("count", [MOST_SHOWN, MOST_SHOWN + 1])
def test_a_long_list_of_names_is_cut_and_counted(count):
    text = unknown("term", "x" * 200, [f"name{k}" for k in range(count)])
    assert f"'{'x' * LONGEST_NAME}'" in text
    assert (f"({count} in all)" in text) == (count > MOST_SHOWN)
    assert text.count("name") == min(count, MOST_SHOWN)


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("a", True),
        ("a" * 80, True),
        ("a" * 81, False),
        ("1a", False),
        ("_a", False),
        ("a\n", False),
        (3, False),
    ],
)
def test_a_name_is_plain(name, plain):
    assert is_plain(name) is plain


K = {"k": {"unit": "N/m"}}


@pytest.mark.parametrize(
    ("config", "units"),
    [
        ({"coordinates": {"x": {"unit": "m"}}, "parameters": K}, {"x": "m"}),
        ({"field": {"name": "u", "unit": "mm"}, "parameters": K}, {"u": "mm"}),
        (
            {
                "states": {"p": {"unit": "N s"}},
                "inputs": {"F": {"unit": "N"}},
                "chart": {"coordinates": {"z": {"unit": "m"}}},
                "parameters": K,
            },
            {"p": "N s", "F": "N", "z": "m"},
        ),
        ({"states": {"p": {"unit": "N s"}}, "parameters": {}}, {"p": "N s"}),
    ],
)
def test_every_kind_of_system_declares_its_units(config, units):
    expected = units | ({"k": "N/m"} if config["parameters"] else {})
    assert declared_units(config) == expected


@pytest.mark.parametrize(
    ("section", "name"), [({}, "System"), ({"states": {}}, "Port"), ({"field": 0}, "F")]
)
def test_a_section_names_the_class_of_its_system(section, name):
    reference = system_reference(section)
    assert reference.partition(":")[2].startswith(name)
    assert families.system_class(section).__name__ == reference.partition(":")[2]


def test_families_of_another_package_are_added_once(monkeypatch):
    monkeypatch.setattr(families, "_packages", ["leastaction.ports"])
    calls = []

    @families.of_families
    def names():
        calls.append(1)
        return list(families._packages)

    assert names() == names() == ["leastaction.ports"] and len(calls) == 1
    families.add(["leastaction.fields", "leastaction.ports"])
    assert names() == ["leastaction.ports", "leastaction.fields"]
    assert len(calls) == 2


def test_a_wrong_call_is_answered_with_the_arguments():
    @states_arguments
    class Law:
        def twice(self, x: float, *, more=None):
            return 2 * x

        def _hidden(self):
            return 1

    assert Law().twice(2.0) == 4.0
    expected = r"twice: .*'y'; expected twice\(x, \*, more=None\)"
    with pytest.raises(TypeError, match=expected):
        Law().twice(2.0, y=1)
    with pytest.raises(TypeError) as error:
        Law()._hidden(1)
    assert "expected _hidden(" not in str(error.value)
