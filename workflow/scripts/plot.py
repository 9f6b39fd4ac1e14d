"""Rules `plot_paper` and `plot_study`: figures of a paper, or of a study.

A text file beside a figure says what the results in it show.
"""

from pathlib import Path

import leastaction.core.process as process
from leastaction.core.files import load_all, save_figure, save_text
from leastaction.figures.style import draw, finding
from leastaction_papers.scorecard.panel import panels_from


def main(models: list, rollouts: list, settings: dict, files: list) -> None:
    """Draw each figure once and save it in every format."""
    found = (load_all(paths, settings["results"]) for paths in (models, rollouts))
    panels = panels_from(settings["panels"], *found)
    drawn = {
        name: draw(kind, panels, settings["style"])
        for name, kind in settings["figures"].items()
    }
    for path in map(Path, files):
        if path.suffix == ".txt":
            save_text(finding(settings["figures"][path.stem], panels), path)
        else:
            save_figure(drawn[path.stem], path)


if __name__ == "__main__":
    with process.job(snakemake.log[0]):
        main(
            snakemake.input.models,
            snakemake.input.get("rollouts", []),
            snakemake.params.settings,
            list(snakemake.output),
        )
