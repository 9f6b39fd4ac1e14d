"""One half of a panel of the coefficients: candidates, and what stands above them."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from leastaction.ensembles.figures._candidate import (
    Candidate,
    of_dissipation,
    of_lagrangian,
    of_volatility,
)
from leastaction.ensembles.figures._heading import (
    exact_supports,
    identified,
    selection,
)
from leastaction.fields.library_size import functions_over_nodes
from leastaction.report.panel import BASELINE, Panel
from leastaction.report.style import fill_lines, text_width

AXES_SHARE = 0.38


@dataclass(frozen=True)
class Column:
    """Candidates of one function beside each other.

    Attributes
    ----------
    symbol
        Mathtext of the function, without dollars.
    candidates
        Those that are shown.
    everything
        Whether these are all.
    head, values
        Lines of what was searched, and of the recommended values.
    """

    symbol: str
    candidates: list[Candidate]
    everything: bool
    head: list[str]
    values: list[str]

    @classmethod
    def of(
        cls, symbol: str, found: list[Candidate], functions: int | None, settings
    ) -> "Column":
        """Choose what is shown of the candidates `found`."""
        shown, left_out = selection(found)
        count = f"{len(found)} candidates"
        if functions is not None:
            count = f"{len(found)} densities ({functions} functions over all nodes)"
        if any(candidate.at_nodes for candidate in found):
            left_out = [*left_out, f"{BASELINE}: mean and 5–95 % over nodes"]
        counts = [f"${symbol}$: {count};", *(f"{note};" for note in left_out)]
        width = axes_width(settings)
        return cls(
            symbol,
            shown,
            len(shown) == len(found),
            fill_lines([*counts, exact_supports(found)], " ", width, settings),
            fill_lines(identified(shown), ",   ", width, settings),
        )

    @property
    def labelled(self) -> list[int]:
        """Positions of candidates with a label: all if some are left out."""
        return [
            i for i, c in enumerate(self.candidates) if c.shown or not self.everything
        ]

    def label_height(self, settings: Mapping) -> float:
        """Height in mm of the labels below the strip."""
        if not self.crowded(settings):
            return 0.0
        return max(
            text_width(self.candidates[i].label, settings) for i in self.labelled
        )

    def crowded(self, settings: Mapping) -> bool:
        """Whether labels that stand upright would touch."""
        shown = self.labelled
        step = axes_width(settings) / len(self.candidates)
        widths = [text_width(self.candidates[i].label, settings) for i in shown]
        return any(
            (b - a) * step < (wide + next_wide) / 2 + 1.0
            for (a, b), (wide, next_wide) in zip(
                pairwise(shown), pairwise(widths), strict=True
            )
        )


def columns_of(panel: Panel, settings: Mapping) -> tuple[Column, Column]:
    """Columns of L with D, and of S²."""
    functions = [
        functions_over_nodes(panel.config, of) if panel.is_field else None
        for of in ("lagrangian", "volatility")
    ]
    damping = of_dissipation(panel)
    return (
        Column.of(
            "L, D" if damping else "L",
            [*of_lagrangian(panel), *damping],
            functions[0],
            settings,
        ),
        Column.of("S^2", of_volatility(panel), functions[1], settings),
    )


def axes_width(settings: Mapping) -> float:
    """Width of one column, mm."""
    return AXES_SHARE * settings["width"]
