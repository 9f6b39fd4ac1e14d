"""Rule `describe`: what was found of an example beside its truth, in words."""

import leastaction.core.process as process
from leastaction.core.families import system_from_config
from leastaction.core.files import load, save_text
from leastaction.core.model import model_of


def main(models: list, settings: dict, law: str) -> None:
    """Write the truth, and the first replicate of every estimator."""
    code = "```text\n{}\n```".format
    parts = [f"# {settings['title']}"]
    parts += ["## The truth", code(system_from_config(settings["system"]))]
    for name, path in zip(settings["estimators"], models, strict=True):
        found = load(path, results=settings["results"])
        count = found.sizes["replicate"]
        of = f", replicate 1 of {count}" if count > 1 else ""
        parts += [f"## {name}{of}", code(model_of(found))]
    save_text("\n\n".join(parts) + "\n", law)


if __name__ == "__main__":
    process.run(main, snakemake)
