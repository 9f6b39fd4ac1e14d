"""Rule `assemble`: from observations and derivatives to equations in coefficients."""

from leastaction.assemble import assemble, contract
from leastaction.datasets import Replicates, save_replicates
from leastaction.progress import start_logging, tracked


def main(observations: str, derivatives: str, settings: dict, library: str) -> None:
    """Assemble replicate by replicate."""
    recipe = settings["assemble"]
    files = Replicates(observations, derivatives, block=settings.get("block"))
    results = (
        assemble(data, rates, recipe, settings["library"])
        for data, rates in tracked(files, "assemble")
    )
    save_replicates(results, library, contract(recipe))


if __name__ == "__main__":
    start_logging(*snakemake.log)
    main(
        snakemake.input.observations,
        snakemake.input.derivatives,
        snakemake.params.settings,
        snakemake.output.library,
    )
