"""Rule `compare`: what every estimator reaches on every system, as one figure."""

import os
from itertools import groupby

import leastaction.core.process as process
from leastaction.core.files import job_usage, load_text, save_figure, save_text, sizes
from leastaction_papers.scorecard.matrix import matrix, method_matrix
from leastaction_papers.scorecard.scorecard import from_csv
from leastaction_papers.scorecard.tables import Table, render


def main(scores, models, usages, settings, csv, figures) -> None:
    """Put the entries of `settings` together, tabulate and draw them."""
    named = settings["entries"]
    keys = dict.fromkeys((entry["paper"], entry["example"]) for entry in named)
    frames = dict(zip(keys, map(from_csv, map(load_text, scores)), strict=True))
    # In the order of the entries, each in a folder of its own.
    jobs = (paths for _, paths in groupby(usages, os.path.dirname))
    seconds = [
        sum(job_usage(path)["wall"] for path in paths) / entry["fits"]
        for entry, paths in zip(named, jobs, strict=True)
    ]
    frame = matrix(named, list(map(sizes, models)), seconds, frames)
    save_text(render(Table(frame), "csv"), csv)
    figure = method_matrix(frame, settings["style"])
    for path in figures:
        save_figure(figure, path)


if __name__ == "__main__":
    process.run(main, snakemake)
