"""Rule `score`: rows of the scorecard of one example."""

from leastaction.core.files import load_all, save_text
from leastaction.core.progress import start_logging
from leastaction_papers.scorecard.panel import panels_from
from leastaction_papers.scorecard.scorecard import example_rows, to_csv


def main(models: list, rollouts: list, settings: dict, scores: str) -> None:
    """Compare every estimator with the truth and with the paper."""
    found = (load_all(paths, settings["results"]) for paths in (models, rollouts))
    (panel,) = panels_from(settings["panels"], *found)
    save_text(to_csv(example_rows(settings["paper"], panel)), scores)


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(
        snakemake.input.models,
        snakemake.input.rollouts,
        snakemake.params.settings,
        snakemake.output.scores,
    )
