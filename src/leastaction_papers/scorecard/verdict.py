"""Limits that a score must keep, and the verdict on it.

A target is one of

``{relative_error: x}``
    |value − corrected| ≤ x |corrected|, for the median over the replicates *and* for
    the 5th and 95th percentile: nine replicates of ten keep the limit;
``{maximum: x}``
    median and 95th percentile ≤ x;
``{rms: x}``, ``{median: x}``
    root mean square over the replicates, or median, ≤ x, whatever the percentiles;
``{minimum: x}``, ``{between: [a, b]}``
    value ≥ x (a count of replicates); a ≤ value ≤ b (a share);
``{factor: x}``
    printed / x ≤ value ≤ printed · x, for the ratio of two measurements.

Of a row with a printed number one asks, of one of *our* estimators:

``misses``
    ours does not keep our limit;
``paper-errs``
    ours keeps it, the printed number does not, and an erratum shows that it is wrong;
``inaccurate``
    the same, without an erratum: an honest estimate that is further off than our limit;
``meets``
    both keep it.

Of a *replica*, the paper's own recipe, one asks whether it gives the printed number:

``meets``
    that, give or take half a unit of its last digit, lies in the 95 % prediction
    interval of one more draw (of fewer than `FEWEST_DRAWS`: is as near as our limit
    asks), or both keep our limit;
``paper-errs``
    the recipe gives the corrected number, in the same sense, and an erratum shows that
    the printed one is wrong;
``not-reproduced``
    neither; its cause is stated, or that we do not know it;
``other-setting``
    of a number with several readings (:mod:`leastaction_papers.scorecard.scorecard`):
    not as the paper states its recipe, but with a value of a setting that it does not
    state.

Only draws with the right terms count, where that is known: a recipe that often
selects wrong ones has a range that would hold any number. The size of a library is a
*fact*, which has no verdict; nor has a row without a limit.
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

import numpy as np

from leastaction_papers.scorecard.readable import number_text

MEETS, MISSES, PAPER_ERRS = "meets", "misses", "paper-errs"
INACCURATE, NOT_REPRODUCED = "inaccurate", "not-reproduced"
OTHER_SETTING = "other-setting"
# Of a row without a verdict, where verdicts are counted and shown.
NO_TARGET = "no target"
VERDICTS = (
    MEETS,
    PAPER_ERRS,
    INACCURATE,
    OTHER_SETTING,
    NOT_REPRODUCED,
    MISSES,
    NO_TARGET,
)
# Target of the size of a library, which is no finding.
FACT = "fact"
# With fewer draws Student's t is so wide that any number would lie in its interval.
FEWEST_DRAWS = 3
UNKNOWN = "we do not know why"
# A reference to entries of docs/errata.md in a note, as `errata_text` writes it.
ERRATA = re.compile(r"see errat(?:um|a) \d+(?:, \d+)*")
KINDS = ("relative_error", "maximum", "rms", "median", "minimum", "between", "factor")
# A recomputation starts from parameters that the paper rounds: an error printed with
# two figures cannot be recomputed better than to a few per cent.
ERROR_OF_RECOMPUTATION = 0.05
# Slack for decimal fractions that binary floats do not hit.
SLACK_OF_DECIMALS = 1e-9


def target_text(target: Mapping | str | None, unit: str) -> str:
    """Limit as a person reads it; empty if there is none."""
    if not target or target == FACT:
        return target or ""
    kind, limit = _only(target)
    symbol = "" if unit == "1" or unit.startswith("of ") else f" {unit}"
    if kind == "between":
        return f"{limit[0]:g} ... {limit[1]:g}{symbol}"
    plain, percent = f"{limit:g}{symbol}", f"{100 * limit:g} %"
    return {
        "relative_error": f"<= {percent} of corrected" if limit else "= corrected",
        "maximum": f"<= {plain}",
        "rms": f"rms <= {percent}",
        "median": f"median <= {plain if symbol else percent}",
        "minimum": f">= {plain}",
        "factor": f"printed, within a factor {limit:g}",
    }[kind]


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

    Percentiles that are NaN (a count, a single number) are left out. ValueError for a
    limit of an unknown kind.
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


def printed_in_error(
    printed: float | str,
    corrected: float,
    target: Mapping,
    rounding: float | None = None,
) -> bool:
    """Whether a printed number disagrees with what it should be.

    The paper's estimate is held to the limit that ours is held to: about three standard
    errors of the best estimator, so that an honest random estimate is not called an
    error. `rounding` is added, half a unit of the last printed digit unless it is
    given. A number without such a limit (a recomputed norm) may be off by
    `ERROR_OF_RECOMPUTATION`; one with a band must lie in it.
    """
    if np.isnan(corrected) or np.isnan(float(printed)):
        return False
    if "between" in target:
        return not keeps(target, corrected, (float(printed), np.nan, np.nan))
    tolerance = target.get("relative_error", ERROR_OF_RECOMPUTATION)
    rounding = half_digit(printed) if rounding is None else rounding
    allowed = rounding + tolerance * abs(corrected)
    return abs(float(printed) - corrected) > allowed * (1 + SLACK_OF_DECIMALS)


def verdict(
    target: Mapping | None,
    printed: float | str,
    corrected: float,
    summary: tuple,
    errata: Sequence[int] = (),
    rounding: float | None = None,
) -> str:
    """Verdict on one of our estimators, as in the head of this file; empty if none.

    An estimator that misses its limit misses it, whatever the paper prints.
    """
    if not target or target == FACT:
        return ""
    if not keeps(target, corrected, summary):
        return MISSES
    if not printed_in_error(printed, corrected, target, rounding):
        return MEETS
    return PAPER_ERRS if errata else INACCURATE


def summary_of(values: np.ndarray) -> tuple[float, float, float]:
    """Median, 5th and 95th percentile; a missing value counts as infinite."""
    values = np.where(np.isnan(values), np.inf, np.asarray(values, dtype=float))
    with np.errstate(invalid="ignore"):
        quantiles = np.quantile(values, [0.5, 0.05, 0.95])
    return tuple(float(v) for v in np.where(np.isnan(quantiles), np.inf, quantiles))


def binomial_band(count: int) -> dict | None:
    """Target that a share of 95 % of `count` trials keeps in 99.9 % of all cases."""
    from scipy.special import bdtr  # not scipy.stats, which takes a second to import

    cumulative = bdtr(np.arange(count + 1), count, 0.95)
    low, high = np.searchsorted(cumulative, [0.0005, 0.9995]) / count
    if low == 0:
        return None  # So few trials could not miss.
    return {"between": [round(float(low), 4), round(float(high), 4)]}


def replica_verdict(
    usual: str,
    target: Mapping | None,
    printed: float | str,
    draws: np.ndarray | None,
    of: int,
    which: str = "right",
    rounding: float | None = None,
    corrected: float = np.nan,
    errata: Sequence[int] = (),
) -> tuple[str, str]:
    """Verdict on a replica whose number is printed, and what its draws show.

    `usual` is that of any other estimator; `draws` are the values of the replicates
    with the right terms (`which` ones), out of `of` in all; None if the number is not
    one of a draw; `errata` show that it should be `corrected`. An interval of an
    estimate that is wider than the number itself decides nothing.
    """
    target, text, vague = target or {}, "", False
    if draws is not None:
        text = _draws_text(draws, of, which)
        vague = "relative_error" in target and is_vague(printed, draws)
        near = nearness(target, float(printed))
        if "between" in target:
            rounding = 0.0  # The band has it already.
        if not vague and reproduces(printed, draws, near, rounding):
            return MEETS, f"reproduced: {text}" if usual != MEETS else ""
        wrong = errata and printed_in_error(printed, corrected, target, rounding)
        if wrong and not vague and reproduces(corrected, draws, rounding=0.0):
            return PAPER_ERRS, f"the corrected number is reproduced: {text}"
    if usual in (MEETS, PAPER_ERRS):
        return usual, ""
    return NOT_REPRODUCED, f"{text}, too wide to tell" if vague else text


def prediction_interval(draws: np.ndarray) -> tuple[float, float]:
    """Interval that holds one more draw in 95 % of all cases, of Student's t.

    Positive draws whose interval would reach below zero are compared by their
    logarithms. ValueError if there are fewer than `FEWEST_DRAWS`.

    >>> [round(end, 2) for end in prediction_interval([10.0, 11.0, 12.0])]
    [6.03, 15.97]
    """
    from scipy.special import stdtrit  # not scipy.stats, which takes a second to import

    draws = np.asarray(draws, dtype=float)
    count = draws.size
    if count < FEWEST_DRAWS:
        raise ValueError(f"{count} draws given, at least {FEWEST_DRAWS} expected")

    def ends(values):
        half = stdtrit(count - 1, 0.975) * values.std(ddof=1) * np.sqrt(1 + 1 / count)
        return values.mean() + np.array([-half, half])

    low, high = ends(draws)
    if low < 0 < draws.min():
        low, high = np.exp(ends(np.log(draws)))
    return float(low), float(high)


def nearness(target: Mapping, printed: float) -> float:
    """How near to a printed number our limit requires a single draw to be.

    A band that holds the printed number is about it, and requires only to lie in it;
    any other is about the truth.
    """
    if "between" in target:
        low, high = target["between"]
        return 0.0 if low <= printed <= high else (high - low) / 2
    return target.get("relative_error", 0.0) * abs(printed)


def is_vague(printed: float | str, draws: np.ndarray) -> bool:
    """Whether the prediction interval is wider than twice the printed number."""
    if len(draws) < FEWEST_DRAWS or not np.isfinite(draws).all():
        return False
    low, high = prediction_interval(draws)
    return high - low > 2 * abs(float(printed))


def reproduces(
    printed: float | str,
    draws: np.ndarray,
    near: float = 0.0,
    rounding: float | None = None,
) -> bool:
    """Whether a printed number may be one more of the `draws`.

    Its `rounding` is allowed, by itself half a unit of the last digit; of fewer than
    `FEWEST_DRAWS` also `near`. Draws that gave no number reproduce none.
    """
    draws, value = np.asarray(draws, dtype=float), float(printed)
    if not draws.size or np.isnan(value) or not np.isfinite(draws).all():
        return False
    rounding = half_digit(printed) if rounding is None else rounding
    allowed = rounding + SLACK_OF_DECIMALS * abs(value)
    if draws.size < FEWEST_DRAWS:
        return bool((np.abs(draws - value) <= allowed + near).all())
    low, high = prediction_interval(draws)
    return low - allowed <= value <= high + allowed


def _draws_text(draws: np.ndarray, of: int, which: str) -> str:
    draws = np.asarray(draws, dtype=float)
    if not draws.size:
        return f"none of {of} draws has the {which} terms" if of else ""
    every = draws.size == of
    right = "" if every else f" ({draws.size} of {of} have the {which} terms)"
    if not np.isfinite(draws).all():
        return f"a draw gives no number{right}"
    if draws.size < FEWEST_DRAWS:
        shown = " and ".join(number_text(v, 6) for v in draws)
        return f"{'one draw' if draws.size == 1 else 'two draws'}, {shown}{right}"
    low, high = (number_text(v, 6) for v in prediction_interval(draws))
    return f"95 % prediction interval {low} to {high}{right}"


def errata_text(errata: Sequence[int]) -> str:
    """Reference to entries of docs/errata.md; empty without any."""
    word = "erratum" if len(errata) == 1 else "errata"
    return f"see {word} {', '.join(map(str, errata))}" if errata else ""
