"""Rule `document_machines`: laws of real machines beside what is published."""

from pathlib import Path

from leastaction.core.files import load, save_text
from leastaction.core.progress import start_logging
from leastaction.recordings.law import Law
from leastaction.recordings.machines import machine, machines_document


def main(inputs, settings: dict, target: str) -> None:
    """One section per machine, with the law of those whose data are there."""
    rollouts = {Path(path).parents[1].name: path for path in inputs.rollouts}
    files = zip(inputs.observations, inputs.models, strict=True)
    laws = {
        name: Law(
            load(model),
            load(observations),
            load(rollouts[name]) if name in rollouts else None,
        )
        for name, (observations, model) in zip(settings["recorded"], files, strict=True)
    }
    told = [
        machine(name, about["title"], about["published"], laws.get(name))
        for name, about in settings["machines"].items()
    ]
    save_text(machines_document(told), target)


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(snakemake.input, snakemake.params.settings, snakemake.output.page)
