"""A page in a browser without a window: what it holds, and what its console says."""

import json
import os
import re
import shutil
import subprocess
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Before anything else on the page.
LISTEN = """<script>
const problems = [];
addEventListener("error", e => problems.push(e.message
  || "not loaded: " + String(e.target.src || e.target.href).slice(0, 80)), true);
addEventListener("unhandledrejection", e => problems.push(String(e.reason)));
console.error = (...all) => problems.push(all.join(" "));
console.log = () => {};
</script>"""
# After everything else: `look` is the body of an async function.
LOOK = """<script>
const wait = milliseconds => new Promise(done => setTimeout(done, milliseconds));
async function until(holds) {
  for (let i = 0; i < 100 && !holds(); i++) await wait(50);
  return holds();
}
(async () => {
  let found = null;
  try { found = await (async () => { %s })(); } catch (e) { problems.push(String(e)); }
  const network = performance.getEntriesByType("resource").map(r => r.name)
    .filter(name => /^(https?|file):/.test(name));
  const text = JSON.stringify({found, problems, network});
  const told = "BEGIN" + btoa(encodeURIComponent(text)) + "END";
  if (parent !== self) return parent.postMessage(told, "*");
  document.documentElement.innerHTML = "";
  document.body.id = "found";
  document.body.textContent = told;
})();
</script>"""
# Pages one above the other in one browser, all in view, each as wide as it shall be: no
# window of Chromium is narrower than 500.
FRAME = '<iframe src="%s" width="%d" height="1000"></iframe>'
FRAMES = """<!DOCTYPE html><style>
iframe {border: 0; position: absolute; top: 0; left: 0}
</style><body>%s<script>
const frames = [...document.querySelectorAll("iframe")], told = frames.map(() => null);
addEventListener("message", e => {
  told[frames.findIndex(one => one.contentWindow === e.source)] = e.data;
  if (told.every(one => one)) document.body.textContent = told.join(" ");
});
</script></body>"""


def browser() -> str:
    """Path of a Chromium (`CHROMIUM`, or one on the path); skips the test without."""
    given = os.environ.get("CHROMIUM")
    found = given or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("there is no Chromium here; set CHROMIUM to the path of one")
    return found


def visit(page: Path, look: str, folder: Path) -> dict:
    """Open a copy of `page`, run the JavaScript `look` in it, and close it.

    Returns
    -------
    dict
        `found`, what `look` returns; `problems`, errors of scripts, of the console and
        of what could not be loaded; `network`, addresses that were asked for.
    """
    copy = folder / page.name
    copy.write_text(_watched(page.read_text(), look))
    (seen,) = _shown(copy, folder)
    return seen


def visit_all(pages: Sequence[tuple[Path, int]], look: str, folder: Path) -> list[dict]:
    """The same for many (copy of a page, its width), in one browser."""
    for copy in {copy for copy, _ in pages}:
        copy.write_text(_watched(copy.read_text(), look))
    frames = [FRAME % (copy.as_uri(), width) for copy, width in pages]
    (folder / "frames.html").write_text(FRAMES % "".join(frames))
    seen = _shown(folder / "frames.html", folder)
    assert len(seen) == len(pages)
    return seen


def _watched(text: str, look: str) -> str:
    """A page that listens for problems from its beginning and looks at its end."""
    head, opening, rest = text.partition("<head>")
    body, closing, end = rest.rpartition("</body>")
    return head + opening + LISTEN + body + LOOK % look + closing + end


def _shown(page: Path, folder: Path) -> list[dict]:
    command = [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += [f"--user-data-dir={folder / 'profile'}", "--disable-dev-shm-usage"]
    command += ["--window-size=1400,1000", "--virtual-time-budget=600000"]
    for _ in range(2):  # it may end before its first page is there
        result = subprocess.run(
            [*command, page.as_uri()], capture_output=True, text=True, timeout=240
        )
        if codes := re.findall("BEGIN(.*?)END", result.stdout):
            break
    assert codes, result.stderr[-2000:]
    return [json.loads(unquote(b64decode(code).decode())) for code in codes]
