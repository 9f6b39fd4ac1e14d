"""Rule `assemble`: from observations and derivatives to equations in coefficients."""

from leastaction.core.files import Replicates, save_replicates
from leastaction.core.method import step
from leastaction.core.progress import start_logging, tracked


def main(
    observations: str,
    derivatives: str,
    settings: dict,
    library: str,
) -> None:
    """Assemble replicate by replicate."""
    method = step("assemble", settings["assemble"])
    files = Replicates(
        observations,
        derivatives,
        block=settings.get("block"),
        results=settings.get("results"),
    )
    results = (
        method(data, rates, settings["library"])
        for data, rates in tracked(files, "assemble")
    )
    save_replicates(results, library, method.contract(), settings.get("results"))


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(
        snakemake.input.observations,
        snakemake.input.derivatives,
        snakemake.params.settings,
        snakemake.output.library,
    )
