"""What a long stage reports while it works."""

import logging
import sys

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
