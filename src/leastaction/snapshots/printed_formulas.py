"""Modified Lagrangians of one coordinate as a paper prints them."""

from collections.abc import Mapping

from leastaction.core.expressions import parse

# Names that a printed formula may use.
GENERAL = ("v", *(f"L_{i}{j}" for i in range(5) for j in range(5 - i)))


def printed_formulas(example: Mapping) -> dict[tuple[str, str, int], tuple]:
    """(Place in the paper, expression) of ``publish.formulas``, by rule, kind, order.

    Raises
    ------
    ValueError
        If one is no expression in v and L_ij.
    """
    return {
        (one["rule"], one["kind"], one["order"]): (
            one["item"],
            parse(one["printed"], GENERAL),
        )
        for one in example.get("publish", {}).get("formulas", ())
    }
