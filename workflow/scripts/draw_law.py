"""Rules `plot_recording` and `plot_shaken`: figures of the law of a recording."""

from pathlib import Path

import leastaction.core.process as process
from leastaction.core.files import load_all, save_figure
from leastaction.figures.panel import MAIN, Panel
from leastaction.figures.style import draw


def main(
    models: list, settings: dict, figures: list, others: list, rollouts: list = ()
) -> None:
    """Draw each figure once and save it in every format."""
    found = (load_all(paths, settings["results"]) for paths in (models, rollouts))
    of_main = (dict(zip([MAIN], datasets, strict=False)) for datasets in found)
    panel = Panel(settings["name"], {}, *of_main)
    drawn = {
        name: draw(name, [panel], settings["style"]) for name in settings["figures"]
    }
    for path in map(Path, [*figures, *others]):
        save_figure(drawn[path.stem], path)


if __name__ == "__main__":
    process.run(main, snakemake)
