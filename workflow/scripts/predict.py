"""Rule `predict`: trajectories that a law has not seen, predicted from their begin."""

import leastaction.core.process as process
from leastaction.core.files import Replicates, load_parts, save_replicates
from leastaction.core.progress import tracked
from leastaction.recordings.learn import predict


def main(observations: str, model: str, settings: dict, rollout: str) -> None:
    """Predict what was held out."""
    parts = load_parts(observations)
    results = (
        predict(data, parts, estimate, settings)
        for data, estimate in tracked(
            Replicates(observations, model, results=settings.get("results")), "predict"
        )
    )
    save_replicates(results, rollout, "measured_rollout", settings.get("results"))


if __name__ == "__main__":
    process.run(main, snakemake)
