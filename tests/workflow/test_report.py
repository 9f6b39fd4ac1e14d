"""The report and the pages in a browser: figures, search, filters, two widths."""

import re

import pytest
from browser import browser, visit, visit_all
from project import ROOT

FRONT = """
await until(() => document.querySelector("main.story"));
const story = document.querySelector("main.story");
await until(() => [...story.querySelectorAll("img")].every(i => i.complete));
const images = [...story.querySelectorAll("img")];
const top = story.querySelector("h1").getBoundingClientRect();
const shown = images.map(i => i.getBoundingClientRect().width);
const link = story.querySelector("figure a");
link.click();
await until(() => document.querySelector("#app img:not(nav img)")
  && !document.querySelector("main.story"));
await until(() => [...document.querySelectorAll("#app img")].every(i => i.complete));
return {
  images: images.map(i => i.naturalWidth),
  shown,
  captions: [...story.querySelectorAll("figcaption")].map(c => c.textContent),
  top: top.top, heading: top.width, text: story.textContent,
  opened: app.state.resultPath,
  full: [...document.querySelectorAll("#app img")].map(i => i.naturalWidth),
};
"""
RESULTS = """
await until(() => app);
const sizes = {};
for (const [path, result] of Object.entries(results)) {
  const html = result.mime_type === "text/html";
  if (!html && !result.mime_type.startsWith("image/")) continue;
  app.setView({content: html ? "html" : "img", contentPath: result.data_uri,
    resultPath: path});
  const shown = () => [...document.querySelectorAll(html ? "iframe" : "#app div img")]
    .find(e => e.src === result.data_uri);
  await until(shown);
  if (!html) await until(() => shown() && shown().complete);
  sizes[path] = html ? shown().clientHeight : shown().naturalWidth;
}
return sizes;
"""
SEARCH = """
await until(() => document.querySelector("input[placeholder^=Search]"));
const input = document.querySelector("input[placeholder^=Search]");
const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
set.call(input, "duffing");
input.dispatchEvent(new Event("input", {bubbles: true}));
input.dispatchEvent(new KeyboardEvent("keypress",
  {key: "Enter", keyCode: 13, charCode: 13, bubbles: true}));
await until(() => app.state.navbarMode === "searchresults");
await until(() => document.querySelectorAll("nav tr").length > 1);
return {term: app.state.searchTerm,
  rows: [...document.querySelectorAll("nav tr")].map(r => r.textContent)};
"""
SCORECARD = """
const rows = () => [...document.querySelectorAll("tbody tr:not([hidden])")];
const printed = rows();
const opened = document.forms[0].elements.rows.value;
const change = (name, value) => {
  document.forms[0].elements[name].value = value;
  document.querySelector("form").dispatchEvent(new Event("input"));
};
const said = [...document.querySelectorAll(".counts b")].map(b => +b.textContent);
change("rows", "");
const all = rows().length;
document.querySelector("button[data-verdict=meets]").click();
const meets = rows().length;
change("text", "volatility");
const kept = JSON.parse(localStorage.getItem("leastaction: " + document.title));
const told = document.getElementById("shown").textContent, both = rows().length;
document.getElementById("afresh").click();
return {all, meets, both, told, opened, kept, counts: said,
  empty: printed.filter(r => !r.cells[5].textContent.trim()).length,
  papers: [...new Set(printed.map(r => r.cells[0].textContent))],
  printed: printed.length, afresh: rows().length};
"""
# Width of a figure, and its small print (figures/style.py), in points.
FIGURE, SMALL_PRINT = 180 / 25.4 * 72, 0.85 * 8
LEGIBLE = 8
LAYOUT = """
await until(() => [...document.images].every(i => i.complete));
for (const one of document.querySelectorAll("details")) one.open = true;
const page = document.documentElement, sizes = [], outside = [];
for (const one of document.body.querySelectorAll("*:not(script):not(style)")) {
  const box = one.getBoundingClientRect();
  if (box.width && box.right > innerWidth + 1 && !one.closest(".scroll, pre"))
    outside.push(one.tagName + " " + one.className);
  const text = [...one.childNodes].some(n => n.nodeType === 3 && n.data.trim());
  const size = parseFloat(getComputedStyle(one).fontSize);
  if (box.width && text) sizes.push(size);
}
return {
  width: innerWidth, overflow: page.scrollWidth > innerWidth, outside,
  lettering: Math.min(...sizes),
  broken: [...document.images].filter(i => !i.naturalWidth).map(i => i.alt),
  figures: [...document.images].map(i => i.clientWidth),
  clipped: [...document.querySelectorAll("table")].filter(t => !t.closest(".scroll"))
    .length,
  captions: [...document.querySelectorAll("table")].filter(t => !t.caption).length,
};
"""


LOOKS = {"front": FRONT, "search": SEARCH, "results": RESULTS}
# One after the other.
EACH = "\n".join(
    [
        "const seen = {};",
        *(
            f"seen.{k} = await (async () => {{ {look} }})();"
            for k, look in LOOKS.items()
        ),
        "return seen;",
    ]
)


@pytest.fixture(scope="module")
def report(finished, tmp_path_factory):
    """What a browser saw of the report of the finished project."""
    browser()
    result = finished.snakemake("--report", "report.html")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "ERROR" not in result.stderr
    page = finished.folder / "report.html"
    seen = visit(page, EACH, tmp_path_factory.mktemp("report"))
    assert seen["problems"] == [] and seen["network"] == []
    return seen["found"]


def test_the_front_page_tells_the_story(report, finished):
    found = report["front"]
    drawn = list(finished.folder.glob("results/*/figures/*.svg"))
    assert len(found["images"]) == len(found["captions"]) == len(drawn) == 3
    assert min(found["images"]) > 0 and min(found["shown"]) > 200
    assert all("The paper: " in caption for caption in found["captions"])
    assert found["top"] >= 0 and found["heading"] > 200
    for word in ("recipe", "recommended", "authors’ files", "settings", "why"):
        assert word in found["text"]
    assert found["opened"].endswith("figures/figure_1.svg")
    assert max(found["full"]) > 0


def test_every_figure_and_table_opens(report):
    assert len(report["results"]) > 12
    assert min(report["results"].values()) > 100, report["results"]


def test_the_search_finds_an_example(report):
    assert report["search"]["term"] == "duffing"
    assert len(report["search"]["rows"]) > 3


def test_the_scorecard_filters_and_remembers(finished, tmp_path):
    seen = visit(finished.folder / "results/scorecard.html", SCORECARD, tmp_path)
    assert seen["problems"] == []
    found = seen["found"]
    assert found["opened"] == "recipe" and found["empty"] == 0
    assert found["papers"] == ["1 Tripura et al. (2024)"]
    assert sum(found["counts"]) == found["printed"] == found["afresh"] > 0
    assert found["all"] > found["meets"] > found["both"] > 0
    assert found["told"] == f"{found['both']} of {found['all']}"
    assert {k: found["kept"][k] for k in ("rows", "verdict", "text")} == {
        "rows": "",
        "verdict": "meets",
        "text": "volatility",
    }


WIDTHS = 1400, 420
FITTING = ("index.html", "scorecard.html", "stochastic_lagrangian/tables/table_2.html")


@pytest.fixture(scope="module")
def laid_out(finished, tmp_path_factory) -> dict:
    """What a browser saw, by page and width; each page stands alone in its folder."""
    views = {}
    for page in FITTING:
        copy = tmp_path_factory.mktemp("page") / "page.html"
        copy.write_bytes((finished.folder / "results" / page).read_bytes())
        views |= {(page, width): (copy, width) for width in WIDTHS}
    seen = visit_all(list(views.values()), LAYOUT, tmp_path_factory.mktemp("browser"))
    return dict(zip(views, seen, strict=True))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("page", FITTING)
def test_pages_fit_both_widths_and_can_be_read(laid_out, page, width):
    seen = laid_out[page, width]
    assert seen["problems"] == []
    found = seen["found"]
    assert found["width"] == width and not found["overflow"]
    assert found["outside"] == [] and found["broken"] == []
    assert found["clipped"] == 0 and found["captions"] == 0
    assert found["lettering"] >= LEGIBLE
    if width == 1400 and page != "index.html":  # whose figures open in full
        for shown in found["figures"]:
            assert SMALL_PRINT * shown / FIGURE >= LEGIBLE


def test_the_story_stands_alone(laid_out, finished):
    seen = laid_out["index.html", 1400]
    assert seen["network"] == []
    assert seen["found"]["figures"] and seen["found"]["broken"] == []
    folder = finished.folder / "results"
    targets = re.findall(r'href="([^#"]+)"', (folder / "index.html").read_text())
    assert targets
    for target in targets:
        if not target.startswith("https://doi.org/"):
            place = ROOT if target.startswith("../") else folder
            assert (place / target.removeprefix("../")).is_file(), target
