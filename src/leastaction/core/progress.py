"""What a long stage reports while it works."""

import logging
import time
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

SECONDS_BETWEEN_REPORTS = 10.0
# What is done sooner gets no bar.
SECONDS_BEFORE_BAR = 3.0

T = TypeVar("T")
log = logging.getLogger(__name__)
_bar: ContextVar = ContextVar("bar", default=None)


@contextmanager
def logged_warnings() -> Iterator[list[str]]:
    """List of the warnings that this package logs meanwhile."""
    messages: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: messages.append(record.getMessage())
    logger = logging.getLogger(__name__.partition(".")[0])
    logger.addHandler(handler)
    try:
        yield messages
    finally:
        logger.removeHandler(handler)


def report(message: str, *values) -> None:
    """Write a message to the log, and beside the bar of this thread if there is one."""
    log.info(message, *values)
    bar = _bar.get()
    if bar is not None:
        bar.set_postfix_str((message % values)[:60])


def tracked(items: Collection[T], what: str, summary: bool = True) -> Iterator[T]:
    """Pass `items` on, and report how many are done at most every ten seconds."""
    start = last = time.monotonic()
    spent = time.process_time()
    for done, item in enumerate(items):
        now = time.monotonic()
        if now - last > SECONDS_BETWEEN_REPORTS:
            last = now
            left = (now - start) / max(1, done) * (len(items) - done)
            report("%s: %d of %d, about %.0f s left", what, done, len(items), left)
        yield item
    if summary:
        log.info(
            "%s: %d done in %.1f s, %.1f s of CPU",
            what,
            len(items),
            time.monotonic() - start,
            time.process_time() - spent,
        )


@contextmanager
def progress_bar(total: int, shown: bool = True) -> Iterator[Callable[[str], None]]:
    """Bar of a work of `total` stages in memory, on a terminal or in a notebook.

    It appears after three seconds, and shows the stage and what was reported last.
    ``advance(stage)`` is called where a stage begins.
    """
    with warnings.catch_warnings():
        # A notebook without widgets gets a bar of text.
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm

    hidden = None if shown else True
    bar = tqdm(total=total, delay=SECONDS_BEFORE_BAR, disable=hidden, leave=False)
    begun = False

    def advance(stage: str) -> None:
        nonlocal begun
        bar.update(begun)
        begun = True
        bar.set_description(stage)

    token = _bar.set(bar)
    try:
        yield advance
    finally:
        _bar.reset(token)
        bar.close()
