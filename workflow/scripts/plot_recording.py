"""Rule `plot_recording`: measured against predicted, and the residuals."""

from pathlib import Path

from leastaction.core.files import load, save_figure
from leastaction.core.progress import start_logging
from leastaction.recordings.figures.prediction import prediction
from leastaction.recordings.figures.residuals import residuals


def main(model: str, rollout: str, style: dict, files: list) -> None:
    """Draw each figure once and save it in every format."""
    law, paths = load(model), load(rollout)
    drawn = {
        "prediction": prediction(paths, style),
        "residuals": residuals(paths, law, style),
    }
    for path in map(Path, files):
        save_figure(drawn[path.stem], path)


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(
        snakemake.input.model,
        snakemake.input.rollout,
        snakemake.params.settings["style"],
        list(snakemake.output),
    )
