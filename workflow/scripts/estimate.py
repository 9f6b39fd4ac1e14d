"""Rules of `estimate.smk`: stages of an estimator, one after the other in one job."""

import leastaction.core.process as process
from leastaction.core.files import Replicates, save_replicates
from leastaction.core.jobs import FILES, STAGES
from leastaction.core.method import step
from leastaction.core.progress import tracked


def main(
    observations: str, settings: dict, made: dict, before: str | None = None
) -> None:
    """Make each file of `made`, replicate by replicate, from the one before it.

    That before the first may be of another estimator; `differentiate` reads none.
    """
    results = settings.get("results")
    for stage, file in zip(STAGES, FILES, strict=True):
        if file not in made:
            continue
        given = settings[stage]
        method = step(stage, given[stage])
        paths = [observations] if before is None else [observations, before]
        found = (
            method(*data, given["library"])
            for data in tracked(Replicates(*paths, results=results), stage)
        )
        save_replicates(found, made[file], method.contract(), results)
        before = made[file]


if __name__ == "__main__":
    with process.job(snakemake.log[0]):
        main(
            snakemake.input.observations,
            snakemake.params.settings,
            dict(snakemake.output.items()),
            snakemake.input.get("before"),
        )
