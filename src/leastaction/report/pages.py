"""Pages made of the scorecard, each without another file.

- ``results/scorecard.html``, ``results/studies.html``: :func:`scorecard_page`;
- ``results/story.html``, what is shown of each paper: :func:`papers_page`;
- ``docs/results.md``, what misses and what a paper prints: :func:`results_page`;
- ``results/beyond.html``, ``docs/beyond.md``, every limit that we set on examples of
  folders ``beyond_<paper>``, or of a paper's own that a study with a question compares:
  :func:`beyond_page`, :func:`beyond_document`.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath

import pandas as pd

from leastaction.report.readable import number_text, typeset
from leastaction.report.recovery import BASELINE, MAIN, is_replica
from leastaction.report.scorecard import KINDS, PRINTED, kinds, verdict_counts
from leastaction.report.tables import markdown
from leastaction.report.templates import page
from leastaction.report.verdict import (
    ERRATA,
    INACCURATE,
    MEETS,
    MISSES,
    NO_TARGET,
    NOT_REPRODUCED,
    PAPER_ERRS,
    VERDICTS,
)

FILTERS = ("paper", "rows", "example", "estimator", "verdict")
# What makes the model is named by its stage; what comes after is one.
STAGES = ("simulate", "differentiate", "assemble", "identify", "validate")
FIRST = (BASELINE, MAIN)
OWN_RECIPE = "the paper's own recipe, run by us"
# Printed numbers that are listed of a paper, of one example and in all.
PER_EXAMPLE, IN_ALL = 2, 8


# All rows


def scorecard_page(
    frame: pd.DataFrame, title: str, papers: Mapping[str, Mapping] | None = None
) -> str:
    """Self-contained page: verdicts counted, rows filtered by columns and text.

    It opens on the rows whose number a paper prints, if there are any. `papers` have
    `title`, `number` and `year` by name.
    """
    frame = by_number(frame, papers or {})
    frame = frame.assign(
        verdict=frame["verdict"].replace("", NO_TARGET), rows=kinds(frame)
    )
    choices = {name: list(dict.fromkeys(frame[name])) for name in FILTERS}
    choices |= {name: sorted(choices[name]) for name in ("example", "estimator")}
    choices["rows"] = [kind for kind in KINDS if kind in choices["rows"]]
    choices["verdict"] = [v for v in VERDICTS if v in choices["verdict"]]
    return page(
        "scorecard.html",
        title=title,
        rows=frame.to_dict("records"),
        choices=choices,
        opens=PRINTED if PRINTED in choices["rows"] else "",
    )


def by_number(frame: pd.DataFrame, papers: Mapping[str, Mapping]) -> pd.DataFrame:
    """Rows in the order of the `papers`, each named as :func:`label` does."""
    order = {name: i for i, name in enumerate(papers)}
    rank = frame["paper"].map(lambda name: order.get(name, len(order)))
    frame = frame.iloc[rank.argsort(kind="stable")]
    return frame.assign(
        paper=frame["paper"].map(
            lambda name: label(papers[name]) if name in papers else name
        )
    )


def label(paper: Mapping) -> str:
    """A paper in short: ``1 Tripura et al. (2024)``.

    >>> label({"number": 2, "title": "Purnomo, Hayashibe: Sparse", "year": 2023})
    '2 Purnomo, Hayashibe (2023)'
    """
    authors = paper["title"].partition(": ")[0].split(", ")
    named = ", ".join(authors) if len(authors) < 3 else f"{authors[0]} et al."
    number = f"{paper['number']} " if paper.get("number") else ""
    return f"{number}{named}" + (f" ({paper['year']})" if paper.get("year") else "")


# The papers on one page


def paper_summary(
    name: str, settings: Mapping, scorecard: pd.DataFrame, seconds: Mapping[str, float]
) -> dict:
    """What the results say of the paper `name`.

    Its `settings`; `verdicts` on printed numbers, one row per estimator; `bars`, the
    same of the paper's own recipe and of ours; `misses`, rows; `numbers`, the printed
    ones that differ most from the corrected ones; `cost`, of the `seconds` of each job
    by the path of its benchmark file.
    """
    rows = scorecard[scorecard["paper"] == name]
    found = verdicts(rows)
    return {
        **settings,
        "name": name,
        "label": label(settings),
        "verdicts": found,
        "bars": bars(found),
        "misses": rows[rows["verdict"] == MISSES].to_dict("records"),
        "numbers": largest_differences(rows),
        "cost": cost(seconds),
    }


def verdicts(rows: pd.DataFrame) -> list[dict]:
    """Printed numbers by estimator and verdict; the paper's and our best first."""
    counts = verdict_counts(rows, by=("estimator",))
    counts = counts[counts.index.get_level_values("kind") == PRINTED].droplevel("kind")
    counts = counts[counts.sum(axis=1) > 0]
    order = sorted(counts.index, key=lambda e: (e not in FIRST, e))
    return [
        {"estimator": e, **{v: int(counts.loc[e, v]) for v in VERDICTS}} for e in order
    ]


def bars(verdicts: Sequence[Mapping]) -> dict[str, dict[str, int]]:
    """Printed numbers by verdict: of the paper's own recipe, and of our best."""
    sides = {
        OWN_RECIPE: [row for row in verdicts if is_replica(row["estimator"])],
        MAIN: [row for row in verdicts if row["estimator"] == MAIN],
    }
    return {
        side: {v: sum(row[v] for row in rows) for v in VERDICTS}
        for side, rows in sides.items()
    }


def largest_differences(rows: pd.DataFrame) -> list[dict]:
    """Printed numbers that are furthest from the corrected ones.

    Each has `example`, `item`, `quantity`, `unit`, `printed`, `corrected`, and `ours`:
    number and verdict of each estimator of `FIRST` ("" where it has none).
    """
    found = []
    printed = rows[rows["printed"].notna()]
    keys = ["example", "item", "quantity", "unit"]
    for key, group in printed.groupby(keys, sort=False):
        numbers = group.iloc[0][["printed", "corrected"]].astype(float)
        distance = _distance(*numbers)
        if not distance:
            continue
        by_estimator = group.drop_duplicates("estimator").set_index("estimator")
        entry = dict(zip(keys, key, strict=True)) | numbers.map(number_text).to_dict()
        entry["ours"] = [_ours(by_estimator, name) for name in FIRST]
        found.append((-distance, -by_estimator.index.isin(FIRST).sum(), entry))
    kept, of_example = [], Counter()
    for *_, entry in sorted(found, key=lambda ranked: ranked[:2]):
        of_example[entry["example"]] += 1
        if of_example[entry["example"]] <= PER_EXAMPLE:
            kept.append(entry)
    return sorted(kept[:IN_ALL], key=lambda entry: (entry["example"], entry["item"]))


def cost(seconds: Mapping[str, float]) -> dict:
    """Time of the jobs, s: `wall` in all, and `stages` (of each)."""
    stages = dict.fromkeys((*STAGES, "publish"), 0.0)
    for path, spent in seconds.items():
        stage = PurePath(path).name.partition(".")[0]
        stages[stage if stage in STAGES else "publish"] += spent
    return {"wall": sum(stages.values()), "stages": stages}


def _distance(printed: float, corrected: float) -> float:
    """Relative difference of a printed number; zero where nothing is corrected."""
    scale = max(abs(printed), abs(corrected))
    found = abs(printed - corrected) / scale if scale > 0 else 0.0
    return 0.0 if math.isnan(found) else found


def _ours(by_estimator: pd.DataFrame, name: str) -> dict:
    if name not in by_estimator.index:
        return {"value": "", "verdict": ""}
    row = by_estimator.loc[name]
    return {
        "value": number_text(row["ours_median"], 5),
        "verdict": row["verdict"] or NO_TARGET,
    }


def papers_page(
    papers: Sequence[Mapping],
    pictures: Mapping[str, bytes],
    findings: Mapping[str, str],
) -> str:
    """Self-contained page of the results of :func:`paper_summary`, in their order.

    `pictures` and `findings` are the PNG of each figure of the papers, and what our
    results in it show, by its path without suffix.
    """
    sides = [paper["bars"] for paper in papers]
    found = {
        side: {v: sum(one[side][v] for one in sides) for v in VERDICTS}
        for side in (sides[0] if sides else ())
    }
    return page(
        "papers.html",
        title="The law behind measured motion",
        papers=papers,
        pictures=pictures,
        findings=findings,
        verdicts=VERDICTS,
        first=FIRST,
        found=found,
    )


# The page of the documentation

RESULTS_HEADING = """# Results

Made by the workflow (`snakemake docs/results.md`), not by hand. *Corrected* is what the
printed number should be ([errata](errata.md)); *ours* is the median over replicates.
All rows, those that we add among them, with their ranges: `results/scorecard.html`.

Of our own estimators a printed number is asked for with our limit: *misses*, ours does
not keep it; *paper-errs*, ours keeps it, and an erratum shows that the printed number
is wrong; *inaccurate*, ours keeps it, and the paper's honest estimate is further off;
*meets*, both keep it.

Estimators called *published* are the paper's own recipe. It *meets* if the printed
number lies in the 95 % prediction interval of one more draw with the right terms, or if
both keep our limit; *paper-errs* if the recipe gives the corrected number and an
erratum shows that the printed one is wrong; else it is *not-reproduced*, and the note
says why or that we do not know.

These are the counts of `results/story.html`:
"""
KINDS_HEADING = """By kind and by verdict, all estimators together; numbers that we add
(*ours*) and sizes of libraries (*facts*, which have no verdict) are counted apart:
"""
SHOWN = ("example", "item", "quantity", "unit", "estimator")
SHOWN_NUMBERS = ("printed", "corrected", "ours_median")


def results_page(
    frame: pd.DataFrame, papers: Mapping[str, Mapping] | None = None
) -> str:
    """Markdown page of a scorecard; `papers` as of :func:`scorecard_page`."""
    frame = by_number(frame, papers or {})
    parts = [RESULTS_HEADING, markdown(_sides(frame)), KINDS_HEADING]
    counts = verdict_counts(frame)
    total = counts.groupby(level="kind").sum().reindex(KINDS, fill_value=0)
    total.index = pd.MultiIndex.from_product([["all"], total.index])
    counts = pd.concat([counts, total]).rename_axis(["paper", "kind"]).reset_index()
    parts.append(markdown(counts.astype("object")))
    for heading, name, last in (
        ("What misses our limit", MISSES, ("target", "note")),
        ("What is not reproduced", NOT_REPRODUCED, ("note",)),
        ("Where a paper errs", PAPER_ERRS, ("note",)),
        ("Where a paper's estimate is inaccurate", INACCURATE, ("target",)),
    ):
        rows = frame[frame["verdict"] == name]
        parts.append(f"## {heading}\n")
        parts.append(_table(rows, last) if len(rows) else "Nothing.\n")
    for paper, rows in frame[frame["printed"].notna()].groupby("paper", sort=False):
        parts += [f"## Printed numbers: {paper}\n", _table(rows, ("verdict",))]
    return "\n".join(parts)


def _sides(frame: pd.DataFrame) -> pd.DataFrame:
    """The counts of the page of papers, and their sums."""
    side_of = "printed numbers beside"
    shown = [
        {"paper": paper, side_of: side, **counts}
        for paper, rows in frame.groupby("paper", sort=False)
        for side, counts in bars(verdicts(rows)).items()
        if sum(counts.values())
    ]
    table = pd.DataFrame(shown, columns=["paper", side_of, *VERDICTS])
    total = table.groupby(side_of, sort=False)[list(VERDICTS)].sum()
    total = total.reset_index().assign(paper="all")
    return pd.concat([table, total], ignore_index=True).astype("object")


def _table(rows: pd.DataFrame, last: tuple[str, ...]) -> str:
    shown = rows[[*SHOWN, *SHOWN_NUMBERS, *last]].copy().astype("object")
    for name in SHOWN_NUMBERS:
        shown[name] = rows[name].map(lambda value: number_text(value, 5))
    if "verdict" in shown:
        shown["verdict"] = shown["verdict"].replace("", NO_TARGET)
    for name in shown.columns.difference(("example", "item", "estimator", "verdict")):
        shown[name] = shown[name].map(typeset)
    if "note" in shown:
        shown["note"] = shown["note"].str.replace(
            ERRATA, r"[\g<0>](errata.md)", regex=True
        )
    return markdown(shown.rename(columns={"ours_median": "ours"}))


# Beyond the papers

BEYOND_TITLE = "Beyond the papers"
BEYOND_INTRODUCTION = (
    "Each paper ends with what it leaves open. Here are steps that we have taken from "
    "there, with every limit that we set ourselves. A limit of an error holds for the "
    "median and for the 95th percentile over the replicates; a row that does not keep "
    "its limit misses it. Other estimators stand beside ours, from the same data."
)


def section(
    folder: str, paper: Mapping, studies: Mapping[str, Mapping], rows: pd.DataFrame
) -> dict:
    """What the page says of one folder of examples.

    `paper` has `title`, `number` and `year` of the paper that it goes beyond (empty if
    unknown), `studies` by name `question`, `caption`, `finding` and, for the page,
    `picture`, a PNG.

    Its `rows` are those of the scorecard of the recommended estimator with a limit,
    those of one quantity together, beside those of other estimators; `kept` is how many
    keep it.
    """
    ours = rows["estimator"] == MAIN
    judged = rows[ours & (rows["target"] != "")].sort_values("quantity", kind="stable")
    others = rows[~ours].to_dict("records")
    return {
        "folder": folder,
        "heading": f"Beyond paper {label(paper)}" if paper else folder,
        "studies": studies,
        "rows": [_told(row, others) for row in judged.to_dict("records")],
        "kept": int((judged["verdict"] == MEETS).sum()),
    }


def _told(row: Mapping, others: Sequence[Mapping]) -> dict[str, str]:
    """A row in words, with what other estimators find."""
    low, high = row["ours_low"], row["ours_high"]
    band = f" ({number_text(low, 3)} … {number_text(high, 3)})" if low < high else ""
    unit = "" if row["unit"] == "1" else f" {row['unit']}"
    beside = (
        f"{one['estimator']} {number_text(one['ours_median'], 3)}"
        for one in others
        if all(one[name] == row[name] for name in ("quantity", "example"))
    )
    return {
        "quantity": row["quantity"],
        "example": row["example"],
        "ours": number_text(row["ours_median"], 3) + band + unit,
        "limit": row["target"],
        "verdict": row["verdict"],
        "others": "; ".join(beside),
        "note": row["note"],
    }


def beyond_page(sections: Sequence[Mapping]) -> str:
    """Self-contained HTML page of the results of :func:`section`."""
    about = {"title": BEYOND_TITLE, "introduction": BEYOND_INTRODUCTION}
    return page("beyond.html", **about, sections=sections)


def beyond_document(sections: Sequence[Mapping]) -> str:
    """Page of the documentation of the results of :func:`section`, as Markdown."""
    parts = [
        f"# {BEYOND_TITLE}",
        "Made by the workflow (`snakemake docs/beyond.md`), not by hand; "
        "`results/beyond.html` shows the same with figures.",
        BEYOND_INTRODUCTION,
    ]
    for one in sections:
        parts.append(f"## {one['heading']}")
        for name, study in one["studies"].items():
            told = typeset(f"{study['question']} {study['finding']}".strip())
            parts.append(f"{told} (`results/studies/{name}.svg`)")
        if one["rows"]:
            table = pd.DataFrame(one["rows"]).map(typeset)
            again = table["quantity"] == table["quantity"].shift()
            table["quantity"] = table["quantity"].mask(again, "")
            parts += [
                f"{one['kept']} of {len(one['rows'])} rows keep their limit; examples "
                f"in `config/examples/{one['folder']}`.",
                markdown(table).strip(),
            ]
    return "\n\n".join(parts) + "\n"
