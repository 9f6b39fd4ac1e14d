"""Rule `simulate`: observations of a known system, one ensemble per replicate."""

from leastaction.core.files import save_replicates
from leastaction.core.from_config import declared_units, system_from_config
from leastaction.core.progress import start_logging, tracked
from leastaction.core.stages.simulate import contract, simulate


def main(settings: dict, observations: str) -> None:
    """Simulate every replicate and save them as they come."""
    system = system_from_config(settings["system"])
    units = declared_units(settings["system"])
    replicates = range(*settings.get("block", (settings["simulate"]["replicates"],)))
    ensembles = (
        simulate(
            system,
            settings["simulate"],
            example=settings["example"],
            seed=settings["seed"],
            replicate=replicate,
            units=units,
        )
        for replicate in tracked(replicates, "simulate")
    )
    save_replicates(ensembles, observations, contract(settings["simulate"]))


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(snakemake.params.settings, snakemake.output.observations)
