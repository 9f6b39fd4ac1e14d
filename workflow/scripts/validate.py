"""Rule `validate`: roll out the truth and the model on common random numbers."""

from leastaction.core.files import Replicates, save_replicates
from leastaction.core.from_config import system_from_config
from leastaction.core.progress import start_logging, tracked
from leastaction.core.stages.validate import MAKES, validate


def main(model: str, settings: dict, rollout: str) -> None:
    """Validate replicate by replicate."""
    system = system_from_config(settings["system"])
    first = settings["validate"].get("replicates")
    replicates = Replicates(model, block=settings.get("block", (0, first)))
    results = (
        validate(
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
    save_replicates(results, rollout, MAKES[settings["kind"]])


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(snakemake.input.model, snakemake.params.settings, snakemake.output.rollout)
