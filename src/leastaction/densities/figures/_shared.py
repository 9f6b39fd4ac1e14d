"""Axes, order and numbers that the figures of stationary densities share."""

from collections.abc import Mapping

from matplotlib.axes import Axes
from mpl_toolkits.mplot3d import Axes3D

from leastaction.report.readable import plain_scientific, scientific
from leastaction.report.style import StyledFigure

# Estimators in the order of every legend.
ORDER = ("published", "split_sample", "recommended")


def surface_and_map(settings: Mapping) -> tuple[StyledFigure, Axes3D, Axes]:
    """An empty figure, axes for a surface on the left and for its map on the right."""
    figure = StyledFigure(settings, 84)
    left, right = figure.subfigures(1, 2, width_ratios=(1.0, 0.92))
    solid = left.add_axes((0.02, 0.0, 0.96, 1.0), projection="3d")
    solid.view_init(elev=32, azim=-125)
    solid.set_box_aspect(None, zoom=0.88)
    # What lies on the floor may show through a surface.
    solid.computed_zorder = False
    return figure, solid, right.subplots()


def samples_text(samples: float, plain: bool = False) -> str:
    """A number of samples to one digit: mathtext, or plain text.

    >>> samples_text(1e7), samples_text(1e7, plain=True)
    ('$10^{7}$', '10⁷')
    """
    if plain:
        return plain_scientific(samples, 1).removeprefix("1·")
    return scientific(samples, 1).replace(r"$1\times", "$")
