"""CPU time of a piece of work, for the benchmarks beside this file."""

import statistics
import time


def cpu_seconds(action, repeats: int = 5) -> tuple[float, object]:
    """Median CPU seconds of `action` after a first call, and its result."""
    result = action()
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        result = action()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds), result
