"""Numbers, lists and pages as a person writes them."""

from collections.abc import Sequence

import numpy as np


class Page:
    """What prints, and stands in a notebook, as its `to_markdown`."""

    def to_markdown(self) -> str:
        """Text in Markdown."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.to_markdown()

    def _repr_markdown_(self) -> str:
        return self.to_markdown()


def listed(entries: Sequence[str]) -> str:
    """Entries of a sentence.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    *most, last = entries
    return f"{', '.join(most)} and {last}" if most else last


def percent_text(value: float) -> str:
    """Text of a share in per cent, ``0.12 %``, ``34 %``, at most ``over 1000 %``."""
    if not np.isfinite(value):
        return "not finite"
    if value >= 10:
        return "over 1000 %"
    value = 100 * value
    shown = f"{value:.0f}" if value >= 10 else f"{value:#.2g}"
    return f"{shown} %"
