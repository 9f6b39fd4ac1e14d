"""The process of a job: its log, its garbage, its end, and what it used."""

import logging
import resource
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from leastaction.core import process
from leastaction.core.contracts import ContractError
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
    while time.process_time() < 0.6: pass
    subprocess.run([sys.executable, "-c", {child!r}])
    time.sleep(0.5)
"""
    before = time.monotonic()
    subprocess.run([sys.executable, "-c", script], check=True)
    most = time.monotonic() - before
    used = job_usage(tmp_path / "job.1_of_2.tsv")
    assert list(used) == ["wall", "user", "system", "peak"]
    assert 0.9 < used["user"] + used["system"] < 2 * most
    assert 1.4 < used["wall"] < most + 0.1
    assert used["peak"] > 300


def test_a_process_that_is_done_ends_at_once(monkeypatch, tmp_path):
    ended = []
    monkeypatch.setattr(process.os, "_exit", ended.append)
    monkeypatch.setattr(process.logging, "shutdown", lambda: ended.append("logs"))
    end = process._End()
    end()  # of a process that does no job
    assert ended == [] and not end.done and end.usage is None
    end.usage = tmp_path / "a.tsv"
    end()
    assert end.usage.exists() and ended == []
    end.done = True
    end()
    assert ended == ["logs", 0]


def test_usage_is_that_of_a_process_and_its_children(monkeypatch, tmp_path):
    own = SimpleNamespace(ru_utime=1.5, ru_stime=0.25, ru_maxrss=3000)
    child = SimpleNamespace(ru_utime=2.0, ru_stime=0.5, ru_maxrss=5000)
    used = {resource.RUSAGE_SELF: own, resource.RUSAGE_CHILDREN: child}
    monkeypatch.setattr(resource, "getrusage", used.get)
    monkeypatch.setattr(process, "_started", lambda: process.time.time() - 7.0)
    process.write_usage(tmp_path / "a.tsv")
    row = job_usage(tmp_path / "a.tsv")
    assert row.pop("wall") == pytest.approx(7.0, abs=0.5)
    assert row == {"user": 3.5, "system": 0.75, "peak": 5.12}
    lines = (tmp_path / "a.tsv").read_text().split("\n")
    assert lines[0] == "wall\tuser\tsystem\tpeak" and lines[1].endswith(
        "\t0.750\t5.120"
    )


def test_a_process_knows_when_it_began(monkeypatch):
    began = process._started()
    assert process.time.time() - 3600 * 24 < began < process.time.time()
    again = process._started()
    assert again == pytest.approx(began, abs=0.05)
    cpu = process.time.process_time()
    assert process.time.time() - began > 0.9 * cpu - 0.1

    def absent(self, *rest):
        raise OSError

    monkeypatch.setattr(Path, "read_text", absent)
    assert process._started() == process.IMPORTED


def test_a_warning_passes_once_and_all_else_always():
    once = process._Once()

    def passes(level, text, *values):
        record = logging.LogRecord("a", level, "b", 1, text, values, None)
        return once.filter(record)

    assert passes(logging.WARNING, "x %d", 1) and passes(logging.WARNING, "x %d", 2)
    assert not passes(logging.WARNING, "x %d", 1)
    assert passes(logging.INFO, "x") and passes(logging.INFO, "x")
    assert passes(logging.ERROR, "x 1") and passes(logging.ERROR, "x 1")


class RecordingError(ValueError):
    """Called as the class of errors in a user's data."""


@pytest.mark.parametrize(
    ("error", "text", "traced"),
    [
        (RecordingError("no"), "no", False),
        (ContractError("no"), "ContractError: no", False),
        (OSError(28, "full", "a.nc"), "OSError: [Errno 28] full: 'a.nc'", False),
        (OSError("odd"), "OSError: odd", True),
        (ValueError("odd"), "ValueError: odd", True),
    ],
)
def test_what_is_expected_has_no_traceback(caplog, error, text, traced):
    process._log_failure(type(error), error, None)
    (record,) = caplog.records
    assert record.getMessage() == text and record.levelname == "ERROR"
    assert bool(record.exc_info and record.exc_info[0]) == traced


def test_an_interrupt_is_left_to_python(monkeypatch, caplog):
    seen = []
    monkeypatch.setattr(process.sys, "__excepthook__", lambda *a: seen.append(a[0]))
    process._log_failure(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert seen == [KeyboardInterrupt] and not caplog.records


def test_a_script_gets_what_its_main_asks_for(monkeypatch):
    logs, got = [], {}

    @contextmanager
    def job(path):
        logs.append(path)
        yield

    monkeypatch.setattr(process, "job", job)
    snakemake = SimpleNamespace(
        wildcards={"example": "e"},
        params={"seed": 3, "more": 4},
        input={"data": "a.nc"},
        output={"model": "b.nc"},
        log=["a.log", "b.log"],
    )

    def main(seed, data, model, example, none=5):
        got.update(seed=seed, data=data, model=model, example=example, none=none)

    process.run(main, snakemake)
    assert logs == ["a.log"]
    expected = {"seed": 3, "data": "a.nc", "model": "b.nc", "example": "e"}
    assert got == expected | {"none": 5}
