"""Figures, tables, pages and the scorecard of the papers, and what these register."""

from collections.abc import Mapping
from importlib import import_module

from leastaction.core import families
from leastaction_papers import PAPERS


def paper_of(example: Mapping) -> str:
    """Package of the paper that `measures` an example; ValueError if there is none."""
    for package in dict.fromkeys(PAPERS.values()):
        if import_module(package).measures(example):
            return package
    raise ValueError("no paper measures what this example simulates")


def registered_tables() -> dict[str, str]:
    """Function of every table, by its name, as ``package.module:name``."""
    return families.registered("TABLES") | families.registered("TABLES_OF_ROLLOUTS")


@families.of_families
def example_figures() -> dict[str, tuple[str, ...]]:
    """By contract or kind of the data, the figures of an example."""
    figures = {}
    for folder in families.modules("figures"):
        figures |= getattr(folder, "EXAMPLE", {})
    return figures
