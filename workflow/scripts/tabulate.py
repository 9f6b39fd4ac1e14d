"""Rule `tabulate`: one table of a paper, with its printed values beside ours."""

import leastaction.core.process as process
from leastaction.core.files import load_all, save_text
from leastaction_papers.scorecard.panel import panels_from
from leastaction_papers.scorecard.tables import render, table


def main(models: list, rollouts: list, settings: dict, files: dict) -> None:
    """Make one table in every format."""
    found = (load_all(paths, settings["results"]) for paths in (models, rollouts))
    panels = panels_from(settings["panels"], *found)
    made = table(settings["table"], panels)
    for kind, path in files.items():
        save_text(render(made, kind, settings["caption"]), path)


if __name__ == "__main__":
    with process.job(snakemake.log[0]):
        main(
            snakemake.input.models,
            snakemake.input.get("rollouts", []),
            snakemake.params.settings,
            dict(snakemake.output.items()),
        )
