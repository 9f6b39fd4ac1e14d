"""How estimators that learn from snapshots look in every figure, and orders of h."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.lines import Line2D


@dataclass(frozen=True)
class ShadowLook:
    """Name in the legend, colour or the setting of one, marker, dashes."""

    label: str
    colour: str
    marker: str
    dashes: str | tuple = "-"

    def color(self, settings: Mapping) -> str:
        """Colour in a style."""
        return settings.get(self.colour, self.colour)


LOOKS = {
    "published": ShadowLook("LSI, published", "published_color", "x", (0, (5, 1.5))),
    "published_lgp": ShadowLook("LGP", "sindy_pi_color", "+", (0, (3, 1, 1, 1))),
    "published_lgp_exact": ShadowLook(
        "LGPExact", "lagrangian_sindy_color", (6, 2, 0), (0, (1, 1.2))
    ),
    "published_gp_flow": ShadowLook("GPFlow", "#8a5a44", "d", (0, (6, 1, 1, 1, 1, 1))),
    "network": ShadowLook("network", "#2a7f62", "^", (0, (2, 1))),
    "held_out": ShadowLook("held-out data", "#3f9bbf", "s", (0, (4, 1))),
    "unconstrained": ShadowLook("unconstrained", "0.55", "v", (0, (4, 1))),
    "recommended": ShadowLook("recommended", "estimate_color", "o", "-"),
}
# Marker of H^[k] by k.
ORDER_MARKERS = {0: "o", 2: "s", 4: "^"}


def shadow_look(estimator: str) -> ShadowLook:
    """Look of an estimator; an unknown one goes by its own name."""
    if estimator in LOOKS:
        return LOOKS[estimator]
    return ShadowLook(estimator.replace("_", " "), "0.55", "v")


def hamiltonian_label(order: int) -> str:
    """Mathtext of H^[k]."""
    return rf"$H^{{[\![{order}]\!]}}$"


def line_handles(
    estimators: Iterable[str], settings: Mapping, truth: bool = True, marks=False
) -> list[Line2D]:
    """Legend of lines, or of marks, one per estimator."""
    handles = []
    if truth:
        handles.append(
            Line2D([], [], color=settings["truth_color"], linewidth=1.6, label="truth")
        )
    for name in estimators:
        look = shadow_look(name)
        style = (
            {"marker": look.marker, "linestyle": "none", "markersize": 4.5}
            if marks
            else {"linestyle": look.dashes, "linewidth": 1.1}
        )
        handles.append(
            Line2D([], [], color=look.color(settings), label=look.label, **style)
        )
    return handles


def rows_of(entries: Sequence, columns: int) -> int:
    """Rows of a grid with so many columns."""
    return -(-len(entries) // columns)
