"""Rule `predict`: trajectories that a law has not seen, predicted from their begin."""

from leastaction.core.files import Replicates, save_replicates
from leastaction.core.method import rollout as rollout_of
from leastaction.core.progress import start_logging, tracked


def main(observations: str, model: str, settings: dict, rollout: str) -> None:
    """Predict held-out trajectories."""
    method = rollout_of("measurements")
    results = (
        method.function()(data, estimate, settings["validate"])
        for data, estimate in tracked(
            Replicates(observations, model, results=settings.get("results")), "predict"
        )
    )
    save_replicates(results, rollout, method.makes, settings.get("results"))


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(
        snakemake.input.observations,
        snakemake.input.model,
        snakemake.params.settings,
        snakemake.output.rollout,
    )
