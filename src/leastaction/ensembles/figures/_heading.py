"""What the figure of the coefficients says in words: counts, and identified values."""

from collections.abc import Sequence

import numpy as np

from leastaction.ensembles.figures._candidate import Candidate
from leastaction.report.panel import BASELINE, MAIN

# As many columns as have room for their labels.
MOST_COLUMNS = 26
MOST_VALUES = 8
MINUS = "\N{MINUS SIGN}"


def selection(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[str]]:
    """Candidates that have room beside each other, and what is left out.

    All of up to `MOST_COLUMNS`. Of a larger library those that are true or that the
    recommended estimator selects in some replicate; then, while there is room, those
    that the published one selects in a majority, the most frequent ones first.
    """
    if len(candidates) <= MOST_COLUMNS:
        return list(candidates), []
    numbers = range(len(candidates))
    kept = {
        i for i in numbers if candidates[i].is_true or candidates[i].share(MAIN) > 0
    }

    def published(i: int) -> float:
        has = BASELINE in candidates[i].selected
        return candidates[i].share(BASELINE) if has else 0.0

    often = [
        i
        for i in sorted(numbers, key=published, reverse=True)
        if i not in kept
        and BASELINE in candidates[i].selected
        and candidates[i].often(BASELINE)
    ]
    kept |= set(often[: max(0, MOST_COLUMNS - len(kept))])
    hidden = [i for i in numbers if i not in kept]
    never = sum(published(i) == 0 for i in hidden)
    mostly = len(set(often) - kept)
    seldom = len(hidden) - never - mostly
    notes = [
        text
        for count, text in (
            (mostly, f"{BASELINE} also selects {_others(mostly)}"),
            (seldom, f"{BASELINE} rarely selects {_others(seldom)}"),
            (never, f"{_others(never)} never selected"),
        )
        if count
    ]
    return [candidates[i] for i in sorted(kept)], notes


def _others(count: int) -> str:
    return f"{count} other" + ("s" if count != 1 else "")


def exact_supports(candidates: Sequence[Candidate]) -> str:
    """State in how many replicates exactly the true terms are selected."""
    if not all(np.isfinite(c.true) for c in candidates):
        return "the truth is not in the library"
    right = np.array([c.true != 0 for c in candidates])[:, None]
    counts = []
    for name in candidates[0].selected:
        chosen = np.array([c.selected[name] for c in candidates]).astype(bool)
        exact = (chosen == right).all(axis=0)
        counts.append(f"{name} {exact.sum()}/{len(exact)}")
    return "exact support: " + ", ".join(counts)


def identified(candidates: Sequence[Candidate]) -> list[str]:
    """State the values in words: no axis resolves a part in a thousand."""
    entries = []
    for candidate in candidates:
        if not candidate.often(MAIN):
            continue
        middle, low, high = candidate.interval(MAIN)
        if candidate.given:
            entries.append(f"{candidate.label}: {middle:g} (given)")
            continue
        digits = _digits(middle, (high - low) / 2)
        value, first, last = (_number(v, digits) for v in (middle, low, high))
        unit = "" if candidate.unit in ("", "1") else f" {candidate.unit}"
        entries.append(f"{candidate.label}: {value} [{first}, {last}]{unit}")
    if len(entries) > MOST_VALUES:
        rest = len(entries) - MOST_VALUES + 1
        entries = [*entries[: MOST_VALUES - 1], f"and {rest} more"]
    return entries


def _digits(value: float, half: float) -> int:
    """Decimals that show two significant digits of the uncertainty."""
    size = half if half > 0 else 1e-3 * abs(value)
    return int(np.clip(1 - np.floor(np.log10(size)), 0, 12)) if size > 0 else 0


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", MINUS)
