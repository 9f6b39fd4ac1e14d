"""Names and axes that the figures of stationary densities share."""

from collections.abc import Iterable, Mapping

from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from leastaction.report.looks import marked
from leastaction.report.panel import BASELINE, MAIN, Panel

# Estimators in the order of every legend.
ORDER = (BASELINE, "split_sample", MAIN)
KINDS = {"lagrangian": "$L$", "dissipation": "damping"}


def estimator_handles(
    estimators: Iterable[str], settings: Mapping, note: str = ""
) -> list[Line2D]:
    """Legend of estimators, each with a `note`."""
    there = set(estimators)
    return marked([name for name in ORDER if name in there], settings, note)


def axes_names(panel: Panel, a: int) -> tuple[str, str]:
    """Labels of the plane (q_a, q̇_a)."""
    name = list(panel.config["system"]["coordinates"])[a]
    return f"${name}$", rf"$\dot {name}$"


def cells(rollout, a: int) -> tuple:
    """Centres of the cells along q_a and q̇_a."""
    centres = rollout["cell_centre"].values
    return centres[a], centres[rollout.sizes["dof"] + a]


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
