"""The story as one HTML page that needs nothing else and can stand in another."""

from base64 import encodebytes
from collections.abc import Mapping, Sequence

import jinja2

from leastaction.report.scorecard_page import VERDICTS
from leastaction.report.story_chapter import FIRST, Chapter, kept
from leastaction.report.story_layout import LAYOUT

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The law behind measured motion</title>
</head>
<body>
<main class="story">
<style>{{ layout }}</style>
{% set plural = "s" if chapters | length != 1 %}
<h1>The law behind measured motion</h1>
<p>{{ chapters | length }} paper{{ plural }} on learning the laws of motion from data,
reproduced figure by figure and table by table. Each example is solved by
<b>published</b>, the paper's own recipe with its flaws, and by <b>recommended</b>, the
best that we know, from the same data. Every number that a paper prints is compared
with ours, and with what it should be where the paper slips.</p>
<p><b>{{ good }} of {{ judged }}</b> judged numbers keep the limit that we set or, of a
paper's own recipe, are reproduced or explained. All of them, with filters:
<a href="scorecard.html">scorecard</a>. A figure opens in full when it is clicked.</p>
<nav>
{% for c in chapters %}
<a href="#story-{{ c.name }}">{{ c.name | replace("_", " ") }}</a>
{% endfor %}
</nav>
{% for c in chapters %}
<section id="story-{{ c.name }}">
<h2>{{ c.heading }}</h2>
<p class="source">{{ c.authors }}</p>
<p>{{ c.summary }}</p>
<h3>What we find</h3>
<p>
{% for row in c.verdicts if row.estimator in first %}
{% set good, judged = kept([row]) %}
<b>{{ row.estimator | capitalize if loop.first else row.estimator }}</b> misses
{{ judged - good }} of {{ judged }} judged numbers{{ "," if not loop.last else "." }}
{% endfor %}
{% set wrong = c.verdicts | sum(attribute="paper-in-error") %}
{% if wrong %}
Where it says <em>paper-in-error</em> ({{ wrong }}), the printed number does not keep
the limit and ours does, or an entry of the errata tells why the recipe as printed
cannot give the number.
{% endif %}
</p>
<table>
<thead><tr><th>estimator</th>
{% for v in verdicts %}
<th class="number">{{ v }}</th>
{% endfor %}
</tr></thead>
<tbody>
{% for row in c.verdicts %}
<tr><td>{{ row.estimator }}</td>
{% for v in verdicts %}
<td class="number {{ v | replace(" ", "-") if row[v] }}">{{ row[v] }}</td>
{% endfor %}
</tr>
{% endfor %}
</tbody></table>
{% if c.numbers %}
<table>
<caption>Printed numbers that differ most from what they should be, and ours
(medians)</caption>
<thead><tr><th>example</th><th>where</th><th>quantity</th>
<th class="number">printed</th><th class="number">corrected</th>
{% for name in first %}
<th class="number">{{ name }}</th>
{% endfor %}
</tr></thead>
<tbody>
{% for n in c.numbers %}
<tr><td>{{ n.example }}</td><td>{{ n["item"] }}</td><td>{{ n.quantity }}
{% if n.unit != "1" %}
<span class="dim">[{{ n.unit }}]</span>
{% endif %}
</td>
<td class="number">{{ n.printed }}</td><td class="number">{{ n.corrected }}</td>
{% for o in n.ours %}
<td class="number {{ o.verdict | replace(" ", "-") }}">{{ o.value }}</td>
{% endfor %}
</tr>
{% endfor %}
</tbody></table>
{% endif %}
{% if c.misses %}
<details {{ "open" if c.misses | length <= 3 }}>
<summary>Misses of the limit: {{ c.misses | length }}</summary>
<ul>
{% for m in c.misses %}
<li>{{ m.example }}, {{ m.estimator }}: {{ m.quantity }} is {{ m.ours }}, should be
{{ m.target }}</li>
{% endfor %}
</ul></details>
{% else %}
<p>No number misses its limit.</p>
{% endif %}
<h3>Figures</h3>
<div class="figures">
{% for f in c.figures %}
<figure><a href="{{ f.file }}"><img alt="{{ f.label }}" src="{{ f.picture }}"></a>
<figcaption><b>{{ f.label }}.</b>
{% if f.claim %}
The paper: {{ f.claim }}
{% endif %}
</figcaption></figure>
{% endfor %}
</div>
{% if c.tables %}
<p>Tables:
{% for t in c.tables %}
<a href="{{ t.file }}">{{ t.label }}</a>{{ "," if not loop.last }}
{% endfor %}
</p>
{% endif %}
<h3>Parameters</h3>
{% for e in c.examples %}
<details><summary>{{ e.title }} <span class="dim">section {{ e.section }},
config/examples/{{ c.name }}/{{ e.name }}.yaml</span></summary>
<pre>{{ e.settings }}</pre></details>
{% endfor %}
<h3>Run time</h3>
<p>
{% if c.cost.wall %}
{{ c.cost.wall | duration }} of jobs, one after the other. By stage:
{% for name, seconds in c.cost.stages.items() if seconds %}
{{ name }} {{ seconds | duration }}{{ "," if not loop.last else "." }}
{% endfor %}
{% else %}
Not known: the benchmark files are gone.
{% endif %}
</p>
</section>
{% endfor %}
</main>
<script>
// Where the page stands by itself in a report, its links lead nowhere.
if (location.protocol === "data:")
  for (const link of [...document.links])
    if (!link.getAttribute("href").startsWith("#")) link.removeAttribute("href");
</script>
</body>
</html>
"""


def to_html(chapters: Sequence[Chapter], pictures: Mapping[str, bytes]) -> str:
    """Self-contained page.

    Parameters
    ----------
    chapters
        In their order.
    pictures
        PNG of each figure of the chapters, by its `file`.
    """
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.filters["duration"] = duration
    judged = [kept(chapter.verdicts) for chapter in chapters]
    return environment.from_string(_PAGE).render(
        chapters=[_with_pictures(chapter, pictures) for chapter in chapters],
        verdicts=VERDICTS,
        first=FIRST,
        kept=kept,
        good=sum(good for good, _ in judged),
        judged=sum(count for _, count in judged),
        layout=LAYOUT,
    )


def duration(seconds: float) -> str:
    """A time as one reads it: ``4 s``, ``2 min 5 s``, ``1 h 2 min``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _with_pictures(chapter: Chapter, pictures: Mapping[str, bytes]) -> dict:
    figures = [
        {**figure, "picture": _uri(pictures[figure["file"]])}
        for figure in chapter.figures
    ]
    authors, _, heading = chapter.title.partition(": ")
    return {
        **vars(chapter),
        "figures": figures,
        "authors": authors if heading else "",
        "heading": heading or authors,
    }


def _uri(png: bytes) -> str:
    # In lines, because reStructuredText, which a report is made of, refuses long ones.
    return "data:image/png;base64," + encodebytes(png).decode().strip()
