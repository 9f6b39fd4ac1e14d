"""The process of a job: its log, what it used, and a short beginning and end.

A script imports this module first, and ends with :func:`run`. Python seldom looks for
garbage from then on, and never in what was imported when the job begins. A job that has
done its work ends at once, without taking down what it imported: a fifth of the CPU
time of a short one.
"""

import atexit
import gc
import inspect
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

# Objects made, less those freed, before a job looks for garbage in cycles. At Python's
# 700, and once more at the end, a seventh of a reproduction's time went into that; at
# 10_000 0.08 s of a short job, mostly while it imports. Its peak memory grows by 9 MB.
OBJECTS_BETWEEN_COLLECTIONS = 50_000
# Time at which a job counts as begun where the system does not say.
IMPORTED = time.time()
# The unit of the largest resident memory is 1024 bytes, of macOS one.
BYTES_OF_PEAK = 1 if sys.platform == "darwin" else 1024
# Errors of a user's data: one message, without the name of the class.
EXPECTED = ("RecordingError",)

gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)


class _End:
    """The last thing that a process does: what others do at its end is done before."""

    usage: Path | None = None
    done = False

    def __call__(self) -> None:
        if self.usage is not None:
            write_usage(self.usage)
        if self.done:
            logging.shutdown()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)


_end = _End()
atexit.register(_end)


def run(main: Callable, snakemake) -> None:
    """Do the job of a script: call its `main`, with the log of the rule.

    Each argument is the input, the output, the parameter or the wildcard of its name.
    """
    parts = snakemake.wildcards, snakemake.params, snakemake.input, snakemake.output
    named = {name: value for part in parts for name, value in part.items()}
    with job(snakemake.log[0]):
        main(**{n: named[n] for n in inspect.signature(main).parameters if n in named})


@contextmanager
def job(path: str | Path) -> Iterator[None]:
    """Send messages, warnings and a failure's traceback to `path` and the terminal.

    A script does its work in this; Snakemake's ``log:`` redirects nothing by itself. A
    file that is missing, damaged or cannot be written is reported without a traceback.

    What the job used stands beside the log when the process ends (:func:`write_usage`),
    which it does with the script.
    """
    gc.freeze()
    path = Path(path)
    _end.usage = path.with_suffix(".tsv")
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
    yield
    _end.done = True


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
        self._messages: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is no warning, or one that was not given yet."""
        if record.levelno != logging.WARNING:
            return True
        message = record.getMessage()
        known = message in self._messages
        self._messages.add(message)
        return not known


def _log_failure(kind, error, trace) -> None:
    from leastaction.core.contracts import ContractError

    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    if kind.__name__ in EXPECTED:
        logging.error("%s", error)
        return
    expected = isinstance(error, ContractError) or getattr(error, "filename", None)
    about = None if expected else (kind, error, trace)
    logging.error("%s: %s", kind.__name__, error, exc_info=about)
