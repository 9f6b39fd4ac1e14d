"""Rule `import_recording`: tables of sensors to observations, or one plain refusal."""

import leastaction.core.process as process
from leastaction.core.files import save
from leastaction.recordings.import_samples import imported
from leastaction.recordings.tables import unchanged


def main(settings: dict, observations: str) -> None:
    """Import all files of a recording, which have to stay as they are meanwhile."""
    with unchanged(settings["import"]["files"]):
        found, parts = imported(settings)
        kind = found.attrs["contract"]
        save(found, observations, kind, settings.get("results"), parts)


if __name__ == "__main__":
    process.run(main, snakemake)
