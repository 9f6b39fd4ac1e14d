"""How much more noise one method bears than another, on the same data."""

from collections.abc import Iterator, Mapping

import numpy as np

from leastaction.report import verdict
from leastaction.report.case import Case
from leastaction.report.recovery import Limit
from leastaction.report.sweep import shown_mode
from leastaction.trajectories.noise_rows import limit_of

UNDECIDED = "not judged: the levels are too coarse"


def equal_data_rows(case: Case, entry: Mapping) -> Iterator[dict]:
    """The printed ratio of two limits beside that of both methods on equal data.

    Limits lie between levels, so that their ratio lies between two bounds, which are
    infinite or zero where a sweep ends before a method fails. The printed ratio has the
    band ``target.factor``, from printed / factor to printed · factor:

    - ours and both of its bounds in that band: ``meets``;
    - both bounds on one side of it: ``paper-in-error`` if the entry gives as `reason`
      what the paper itself does not keep equal, else ``misses``;
    - anything else cannot be told, and has no verdict.

    There is no `corrected`: our ratio is a measurement, and no truth.
    """
    ours = entry["ours"]
    other = case.recoveries.get(ours["over"])
    if other is None:
        return
    exact = case.recovery["exact"]
    mode = ours.get("noise_mode") or shown_mode(case.head["estimator"], case.recovery)
    mine, my_note = limit_of(exact, mode)
    theirs, their_note = limit_of(other["exact"], mode)
    value, (low, high) = ratio(mine, theirs)
    target = entry.get("target")
    decided = ""
    if not np.isnan(value):
        decided = verdict_on(target, entry["printed"], low, high)
    row = case.row(
        entry["item"],
        f"{entry['quantity']}, {mode} noise",
        entry["unit"],
        (value, np.nan, np.nan),
        exact.sizes["replicate"],
        target=target,
        printed=entry["printed"],
        judged=False,
        note="; ".join(
            filter(
                None,
                (
                    entry.get("note"),
                    entry.get("reason"),
                    f"on equal data between {low:.2g} and {high:.2g}",
                    f"{case.head['estimator']}: {my_note}",
                    f"{ours['over']}: {their_note}",
                    UNDECIDED if target and not decided else "",
                ),
            )
        ),
    )
    if decided == verdict.MISSES and entry.get("reason"):
        decided = verdict.PAPER_IN_ERROR
    yield row | {"verdict": decided}


def ratio(mine: Limit, theirs: Limit) -> tuple[float, tuple[float, float]]:
    """Ratio of two limits, and its bounds; NaN if 0/0 or without a limit."""
    (low, high), (below, above) = mine.between, theirs.between
    return _over(mine.level, theirs.level), (_over(low, above), _over(high, below))


def _over(a: float, b: float) -> float:
    if np.isnan(a) or np.isnan(b) or a == b == 0 or np.isinf(a) and np.isinf(b):
        return np.nan
    return np.inf if b == 0 else a / b


def verdict_on(target: Mapping | None, printed: float, low: float, high: float) -> str:
    """Whether a ratio between two bounds keeps to the printed one; empty if unknown."""
    if not target or np.isnan(low) or np.isnan(high):
        return ""
    least, most = verdict.factor_band(target, printed)
    if least <= low and high <= most:
        return verdict.MEETS
    return verdict.MISSES if high < least or low > most else ""
