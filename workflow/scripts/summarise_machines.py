"""Rule `summarise_machines`: laws of real machines beside what is published."""

from pathlib import Path

from leastaction.core.files import load, load_bytes, save_text
from leastaction.core.progress import start_logging
from leastaction.recordings.law import Law
from leastaction.recordings.machines import machine, machines_document, machines_page
from leastaction.report.templates import thumbnail

WIDTH, LIMIT = 1400, 400_000


def main(inputs, settings: dict, target: str) -> None:
    """One section per machine, with the law of those whose data are there."""
    rollouts = {Path(path).parents[1].name: path for path in inputs.rollouts}
    files = zip(inputs.observations, inputs.models, inputs.pictures, strict=True)
    found = dict(zip(settings["recorded"], files, strict=True))
    told = []
    for name, about in settings["machines"].items():
        law, picture = None, b""
        if name in found:
            observations, model, figure = found[name]
            rollout = load(rollouts[name]) if name in rollouts else None
            law = Law(load(model), load(observations), rollout)
            picture = thumbnail(load_bytes(figure), WIDTH, LIMIT)
        told.append(machine(name, about["title"], about["published"], law, picture))
    write = machines_page if Path(target).suffix == ".html" else machines_document
    save_text(write(told), target)


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(snakemake.input, snakemake.params.settings, snakemake.output.page)
