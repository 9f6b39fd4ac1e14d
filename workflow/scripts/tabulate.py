"""Rules `tabulate_<paper>`: tables of a paper, with its printed values beside ours."""

from pathlib import Path

import leastaction.core.process as process
from leastaction.core.files import load_all, save_text
from leastaction_papers.scorecard.panel import panels_from
from leastaction_papers.scorecard.tables import render, table


def main(
    models: list, rollouts: list, settings: dict, texts: list, pages: list
) -> None:
    """Make each table once and save it in every format."""
    found = (load_all(paths, settings["results"]) for paths in (models, rollouts))
    panels = {panel.example: panel for panel in panels_from(settings["panels"], *found)}
    made = {
        name: table(one["shows"], [panels[example] for example in one["examples"]])
        for name, one in settings["tables"].items()
    }
    for path in map(Path, [*texts, *pages]):
        caption = settings["tables"][path.stem]["caption"]
        save_text(render(made[path.stem], path.suffix[1:], caption), path)


if __name__ == "__main__":
    process.run(main, snakemake)
