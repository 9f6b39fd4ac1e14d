"""Axes, bars and small print that figures of papers share."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.cbook import is_math_text
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import (
    FuncFormatter,
    LogLocator,
    NullFormatter,
    NullLocator,
    ScalarFormatter,
)

from leastaction.figures.style import MILLIMETRES_PER_INCH, POINTS_PER_INCH, SMALL


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
