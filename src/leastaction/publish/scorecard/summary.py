"""Scorecard to read: counts, what misses, and every printed number beside ours."""

import pandas as pd

from leastaction.publish.readable import number_text
from leastaction.publish.scorecard.page import UNJUDGED, VERDICTS

HEADING = """# Results

Made by the workflow (`snakemake docs/results.md`), not by hand. *Corrected* is what the
printed number should be ([errata](errata.md)); *ours* is the median over replicates.
All rows, those that we add among them, with their ranges: `results/scorecard.html`.
"""
SHOWN = ("example", "item", "quantity", "unit", "estimator")
NUMBERS = ("printed", "corrected", "ours_median")


def summary(frame: pd.DataFrame) -> str:
    """Markdown page of a scorecard.

    Parameters
    ----------
    frame
        Result of :func:`leastaction.publish.scorecard.collect.scorecard`.
    """
    verdicts = frame["verdict"].replace("", UNJUDGED)
    counts = pd.crosstab(frame["paper"], verdicts)
    counts = counts.reindex(columns=VERDICTS, fill_value=0)
    counts.loc["all"] = counts.sum()
    parts = [HEADING, counts.to_markdown() + "\n"]
    misses = frame[frame["verdict"] == "misses"]
    parts.append("## What misses\n")
    parts.append(_table(misses, ("target", "note")) if len(misses) else "Nothing.\n")
    for paper, rows in frame[frame["printed"].notna()].groupby("paper"):
        parts += [f"## Printed numbers: {paper}\n", _table(rows, ("verdict",))]
    return "\n".join(parts)


def _table(rows: pd.DataFrame, last: tuple[str, ...]) -> str:
    shown = rows[[*SHOWN, *NUMBERS, *last]].copy().astype("object")
    for name in NUMBERS:
        shown[name] = rows[name].map(lambda value: number_text(value, 5))
    if "verdict" in shown:
        shown["verdict"] = shown["verdict"].replace("", UNJUDGED)
    shown = shown.map(lambda v: v.replace("|", r"\|") if isinstance(v, str) else v)
    shown = shown.rename(columns={"ours_median": "ours"})
    return shown.to_markdown(index=False, disable_numparse=True) + "\n"
