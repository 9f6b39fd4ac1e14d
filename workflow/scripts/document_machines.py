"""Rule `document_machines`: laws of real machines beside what is published."""

from pathlib import Path

import leastaction.core.process as process
from leastaction.core.files import load_all, save_text
from leastaction.recordings.law import Law
from leastaction_papers.scorecard.machines import machine, machines_document


def main(
    observations: list, models: list, rollouts: list, settings: dict, page: str
) -> None:
    """One section per machine, with the law of those whose data are there."""
    predicted = {Path(path).parents[1].name: [path] for path in rollouts}
    files = zip(models, observations, strict=True)
    laws = {
        name: Law(*load_all([*found, *predicted.get(name, [])], settings["results"]))
        for name, found in zip(settings["recorded"], files, strict=True)
    }
    sentences = [
        machine(name, about["title"], about["published"], laws.get(name))
        for name, about in settings["machines"].items()
    ]
    save_text(machines_document(sentences), page)


if __name__ == "__main__":
    process.run(main, snakemake)
