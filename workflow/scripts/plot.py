"""Rules `plot_paper` and `plot_study`: a figure of a paper, or of a study.

A text file beside it says what the results in it show.
"""

import leastaction.core.process as process
import leastaction.figures.style as style
from leastaction.core.files import load_all, save_figure, save_text
from leastaction_papers.scorecard.panel import panels_from


def main(
    models: list, rollouts: list, settings: dict, svg: str, others: list, finding: str
) -> None:
    """Draw the figure once and save it in every format."""
    found = (load_all(paths, settings["results"]) for paths in (models, rollouts))
    panels = panels_from(settings["panels"], *found)
    drawn = style.draw(settings["figure"], panels, settings["style"])
    for path in (svg, *others):
        save_figure(drawn, path)
    save_text(style.finding(settings["figure"], panels), finding)


if __name__ == "__main__":
    process.run(main, snakemake)
