"""The process of a job: its log, its garbage, its end, and what it used."""

import subprocess
import sys
import time

import pytest

from leastaction.core.files import job_usage


def of_job(folder, work, before=""):
    """A process with a job that does `work`, lines of Python, after others."""
    lines = "".join(f"    {line}\n" for line in work.strip().splitlines())
    script = f"""
import leastaction.core.process as process
{before}
with process.job(r"{folder}/logs/job.log"):
{lines}"""
    given = [sys.executable, "-c", script]
    return subprocess.run(given, capture_output=True, text=True)


def test_a_warning_is_given_once_and_a_message_every_time(tmp_path):
    work = """
import logging
for number in (1, 1, 2):
    logging.warning("coarse: %d", number)
    logging.info("step %d", number)
"""
    assert of_job(tmp_path, work).returncode == 0
    text = (tmp_path / "logs/job.log").read_text()
    assert text.count("coarse: 1") == 1
    assert text.count("coarse: 2") == 1
    assert text.count("step 1") == 2


def test_a_job_frees_its_own_cycles_and_does_not_visit_what_was_imported(tmp_path):
    work = """
import gc, weakref
assert not any(one is process for one in gc.get_objects())
cycle = {"data": {1.0}}
cycle["itself"] = cycle
left = weakref.ref(cycle["data"])
del cycle
gc.collect()
assert left() is None
"""
    done = of_job(tmp_path, work)
    assert done.returncode == 0, done.stderr


def test_a_job_that_is_done_has_written_all_and_takes_nothing_down(tmp_path):
    """What others do at the end of a process comes before; freeing objects does not."""
    before = f"""
import atexit
from pathlib import Path
class Torn:
    def __del__(self): Path(r"{tmp_path}", "torn").touch()
torn = Torn()
atexit.register(print, "noted")
"""
    done = of_job(tmp_path, 'print("x" * 100_000)', before)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "x" * 100_000 + "\nnoted\n"
    assert not (tmp_path / "torn").exists()


@pytest.mark.parametrize(
    "work, code, says",
    [
        ("raise ValueError('no')", 1, "ValueError: no"),
        ("raise SystemExit(3)", 3, ""),
        ("import os; os.kill(os.getpid(), 15)", -15, ""),
    ],
)
def test_a_job_that_fails_says_so_by_its_exit(tmp_path, work, code, says):
    done = of_job(tmp_path, work)
    assert done.returncode == code
    assert says in done.stderr and says in (tmp_path / "logs/job.log").read_text()


def test_a_job_leaves_one_row_with_all_that_it_and_its_children_used(tmp_path):
    child = "import time\nwhile time.process_time() < 0.3: pass"
    script = f"""
import subprocess, sys, time
from leastaction.core.process import job
with job(r"{tmp_path}/job.1_of_2.log"):
    memory = bytearray(300_000_000)
    while time.process_time() < 1.5: pass
    subprocess.run([sys.executable, "-c", {child!r}])
    time.sleep(0.5)
"""
    before = time.monotonic()
    subprocess.run([sys.executable, "-c", script], check=True)
    most = time.monotonic() - before
    used = job_usage(tmp_path / "job.1_of_2.tsv")
    assert list(used) == ["wall", "user", "system", "peak"]
    assert 1.8 < used["user"] + used["system"] < 2 * most
    assert 2.3 < used["wall"] < most + 0.1
    assert used["peak"] > 300
