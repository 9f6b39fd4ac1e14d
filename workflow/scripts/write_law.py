"""Rule `write_law`: the law of a recording in plain words, and as a file."""

from leastaction.core.files import job_seconds, load, save_text
from leastaction.core.progress import start_logging
from leastaction.recordings.law import Law


def main(
    observations: str,
    model: str,
    rollouts: list,
    benchmarks: list,
    title: str,
    law: str,
    saved: str,
) -> None:
    """Write the law as Markdown and NetCDF; a random motion has no prediction."""
    seconds = sum(job_seconds(path, "cpu_time") for path in benchmarks)
    parts = [load(model), load(observations), *map(load, rollouts)]
    found = Law(*parts, title=title, seconds=seconds)
    save_text(found.to_markdown(), law)
    found.save(saved)


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(
        snakemake.input.observations,
        snakemake.input.model,
        snakemake.input.get("rollouts", []),
        snakemake.input.benchmarks,
        snakemake.params.settings["title"],
        snakemake.output.law,
        snakemake.output.saved,
    )
