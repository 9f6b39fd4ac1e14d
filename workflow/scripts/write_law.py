"""Rule `write_law`: the law of a recording in plain words, and as a file."""

import leastaction.core.process as process
from leastaction.core.files import job_usage, load_all, save_text
from leastaction.recordings.law import law_of


def main(
    observations: str,
    model: str,
    rollouts: list,
    usages: list,
    settings: dict,
    law: str,
    saved: str,
) -> None:
    """Write the law as Markdown and NetCDF; a random motion has no prediction."""
    used = map(job_usage, usages)
    seconds = sum(one["user"] + one["system"] for one in used)
    parts = load_all([model, observations, *rollouts], settings["results"])
    found = law_of(*parts, title=settings["title"], seconds=seconds)
    save_text(found.to_markdown(), law)
    found.save(saved)


if __name__ == "__main__":
    process.run(main, snakemake)
