"""Where the time of a reproduction went, by the logs that it left.

    python benchmarks/shares.py [logs]

A job's wall time is in the `.tsv` beside its log. The stages up to validate log
when their first replicate began and their last one was written, and the CPU between:
the rest of the wall time is start-up (interpreter, imports, compiled kernels read from
the cache), and what is not CPU is waiting for disk or core. Other jobs are shown whole.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

from leastaction.core.files import job_usage

WORK = re.compile(r"(\w+): \d+ done in ([\d.]+) s, ([\d.]+) s of CPU")
HEADS = ("rule", "jobs", "wall s", "work s", "CPU of it s", "start-up s", "a job s")


def jobs(logs: Path):
    """Rule, wall s, and work wall and CPU s (None where not logged) of every job."""
    for path in sorted(logs.rglob("*.tsv")):
        wall = job_usage(path)["wall"]
        told = path.with_suffix(".log")
        found = WORK.search(told.read_text()) if told.exists() else None
        rule = re.match(r"[a-z]+", path.name)[0]
        yield rule, wall, *(map(float, found.groups()[1:]) if found else (None, None))


def main(logs: str = "logs") -> None:
    """Print a line for each rule and one for all."""
    rules = defaultdict(list)
    for rule, *times in jobs(Path(logs)):
        rules[rule].append(times)
    if not rules:
        raise SystemExit(f"{logs} holds no `.tsv` of a job; run snakemake first")
    print("".join(head.rjust(13) for head in HEADS))
    everything = [job for found in rules.values() for job in found]
    for rule, found in [*sorted(rules.items()), ("all", everything)]:
        logged = [job for job in found if job[1] is not None]
        whole, work, cpu = (sum(job[i] for job in logged) for i in range(3))
        wall = sum(job[0] for job in found)
        numbers = (wall, work, cpu, whole - work, (whole - work) / max(1, len(logged)))
        shown = "".join(f"{number:13.1f}" for number in numbers)
        print(f"{rule:>13}{len(found):13d}{shown}")


if __name__ == "__main__":
    main(*sys.argv[1:])
