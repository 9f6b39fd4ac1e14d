"""What the papers leave open: our studies of it, and every limit that we set there.

Examples of a folder ``beyond_<paper>`` take a paper's own next step. Their rows with a
limit stand here, whatever family writes them, and the studies that show them.

- ``results/beyond.html``: :func:`beyond_page`;
- ``docs/beyond.md``: :func:`beyond_document`.
"""

from collections.abc import Mapping, Sequence

import pandas as pd

from leastaction.report.pages import label
from leastaction.report.panel import MAIN
from leastaction.report.readable import number_text, typeset
from leastaction.report.tables import markdown
from leastaction.report.templates import page
from leastaction.report.verdict import MEETS

TITLE = "Beyond the papers"
INTRODUCTION = (
    "Each paper ends with what it leaves open. Here are steps that we have taken from "
    "there, with every limit that we set ourselves. A limit of an error holds for the "
    "median and for the 95th percentile over the replicates; a row that does not keep "
    "its limit misses it. Other estimators stand beside ours, from the same data."
)
DIGITS = 3


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
    band = f" ({number_text(low, DIGITS)} … {number_text(high, DIGITS)})"
    unit = "" if row["unit"] == "1" else f" {row['unit']}"
    beside = (
        f"{one['estimator']} {number_text(one['ours_median'], DIGITS)}"
        for one in others
        if all(one[name] == row[name] for name in ("quantity", "example"))
    )
    return {
        "quantity": row["quantity"],
        "example": row["example"],
        "ours": number_text(row["ours_median"], DIGITS)
        + (band if low < high else "")
        + unit,
        "limit": row["target"],
        "verdict": row["verdict"],
        "others": "; ".join(beside),
        "note": row["note"],
    }


def beyond_page(sections: Sequence[Mapping]) -> str:
    """Self-contained HTML page of the results of :func:`section`."""
    return page(
        "beyond.html", title=TITLE, introduction=INTRODUCTION, sections=sections
    )


def beyond_document(sections: Sequence[Mapping]) -> str:
    """Page of the documentation of the results of :func:`section`, as Markdown."""
    parts = [
        f"# {TITLE}",
        "Made by the workflow (`snakemake docs/beyond.md`), not by hand; "
        "`results/beyond.html` shows the same with figures.",
        INTRODUCTION,
    ]
    for one in sections:
        parts.append(f"## {one['heading']}")
        for name, study in one["studies"].items():
            told = typeset(f"{study['question']} {study['finding']}".strip())
            parts.append(f"{told} (`results/studies/{name}.svg`)")
        if one["rows"]:
            parts += [
                f"{one['kept']} of {len(one['rows'])} rows keep their limit; examples "
                f"in `config/examples/{one['folder']}`.",
                markdown(pd.DataFrame(one["rows"]).map(typeset)).strip(),
            ]
    return "\n\n".join(parts) + "\n"
