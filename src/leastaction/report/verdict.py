"""Limits that a score must keep, and the verdict on it.

A target is one of

``{relative_error: x}``
    |value − corrected| ≤ x |corrected|, for the median over the replicates *and* for
    the 5th and 95th percentile: nine replicates of ten keep the limit;
``{maximum: x}``
    median and 95th percentile ≤ x;
``{rms: x}``
    root mean square over the replicates ≤ x; the percentiles, those of single
    replicates, are not judged;
``{median: x}``
    median ≤ x, whatever the percentiles;
``{minimum: x}``
    value ≥ x (a count of replicates);
``{between: [a, b]}``
    a ≤ value ≤ b (a share);
``{factor: x}``
    printed / x ≤ value ≤ printed · x, for the ratio of two measurements, of which there
    is no truth (``equal_data_rows`` in :mod:`leastaction.trajectories.scores`).

Our limits are those of our estimators. Of a *replica*, an estimator that is the paper's
own recipe, one asks whether it gives the number that the paper prints:

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
from decimal import Decimal

import numpy as np

from leastaction.report.readable import number_text

MEETS, MISSES, PAPER_IN_ERROR = "meets", "misses", "paper-in-error"
# Of a row without a limit, where verdicts are counted and shown.
NO_TARGET = "no target"
VERDICTS = (MISSES, PAPER_IN_ERROR, MEETS, NO_TARGET)
# A reference to entries of docs/errata.md in a note, as `errata_text` writes it.
ERRATA = re.compile(r"see errat(?:um|a) \d+(?:, \d+)*")
KINDS = ("relative_error", "maximum", "rms", "median", "minimum", "between", "factor")
# A recomputation starts from parameters that the paper rounds: an error printed with
# two figures cannot be recomputed better than to a few per cent.
ERROR_OF_RECOMPUTATION = 0.05
# Slack for decimal fractions that binary floats do not hit.
SLACK_OF_DECIMALS = 1e-9


def target_text(target: Mapping | None, unit: str) -> str:
    """Limit as a person reads it; empty if there is none.

    Raises
    ------
    ValueError
        If the kind of target is not known.
    """
    if not target:
        return ""
    kind, limit = _only(target)
    symbol = "" if unit == "1" or unit.startswith("of ") else f" {unit}"
    match kind:
        case "relative_error":
            return f"<= {100 * limit:g} % of corrected" if limit else "= corrected"
        case "maximum":
            return f"<= {limit:g}{symbol}"
        case "rms":
            return f"rms <= {100 * limit:g} %"
        case "median":
            shown = f"{limit:g}{symbol}" if symbol else f"{100 * limit:g} %"
            return f"median <= {shown}"
        case "minimum":
            return f">= {limit:g}{symbol}"
        case "factor":
            return f"printed, within a factor {limit:g}"
        case _:
            return f"{limit[0]:g} ... {limit[1]:g}{symbol}"


def _only(target: Mapping) -> tuple:
    if len(target) != 1 or next(iter(target)) not in KINDS:
        raise ValueError(f"target {dict(target)} must be one of {', '.join(KINDS)}")
    return next(iter(target.items()))


def factor_band(target: Mapping, printed: float) -> tuple[float, float]:
    """Band around a printed ratio."""
    _, factor = _only(target)
    return printed / factor, printed * factor


def keeps(target: Mapping, corrected: float, summary: tuple) -> bool:
    """Whether (median, 5th, 95th percentile) keep a limit, as in the head of this file.

    Percentiles that are NaN (a count, a single number) are left out.
    """
    median, low, high = summary
    if np.isnan(median):
        return False
    kind, limit = _only(target)
    values = [v for v in summary if not np.isnan(v)]
    match kind:
        case "relative_error":
            allowed = (limit + SLACK_OF_DECIMALS) * abs(corrected)
            return all(abs(v - corrected) <= allowed for v in values)
        case "maximum":
            return median <= limit and not high > limit
        case "rms" | "median":
            return median <= limit
        case "minimum":
            return median >= limit - SLACK_OF_DECIMALS
        case "factor":
            raise ValueError("target 'factor' is for the ratio of two limits alone")
        case _:
            return (
                limit[0] - SLACK_OF_DECIMALS <= median <= limit[1] + SLACK_OF_DECIMALS
            )


def half_digit(printed: float | str) -> float:
    """Half a unit of the last digit of a number as printed: 0.005 for 1.03.

    YAML drops trailing zeros (9.80 is read as 9.8), so that this is rather too large
    than too small, in favour of the paper.
    """
    return 0.5 * 10.0 ** int(Decimal(str(printed)).as_tuple().exponent)


def printed_in_error(printed: float | str, corrected: float, target: Mapping) -> bool:
    """Whether a printed number disagrees with what it should be.

    The paper's estimate is held to the limit that ours is held to. These limits are
    about three standard errors of the best estimator, so that an honest random estimate
    is not called an error; half a unit of the last printed digit is added. A number
    without such a limit (a recomputed norm) may be off by `ERROR_OF_RECOMPUTATION`.
    """
    if np.isnan(corrected) or np.isnan(float(printed)):
        return False
    tolerance = target.get("relative_error", ERROR_OF_RECOMPUTATION)
    allowed = half_digit(printed) + tolerance * abs(corrected)
    return abs(float(printed) - corrected) > allowed * (1 + SLACK_OF_DECIMALS)


def verdict(
    target: Mapping | None, printed: float | str, corrected: float, summary: tuple
) -> str:
    """``meets``, ``misses`` or ``paper-in-error``; empty without a target.

    ``paper-in-error`` needs both: the printed number disagrees with the corrected one,
    and ours keeps its limit. An estimator that misses its limit misses it, whatever the
    paper prints; a replica of the paper's own is asked further
    (:func:`replica_verdict`).
    """
    if not target:
        return ""
    if not keeps(target, corrected, summary):
        return MISSES
    return PAPER_IN_ERROR if printed_in_error(printed, corrected, target) else MEETS


def summary_of(values: np.ndarray) -> tuple[float, float, float]:
    """Median, 5th and 95th percentile; a missing value counts as infinite."""
    values = np.where(np.isnan(values), np.inf, np.asarray(values, dtype=float))
    with np.errstate(invalid="ignore"):
        found = np.quantile(values, [0.5, 0.05, 0.95])
    return tuple(float(v) for v in np.where(np.isnan(found), np.inf, found))


def binomial_band(count: int, share: float = 0.95) -> dict | None:
    """Target that a share of `count` trials keeps in 99.9 % of all experiments."""
    from scipy.stats import binom  # a second to import, and few need it

    low, high = binom.ppf([0.0005, 0.9995], count, share) / count
    if low == 0:
        return None  # So few trials could not miss.
    return {"between": [round(float(low), 4), round(float(high), 4)]}


def replica_verdict(
    usual: str,
    target: Mapping | None,
    printed: float | str,
    draws: np.ndarray,
    of: int,
    errata: Sequence[int],
) -> tuple[str, str]:
    """Verdict on a row of a replica, and the reason to be noted.

    `draws` are the values of the replicates with the right terms, out of `of` in all;
    `errata` explain why the recipe as printed cannot give the printed number.
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
    word = "erratum" if len(errata) == 1 else "errata"
    return f"see {word} {', '.join(map(str, errata))}" if errata else ""
