"""Colours, marks and labels that the figures of stationary densities share."""

from collections.abc import Iterable, Mapping

from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from leastaction.report.panel import Panel

COLOURS = {
    "published": "published_color",
    "split_sample": "sindy_pi_color",
    "recommended": "estimate_color",
}
KINDS = {"lagrangian": "$L$", "dissipation": "damping"}
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


def parameter_label(panel: Panel, label: str, separator: str = "\n") -> str:
    """Label of a parameter for an axis: what it belongs to, and the candidate."""
    kind, _, term = label.partition(": ")
    shown = panel.label(term)
    if kind.startswith("noise strength"):
        several = len(panel.config["system"]["coordinates"]) > 1
        of = f" of {kind.rpartition(' ')[2]}" if several else ""
        return f"noise{of},{separator}{shown}"
    return f"{KINDS[kind]},{separator}{shown}"


def plain_numbers(axis) -> None:
    """Ticks of a logarithmic axis as plain numbers."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
