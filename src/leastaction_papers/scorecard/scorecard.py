"""Scorecard: every printed number beside what it should be and what we find.

The rows come from the families: file ``<family>/scores.py``
(:mod:`leastaction_papers.scorecard.case`).

Rows that compare with the same printed number, of several estimators, variants and
settings, are its *readings*. Its one verdict is that of the most faithful one: the
paper's recipe as the text states it, then as released. If none of these gives the
number, but a reading with a setting that the paper does not state does, the number is
``other-setting``, and the range of that setting is named.
"""

from collections.abc import Iterable, Mapping, Sequence
from io import StringIO

import numpy as np
import pandas as pd

from leastaction.core.families import implementation
from leastaction_papers.scorecard import paper_of, verdict
from leastaction_papers.scorecard.case import ADDED, COVERAGE, Case, make_row
from leastaction_papers.scorecard.panel import Panel
from leastaction_papers.scorecard.readable import number_text
from leastaction_papers.scorecard.recovery import BASELINE, MAIN, is_replica
from leastaction_papers.scorecard.verdict import FACT, MEETS, OTHER_SETTING, PAPER_ERRS

# Item of a number that no paper prints, but the authors' released notebook shows.
NOTEBOOK = "notebook"
# Kind of noise of a row: a number that a paper prints once is read in each.
KIND = r"(, (?:independent|shared) noise(?:, recorded .*)?)$"
# What a line of the scorecard stands for: the verdict on the paper's recipe, and ours.
RECIPE, OURS = "recipe", "ours"
# Kinds of rows: printed numbers beside the paper's recipe and beside ours, further
# readings of them, limits that we set, and what is printed and not judged.
READINGS, EXTRA, FACTS = "other readings", "our limits", "not judged"
LIMITS = (RECIPE, OURS, READINGS, EXTRA, FACTS)
OURS_OF = ("ours_median", "ours_low", "ours_high")
NUMBERS = ("printed", "corrected", "authors", *OURS_OF, "setting_value")
COLUMNS = (
    "paper",
    "item",
    "example",
    "estimator",
    "setting",
    "setting_value",
    "quantity",
    "unit",
    "printed",
    "corrected",
    "authors",
    *OURS_OF,
    "replicates",
    "target",
    "verdict",
    "cause",
    "note",
    "number",
    "stands_for",
)
# Texts that a row may lack.
TEXTS = ("setting", "number", "stands_for")
ORDER = ["paper", "example", "item", "quantity", "estimator"]
POOLED = {"between": [0.90, 0.99]}
# With fewer intervals, chance alone often leaves that band.
ENOUGH_INTERVALS = 100
LEVELS_SHARE = "; levels of one replicate share one draw of noise"


def example_rows(paper: str, panel: Panel) -> pd.DataFrame:
    """Rows of one example of a paper, columns `COLUMNS`.

    Low and high are the 5th and 95th percentile over the replicates. `verdict` is empty
    where no target is set.

    ValueError if the configuration does not fit the models or contradicts itself.
    """
    family = paper_of(panel.config)
    rows_of = implementation(f"{family}.scores:rows")
    rows = []
    for estimator in panel.models:
        of, read = panel.reading(estimator)
        about = {"estimator": estimator, **_setting(panel.settings.get(estimator))}
        for row in rows_of(Case(paper, of, read)):
            if of == estimator or not np.isnan(row["printed"]):
                rows.append(row | about)
    frame = _frame(rows)
    return frame.assign(number=numbers_of(frame, base_of(panel.example, panel.config)))


def _setting(setting: Mapping | None) -> dict:
    """Columns of a setting that the paper leaves open."""
    if not setting:
        return {"setting": "", "setting_value": np.nan}
    unit = "" if setting["unit"] == "1" else f" ({setting['unit']})"
    return {"setting": setting["name"] + unit, "setting_value": setting["value"]}


def pooled_rows(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Coverage of all 95 % intervals of each paper and estimator, example ``all``.

    Of results of :func:`example_rows`; `replicates` is the number of intervals. Those
    of different noise or of other recorded channels have pools of their own. Only
    independent noise is judged: the standard errors know no other.
    """
    rows, together = [], _together(frames)
    covered = together[together["quantity"].str.startswith(COVERAGE)]
    kinds = covered["quantity"].str.extract(KIND, expand=False).fillna("")
    pools = covered.groupby(["paper", "estimator", kinds])
    for (paper, estimator, kind), group in pools:
        count = int(group["replicates"].sum())
        hits = round(float((group["ours_median"] * group["replicates"]).sum()))
        head = {"paper": paper, "example": "all", "estimator": estimator}
        quantity = f"{COVERAGE}all coefficients and volatilities{kind}"
        share = hits / count, np.nan, np.nan
        few = count < ENOUGH_INTERVALS
        target = verdict.binomial_band(count) if few else POOLED
        about = {
            "corrected": 0.95,
            "target": None if "shared" in kind else target,
            "note": f"{hits} of {count} intervals, all examples together"
            + (LEVELS_SHARE if kind else ""),
        }
        rows.append(make_row(head, ADDED, quantity, "1", share, count, **about))
    return _frame(rows)


def scorecard(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """All rows in one order, whatever that of `frames`; each number is judged once."""
    together = _together(frames)
    return judged(together.sort_values(ORDER, kind="stable", ignore_index=True))


def kinds(frame: pd.DataFrame) -> pd.Series:
    """Kind of each row of :func:`scorecard`, one of `LIMITS`."""
    marked, read = frame["stands_for"], frame["number"] != ""
    judged = (frame["target"] != "") & (frame["target"] != verdict.FACT)
    marks = np.select([marked != "", read, judged], [marked, READINGS, EXTRA], FACTS)
    return pd.Series(marks, frame.index, dtype="object")


def verdict_counts(frame: pd.DataFrame, by: Sequence[str] = ("paper",)) -> pd.DataFrame:
    """Number of rows by kind and verdict, each combination of `by` by itself.

    Index `by` and ``kind`` (:func:`kinds`, all of them), columns
    :data:`~leastaction_papers.scorecard.verdict.VERDICTS`.
    """
    keys = [frame[name] for name in by] + [kinds(frame).rename("kind")]
    words = frame["verdict"].replace("", verdict.NO_TARGET)
    table = pd.crosstab(keys, words).reindex(columns=verdict.VERDICTS, fill_value=0)
    names = pd.DataFrame({"kind": LIMITS})
    if by:
        groups = frame[list(by)].drop_duplicates().sort_values(list(by))
        names = groups.merge(names, how="cross")
        return table.reindex(pd.MultiIndex.from_frame(names), fill_value=0)
    return table.reindex(names["kind"], fill_value=0)


def worth_reading(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows with a printed number or a limit; only figures need the others."""
    judged = frame["printed"].notna() | (frame["target"] != "")
    return frame[judged].reset_index(drop=True)


def _frame(rows: list[dict]) -> pd.DataFrame:
    rows = [dict.fromkeys(TEXTS, "") | row for row in rows]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    types = dict.fromkeys(COLUMNS, "object") | dict.fromkeys(NUMBERS, "float64")
    return frame.astype(types | {"replicates": "int64"})


def _together(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    filled = [frame for frame in frames if len(frame)]
    return pd.concat(filled, ignore_index=True) if filled else _frame([])


def to_csv(frame: pd.DataFrame) -> str:
    """Comma-separated values; an empty field is no number."""
    return frame.to_csv(index=False, lineterminator="\n")


def from_csv(text: str) -> pd.DataFrame:
    """Inverse of :func:`to_csv`."""
    frame = pd.read_csv(StringIO(text), dtype="object", keep_default_na=False)
    for name in NUMBERS:
        frame[name] = frame[name].map(lambda shown: float(shown or "nan"))
    return _frame(frame.to_dict("records"))


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
