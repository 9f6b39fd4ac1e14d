"""Tables: found by name in the families, and written as CSV, Markdown, LaTeX, HTML.

A table is a function ``name(panels)`` of a family that returns a :class:`Table`; the
family's package names it in ``TABLES``.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from leastaction.core.families import implementation
from leastaction_papers.scorecard import readable, registered_tables
from leastaction_papers.scorecard.panel import Panel
from leastaction_papers.scorecard.templates import page

# A line that begins with a mark is coloured where there are colours.
EXTRA, MISSING = "[+]", "[-]"
MARKS = {EXTRA: "extra", MISSING: "missing"}
# Stands for the end of a line within a cell until the table is written: a character of
# private use, which is one column wide whether or not `tabulate` finds `wcwidth`.
BREAK = "\ue000"


@dataclass(frozen=True)
class Table:
    """Rows with names of the columns, and what to know of them.

    Lines of a cell that begin with ``[+]`` or ``[-]`` are coloured in HTML.
    """

    rows: pd.DataFrame
    note: str = ""


def table(name: str, panels: Sequence[Panel]) -> Table:
    """Table `name` of the panels.

    ValueError if no family has it, or it cannot show one of the panels.
    """
    known = registered_tables()
    if name not in known:
        raise ValueError(f"unknown table {name!r}; known: {', '.join(known)}")
    return implementation(known[name])(panels)


def render(table: Table, kind: str, caption: str = "") -> str:
    """Text of a table: ``csv`` with every digit; ``md``, ``tex`` and ``html`` to read.

    The note stands below the table, except in ``csv``; the caption above it, in
    ``html``, where formulas are typeset. ValueError if `kind` is something else.
    """
    frame = table.rows
    if kind == "csv":
        joined = frame.map(lambda v: v.replace("\n", "; ") if isinstance(v, str) else v)
        return joined.to_csv(index=False, lineterminator="\n")
    shown = frame.copy()
    for name in frame.columns:
        if frame[name].dtype.kind == "f":
            shown[name] = frame[name].map(lambda v: readable.number_text(v, 4))
    shown = shown.astype("object").where(shown.notna(), "")
    if kind == "tex":
        text = _tex(shown)
    elif kind == "md":
        text = markdown(shown)
    elif kind == "html":
        return _html(shown, table.note, caption)
    else:
        raise ValueError(f"kind {kind!r} must be one of csv, md, tex, html")
    return text + (f"\n{table.note}\n" if table.note else "")


def markdown(shown: pd.DataFrame) -> str:
    """Markdown table of texts, without blanks that align it."""

    def cell(value) -> str:
        return str(value).replace("|", r"\|").replace("\n", "<br>")

    rule = ["---"] * len(shown.columns)
    lines = [map(cell, shown.columns), rule, *(map(cell, row) for row in shown.values)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _html(shown: pd.DataFrame, note: str, caption: str) -> str:
    broken = shown.map(_cell).rename(columns=_cell)
    body = broken.to_html(index=False, escape=False, border=0, na_rep="")
    for mark, name in MARKS.items():
        line = re.escape(mark) + f"(?:[^<{BREAK}]|</?su[bp]>)*"
        body = re.sub(line, rf'<span class="{name}">\g<0></span>', body)
    if caption:
        body = body.replace("<thead>", f"<caption>{_cell(caption)}</caption><thead>", 1)
    body, title = body.replace(BREAK, "<br>"), caption or "Table"
    return page("table.html", title=title, table=body, note=note) + "\n"


def _cell(value) -> str:
    return readable.typeset(str(value)).replace("\n", BREAK)


def _tex(shown: pd.DataFrame) -> str:
    """LaTeX table; columns as wide as their longest line."""
    longest = shown.map(lambda v: max(map(len, v.split("\n")))).max()
    layout = "".join(f"p{{{min(5.0, 0.5 + 0.15 * n):.1f}cm}}" for n in longest)
    broken = shown.map(lambda v: v.replace("\n", BREAK))
    text = broken.to_latex(index=False, escape=True, column_format=layout)
    return text.replace("±", r"$\pm$").replace(BREAK, r" \newline ")
