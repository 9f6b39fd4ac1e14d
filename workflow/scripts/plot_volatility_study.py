"""Rule `plot_volatility_study`: does the estimated volatility follow the true one?"""

from leastaction.datasets import load, save_figure
from leastaction.progress import start_logging
from leastaction.publish.figures.style import style
from leastaction.publish.figures.volatility_study import volatility_study
from leastaction.publish.panel import panels_from


def main(models: list, settings: dict, files: list) -> None:
    """Draw the study and save it in every format."""
    panels = panels_from(settings["panels"], [load(path) for path in models], [])
    with style(settings["style"]) as complete:
        figure = volatility_study(panels, complete)
        for path in files:
            save_figure(figure, path)


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(
        snakemake.input.models,
        snakemake.params.settings,
        list(snakemake.output),
    )
