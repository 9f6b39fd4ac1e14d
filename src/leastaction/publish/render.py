"""Tables as text: CSV, Markdown, LaTeX, HTML."""

import pandas as pd

from leastaction.publish import readable

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Table</title><style>
body {{ font: 14px/1.4 system-ui, sans-serif; color: #1c2128; margin: 1.5rem; }}
table {{ border-collapse: collapse; }}
th, td {{ padding: .35rem .6rem; border-bottom: 1px solid #d9dde3; text-align: left;
  vertical-align: top; }}
th {{ background: #f3f5f8; font-size: .85rem; }}
</style></head><body>
{body}
</body></html>
"""


def render(frame: pd.DataFrame, kind: str) -> str:
    """Text of a table: ``csv`` with every digit; ``md``, ``tex`` and ``html`` to read.

    Raises
    ------
    ValueError
        If `kind` is something else.
    """
    if kind == "csv":
        return frame.to_csv(index=False, lineterminator="\n")
    shown = frame.copy()
    for name in frame.columns:
        if frame[name].dtype.kind == "f":
            shown[name] = frame[name].map(lambda v: readable.number_text(v, 4))
    shown = shown.astype("object").where(shown.notna(), "")
    if kind == "md":
        text = shown.map(lambda v: v.replace("|", r"\|"))
        return text.to_markdown(index=False, disable_numparse=True) + "\n"
    if kind == "tex":
        widths = [min(5.0, 0.5 + 0.15 * shown[n].str.len().max()) for n in shown]
        layout = "".join(f"p{{{width:.1f}cm}}" for width in widths)
        text = shown.to_latex(index=False, escape=True, column_format=layout)
        return text.replace("±", r"$\pm$")
    if kind == "html":
        body = shown.to_html(index=False, escape=True, border=0, na_rep="")
        return _PAGE.format(body=body)
    raise ValueError(f"kind {kind!r} must be one of csv, md, tex, html")
