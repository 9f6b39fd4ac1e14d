"""Rules `show_example`, `score`, `plot_example`: rows and figures of one example."""

from pathlib import Path

import leastaction.core.process as process
from leastaction.core.files import load_all, save_figure, save_text
from leastaction_papers.scorecard.panel import panels_from
from leastaction_papers.scorecard.scorecard import example_rows, to_csv


def main(
    models: list,
    rollouts: list,
    settings: dict,
    scores: str | None = None,
    figures: str | None = None,
) -> None:
    """Compare every estimator with truth and paper; draw those that are shown."""
    found = (load_all(paths, settings["results"]) for paths in (models, rollouts))
    (panel,) = panels_from(settings["panels"], *found)
    if scores:
        save_text(to_csv(example_rows(settings["paper"], panel)), scores)
    if figures:
        # Here, as rows alone do not depend on the style.
        from leastaction.figures.style import draw

        shown = panel.shown_as(settings["shown"])
        for name in settings["figures"]:
            drawn = draw(name, [shown], settings["style"])
            for kind in settings["formats"]:
                save_figure(drawn, Path(figures, f"{name}.{kind}"))


if __name__ == "__main__":
    process.run(main, snakemake)
