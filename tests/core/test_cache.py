"""The cache: computed once, told apart by key and source, not used if damaged."""

import os
from pathlib import Path

import pytest

from leastaction.core import cache
from leastaction.core.cache import cache_folder, cached, write_to_cache


@pytest.fixture
def ask(tmp_path, monkeypatch):
    monkeypatch.setenv("LEASTACTION_CACHE", str(tmp_path / "deep" / "cache"))
    computed = []

    def ask(key, value, sources=(__file__,)):
        def compute():
            computed.append(key)
            return value

        return cached(key, sources, compute), len(computed)

    return ask


def entries():
    return sorted(cache_folder().glob("result_*.json"))


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


def test_a_damaged_entry_is_computed_again(ask):
    """Cut, emptied, a digit or a bit flipped, other JSON, the entry of another key."""
    ask("a", {"x": 1.5})
    (path,) = entries()
    ask("b", {"x": 2.5})
    (other,) = set(entries()) - {path}
    good = path.read_bytes()
    damaged = [good[:-2], b"", b"{}", other.read_bytes(), good.replace(b"1.5", b"1.7")]
    for count, content in enumerate([*damaged, b"\xff" + good, good + b"\0"], 3):
        path.write_bytes(content)
        assert ask("a", {"x": 1.5}) == ({"x": 1.5}, count)
        assert ask("a", {"x": 0}) == ({"x": 1.5}, count)
        assert path.read_bytes() == good


def test_the_folder_is_ours_alone(ask):
    ask("a", {"x": 1})
    assert cache_folder().stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_may_write_to_is_not_used(ask, tmp_path, mode):
    cache_folder().mkdir(parents=True)
    cache_folder().chmod(mode)
    with pytest.warns(UserWarning, match="is not used: others can write to it; chmod"):
        assert ask("a", {"x": 1}) == ({"x": 1}, 1)
    assert ask("a", {"x": 1}) == ({"x": 1}, 2)
    assert not entries()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_not_used(ask):
    cache_folder().mkdir(mode=0o700, parents=True)
    os.chown(cache_folder(), 12345, 12345)
    with pytest.warns(UserWarning, match="others can write to it"):
        assert ask("a", {"x": 1}) == ({"x": 1}, 1)


@pytest.mark.parametrize("folder", ["/proc/nothing", "/dev/null", "/dev/full/x"])
def test_without_a_folder_everything_is_computed(ask, monkeypatch, folder):
    monkeypatch.setenv("LEASTACTION_CACHE", folder)
    with pytest.warns(UserWarning, match="is not used"):
        assert ask("a", {"x": 1}) == ({"x": 1}, 1)
    assert ask("a", {"x": 1}) == ({"x": 1}, 2)


def test_a_result_without_json_is_not_kept(ask):
    assert ask("a", None) == (None, 1)
    assert ask("a", None) == (None, 2)


@pytest.mark.parametrize("mode", [0o700, 0o744, 0o755])
def test_a_folder_that_others_may_read_is_used(ask, mode):
    cache_folder().mkdir(parents=True)
    cache_folder().chmod(mode)
    assert ask("a", {"x": 1}) == ask("a", {"x": 2})
    (path,) = entries()
    assert path.stat().st_mtime == 0


def test_a_cache_needs_room_for_four_mebibytes(ask, monkeypatch):
    asked = []

    def full(file, start, size):
        asked.append((start, size))
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.os, "posix_fallocate", full)
    with pytest.warns(UserWarning, match="is not used: No space left"):
        assert ask("a", {"x": 1}) == ({"x": 1}, 1)
    assert asked == [(0, 2**22)]


def test_whether_a_file_was_written_is_said(ask, tmp_path):
    path = cache_folder() / "text"
    assert write_to_cache("one", path) and path.read_text() == "one"
    (cache_folder() / "folder" / "inside").mkdir(parents=True)
    assert not write_to_cache("one", cache_folder() / "folder")
    assert sorted(p.name for p in cache_folder().iterdir()) == ["folder", "text"]
    with pytest.warns(UserWarning, match="is not used"):
        assert not write_to_cache("one", path / "text")


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"LEASTACTION_CACHE": "/a/b", "XDG_CACHE_HOME": "/c"}, "/a/b"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/leastaction"),
        ({"HOME": "/d"}, "/d/.cache/leastaction"),
    ],
)
def test_the_folder_is_that_of_the_environment(monkeypatch, variables, folder):
    for name in ("LEASTACTION_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(folder)
