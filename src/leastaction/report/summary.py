"""Scorecard to read: counts, misses, errors of papers, and the printed numbers."""

import pandas as pd

from leastaction.report.readable import number_text
from leastaction.report.replica import ERRATA
from leastaction.report.scorecard_page import UNJUDGED, VERDICTS
from leastaction.report.verdict import MISSES, PAPER_IN_ERROR

HEADING = """# Results

Made by the workflow (`snakemake docs/results.md`), not by hand. *Corrected* is what the
printed number should be ([errata](errata.md)); *ours* is the median over replicates.
All rows, those that we add among them, with their ranges: `results/scorecard.html`.

Estimators called *published* are the paper's own recipe. Where one does not keep our
limit, it *meets* if the printed number is in the range (5 to 95 %) of its draws with
the right terms, and the paper is *in error* if an erratum tells why the recipe as
printed cannot give that number; else it *misses*. Numbers that we add have no limit for
it.
"""
SHOWN = ("example", "item", "quantity", "unit", "estimator")
NUMBERS = ("printed", "corrected", "ours_median")


def summary(frame: pd.DataFrame) -> str:
    """Markdown page of a scorecard.

    Parameters
    ----------
    frame
        Result of :func:`leastaction.report.collect.scorecard`.
    """
    verdicts = frame["verdict"].replace("", UNJUDGED)
    counts = pd.crosstab(frame["paper"], verdicts)
    counts = counts.reindex(columns=VERDICTS, fill_value=0)
    counts.loc["all"] = counts.sum()
    parts = [HEADING, counts.to_markdown() + "\n"]
    for heading, name, last in (
        ("What misses", MISSES, ("target", "note")),
        ("Where a paper is in error", PAPER_IN_ERROR, ("note",)),
    ):
        rows = frame[frame["verdict"] == name]
        parts.append(f"## {heading}\n")
        parts.append(_table(rows, last) if len(rows) else "Nothing.\n")
    for paper, rows in frame[frame["printed"].notna()].groupby("paper"):
        parts += [f"## Printed numbers: {paper}\n", _table(rows, ("verdict",))]
    return "\n".join(parts)


def _table(rows: pd.DataFrame, last: tuple[str, ...]) -> str:
    shown = rows[[*SHOWN, *NUMBERS, *last]].copy().astype("object")
    for name in NUMBERS:
        shown[name] = rows[name].map(lambda value: number_text(value, 5))
    if "verdict" in shown:
        shown["verdict"] = shown["verdict"].replace("", UNJUDGED)
    if "note" in shown:
        shown["note"] = shown["note"].map(_linked)
    shown = shown.map(lambda v: v.replace("|", r"\|") if isinstance(v, str) else v)
    shown = shown.rename(columns={"ours_median": "ours"})
    return shown.to_markdown(index=False, disable_numparse=True) + "\n"


def _linked(note: str) -> str:
    """A note whose reference to the errata is a link."""
    return ERRATA.sub(r"[\g<0>](errata.md)", note)
