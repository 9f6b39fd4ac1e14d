"""Rules `plot_*`: figures of one example, of a paper, or of a study.

A text file beside a figure says what the results in it show. Where the output is a
folder, every figure goes into it in the formats of the settings.
"""

from itertools import product
from pathlib import Path

from leastaction.core.files import load_all, save_figure, save_text
from leastaction.core.progress import start_logging
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
        elif path.suffix:
            save_figure(drawn[path.stem], path)
        else:
            for name, kind in product(drawn, settings["formats"]):
                save_figure(drawn[name], path / f"{name}.{kind}")


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(
        snakemake.input.models,
        snakemake.input.get("rollouts", []),
        snakemake.params.settings,
        list(snakemake.output),
    )
