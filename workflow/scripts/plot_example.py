"""Rule `plot_example`: every figure of one example."""

from pathlib import Path

from leastaction.datasets import load, save_figure
from leastaction.progress import start_logging
from leastaction.publish.figures import draw
from leastaction.publish.panel import panels_from


def main(models: list, rollouts: list, settings: dict, figures: list) -> None:
    """Draw the figure that each path in `figures` names."""
    panels = panels_from(
        settings["panels"], [load(p) for p in models], [load(p) for p in rollouts]
    )
    drawn = {}
    for path in map(Path, figures):
        if path.stem not in drawn:
            drawn[path.stem] = draw(path.stem, panels, settings["style"])
        save_figure(drawn[path.stem], path)


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(
        snakemake.input.models,
        snakemake.input.rollouts,
        snakemake.params.settings,
        list(snakemake.output),
    )
