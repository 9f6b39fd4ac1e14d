"""Figures by name, and their house style: print size, colours, bytes that repeat."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import BytesIO

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D

from leastaction.core import families
from leastaction.core.settings import Style

MILLIMETRES_PER_INCH = 25.4
POINTS_PER_INCH = 72.0
SMALL = 0.85
# Coordinates of a note: x in data and y as a fraction of the axes.
AT_X = "data", "axes fraction"
DASHED = (0, (4, 2.5))
# What a mark with a bar shows, in legends.
RANGE = " (median, 5–95 %)"


# A page of a notebook is 800 pixels wide, 180 mm of a figure.
DPI_OF_NOTEBOOKS = 113


class StyledFigure(Figure):
    """A figure that is laid out and written in the style it was drawn in.

    Matplotlib reads fonts and the salt of SVG identifiers when it writes: the bytes
    would otherwise depend on who calls `savefig`.
    """

    def __init__(self, settings: Mapping, height: float, **options):
        """Empty figure of the width of `settings` and a height in mm."""
        self._settings = dict(settings)
        size = [side / MILLIMETRES_PER_INCH for side in (settings["width"], height)]
        options = {"layout": "constrained", "dpi": settings["dpi"]} | options
        super().__init__(figsize=size, **options)

    def savefig(self, *arguments, **options):
        """Write the figure; arguments as for any Matplotlib figure."""
        with style(self._settings):
            if isinstance(self.get_layout_engine(), ConstrainedLayoutEngine):
                # Lay out once: it takes longer than drawing, and has no other result.
                # None, not "none": its placeholder has each file drawn twice.
                self.get_layout_engine().execute(self)
                self.set_layout_engine(None)
            super().savefig(*arguments, **options)

    def _repr_png_(self) -> bytes:
        """Picture in a notebook, whatever its back end."""
        file = BytesIO()
        self.savefig(file, format="png", dpi=DPI_OF_NOTEBOOKS)
        return file.getvalue()


@contextmanager
def style(settings: Mapping) -> Iterator[dict]:
    """Matplotlib parameters of all figures, in force inside the ``with`` block.

    Yields the `settings`, any keys of :class:`leastaction.core.settings.Style`, with
    their defaults. ValueError if a key is unknown, or its value not allowed.
    """
    settings = Style(**settings).plain()
    size = settings["font_size"]
    # The STIX fonts come with Matplotlib; a font of the machine would change the bytes.
    parameters = {
        "font.family": "STIXGeneral",
        "mathtext.fontset": "stix",
        "font.size": size,
        "axes.titlesize": size,
        "axes.labelsize": size,
        "legend.fontsize": size,
        "axes.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlelocation": "left",
        "axes.titlepad": 4.0,
        "axes.labelpad": 2.5,
        "axes.formatter.use_mathtext": True,
        "lines.linewidth": 1.0,
        "legend.frameon": False,
        "legend.handlelength": 2.4,
        "legend.columnspacing": 1.6,
        # What no layout engine means would else be up to the user's own settings.
        "figure.autolayout": False,
        "figure.constrained_layout.use": False,
        "figure.constrained_layout.h_pad": 0.03,
        "figure.constrained_layout.w_pad": 0.03,
        "svg.hashsalt": "leastaction",
        "svg.fonttype": "path",
        "pdf.fonttype": 42,
        "savefig.dpi": "figure",
        "savefig.bbox": None,
    }
    ticks = {"labelsize": SMALL * size, "major.width": 0.6}
    ticks |= {"major.size": 2.5, "minor.size": 1.5}
    for kind, value in ticks.items():
        parameters |= {f"xtick.{kind}": value, f"ytick.{kind}": value}
    with rc_context(parameters):
        yield settings


def draw(name: str, panels: Sequence, settings: Mapping) -> Figure:
    """Figure `name` of the panels, in the style of `settings`.

    ValueError if no such figure exists, there is nothing to draw, a setting is unknown,
    or a panel lacks the datasets of the figure.
    """
    modules = families.figures()
    if name not in modules:
        raise ValueError(f"unknown figure {name!r}; known: {', '.join(modules)}")
    if not panels:
        raise ValueError(f"figure {name!r}: no panels; give at least one example")
    figure = getattr(import_module(modules[name]), name)
    with style(settings) as full:
        return figure(panels, full)


def finding(name: str, panels: Sequence) -> str:
    """One or two sentences of what the results in figure `name` show.

    Function ``finding`` of the module ``<name>.py``; of another figure of the same
    file, ``<figure>_finding``. Empty if there is none.
    """
    module = import_module(families.figures()[name])
    has_own = module.__name__.rpartition(".")[2] == name
    says = getattr(module, "finding" if has_own else f"{name}_finding", None)
    return says(panels) if says else ""


def grid_of(
    settings: Mapping, rows: int, columns: int, row: float, rest: float = 0, **options
) -> tuple[StyledFigure, np.ndarray]:
    """Return a figure and its axes, an array of shape (rows, columns).

    `row` and `rest` are heights in mm: of one row, and of legend, labels and titles
    together; `options` those of :meth:`matplotlib.figure.Figure.subplots`.
    """
    figure = StyledFigure(settings, row * rows + rest)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def key(label: str, color: str, marker: str | None = None, **look) -> Line2D:
    """Return an entry of a legend: a line, with a marker if there is one."""
    return Line2D([], [], label=label, color=color, marker=marker, **look)


def legend_on_top(figure: Figure, handles: list, columns: int | None = None) -> None:
    """One legend for the whole figure, above all axes."""
    columns = columns or len(handles)
    figure.legend(handles=handles, loc="outside upper center", ncols=columns)


def small(settings: Mapping) -> float:
    """Font size of small print, pt."""
    return SMALL * settings["font_size"]


def note(
    axes: Axes, text: str, x: float, y: float, within="axes fraction", **options
) -> None:
    """Write `text` at a place in fractions of the axes, or `within` other coordinates.

    With `offset`, so many points right of and above that place.
    """
    if "offset" in options:
        options |= {"xytext": options.pop("offset"), "textcoords": "offset points"}
    axes.annotate(text, (x, y), xycoords=within, **options)
