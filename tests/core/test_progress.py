"""What a long stage reports while it works."""

import logging
import threading

from leastaction.core import progress
from leastaction.core.progress import progress_bar, tracked


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
