"""Rule `identify`: from equations in coefficients to a model with error bars."""

from leastaction.core.files import Replicates, save_replicates
from leastaction.core.progress import start_logging, tracked
from leastaction.core.stages.identify import contract, identify


def main(observations: str, library: str, settings: dict, model: str) -> None:
    """Identify replicate by replicate."""
    files = Replicates(observations, library, block=settings.get("block"))
    results = (
        identify(data, equations, settings["identify"], settings["library"])
        for data, equations in tracked(files, "identify")
    )
    save_replicates(results, model, contract(settings["identify"]))


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(
        snakemake.input.observations,
        snakemake.input.library,
        snakemake.params.settings,
        snakemake.output.model,
    )
