"""What a long stage tells while it works, and what it has cost."""

import logging
import subprocess
import sys

import pandas as pd

from leastaction.core.progress import start_logging, tracked


def test_a_warning_is_given_once_and_a_message_every_time(tmp_path):
    root, hook = logging.getLogger(), sys.excepthook
    handlers = root.handlers[:]
    try:
        start_logging(tmp_path / "logs" / "job.log")
        for number in (1, 1, 2):
            logging.warning("coarse: %d", number)
            logging.info("step %d", number)
    finally:
        sys.excepthook = hook
        for handler in root.handlers[:]:
            root.removeHandler(handler)
        for handler in handlers:
            root.addHandler(handler)
        logging.captureWarnings(False)
    text = (tmp_path / "logs" / "job.log").read_text()
    assert text.count("coarse: 1") == 1
    assert text.count("coarse: 2") == 1
    assert text.count("step 1") == 2


def test_tracked_passes_everything_on():
    assert list(tracked([3, 1, 2], "count")) == [3, 1, 2]


def test_a_process_writes_what_it_has_cost(tmp_path):
    work = """
import sys, time
from leastaction.core.progress import start_logging
start_logging(*sys.argv[1:])
end = time.process_time() + 0.3
while time.process_time() < end:
    pass
held = bytearray(2**28)
time.sleep(0.5)
raise SystemExit(1)
"""
    paths = [tmp_path / "job.log", tmp_path / "job.tsv"]
    subprocess.run([sys.executable, "-c", work, *paths], check=False)
    (row,) = pd.read_csv(paths[1], sep="\t").to_dict("records")
    assert row["cpu_time"] > 0.3
    assert row["s"] > row["cpu_time"] + 0.3
    assert row["max_rss"] > 256
