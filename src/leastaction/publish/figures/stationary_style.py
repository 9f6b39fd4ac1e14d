"""Colours, marks and labels that the figures of stationary densities share."""

from collections.abc import Iterable, Mapping

from matplotlib.lines import Line2D

COLOURS = {
    "published": "published_color",
    "split_sample": "sindy_pi_color",
    "recommended": "estimate_color",
}
MARKERS = {"published": "D", "split_sample": "s", "recommended": "o"}


def words(estimator: str) -> str:
    """Name of an estimator in words."""
    return estimator.replace("_", " ")


def estimator_handles(
    estimators: Iterable[str], settings: Mapping, note: str = ""
) -> list[Line2D]:
    """Legend of estimators, each with a `note`."""
    return [
        Line2D(
            [],
            [],
            color=settings[COLOURS[name]],
            marker=MARKERS[name],
            markersize=4.0,
            linewidth=0.9,
            label=f"{words(name)}{note}",
        )
        for name in COLOURS
        if name in set(estimators)
    ]


def short_label(label: str, several: bool = False) -> str:
    """Label of a parameter for an axis: the candidate, and what it belongs to."""
    kind, _, term = label.partition(": ")
    term = term.replace("**", "^").replace("*", " ")
    if kind.startswith("noise strength"):
        of = kind.rpartition(" ")[2]
        return f"noise of {of}\n{term}" if several else f"noise\n{term}"
    return f"{kind[:1].upper()}\n{term}"
