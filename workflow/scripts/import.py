"""Rule `import_recording`: tables of sensors to observations, or one plain refusal."""

from leastaction.core.files import save
from leastaction.core.progress import start_logging
from leastaction.recordings.import_recording import import_recording
from leastaction.recordings.tables import unchanged


def main(settings: dict, observations: str) -> None:
    """Import all files of a recording, which have to stay as they are meanwhile."""
    with unchanged(settings["import"]["files"]):
        found = import_recording(settings)
        save(found, observations, found.attrs["contract"], settings.get("results"))


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(
        snakemake.params.settings,
        snakemake.output.observations,
    )
