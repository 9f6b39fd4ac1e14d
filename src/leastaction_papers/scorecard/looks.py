"""How estimators, components and axes look in every figure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.cbook import is_math_text
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.textpath import text_to_path
from matplotlib.ticker import (
    FuncFormatter,
    LogLocator,
    NullFormatter,
    NullLocator,
    ScalarFormatter,
)

from leastaction.figures.style import MILLIMETRES_PER_INCH, POINTS_PER_INCH, SMALL, key
from leastaction_papers.scorecard.recovery import BASELINE, MAIN


@dataclass(frozen=True)
class Look:
    """Look of an estimator: `label` in legends, `marker` of marks, `dashes` of lines.

    `colour` is a setting of the style, such as ``estimate_color``, or a colour.
    """

    label: str
    colour: str
    marker: str | tuple
    dashes: str | tuple = "-"

    def color(self, settings: Mapping) -> str:
        """Colour in a style."""
        return settings.get(self.colour, self.colour)


LOOKS = {
    MAIN: Look("recommended", "estimate_color", "o"),
    BASELINE: Look("published", "published_color", "D", (0, (5, 1.5))),
    # Rivals on noisy motions.
    "sindy_pi": Look("SINDy-PI", "sindy_pi_color", "s"),
    "lagrangian_sindy": Look("Lagrangian-SINDy", "lagrangian_sindy_color", "^"),
    # Snapshots.
    "published_lgp": Look("LGP", "sindy_pi_color", "+", (0, (3, 1, 1, 1))),
    "published_lgp_exact": Look(
        "LGPExact", "lagrangian_sindy_color", (6, 2, 0), (0, (1, 1.2))
    ),
    "published_gp_flow": Look("GPFlow", "#8a5a44", "d", (0, (6, 1, 1, 1, 1, 1))),
    "unconstrained": Look("unconstrained", "0.55", "v", (0, (4, 1))),
    "second_order": Look("four-point stencil", "#2a7f62", "^", (0, (2, 1))),
    "finite_differences": Look(
        "SINDy, differences", "sindy_pi_color", "s", (0, (4, 1))
    ),
    "spectral": Look(
        "SINDy, spectral", "lagrangian_sindy_color", "D", (0, (3, 1, 1, 1))
    ),
    # Ports.
    "published_exact": Look("exact derivative", "#2f8f5b", "s"),
    "published_subset": Look("GP on the training set", "sindy_pi_color", "^"),
    "published_forward": Look("forward differences", "sindy_pi_color", "^"),
    "published_high_order": Look("as published, high-order data", "#8a5a44", "v"),
}
# Colours and marks of components of one quantity, such as the states of a system.
COMPONENTS = ("#1b4f9c", "#e08a00", "#2f8f5b", "#7b3fa0", "#5c6b73", "#3fa7c9")
COMPONENTS += ("#8a5a44", "#d1689c")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")
SIZE = 3.5
OTHER = Look("", "lagrangian_sindy_color", "v", (0, (4, 1)))


def look(estimator: str, labels: Mapping[str, str] | None = None) -> Look:
    """Look of an estimator; an unknown one goes by its own name.

    `labels` are what a family calls estimators, where that is not the name of the
    table.
    """
    if estimator not in LOOKS:
        return replace(OTHER, label=estimator.replace("_", " "))
    known = LOOKS[estimator]
    return replace(known, label=(labels or {}).get(estimator, known.label))


def marked(
    estimators: Iterable[str], settings: Mapping, text: str = "", **style
) -> list[Line2D]:
    """Legend of estimators that are drawn as marks with a range, each with a `text`."""
    style = {"markersize": 4.0, "linewidth": 0.9} | style
    return [
        key(one.label + text, one.color(settings), **{"marker": one.marker} | style)
        for one in map(look, estimators)
    ]


def colored(entries: Iterable) -> Iterator[tuple]:
    """(colour, entry) of components, states or scenarios."""
    return zip(cycle(COMPONENTS), entries, strict=False)


def range_bar(
    axes: Axes, x: float, values: np.ndarray, floor: float | None = None, **style
) -> list[float]:
    """Draw median and 5–95 % range of `values`, and return the range.

    Nothing, and an empty list, if none is finite.
    """
    values = values[np.isfinite(values)]
    if not values.size:
        return []
    low, middle, high = np.percentile(values, [5, 50, 95])
    if floor is not None:
        low, middle, high = (max(v, floor) for v in (low, middle, high))
    style = {"markersize": 4.0, "elinewidth": 0.9, "linestyle": "none"} | style
    axes.errorbar(x, middle, [[middle - low], [high - middle]], **style)
    return [float(low), float(high)]


def label_of_level(level: float) -> str:
    """Mathtext of a noise level: ``0``, ``10^{-3}``, ``2\\times10^{-2}``."""
    if level == 0:
        return "$0$"
    mantissa, _, power = f"{level:.15e}".partition("e")
    mantissa = float(mantissa)
    ten = f"10^{{{int(power)}}}"
    return f"${ten}$" if mantissa == 1 else f"${mantissa:g}\\times{ten}$"


def time_axis(axes: Axes, time: np.ndarray) -> None:
    """From the first to the last time."""
    axes.set_xlim(time[0], time[-1])
    axes.set_xlabel("Time (s)")


def plain_numbers(axis: Axis) -> None:
    """Ticks of a logarithmic axis as plain numbers."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def log_numbers(axis: Axis) -> None:
    """Make an axis logarithmic, with 1, 2 and 5 of a decade as plain numbers.

    Of more than two decades only powers of ten have a number. Comes after drawing.
    """
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,)))
    plain_numbers(axis)


def double_logarithmic(axes: Axes, ticks, label: str, base: int = 10) -> None:
    """Double logarithmic axes with plain ticks along x."""
    axes.set_xscale("log", base=base)
    axes.set_yscale("log")
    axes.set_xticks(ticks)
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(label)


def text_width(text: str, settings: Mapping) -> float:
    """Return the width in mm of a text, mathtext allowed, in small print."""
    size = FontProperties(size=SMALL * settings["font_size"])
    width, _, _ = text_to_path.get_text_width_height_descent(
        text, size, ismath=bool(is_math_text(text))
    )
    return width / POINTS_PER_INCH * MILLIMETRES_PER_INCH


def fill_lines(
    entries: Sequence[str], separator: str, width: float, settings: Mapping
) -> list[str]:
    """Join entries of small print into as few lines of `width` mm as hold them."""
    lines: list[str] = []
    for entry in entries:
        longer = lines[-1] + separator + entry if lines else entry
        if lines and text_width(longer, settings) <= width:
            lines[-1] = longer
        else:
            lines.append(entry)
    return lines
