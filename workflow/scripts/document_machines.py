"""Rule `document_machines`: laws of real machines beside what is published."""

from pathlib import Path

import leastaction.core.process as process
from leastaction.core.files import load_all, save_text
from leastaction.recordings.law import Law
from leastaction_papers.scorecard.machines import machine, machines_document


def main(inputs, settings: dict, target: str) -> None:
    """One section per machine, with the law of those whose data are there."""
    rollouts = {Path(path).parents[1].name: [path] for path in inputs.rollouts}
    files = zip(inputs.models, inputs.observations, strict=True)
    laws = {
        name: Law(*load_all([*found, *rollouts.get(name, [])], settings["results"]))
        for name, found in zip(settings["recorded"], files, strict=True)
    }
    told = [
        machine(name, about["title"], about["published"], laws.get(name))
        for name, about in settings["machines"].items()
    ]
    save_text(machines_document(told), target)


if __name__ == "__main__":
    with process.job(snakemake.log[0]):
        main(snakemake.input, snakemake.params.settings, snakemake.output.page)
