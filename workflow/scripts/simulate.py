"""Rule `simulate`: observations of a known system, one ensemble per replicate."""

from leastaction.datasets import save_replicates
from leastaction.mechanics.system import System
from leastaction.progress import start_logging, tracked
from leastaction.simulate import simulate


def main(settings: dict, observations: str) -> None:
    """Simulate every replicate and save them as they come."""
    system = System.from_config(settings["system"])
    units = {
        name: entry["unit"] for name, entry in settings["system"]["coordinates"].items()
    }
    ensembles = (
        simulate(
            system,
            settings["simulate"],
            example=settings["example"],
            seed=settings["seed"],
            replicate=replicate,
            units=units,
        )
        for replicate in tracked(range(settings["simulate"]["replicates"]), "simulate")
    )
    save_replicates(ensembles, observations, "observations")


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(snakemake.params.settings, snakemake.output.observations)
