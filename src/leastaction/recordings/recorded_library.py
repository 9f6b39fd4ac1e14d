"""Candidates of a recording, and whether what its YAML says of inputs can be found."""

from collections.abc import Mapping

from leastaction.core.library import Library
from leastaction.recordings.inputs import GAIN, LAG, OFFSET, TIME_CONSTANT, UNKNOWN
from leastaction.recordings.recommended_library import (
    random_library,
    recommended_library,
    stribeck_losses,
)
from leastaction.recordings.units_of_terms import unlike_sums


def recorded_library(example: Mapping, channels: Mapping) -> tuple[dict, list[str]]:
    """Section `library`: recommended candidates, or those of the YAML, and its own.

    Parameters
    ----------
    example
        Description of the recording, defaults included.
    channels
        Columns by channel and coordinate.

    Returns
    -------
    library, problems
        The section, and what is wrong with it or with what is said of inputs.
    """
    given = example.get("library", {})
    kinds = {n: "angle" if c.angle else "length" for n, c in channels["q"].items()}
    random = example["excitation"] == "random"
    recommended = (random_library if random else recommended_library)(kinds)
    library = recommended | {k: value for k, value in given.items() if k != "also"}
    inputs = example["import"]["inputs"]
    also = {key: list(terms) for key, terms in given.get("also", {}).items()}
    try:
        losses = stribeck_losses(given.get("also", {}).get("stribeck", {}), list(kinds))
        also["dissipation"] = also.get("dissipation", []) + losses
        for key in ("lagrangian", "dissipation"):
            if also.get(key):
                library[key] = [*library[key], {"terms": also[key]}]
        found = Library.from_config(library, list(kinds))
    except ValueError as error:
        return library, [f"library: {error}"]
    names = found.names
    units = {name: column.unit for name, column in channels["q"].items()}
    for key, terms in (("lagrangian", found.terms), ("dissipation", found.dissipation)):
        for problem in unlike_sums(terms, units) if key in given else ():
            return library, [f"library.{key}: {problem}; check import.coordinates"]
    offsets = [n for n, entry in inputs.items() if entry[OFFSET] == UNKNOWN]
    missing = [name for name in offsets if name not in names]
    if missing:
        library["lagrangian"] = [*library["lagrangian"], {"terms": missing}]
    return library, _undecided(inputs, "reference" in given, random)


def _undecided(inputs: Mapping, has_scale: bool, random: bool) -> list[str]:
    """What is said of inputs that no data can tell."""
    gains = [name for name, entry in inputs.items() if entry.get(GAIN) == UNKNOWN]
    problems = []
    if gains and not has_scale:
        problems.append(
            f"import.inputs.{gains[0]}.gain: it is unknown, but nothing gives the law "
            "its scale; give the gain, or a coefficient that you know, such as "
            f"`library: {{reference: 95.1*{gains[0]}dot**2/2}}`"
        )
    if gains and len(inputs) > 1:
        problems.append(
            f"import.inputs.{gains[0]}.gain: it is unknown, but there are "
            f"{len(inputs)} inputs; the gain of a single one can be found: give it"
        )
    chain = [
        f"import.inputs.{name}.{key}"
        for name, entry in inputs.items()
        for key in (LAG, TIME_CONSTANT, GAIN)
        if entry.get(key) is not None
    ]
    if random and chain:
        problems.append(
            f"{chain[0]}: the law of a random excitation takes inputs as they are "
            "recorded; leave it out"
        )
    return problems
