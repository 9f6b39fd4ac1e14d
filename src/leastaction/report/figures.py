"""Figures by name: each is a function of its family, found by the name of its file.

A figure ``name(panels, settings)`` gets one panel, or several for a composite, and the
complete settings of the style; it returns a Matplotlib figure. It raises a ValueError
if a panel lacks a dataset that it draws.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module

from matplotlib.figure import Figure

from leastaction.core import families
from leastaction.report.panel import Panel
from leastaction.report.style import style


def draw(name: str, panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Figure `name` of the panels, in the style of `settings`.

    Parameters
    ----------
    name
        A key of :func:`leastaction.core.families.figures`.
    panels
        One example, or several for a composite.
    settings
        See :func:`leastaction.report.style.complete`.

    Raises
    ------
    ValueError
        If no such figure exists, there is nothing to draw, a setting is unknown, or a
        panel lacks the datasets of the figure.
    """
    modules = families.figures()
    if name not in modules:
        raise ValueError(f"unknown figure {name!r}; known: {', '.join(modules)}")
    if not panels:
        raise ValueError(f"figure {name!r}: no panels; give at least one example")
    figure = getattr(import_module(modules[name]), name)
    with style(settings) as complete:
        return figure(panels, complete)
