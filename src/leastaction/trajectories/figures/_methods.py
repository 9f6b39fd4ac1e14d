"""How the methods that a sweep over noise compares look in every figure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.lines import Line2D

from leastaction.report.panel import BASELINE, MAIN, Panel


@dataclass(frozen=True)
class Look:
    """Name in the legend, setting of the colour, marker, and whether it is filled."""

    label: str
    colour: str
    marker: str
    smoothed: bool = False

    def style(self, settings: Mapping) -> dict:
        """Keyword arguments of a line."""
        colour = settings[self.colour]
        return {
            "color": colour,
            "marker": self.marker,
            "markersize": 2.8,
            "markerfacecolor": "white" if self.smoothed else colour,
            "markeredgewidth": 0.7,
            "linestyle": (0, (4, 2.0)) if self.smoothed else "-",
            "linewidth": 0.9,
        }


# In the order of the legend.
LOOKS = {
    MAIN: Look("recommended", "estimate_color", "o"),
    BASELINE: Look("xL-SINDy", "published_color", "D"),
    f"{BASELINE}_smoothed": Look("xL-SINDy, smoothed", "published_color", "D", True),
    "sindy_pi": Look("SINDy-PI", "sindy_pi_color", "s"),
    "sindy_pi_smoothed": Look("SINDy-PI, smoothed", "sindy_pi_color", "s", True),
    "lagrangian_sindy": Look("Lagrangian-SINDy", "lagrangian_sindy_color", "^"),
    "lagrangian_sindy_smoothed": Look(
        "Lagrangian-SINDy, smoothed", "lagrangian_sindy_color", "^", True
    ),
}
OTHER = Look("", "lagrangian_sindy_color", "v")
MODES = {"independent": "independent noise", "shared": "shared noise"}


def look_of(estimator: str) -> Look:
    """Look of a method; one that the paper does not know goes by its own name."""
    if estimator in LOOKS:
        return LOOKS[estimator]
    return Look(estimator.replace("_", " "), OTHER.colour, OTHER.marker)


def in_order(panels: Sequence[Panel]) -> list[str]:
    """Estimators with a sweep over noise that some panel has."""
    found = {name for panel in panels for name in panel.recoveries}
    return [n for n in LOOKS if n in found] + sorted(found - set(LOOKS))


def handles(estimators: Sequence[str], settings: Mapping) -> list[Line2D]:
    """Legend of the estimators."""
    return [
        Line2D([], [], label=look_of(name).label, **look_of(name).style(settings))
        for name in estimators
    ]


def label_of_level(level: float) -> str:
    """Mathtext of a noise level: ``0``, ``10^{-3}``, ``2\\times10^{-2}``."""
    if level == 0:
        return "$0$"
    mantissa, _, power = f"{level:.15e}".partition("e")
    mantissa = float(mantissa)
    ten = f"10^{{{int(power)}}}"
    return f"${ten}$" if mantissa == 1 else f"${mantissa:g}\\times{ten}$"


def level_text(level: float) -> str:
    """Mathtext ``sigma = level``."""
    return rf"$\sigma = {label_of_level(level).strip('$')}$"
