"""Laws of the lists of source files that jobs have as input."""

import os

from leastaction.configuration.sources import PACKAGE, source_files, write_listing

FILES = source_files(["leastaction.ensembles.moment_gmm"])


def test_a_list_names_every_file_that_is_imported(tmp_path):
    write_listing(FILES, tmp_path / "list.txt")
    named = [line.split()[1] for line in (tmp_path / "list.txt").open()]
    assert named == [str(f.relative_to(PACKAGE.parent)) for f in FILES]
    assert "leastaction/ensembles/moment_gmm.py" in named


def test_an_old_list_is_left_alone(tmp_path):
    path = tmp_path / "list.txt"
    write_listing(FILES, path)
    os.utime(path, (1, 1))
    write_listing(FILES, path)
    assert path.stat().st_mtime == 1


def test_a_new_list_is_as_old_as_its_newest_file(tmp_path):
    source, path = tmp_path / "new.py", tmp_path / "lists" / "list.txt"
    source.write_text("")
    os.utime(source, (2e9, 2e9))
    write_listing([*FILES, source], path)
    made = path.stat().st_mtime
    assert made < 2e9  # a clock that jumped back
    assert made >= max(file.stat().st_mtime for file in FILES)
    assert [p.name for p in path.parent.iterdir()] == ["list.txt"]


def test_another_content_is_another_and_a_newer_list(tmp_path):
    source, path = tmp_path / "new.py", tmp_path / "list.txt"
    source.write_text("a = 1")
    os.utime(source, (1, 1))
    write_listing([source], path)
    before = path.read_text()
    assert path.stat().st_mtime == 1
    source = source.rename(tmp_path / "old.py")
    source.write_text("a = 2")
    os.utime(source, (1, 1))
    write_listing([source], path)
    assert path.read_text() != before
    assert path.stat().st_mtime > 1
