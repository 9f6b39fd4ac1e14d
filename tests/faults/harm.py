"""What an attack must not do: run, write, hang, or fill the memory.

Also how many cases of each kind are tried: a few, always the same, in `make test`; with
``--hypothesis-profile=attack``, which is `make attack`, the whole.
"""

import gc
import re
import resource
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from hostile import CANARY, ROOT
from hypothesis import HealthCheck, Phase, seed, settings

# Cases of each kind: in `make test`, and in `make attack`.
CASES = {
    "expressions": (150, 10_000),
    "examples": (50, 10_000),
    "files": (50, 500),
    "tables": (18, 200),
    "late tables": (13, 208),
    "foreign files": (13, 208),
    "models": (10, 200),
}
# Cases of one run of Hypothesis, which keeps about 2 MB of each until it ends.
PART = 500
WHOLE = settings.default.max_examples > 1000
# s of the processor, and bytes.
LONGEST = 2.0
MOST_MEMORY = 500e6
FORBIDDEN = re.compile(
    r"os\.(system|exec|spawn|posix_spawn|fork|remove|rename|rmdir|mkdir|link|symlink|"
    r"chmod|truncate)|subprocess|socket|shutil|ctypes|urllib|webbrowser|pty"
)
# Folder that may be written to.
writable = "/dev/null"
watched: list[str] = []
watching = False


def count(kind: str) -> int:
    """Cases of a kind: few, or all of an attack."""
    return CASES[kind][WHOLE]


def cases(kind: str) -> settings:
    """Settings of a test with one part of the attack."""
    return settings(
        max_examples=min(count(kind), PART),
        suppress_health_check=list(HealthCheck),
        phases=[p for p in Phase if not WHOLE or p is not Phase.shrink],
    )


def parts(kind: str):
    """Run a test once for each part of its cases, side by side, each with its seed."""
    return pytest.mark.parametrize("part", range(-(-count(kind) // PART)))


def try_all(test, part: int, config):
    """Run a test of Hypothesis with the seed of the command line and of a part.

    Its tree of cases, 1 GB of 500 configurations, is few objects: too few for a
    collection of garbage to begin by itself before the memory is full.
    """
    if WHOLE:
        test = seed(f"{config.getoption('--hypothesis-seed')} {part}")(test)
    test()
    if WHOLE:
        gc.collect()


def told(error: Exception) -> bool:
    """Whether an error is a sentence of this package, and no failure inside others."""
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    ours = Path(trace.tb_frame.f_code.co_filename).is_relative_to(ROOT / "src")
    return isinstance(error, ValueError) and ours and 0 < len(str(error)) < 3000


def _watch(event, arguments):
    if not watching:
        return
    writes = event == "open" and set(str(arguments[1])) & set("wax+")
    allowed = arguments and str(arguments[0]).startswith(writable)
    if (FORBIDDEN.match(event) or writes) and not allowed:
        watched.append(f"{event} {arguments!r}"[:200])


sys.addaudithook(_watch)


def _too_long(number, frame):
    raise TimeoutError("it hangs")


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextmanager
def harmless():
    """Nothing is run or written, and what happens is over soon and takes little."""
    global watching
    watched.clear()
    before = signal.signal(signal.SIGVTALRM, _too_long)
    start, memory = time.process_time(), _memory()
    signal.setitimer(signal.ITIMER_VIRTUAL, 10 * LONGEST)
    watching = True
    try:
        yield
    finally:
        watching = False
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    assert time.process_time() - start < LONGEST
    assert _memory() - memory < MOST_MEMORY
    assert not watched
    assert not (ROOT / CANARY).exists()
