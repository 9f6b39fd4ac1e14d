"""Rule `simulate`: observations of a known system, one ensemble per replicate."""

import leastaction.core.process as process
from leastaction.core.families import declared_units, system_from_config
from leastaction.core.files import save_replicates
from leastaction.core.method import step
from leastaction.core.progress import tracked


def main(settings: dict, observations: str) -> None:
    """Simulate every replicate and save them as they come."""
    system = system_from_config(settings["system"])
    units = declared_units(settings["system"])
    scheme = step("simulate", settings["simulate"])
    replicates = range(*settings.get("block", (settings["simulate"]["replicates"],)))
    ensembles = (
        scheme(
            system,
            example=settings["example"],
            seed=settings["seed"],
            replicate=replicate,
            units=units,
        )
        for replicate in tracked(replicates, "simulate")
    )
    save_replicates(ensembles, observations, scheme.contract(), settings.get("results"))


if __name__ == "__main__":
    process.run(main, snakemake)
