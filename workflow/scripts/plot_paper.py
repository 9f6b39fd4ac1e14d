"""Rule `plot_paper`: one figure of a paper, all its examples together."""

from leastaction.datasets import load, save_figure
from leastaction.progress import start_logging
from leastaction.publish.figures import draw
from leastaction.publish.panel import panels_from


def main(models: list, rollouts: list, settings: dict, files: list) -> None:
    """Draw one figure and save it in every format."""
    panels = panels_from(
        settings["panels"], [load(p) for p in models], [load(p) for p in rollouts]
    )
    figure = draw(settings["figure"], panels, settings["style"])
    for path in files:
        save_figure(figure, path)


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(
        snakemake.input.models,
        snakemake.input.rollouts,
        snakemake.params.settings,
        list(snakemake.output),
    )
