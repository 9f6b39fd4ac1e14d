"""Scorecard as one HTML page that needs nothing else."""

from collections import Counter

import jinja2
import numpy as np
import pandas as pd
from markupsafe import Markup, escape

from leastaction.report.readable import number_text
from leastaction.report.replica import ERRATA
from leastaction.report.verdict import MEETS, MISSES, PAPER_IN_ERROR

# From results/, where the page lies.
ERRATA_PAGE = "../docs/errata.md"
FILTERS = ("paper", "example", "estimator", "verdict")
UNJUDGED = "no target"
VERDICTS = (MISSES, PAPER_IN_ERROR, MEETS, UNJUDGED)

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>
:root { color-scheme: light; --line: #d9dde3; --dim: #59636e; }
body { font: 14px/1.4 system-ui, sans-serif; color: #1c2128; background: #fff;
  max-width: 1180px; margin: 1.5rem auto; padding: 0 10px; }
h1 { font-size: 1.5rem; margin: 0 0 .3rem; }
p { margin: .3rem 0; max-width: 60rem; color: var(--dim); }
.counts { display: flex; flex-wrap: wrap; gap: .5rem; margin: .9rem 0; }
.counts button { font: inherit; text-align: left; cursor: pointer; flex: 1 1 9.5rem;
  display: flex; flex-direction: column; justify-content: flex-start;
  padding: .4rem .8rem; border: 1px solid var(--line); border-left-width: 5px;
  border-radius: 5px; background: #fff; color: inherit; }
.counts b { display: block; font-size: 1.4rem; }
.counts button[aria-pressed=true] { background: #eef1f5; border-color: #59636e; }
form { display: flex; flex-wrap: wrap; gap: .6rem; align-items: end; margin: .8rem 0; }
label { font-size: .8rem; color: var(--dim); }
select, input { display: block; font: inherit; padding: .25rem .4rem; color: #1c2128;
  border: 1px solid #aab2bd; border-radius: 4px; background: #fff; }
input { width: 15rem; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .3rem .45rem; border-bottom: 1px solid var(--line);
  vertical-align: top; text-align: left; }
th { position: sticky; top: 0; background: #f3f5f8; font-size: .8rem; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
td.quantity { min-width: 10rem; max-width: 24rem; overflow-wrap: anywhere; }
td.name { min-width: 6.7rem; overflow-wrap: anywhere; }
.dim, .note { color: var(--dim); font-size: .85rem; }
.note, .range { display: block; }
.range { white-space: normal; }
.badge { display: inline-block; padding: .05rem .45rem; border-radius: 9px;
  white-space: nowrap; font-size: .8rem; font-weight: 600; }
tr[hidden] { display: none; }
.v-meets .badge { background: #dff3e4; color: #14572c; }
.v-misses .badge { background: #fde2df; color: #8c1810; }
.v-paper-in-error .badge { background: #fff0cc; color: #6b4700; }
.v-no-target .badge { background: #eceff3; color: #3f4954; }
tr.v-misses td { background: #fff7f6; }
tr.v-paper-in-error td { background: #fffbf0; }
button.v-meets { border-left-color: #2f9e55; }
button.v-misses { border-left-color: #d1382b; }
button.v-paper-in-error { border-left-color: #d99a0b; }
button.v-no-target { border-left-color: #8a95a1; }
@media print { form, .counts button { display: none; } th { position: static; } }
</style>
</head>
<body>
<h1>{{ title }}</h1>
<p>One line per number that a paper prints, and per number that we add.
<em>Corrected</em> is what the printed number should be; <em>ours</em> is the median
over the replicates, below it the 5th to 95th percentile. <em>Paper in error</em>: the
printed number disagrees with the corrected one by more than our limit and half a
printed digit, and ours keeps the limit.</p>
<p>Estimators called <em>published</em> are the paper's own recipe. Where one does not
keep our limit, it <em>meets</em> if the printed number is in the range of its draws
with the right terms, and the paper is in error if an entry of the errata tells why the
recipe as printed cannot give that number; else it misses.</p>
<div class="counts">
{%- for name, count, who in counts %}
<button type="button" class="v-{{ name | replace(' ', '-') }}" data-verdict="{{ name }}"
 aria-pressed="false"><b>{{ count }}</b>{{ name }}
<span class="note">{{ who }}</span></button>
{%- endfor %}
</div>
<form onsubmit="return false">
{%- for name, values in choices.items() %}
<label>{{ name }}<select name="{{ name }}"><option value="">all</option>
{%- for value in values %}<option>{{ value }}</option>{% endfor %}</select></label>
{%- endfor %}
<label>text<input type="search" name="text" placeholder="volatility, Table 2"></label>
<span class="dim" id="shown" role="status">{{ rows | length }} rows</span>
</form>
<table>
<thead><tr><th>example</th><th>item</th><th>quantity</th><th>estimator</th>
<th class="number">printed</th><th class="number">corrected</th>
<th class="number">ours</th><th class="number">n</th><th>target</th><th>verdict</th>
</tr></thead>
<tbody>
{%- for row in rows %}
<tr class="v-{{ row.verdict | replace(' ', '-') }}"
{%- for name in choices %} data-{{ name }}="{{ row[name] }}"{% endfor %}>
<td class="name">{{ row.example }}</td><td>{{ row.item }}</td>
<td class="quantity">{{ row.quantity }}
{%- if row.unit != "1" %} <span class="dim">[{{ row.unit }}]</span>{% endif %}
{%- if row.note %}<span class="note">{{ row.note }}</span>{% endif %}</td>
<td class="name">{{ row.estimator }}</td><td class="number">{{ row.printed }}</td>
<td class="number">{{ row.corrected }}</td>
<td class="number">{{ row.ours_median }}
{%- if row.range %}<span class="range dim">{{ row.range }}</span>{% endif %}</td>
<td class="number">{{ row.replicates }}</td><td>{{ row.target }}</td>
<td><span class="badge">{{ row.verdict }}</span></td></tr>
{%- endfor %}
</tbody>
</table>
<script>
const form = document.forms[0], rows = [...document.querySelectorAll("tbody tr")];
const buttons = [...document.querySelectorAll("[data-verdict]")]
  .filter(b => b.tagName === "BUTTON");
const selects = [...form.querySelectorAll("select")];
function filter() {
  const words = form.elements.text.value.toLowerCase().split(/\\s+/).filter(w => w);
  let count = 0;
  for (const row of rows) {
    const content = row.textContent.toLowerCase();
    const keep = selects.every(s => !s.value || row.dataset[s.name] === s.value)
      && words.every(w => content.includes(w));
    row.hidden = !keep;
    count += keep;
  }
  document.getElementById("shown").textContent = count + " of " + rows.length;
  for (const b of buttons)
    b.setAttribute("aria-pressed", b.dataset.verdict === form.elements.verdict.value);
}
form.addEventListener("input", filter);
for (const b of buttons) b.addEventListener("click", () => {
  const chosen = form.elements.verdict;
  chosen.value = chosen.value === b.dataset.verdict ? "" : b.dataset.verdict;
  filter();
});
filter();
</script>
</body>
</html>
"""


def to_html(frame: pd.DataFrame, title: str) -> str:
    """Self-contained page: verdicts counted, rows filtered by four columns and text.

    Parameters
    ----------
    frame
        Result of :func:`leastaction.report.collect.scorecard`.
    title
        Heading.
    """
    rows = [_shown(row) for row in frame.to_dict("records")]
    counts = [_count(v, rows) for v in VERDICTS]
    choices = {name: _choices(name, rows) for name in FILTERS}
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(_PAGE).render(
        title=title, rows=rows, counts=counts, choices=choices
    )


def _count(verdict: str, rows: list[dict]) -> tuple[str, int, str]:
    """How often a verdict stands, in all and by estimator."""
    found = Counter(row["estimator"] for row in rows if row["verdict"] == verdict)
    who = ", ".join(f"{name} {count}" for name, count in sorted(found.items()))
    return verdict, found.total(), who


def _choices(name: str, rows: list[dict]) -> list[str]:
    given = {row[name] for row in rows}
    return [v for v in VERDICTS if v in given] if name == "verdict" else sorted(given)


def _linked(note: str) -> Markup:
    """A note, escaped, whose reference to the errata is a link."""
    link = rf'<a href="{ERRATA_PAGE}">\g<0></a>'
    return Markup(ERRATA.sub(link, str(escape(note))))


def _shown(row: dict) -> dict:
    low, high = row["ours_low"], row["ours_high"]
    same = np.isnan(low) or low == high
    return {
        **row,
        "printed": number_text(row["printed"]),
        "corrected": number_text(row["corrected"]),
        "ours_median": number_text(row["ours_median"], 5),
        "range": "" if same else f"{number_text(low, 5)} … {number_text(high, 5)}",
        "verdict": row["verdict"] or UNJUDGED,
        "note": _linked(row["note"]),
    }
