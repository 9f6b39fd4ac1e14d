"""Rules of `estimate.smk`: stages of an estimator, one after the other in one job."""

import leastaction.core.process as process
from leastaction.core.files import Replicates, save_replicates
from leastaction.core.jobs import STAGES
from leastaction.core.method import step
from leastaction.core.progress import tracked


def main(
    observations: str, settings: dict, made: list, results: dict | None = None
) -> None:
    """Make the files of an estimator, and of its readings what differs from them.

    `settings` are those of each stage by estimator, `made` their files in this order.
    """
    paths, of_first = iter(made), {}
    for stages in settings.values():
        files = dict(of_first)
        for stage, given in stages.items():
            method, path = step(stage, given[stage]), next(paths)
            before = STAGES[: STAGES.index(stage)][-1:]
            read = [observations, *map(files.get, before)]
            found = (
                method(*data, given["library"])
                for data in tracked(Replicates(*read, results=results), stage)
            )
            save_replicates(found, path, method.contract(), results)
            files[stage] = path
        of_first = of_first or files


if __name__ == "__main__":
    process.run(main, snakemake)
