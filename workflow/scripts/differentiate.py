"""Rule `differentiate`: derivatives, or what increments say without a model."""

from leastaction.core.files import Replicates, save_replicates
from leastaction.core.method import step
from leastaction.core.progress import start_logging, tracked


def main(observations: str, settings: dict, derivatives: str) -> None:
    """Differentiate replicate by replicate."""
    method = step("differentiate", settings["differentiate"])
    files = Replicates(
        observations, block=settings.get("block"), results=settings.get("results")
    )
    results = (
        method(data, settings["library"]) for (data,) in tracked(files, "differentiate")
    )
    save_replicates(results, derivatives, method.contract(), settings.get("results"))


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(
        snakemake.input.observations,
        snakemake.params.settings,
        snakemake.output.derivatives,
    )
