"""The cache: computed once, told apart by key and source, never trusted if broken."""

import pytest

from leastaction.core.cache import cache_folder, cached


@pytest.fixture
def ask(tmp_path, monkeypatch):
    monkeypatch.setenv("LEASTACTION_CACHE", str(tmp_path))
    computed = []

    def ask(key, value, sources=(__file__,)):
        def compute():
            computed.append(key)
            return value

        return cached(key, sources, compute), len(computed)

    return ask


def test_a_result_is_computed_once(ask):
    assert ask("a", {"x": [1, 2]}) == ({"x": [1, 2]}, 1)
    assert ask("a", {"x": "never asked"}) == ({"x": [1, 2]}, 1)
    assert ask("b", {"y": 0}) == ({"y": 0}, 2)


def test_an_edit_of_the_source_invalidates(ask, tmp_path):
    source = tmp_path / "algorithm.py"
    source.write_text("one")
    assert ask("a", {"x": 1}, [source])[1] == 1
    source.write_text("two")
    assert ask("a", {"x": 2}, [source]) == ({"x": 2}, 2)


def test_a_broken_file_is_replaced(ask):
    ask("a", {"x": 1})
    (path,) = cache_folder().glob("result_*.json")
    path.write_text('{"x"')
    assert ask("a", {"x": 1}) == ({"x": 1}, 2)
    assert ask("a", {}) == ({"x": 1}, 2)


def test_a_result_without_json_is_not_kept(ask):
    assert ask("a", None) == (None, 1)
    assert ask("a", None) == (None, 2)
