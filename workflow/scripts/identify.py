"""Rule `identify`: from equations in coefficients to a model with error bars."""

from leastaction.core.files import Replicates, save_replicates
from leastaction.core.method import step
from leastaction.core.progress import start_logging, tracked


def main(observations: str, library: str, settings: dict, model: str) -> None:
    """Identify replicate by replicate; the library may be of another estimator."""
    method = step("identify", settings["identify"])
    files = Replicates(
        observations,
        library,
        block=settings.get("block"),
        results=settings.get("results"),
    )
    results = (
        method(data, equations, settings["library"])
        for data, equations in tracked(files, "identify")
    )
    save_replicates(results, model, method.contract(), settings.get("results"))


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(
        snakemake.input.observations,
        snakemake.input.library,
        snakemake.params.settings,
        snakemake.output.model,
    )
