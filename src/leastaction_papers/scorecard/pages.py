"""Pages made of the scorecard, each without another file.

- ``results/index.html``, one screen per paper: :func:`index_page`;
- ``results/scorecard.html``, every row, with filters: :func:`scorecard_page`;
- ``results/beyond.html``, ``docs/beyond.md``, every limit that we set on what is no
  printed number: :func:`beyond_page`, :func:`beyond_document`;
- ``docs/results.md``, counts, what misses, what is not reproduced:
  :func:`results_page`.
"""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from leastaction_papers.scorecard.readable import number_text, typeset
from leastaction_papers.scorecard.recovery import MAIN
from leastaction_papers.scorecard.scorecard import (
    LIMITS,
    OURS,
    RECIPE,
    kinds,
    verdict_counts,
)
from leastaction_papers.scorecard.tables import markdown
from leastaction_papers.scorecard.templates import page
from leastaction_papers.scorecard.verdict import (
    ERRATA,
    MEETS,
    MISSES,
    NO_TARGET,
    NOT_REPRODUCED,
    OTHER_SETTING,
    PAPER_ERRS,
    UNKNOWN,
    VERDICTS,
)

FILTERS = ("paper", "rows", "example", "estimator", "verdict")
SIDES = {RECIPE: "the paper's recipe", OURS: "recommended"}
KEEPS = "keeps-our-limit"
# Numbers that are listed with their cause, in this order.
LISTED = (NOT_REPRODUCED, OTHER_SETTING)


def scorecard_page(
    frame: pd.DataFrame, papers: Mapping[str, Mapping] | None = None
) -> str:
    """Self-contained page: verdicts counted, rows filtered by columns and text.

    It opens on the lines that carry the verdict on a printed number, if there are any.
    `papers` have `title`, `number` and `year` by name.
    """
    place = frame["paper"] + "/" + frame["number"]
    frame = by_number(frame.assign(place=place), papers or {})
    frame = frame.assign(
        verdict=frame["verdict"].replace("", NO_TARGET), rows=kinds(frame)
    )
    choices = {name: list(dict.fromkeys(frame[name])) for name in FILTERS}
    choices |= {name: sorted(choices[name]) for name in ("example", "estimator")}
    choices["rows"] = [kind for kind in LIMITS if kind in choices["rows"]]
    choices["verdict"] = [v for v in VERDICTS if v in choices["verdict"]]
    return page(
        "scorecard.html",
        title="Scorecard: every printed number beside ours",
        rows=frame.to_dict("records"),
        choices=choices,
        opens=choices["rows"][0] if choices["rows"] else "",
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


# One screen per paper


def paper_summary(name: str, settings: Mapping, scorecard: pd.DataFrame) -> dict:
    """What the results say of the paper `name`.

    Its `settings`; `bars`, counts of verdicts on printed numbers, of the paper's recipe
    and of ours; `lines`, its claims with what was printed, released and found;
    `causes`, the numbers that its recipe does not give as stated, with the reason.
    """
    rows = scorecard[scorecard["paper"] == name]
    numbers = {row["number"]: row for row in _numbers(rows)}
    claims = [
        {**numbers[c["number"]], "claim": c["claim"]}
        for c in settings["claims"]
        if c["number"] in numbers
    ]
    return {
        **settings,
        "name": name,
        "label": label(settings),
        "bars": bars(counts(rows)),
        "lines": claims,
        "causes": [r for v in LISTED for r in numbers.values() if r["verdict"] == v],
    }


def counts(rows: pd.DataFrame) -> dict[str, dict[str, int]]:
    """Printed numbers by verdict: of the paper's own recipe, and of our best."""
    table = verdict_counts(rows, by=())
    return {side: table.loc[side].to_dict() for side in (RECIPE, OURS)}


def bars(counted: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """Counts as the page shows them: of ours, whether the limit is kept."""
    recipe = {v: n for v, n in counted[RECIPE].items() if v != NO_TARGET}
    judged = {v: n for v, n in counted[OURS].items() if v != NO_TARGET}
    within = sum(judged.values()) - judged[MISSES]
    return {SIDES[RECIPE]: recipe, SIDES[OURS]: {KEEPS: within, MISSES: judged[MISSES]}}


def _numbers(rows: pd.DataFrame) -> Iterator[dict]:
    """Each printed number: the line that carries its verdict, and ours beside it."""
    marked = rows[rows["stands_for"] != ""]
    for number, group in marked.groupby("number", sort=False):
        sides = group.set_index("stands_for")
        line = sides.loc[RECIPE if RECIPE in sides.index else OURS]
        ours = sides["ours_median"].get(OURS)
        yield {
            "number": number,
            "quantity": f"{line['example'].partition('-')[0]}: {line['quantity']}",
            "item": line["item"],
            "unit": "" if line["unit"] == "1" else line["unit"],
            "printed": number_text(line["printed"]),
            "authors": number_text(line["authors"]),
            "recipe": _number(line["ours_median"]) if RECIPE in sides.index else "",
            "ours": "" if ours is None else _number(ours),
            "verdict": line["verdict"] or NO_TARGET,
            "verdict_of_ours": sides["verdict"].get(OURS, "") or NO_TARGET,
            "cause": line["cause"],
            "why": _why(line),
        }


def _number(value: float) -> str:
    return number_text(value, 5) or "none"


def _why(line: pd.Series) -> str:
    """A cause in a few words."""
    cause, released = line["cause"], line["example"].endswith("-as_released")
    if line["verdict"] == NOT_REPRODUCED:
        known = ERRATA.search(cause)
        short = "unknown" if cause.startswith(UNKNOWN) else cause.partition(";")[0]
        return f"{short}; {known[0]}" if known and known[0] not in short else short
    if cause:
        return cause.partition(", not stated")[0]
    return "as released" if released and line["verdict"] == MEETS else ""


def index_page(
    papers: Sequence[Mapping],
    pictures: Mapping[str, bytes],
    findings: Mapping[str, str],
) -> str:
    """Self-contained page of the results of :func:`paper_summary`, in their order.

    `pictures` and `findings` are the PNG of each figure of the papers, and what our
    results in it show, by its path without suffix.
    """
    return page(
        "index.html",
        title="The law behind measured motion",
        papers=papers,
        pictures=pictures,
        findings=findings,
    )


# The page of the documentation

RESULTS_HEADING = """# Results

Made by the workflow (`snakemake docs/results.md`), not by hand. Every row, with ranges
and filters, is in `results/scorecard.html`; `results/index.html` has one screen per
paper.

Each printed number is compared with the result of the paper's recipe, run by us as the
text states it, else as the authors released it. It *meets* if the number lies in the
95 % prediction interval of one more draw with the right terms, or if the errors of both
are within our limit; *paper-errs*: an entry of the [errata](errata.md) shows that the
printed number is wrong; *other-setting*: it is reproduced with a setting that the paper
does not state, named with its range; otherwise it is *not-reproduced*. Our estimator,
*recommended*, is judged beside it: it *misses* if its error exceeds our limit;
*inaccurate*: it is within the limit, and the paper's estimate is not.
"""


def results_page(
    frame: pd.DataFrame, papers: Mapping[str, Mapping] | None = None
) -> str:
    """Markdown page of a scorecard; `papers` as of :func:`scorecard_page`."""
    frame = by_number(frame, papers or {})
    shown = [
        {"paper": paper, "printed numbers beside": SIDES[side], **counted}
        for paper, rows in [*frame.groupby("paper", sort=False), ("all", frame)]
        for side, counted in counts(rows).items()
    ]
    parts = [RESULTS_HEADING, headline(frame), markdown(pd.DataFrame(shown))]
    missed = frame[(frame["verdict"] == MISSES) & (frame["estimator"] == MAIN)]
    parts += ["## What misses our limit\n", _missed(missed)]
    for name, heading in (
        (NOT_REPRODUCED, "What is not reproduced, and why"),
        (OTHER_SETTING, "What comes with a setting that the paper does not state"),
    ):
        parts.append(f"## {heading}\n")
        rows = frame[(frame["verdict"] == name) & (frame["stands_for"] == RECIPE)]
        parts.append(_causes(rows))
    return "\n".join(parts)


def headline(frame: pd.DataFrame) -> str:
    """Sentence of the README."""
    recipe, ours = bars(counts(frame)).values()
    words = [
        f"{recipe[name]} {text}"
        for name, text in (
            (PAPER_ERRS, "are errors of the paper, as an erratum shows"),
            (OTHER_SETTING, "come with a setting that the paper does not state"),
            (NOT_REPRODUCED, "are not reproduced"),
            (MISSES, "are limits that a rival method does not reach here"),
        )
        if recipe[name]
    ]
    within = f"{ours[KEEPS]} of {sum(ours.values())}"
    met = f"{recipe[MEETS]} of {sum(recipe.values())}"
    return (
        f"Our estimators keep the limits that we set for their errors beside {within} "
        f"printed numbers. The papers' recipes, run by us, reproduce {met}"
        + "".join(f"; {part}" for part in words)
        + ".\n"
    )


def _missed(rows: pd.DataFrame) -> str:
    if not len(rows):
        return "Nothing.\n"
    shown = rows[["example", "item", "quantity", "ours_median", "target"]].astype(
        object
    )
    shown["ours_median"] = rows["ours_median"].map(lambda v: number_text(v, 4))
    return markdown(_set(shown.rename(columns={"ours_median": "ours"})))


def _causes(rows: pd.DataFrame) -> str:
    """Numbers with the same cause together: what is printed distinguishes them."""
    if not len(rows):
        return "Nothing.\n"
    lines = []
    for (paper, cause), group in rows.groupby(["paper", "cause"], sort=False):
        named = "; ".join(
            f"{row['example']}: {row['quantity']} ({row['item']}) "
            f"{number_text(row['printed'])}, "
            f"here {number_text(row['ours_median'], 4) or 'none'}"
            for row in group.to_dict("records")
        )
        lines.append({"paper": paper, "cause": cause, "numbers: printed, here": named})
    shown = _set(pd.DataFrame(lines))
    shown["cause"] = shown["cause"].str.replace(
        ERRATA, r"[\g<0>](errata.md)", regex=True
    )
    return markdown(shown)


def _set(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.map(lambda text: typeset(text) if isinstance(text, str) else text)


# Beyond the papers

BEYOND_TITLE = "Beyond the papers"
BEYOND_INTRODUCTION = (
    "Each paper ends with open questions. Here are answers to some of them, with "
    "limits that we set for the errors. A limit applies to the median and to the 95th "
    "percentile over the replicates; a row that exceeds it misses it. Other "
    "estimators, from the same data, are listed beside ours."
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
        "rows": [_in_words(row, others) for row in judged.to_dict("records")],
        "kept": int((judged["verdict"] == MEETS).sum()),
    }


def _in_words(row: Mapping, others: Sequence[Mapping]) -> dict[str, str]:
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


def beyond_page(sections: Sequence[Mapping], matrix: bytes | None = None) -> str:
    """Self-contained HTML page of the results of :func:`section`.

    `matrix` is the picture of every method on every system, a PNG.
    """
    about = {"title": BEYOND_TITLE, "introduction": BEYOND_INTRODUCTION}
    return page("beyond.html", **about, sections=sections, matrix=matrix)


def beyond_document(sections: Sequence[Mapping]) -> str:
    """Page of the documentation of the results of :func:`section`, as Markdown."""
    parts = [
        f"# {BEYOND_TITLE}",
        "Made by the workflow (`snakemake docs/beyond.md`), not by hand; "
        "`results/beyond.html` has the figures and every row.",
        BEYOND_INTRODUCTION,
    ]
    for one in sections:
        parts.append(f"## {one['heading']}")
        for name, study in one["studies"].items():
            text = typeset(f"{study['question']} {study['finding']}".strip())
            parts.append(f"{text} (`results/studies/{name}.svg`)")
        if one["rows"]:
            parts.append(
                f"{one['kept']} of {len(one['rows'])} rows are within their limit; "
                f"examples in `config/examples/{one['folder']}`."
            )
        missed = [row for row in one["rows"] if row["verdict"] == MISSES]
        if missed:
            shown = pd.DataFrame(missed).drop(columns="verdict").map(typeset)
            parts += ["These are not:", markdown(shown).strip()]
    return "\n\n".join(parts) + "\n"
