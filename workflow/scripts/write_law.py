"""Rule `write_law`: the law of a recording in plain words."""

from leastaction.datasets import load, save_text
from leastaction.progress import start_logging
from leastaction.publish.recorded_law import law_text


def main(observations: str, model: str, rollout: str, title: str, law: str) -> None:
    """Write the law as Markdown."""
    text = law_text(title, load(observations), load(model), load(rollout))
    save_text(text, law)


if __name__ == "__main__":
    start_logging(snakemake.log[0])
    main(
        snakemake.input.observations,
        snakemake.input.model,
        snakemake.input.rollout,
        snakemake.params.settings["title"],
        snakemake.output.law,
    )
