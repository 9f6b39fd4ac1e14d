"""One verdict per printed number.

Rows that compare with the same printed number, of several estimators, variants and
settings, are its *readings*. Its verdict is that of the most faithful one: the paper's
recipe as the text states it, then as released. If none of these gives the number, but a
reading with a setting that the paper does not state does, the number is
``other-setting``, and the range of that setting is named.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from leastaction_papers.scorecard.readable import number_text
from leastaction_papers.scorecard.recovery import BASELINE, MAIN, is_replica
from leastaction_papers.scorecard.verdict import (
    FACT,
    MEETS,
    OTHER_SETTING,
    PAPER_ERRS,
)

# Item of a number that no paper prints, but the authors' released notebook shows.
NOTEBOOK = "notebook"
# Kind of noise of a row: a number that a paper prints once is read in each.
KIND = r"(, (?:independent|shared) noise(?:, recorded .*)?)$"
# What a line of the scorecard stands for: the verdict on the paper's recipe, and ours.
RECIPE, OURS = "recipe", "ours"


def base_of(example: str, config: Mapping) -> str:
    """Example whose printed numbers this one is read beside."""
    of = (config.get("setting") or {}).get("of")
    return of or example.partition("-")[0]


def numbers_of(frame: pd.DataFrame, base: str) -> pd.Series:
    """Name of the printed number of each row; empty where the paper prints none."""
    printed = frame["printed"].notna() & (frame["target"] != FACT)
    quantity = frame["quantity"].str.replace(KIND, "", regex=True)
    named = base + ": " + frame["item"] + ", " + quantity
    return named.where(printed & (frame["item"] != NOTEBOOK), "")


def judged(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of the scorecard, of which one stands for the verdict on each number.

    Its `stands_for` is `RECIPE`, that of the paper's own recipe; `OURS` marks the line
    of our recommended estimator beside the same number.
    """
    frame = frame.assign(stands_for=pd.Series("", frame.index, dtype="object"))
    readings = frame[frame["number"] != ""]
    for _, group in readings.groupby(["paper", "number"], sort=False):
        ours = group["estimator"] == MAIN
        frame.loc[group.index[ours][:1], "stands_for"] = OURS
        if not ours.all():
            index, about = _verdict(group[~ours])
            frame.loc[index, ["stands_for", *about]] = [RECIPE, *about.values()]
    return frame


def _verdict(readings: pd.DataFrame) -> tuple:
    """Index of the line that stands for a number, and what is to be set there."""
    ranked = readings.iloc[sorted(range(len(readings)), key=_unfaithful(readings))]
    gives = ranked["verdict"].isin([MEETS, PAPER_ERRS])
    free = ranked["setting"] == ""
    if (gives & free).any():
        return ranked.index[gives & free][0], {}
    tried = _ranges(ranked[~free])
    if gives.any():
        with_it = _ranges(ranked[gives])
        note = f"with {with_it}, not stated in the paper; tried: {tried}"
        return ranked.index[gives][0], {"verdict": OTHER_SETTING, "cause": note}
    first = ranked.iloc[0]
    cause = "; ".join(filter(None, [first["cause"], tried and f"tried: {tried}"]))
    return ranked.index[0], {"cause": cause}


def _unfaithful(readings: pd.DataFrame):
    def rank(position: int) -> tuple:
        row = readings.iloc[position]
        estimator, example = row["estimator"], row["example"]
        return (
            not is_replica(estimator),
            row["setting"] != "",
            "-" in example,
            estimator != BASELINE,
            estimator,
            example,
        )

    return rank


def _ranges(rows: pd.DataFrame) -> str:
    """Values of each setting, from the least to the largest."""
    parts = []
    for name, group in rows.groupby("setting", sort=True):
        values = np.unique(group["setting_value"].astype(float))
        shown = " … ".join(number_text(v, 4) for v in dict.fromkeys(values[[0, -1]]))
        parts.append(f"{name} {shown}")
    return ", ".join(parts)
