"""The examples of a folder, their variants, and the overrides of a configuration."""

from collections.abc import Mapping
from pathlib import Path

from leastaction.configuration.checks import accepted
from leastaction.configuration.config import (
    check_label,
    check_overrides,
    data_key,
    merge,
    parse_yaml,
    with_variants,
)
from leastaction.configuration.jobs import is_random
from leastaction.configuration.validation import ConfigError, ConfigErrors


def read_yaml(path: Path):
    """Data in a YAML file; see :func:`leastaction.configuration.config.parse_yaml`."""
    return parse_yaml(path.read_text(errors="replace"), str(path))


def read_examples(folder: Path, config: Mapping) -> dict[tuple[str, str], dict]:
    """Every example and variant by (paper, name): completed, checked, overridden.

    Parameters
    ----------
    folder
        Of the files ``<paper>/<example>.yaml``.
    config
        Its `examples` override those of the folder, null removes one; its `replicates`
        are those of every example with random numbers, its `seed` is their root.

    Raises
    ------
    ConfigError
        Listing the problems of all examples.
    """
    written = {
        (path.parent.name, path.stem): read_yaml(path) or {}
        for path in sorted(folder.glob("*/*.yaml"))
    }
    for paper, given in config["examples"].items():
        for name, overrides in given.items():
            if overrides is None:
                written.pop((paper, name), None)
                continue
            written[paper, name] = merge(written.get((paper, name), {}), overrides)
    found, errors = {}, []
    for (paper, name), example in written.items():
        try:
            check_label("paper", paper)
            check_overrides(paper, name, example, written)
            for variant, content in with_variants(name, example):
                content = accepted(content, f"example {paper}/{variant}")
                if is_random(content) and "replicates" in config:
                    content["simulate"]["replicates"] = config["replicates"]
                base = found.get((paper, name), content)
                content["key"] = f"{paper}/{data_key(variant, content, base)}"
                content["seed"] = config["seed"]
                found[paper, variant] = content
        except ConfigError as error:
            errors.append(error)
    if errors:
        raise ConfigErrors(errors)
    return found


def removed_examples(config: Mapping) -> set[tuple[str, str]]:
    """(paper, name) of every example that an override sets to null."""
    return {
        (paper, name)
        for paper, given in config["examples"].items()
        for name, overrides in given.items()
        if overrides is None
    }
