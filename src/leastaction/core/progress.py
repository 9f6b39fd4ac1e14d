"""What a long stage reports while it works."""

import atexit
import gc
import logging
import os
import sys
import time
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

from leastaction.core.contracts import ContractError

SECONDS_BETWEEN_REPORTS = 10.0
# What is done sooner gets no bar.
SECONDS_BEFORE_BAR = 3.0
# Objects made, less those freed, before a job looks for garbage in cycles. At Python's
# 700, and once more at the end, a seventh of a reproduction's time went into that.
OBJECTS_BETWEEN_COLLECTIONS = 10_000
# Time at which a job counts as begun where the system does not say.
IMPORTED = time.time()
# The unit of the largest resident memory is 1024 bytes, of macOS one.
BYTES_OF_PEAK = 1 if sys.platform == "darwin" else 1024
# Errors of a user's data: one message, without the name of the class.
EXPECTED = ("RecordingError",)

T = TypeVar("T")
log = logging.getLogger(__name__)
_bar: ContextVar = ContextVar("bar", default=None)


def start_logging(path: str | Path) -> None:
    """Send messages, warnings and a failure's traceback to `path` and the terminal.

    A script calls this first; Snakemake's ``log:`` redirects nothing by itself. A file
    that is missing, damaged or cannot be written is told without a traceback.

    What the job used stands beside the log when it ends (:func:`write_usage`). What was
    imported is left out of Python's garbage collection from here on.
    """
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    atexit.register(gc.freeze)
    path = Path(path)
    atexit.register(write_usage, path.with_suffix(".tsv"))
    path.parent.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(message)s",
        datefmt="%H:%M:%S",
        handlers=[logging.FileHandler(path, "w", "utf-8"), logging.StreamHandler()],
        force=True,
    )
    for handler in logging.getLogger().handlers:
        handler.addFilter(_Once())
    logging.captureWarnings(True)
    logging.getLogger("fontTools").setLevel(logging.WARNING)
    sys.excepthook = _log_failure


def write_usage(path: str | Path) -> None:
    """Write what this process and its children have used so far, as one row.

    Columns: `wall`, `user`, `system` [s], by the clock and of CPU, and `peak` [MB], the
    largest resident memory of one process.
    """
    import resource  # Unix has it; a notebook elsewhere needs none of this.

    every = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    used = [resource.getrusage(who) for who in every]
    row = {
        "wall": time.time() - _started(),
        "user": sum(one.ru_utime for one in used),
        "system": sum(one.ru_stime for one in used),
        "peak": max(one.ru_maxrss for one in used) * BYTES_OF_PEAK / 1e6,
    }
    text = "\t".join(row) + "\n" + "\t".join(f"{v:.3f}" for v in row.values()) + "\n"
    Path(path).write_text(text, "utf-8")


def _started() -> float:
    """When this process began, in s of `time.time`; without /proc, when it imported."""
    try:
        fields = Path("/proc/self/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return IMPORTED
    boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return boot + int(fields[19]) / os.sysconf("SC_CLK_TCK")


class _Once(logging.Filter):
    """Lets a warning pass once: what holds for one replicate mostly holds for all."""

    def __init__(self):
        super().__init__()
        self._seen: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is no warning, or one that was not given yet."""
        if record.levelno != logging.WARNING:
            return True
        message = record.getMessage()
        known = message in self._seen
        self._seen.add(message)
        return not known


@contextmanager
def warnings_told() -> Iterator[list[str]]:
    """List that gets the warnings which this package logs meanwhile."""
    told: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: told.append(record.getMessage())
    logger = logging.getLogger(__name__.partition(".")[0])
    logger.addHandler(handler)
    try:
        yield told
    finally:
        logger.removeHandler(handler)


def _log_failure(kind, error, trace) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    if kind.__name__ in EXPECTED:
        logging.error("%s", error)
        return
    told = isinstance(error, ContractError) or getattr(error, "filename", None)
    about = None if told else (kind, error, trace)
    logging.error("%s: %s", kind.__name__, error, exc_info=about)


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
