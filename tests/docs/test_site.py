"""The site of the documentation: built without a warning, whole, readable, offline."""

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from browser import visit_all
from project import ROOT

import leastaction
from leastaction.core.families import FAMILIES
from leastaction.core.method import Step, declared

PAGES = [
    "index.html",
    "src/leastaction/trajectories/README.html",
    "docs/api/trajectories_methods.html",
    "docs/api/index.html",
    "docs/conventions.html",
    "docs/your_own_data.html",
    "docs/tutorial.html",
    "docs/driven_machine.html",
    "docs/shaken_frame.html",
    "docs/snapshots.html",
    "docs/api/recording.html",
    "docs/results.html",
]
LOOK = """
  await until(() => document.readyState == "complete");
  const images = [...document.images].filter(one => !one.naturalWidth);
  const page = document.documentElement;
  return {
    images: images.map(one => one.src),
    width: innerWidth,
    overflow: page.scrollWidth > innerWidth,
  };
"""


class Page(HTMLParser):
    """Names of the places of a page, where its links lead, and what it loads."""

    def __init__(self, text: str):
        super().__init__()
        self.places, self.links, self.loads, self.text = set(), set(), set(), ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        """Take note of an element."""
        given = dict(attributes)
        self.places |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href"):
            self.links.add(given["href"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "preload", "icon"):
            self.loads.add(given["href"])
        elif given.get("src"):
            self.loads.add(given["src"])

    def handle_data(self, data):
        """Take note of what can be read."""
        self.text += data


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site that `LEASTACTION_SITE` names (.ci/run makes it), or a new one."""
    folder = tmp_path_factory.mktemp("docs")
    if "LEASTACTION_SITE" in os.environ:
        return shutil.copytree(os.environ["LEASTACTION_SITE"], folder / "site")
    for name in ("furo", "latex2mathml", "myst_nb", "numpydoc", "sphinx"):
        pytest.importorskip(name, reason=f"pip install '.[docs]' brings {name}")
    command = [sys.executable, "-m", "sphinx", "-qWE", "--keep-going", "-c", "docs"]
    command += ["-d", folder / "doctrees"]
    made = subprocess.run(
        [*command, ".", folder / "site"], cwd=ROOT, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Page]:
    """Every page, read."""
    return {path: Page(path.read_text()) for path in site.rglob("*.html")}


def test_no_link_is_broken(pages):
    broken = []
    for path, page in pages.items():
        for link in page.links | page.loads:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = path.parent.joinpath(unquote(parts.path)).resolve()
            target = target if parts.path else path
            place = unquote(parts.fragment)
            known = pages[target].places if target in pages else {place}
            if not target.is_file() or (place and place not in known):
                broken.append((path.name, link))
    assert not broken


def test_every_formula_is_understood(pages):
    for path in pages:
        for formula in re.findall("<math.*?</math>", path.read_text(), re.DOTALL):
            assert "\\" not in formula and "<mi>&</mi>" not in formula, path.name


def test_nothing_is_loaded_from_a_network(pages):
    addresses = {address for page in pages.values() for address in page.loads}
    assert not [one for one in addresses if urlsplit(one).netloc]


def test_every_page_of_the_repository_is_there(site):
    written = ["README.md", "CHANGELOG.md", "config/README.md", "benchmarks/results.md"]
    for kind in ("md", "ipynb"):
        written += [f"docs/{path.name}" for path in ROOT.glob(f"docs/*.{kind}")]
    written += [f"src/leastaction/{family}/README.md" for family in FAMILIES]
    missing = [one for one in written if not (site / one).with_suffix(".html").exists()]
    assert not missing


def test_every_public_name_and_every_setting_can_be_looked_up(site, pages):
    places = pages[site / "docs/api/index.html"].places
    for name in leastaction.__all__:
        if callable(getattr(leastaction, name)):
            assert f"leastaction.{name}" in places, name
    for method in declared(Step):
        if "method" not in method.model_fields:
            continue
        package = ".".join(method.__module__.split(".")[1:-1])
        page = pages[site / f"docs/api/{package}_methods.html"]
        for name, field in method.model_fields.items():
            assert name in page.text, (method, name)
            if field.description:
                assert field.description.split()[0] in page.text, (method, name)


VISITED = [("index.html", 1400), *((name, 420) for name in PAGES)]


@pytest.fixture(scope="module")
def visited(site, tmp_path_factory) -> dict:
    """What a browser saw, by page and width."""
    copies = [
        (site / name).with_name(f"visited_{width}_{Path(name).name}")
        for name, width in VISITED
    ]
    for copy, (name, _) in zip(copies, VISITED, strict=True):
        shutil.copy(site / name, copy)
    views = [(copy, width) for copy, (_, width) in zip(copies, VISITED, strict=True)]
    try:
        seen = visit_all(views, LOOK, tmp_path_factory.mktemp("browser"))
    finally:
        for copy in copies:
            copy.unlink()
    return dict(zip(VISITED, seen, strict=True))


@pytest.mark.parametrize(("name", "width"), VISITED)
def test_a_browser_shows_all_of_a_page(visited, name, width):
    seen = visited[name, width]
    assert seen["problems"] == []
    assert all(address.startswith("file:") for address in seen["network"])
    assert seen["found"] == {"images": [], "width": width, "overflow": False}
