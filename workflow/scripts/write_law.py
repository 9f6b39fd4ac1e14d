"""Rule `write_law`: the law of a recording in plain words, and as a file."""

from leastaction.core.files import job_usage, load, save_text
from leastaction.core.progress import start_logging
from leastaction.recordings.law import Law


def main(
    observations: str,
    model: str,
    rollouts: list,
    usages: list,
    title: str,
    law: str,
    saved: str,
) -> None:
    """Write the law as Markdown and NetCDF; a random motion has no prediction."""
    used = map(job_usage, usages)
    seconds = sum(one["user"] + one["system"] for one in used)
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
        snakemake.input.usages,
        snakemake.params.settings["title"],
        snakemake.output.law,
        snakemake.output.saved,
    )
