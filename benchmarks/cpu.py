"""CPU time of pieces of work side by side, and where a benchmark leaves its numbers."""

import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "build" / "bench"


@dataclass
class Timing:
    """One way of doing a piece of work.

    Attributes
    ----------
    name
        Method, and package.
    cpu, wall
        Seconds of each repeat. Of the first way there is one in every round; the ratio
        of a round is over that.
    compilation
        CPU seconds of the first call beyond the median of the others, where code is
        compiled.
    share
        Part of the work that was done; seconds are divided by it.
    note, agrees
        What the result was, and whether it is as good as that of the first way.
    missing
        Why there is nothing, if the package is not there or refuses.
    """

    name: str
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    compilation: float | None = None
    share: float = 1.0
    note: str = ""
    agrees: bool = True
    missing: str = ""


@dataclass
class Way:
    """What is to be timed: see :class:`Timing`.

    The first call is one more than `repeats`, and is left out unless `cold`, for slow
    work that is not faster the second time.
    """

    action: Callable
    repeats: int = 5
    compiled: bool = False
    cold: bool = False
    share: float = 1.0
    describe: Callable = lambda result: ""
    agrees: Callable = lambda result: True


def seconds_of(action: Callable) -> tuple[float, float, object]:
    """CPU and wall seconds of one call, and its result."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = action()
    return time.process_time() - cpu, time.perf_counter() - wall, result


def cpu_seconds(action: Callable, repeats: int = 5) -> tuple[float, object]:
    """Median CPU seconds of `action` after a first call, and its result."""
    result = action()
    seconds = []
    for _ in range(repeats):
        spent, _, result = seconds_of(action)
        seconds.append(spent)
    return statistics.median(seconds), result


def side_by_side(ways: Mapping[str, Way]) -> list[Timing]:
    """Time all ways in turn, round by round, so that a busy minute is shared by all."""
    timings, first = {}, {}
    for name, way in ways.items():
        timings[name] = Timing(name, share=way.share)
        try:
            first[name], wall, result = seconds_of(way.action)
        except Exception as reason:  # a peer may refuse in any way it likes
            if name == next(iter(ways)):
                raise
            timings[name].missing = f"{type(reason).__name__}: {reason}".split("\n")[0]
            continue
        timings[name].note = way.describe(result)
        timings[name].agrees = bool(way.agrees(result))
        if way.cold:
            timings[name].cpu.append(first[name] / way.share)
            timings[name].wall.append(wall / way.share)
    for round_ in range(max(way.repeats for way in ways.values())):
        for name, way in ways.items():
            if round_ >= way.repeats or timings[name].missing:
                continue
            cpu, wall, _ = seconds_of(way.action)
            timings[name].cpu.append(cpu / way.share)
            timings[name].wall.append(wall / way.share)
    for name, way in ways.items():
        if timings[name].missing:
            continue
        if way.compiled:
            warm = statistics.median(timings[name].cpu) * way.share
            timings[name].compilation = max(0.0, first[name] - warm)
        progress(timings[name])
    return list(timings.values())


def imported(*names: str) -> str:
    """Why one of these packages cannot be imported; nothing if all can."""
    for name in names:
        try:
            import_module(name)
        except Exception as reason:  # a broken package raises what it likes
            return f"{type(reason).__name__}: {reason}".split("\n")[0]
    return ""


def progress(timing: Timing) -> None:
    """One line on the terminal."""
    spent = f"{statistics.median(timing.cpu):10.4g} s" if timing.cpu else timing.missing
    print(f"{timing.name:44s} {spent}  {timing.note}", file=sys.stderr, flush=True)


def save(name: str, **content) -> None:
    """Leave the numbers of a benchmark for the report; timings become plain data."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, default=asdict, indent=1)
    (FOLDER / f"{name}.json").write_text(text + "\n")
