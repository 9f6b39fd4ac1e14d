"""Verdict on a replica: an estimator that is the paper's own recipe.

Our limits are those of our estimators. Of a replica one asks whether the paper's
recipe, on the paper's system, gives the number that the paper prints:

1. it keeps our limit: the verdict is that of any other estimator;
2. else the printed number, give or take half a unit of its last digit, lies in the
   range of the draws (of a single draw: is as near as the limit asks): ``meets``, the
   number is reproduced;
3. else the row names errata that explain why the recipe as printed cannot give the
   number: ``paper-in-error``;
4. else ``misses``.

Only draws with the right terms count in 2, where that can be told: a recipe that often
selects wrong ones has a range that would hold any number.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from leastaction.report.readable import number_text
from leastaction.report.verdict import (
    MEETS,
    MISSES,
    PAPER_IN_ERROR,
    half_digit,
    summary_of,
)

ERRATA = re.compile(r"see errat(?:um|a) \d+(?:, \d+)*")


def verdict_of(
    usual: str,
    target: Mapping | None,
    printed: float | str,
    draws: np.ndarray,
    of: int,
    errata: Sequence[int],
) -> tuple[str, str]:
    """Verdict on a row of a replica, and the reason to be noted.

    Parameters
    ----------
    usual
        Verdict of :func:`leastaction.report.verdict.verdict`.
    target
        Limit of the row.
    printed
        As in the paper; NaN if it prints none.
    draws
        Values of the replicates with the right terms, shape (replicate,).
    of
        Number of all replicates.
    errata
        Numbers of docs/errata.md that explain why the recipe as printed cannot give
        the printed number.
    """
    if usual != MISSES:
        return usual, ""
    single = len(draws) == 1
    near = (target or {}).get("relative_error", 0.0) if single else 0.0
    if in_range(printed, draws, near):
        return MEETS, f"reproduced: {_range_text(draws, of)}"
    if errata:
        return PAPER_IN_ERROR, ""
    told = draws.size and np.isfinite([*draws, float(printed)]).all()
    return MISSES, f"not reproduced: {_range_text(draws, of)}" if told else ""


def in_range(printed: float | str, draws: np.ndarray, near: float = 0.0) -> bool:
    """Whether the printed number lies between the 5th and 95th percentile of `draws`.

    Half a unit of its last digit is allowed, and `near` of the number itself. A range
    with an end at infinity, of draws that gave no number, holds none.
    """
    draws = np.asarray(draws, dtype=float)
    if not draws.size or np.isnan(float(printed)):
        return False
    _, low, high = summary_of(draws)
    if not np.isfinite([low, high]).all():
        return False
    allowed = half_digit(printed) + near * abs(float(printed))
    return low - allowed <= float(printed) <= high + allowed


def _range_text(draws: np.ndarray, of: int) -> str:
    _, low, high = (number_text(v, 6) for v in summary_of(draws))
    if len(draws) == 1:
        text = f"one draw, {low}"
    else:
        text = f"5 to 95 % of the draws are {low} to {high}"
    if len(draws) < of:
        text += f" ({len(draws)} of {of}, those with the right terms)"
    return text


def errata_text(errata: Sequence[int]) -> str:
    """Reference to entries of docs/errata.md; empty without any."""
    if not errata:
        return ""
    word = "erratum" if len(errata) == 1 else "errata"
    return f"see {word} {', '.join(map(str, errata))}"
