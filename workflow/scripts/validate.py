"""Rule `validate`: roll out the truth and the model on common random numbers."""

import leastaction.core.process as process
from leastaction.core.families import system_from_config
from leastaction.core.files import Replicates, save_replicates
from leastaction.core.method import rollout as rollout_of
from leastaction.core.progress import tracked


def main(model: str, settings: dict, rollout: str) -> None:
    """Validate replicate by replicate."""
    system = system_from_config(settings["system"])
    method = rollout_of(settings["kind"])
    first = settings["validate"].get("replicates")
    replicates = Replicates(
        model, block=settings.get("block", (0, first)), results=settings.get("results")
    )
    results = (
        method.function()(
            system,
            estimate,
            settings["simulate"],
            settings["validate"],
            settings["library"],
            example=settings["example"],
            seed=settings["seed"],
        )
        for (estimate,) in tracked(replicates, "validate")
    )
    save_replicates(results, rollout, method.makes, settings.get("results"))


if __name__ == "__main__":
    process.run(main, snakemake)
