"""Tables as text: CSV, Markdown, LaTeX, HTML."""

import html
import re

import pandas as pd

from leastaction.report import readable

# A line that begins with a mark is coloured where there are colours.
MARKS = {"[+]": "extra", "[-]": "missing"}
# Stands for the end of a line within a cell until the table is written.
BREAK = "\N{LINE SEPARATOR}"

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Table</title><style>
body {{ font: 14px/1.4 system-ui, sans-serif; color: #1c2128; margin: 1.5rem; }}
table {{ border-collapse: collapse; }}
th, td {{ padding: .35rem .6rem; border-bottom: 1px solid #d9dde3; text-align: left;
  vertical-align: top; }}
th {{ background: #f3f5f8; font-size: .85rem; }}
.extra {{ color: #b3261e; font-weight: 600; }}
.missing {{ color: #8a5a00; font-weight: 600; }}
</style></head><body>
{body}
</body></html>
"""


def render(frame: pd.DataFrame, kind: str) -> str:
    """Text of a table: ``csv`` with every digit; ``md``, ``tex`` and ``html`` to read.

    A cell may have several lines; in ``html`` those that begin with ``[+]`` or ``[-]``
    are coloured. ``frame.attrs["note"]`` stands below the table, except in ``csv``.

    Raises
    ------
    ValueError
        If `kind` is something else.
    """
    if kind == "csv":
        joined = frame.map(lambda v: v.replace("\n", "; ") if isinstance(v, str) else v)
        return joined.to_csv(index=False, lineterminator="\n")
    shown = frame.copy()
    for name in frame.columns:
        if frame[name].dtype.kind == "f":
            shown[name] = frame[name].map(lambda v: readable.number_text(v, 4))
    shown = shown.astype("object").where(shown.notna(), "")
    note = frame.attrs.get("note", "")
    if kind == "tex":
        return _tex(shown) + (f"\n{note}\n" if note else "")
    shown = shown.map(lambda v: v.replace("\n", BREAK))
    if kind == "md":
        text = shown.map(lambda v: v.replace("|", r"\|"))
        table = text.to_markdown(index=False, disable_numparse=True) + "\n"
        return table.replace(BREAK, "<br>") + (f"\n{note}\n" if note else "")
    if kind == "html":
        body = shown.to_html(index=False, escape=True, border=0, na_rep="")
        for mark, name in MARKS.items():
            line = re.escape(mark) + f"[^<{BREAK}]*"
            body = re.sub(line, rf'<span class="{name}">\g<0></span>', body)
        body = body.replace(BREAK, "<br>")
        if note:
            body += f"\n<p>{html.escape(note)}</p>"
        return _PAGE.format(body=body)
    raise ValueError(f"kind {kind!r} must be one of csv, md, tex, html")


def _tex(shown: pd.DataFrame) -> str:
    """LaTeX table; columns as wide as their longest line."""
    longest = shown.map(lambda v: max(map(len, v.split("\n")))).max()
    layout = "".join(f"p{{{min(5.0, 0.5 + 0.15 * n):.1f}cm}}" for n in longest)
    broken = shown.map(lambda v: v.replace("\n", BREAK))
    text = broken.to_latex(index=False, escape=True, column_format=layout)
    return text.replace("±", r"$\pm$").replace(BREAK, r" \newline ")
