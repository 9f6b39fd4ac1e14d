"""Rule `predict`: trajectories that a law has not seen, predicted from their begin."""

from leastaction.core.files import Replicates, save_replicates
from leastaction.core.progress import start_logging, tracked
from leastaction.core.stages.validate import predict


def main(observations: str, model: str, settings: dict, rollout: str) -> None:
    """Predict held-out trajectories."""
    results = (
        predict(data, estimate, settings["validate"])
        for data, estimate in tracked(Replicates(observations, model), "predict")
    )
    save_replicates(results, rollout, "measured_rollout")


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(
        snakemake.input.observations,
        snakemake.input.model,
        snakemake.params.settings,
        snakemake.output.rollout,
    )
