"""What a long stage reports while it works."""

import atexit
import gc
import logging
import subprocess
import sys
import threading
import time
import weakref

import pytest

from leastaction.core import progress
from leastaction.core.files import job_usage
from leastaction.core.progress import progress_bar, start_logging, tracked, write_usage


@pytest.fixture
def job(tmp_path):
    """Log of a job that has begun in this process; its traces are removed."""
    root, hook = logging.getLogger(), sys.excepthook
    handlers, threshold = root.handlers[:], gc.get_threshold()
    try:
        start_logging(tmp_path / "logs" / "job.log")
        yield tmp_path / "logs" / "job.log"
    finally:
        gc.unfreeze()
        gc.set_threshold(*threshold)
        atexit.unregister(gc.freeze)
        atexit.unregister(write_usage)
        sys.excepthook = hook
        for handler in root.handlers[:]:
            root.removeHandler(handler)
        for handler in handlers:
            root.addHandler(handler)
        logging.captureWarnings(False)


def test_a_warning_is_given_once_and_a_message_every_time(job):
    for number in (1, 1, 2):
        logging.warning("coarse: %d", number)
        logging.info("step %d", number)
    text = job.read_text()
    assert text.count("coarse: 1") == 1
    assert text.count("coarse: 2") == 1
    assert text.count("step 1") == 2


def test_a_job_frees_its_own_cycles_and_does_not_visit_what_was_imported(job):
    assert not any(one is progress for one in gc.get_objects())
    cycle = {"data": {1.0}}
    cycle["itself"] = cycle
    left = weakref.ref(cycle["data"])
    del cycle
    gc.collect()
    assert left() is None


def test_tracked_passes_everything_on():
    assert list(tracked([3, 1, 2], "count")) == [3, 1, 2]


class Bar(list):
    """Stands in for a bar of tqdm."""

    def set_postfix_str(self, text):
        self.append(text)


def test_what_is_reported_stands_beside_the_bar_of_its_thread_alone():
    logger = logging.getLogger("leastaction")
    before = logger.level, logger.handlers[:]
    with progress_bar(2, shown=False) as advance:
        advance("assemble")
        token = progress._bar.set(Bar())
        try:
            other = threading.Thread(target=progress.report, args=("elsewhere",))
            other.start()
            other.join()
            progress.report("%d of %d", 1, 2)
            assert progress._bar.get() == ["1 of 2"]
        finally:
            progress._bar.reset(token)
    assert progress._bar.get() is None
    assert (logger.level, logger.handlers) == before


def test_a_job_leaves_one_row_with_all_that_it_and_its_children_used(tmp_path):
    child = "import time\nwhile time.process_time() < 0.3: pass"
    script = f"""
import subprocess, sys, time
from leastaction.core.progress import start_logging
start_logging(r"{tmp_path}/job.1_of_2.log")
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
