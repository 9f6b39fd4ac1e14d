"""Rule `compare`: what every estimator reaches on every system, in one table."""

import csv

from leastaction.datasets import load_text, open_dataset, save_figure, save_text
from leastaction.progress import start_logging
from leastaction.publish.figures.method_matrix import method_matrix
from leastaction.publish.matrix import Entry, matrix, shown
from leastaction.publish.render import render
from leastaction.publish.scorecard.collect import from_csv

SWEPT = ("replicate", "noise_mode", "noise_level")


def fits(path: str) -> int:
    """Number of fits in a file of models."""
    with open_dataset(path) as dataset:
        sizes = [dataset.sizes.get(name, 1) for name in SWEPT]
    return sizes[0] * sizes[1] * sizes[2]


def cpu_seconds(path: str) -> float:
    """CPU seconds of a benchmark file."""
    return sum(
        float(row["cpu_time"])
        for row in csv.DictReader(load_text(path).splitlines(), delimiter="\t")
    )


def main(scores, models, benchmarks, settings, table, figures) -> None:
    """Put the entries of `settings` together, draw and tabulate them."""
    keys = dict.fromkeys((e["paper"], e["example"]) for e in settings["entries"])
    frames = dict(zip(keys, map(from_csv, map(load_text, scores)), strict=True))
    each = len(benchmarks) // len(models)
    entries = [
        Entry(
            **entry,
            fits=fits(model),
            cpu_seconds=sum(map(cpu_seconds, benchmarks[each * i : each * (i + 1)])),
        )
        for i, (entry, model) in enumerate(
            zip(settings["entries"], models, strict=True)
        )
    ]
    frame = matrix(entries, frames, settings["noise_level"])
    save_text(render(frame, "csv"), table["csv"])
    for kind in ("md", "html"):
        save_text(render(shown(frame), kind), table[kind])
    figure = method_matrix(frame, settings["style"])
    for path in figures:
        save_figure(figure, path)


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(
        snakemake.input.scores,
        snakemake.input.models,
        snakemake.input.benchmarks,
        snakemake.params.settings,
        {kind: snakemake.output[kind] for kind in ("csv", "md", "html")},
        [snakemake.output.svg, *snakemake.output.others],
    )
