"""A page in a browser without a window: what it holds, and what its console says."""

import json
import os
import re
import shutil
import subprocess
from base64 import b64decode
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
# No window of Chromium is narrower; a narrower page is shown in a frame.
NARROWEST = 500
FRAME = """<!DOCTYPE html><body><iframe src="%s" width="%d" height="1000"
  style="border: 0"></iframe><script>
addEventListener("message", e => { document.body.textContent = e.data; });
</script></body>"""


def browser() -> str:
    """Path of a Chromium (`CHROMIUM`, or one on the path); skips the test without."""
    given = os.environ.get("CHROMIUM")
    found = given or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("there is no Chromium here; set CHROMIUM to the path of one")
    return found


def visit(page: Path, look: str, folder: Path, width: int = 1400) -> dict:
    """Open a copy of `page`, run the JavaScript `look` in it, and close it.

    Returns
    -------
    dict
        `found`, what `look` returns; `problems`, errors of scripts, of the console and
        of what could not be loaded; `network`, addresses that were asked for.
    """
    text = page.read_text()
    head, opening, rest = text.partition("<head>")
    body, closing, end = rest.rpartition("</body>")
    copy = folder / page.name
    copy.write_text(head + opening + LISTEN + body + LOOK % look + closing + end)
    if width < NARROWEST:
        frame = copy.with_name(f"frame_{copy.name}")
        frame.write_text(FRAME % (copy.name, width))
        copy = frame
    command = [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += [f"--user-data-dir={folder / 'profile'}", "--disable-dev-shm-usage"]
    command += [f"--window-size={width},1000", "--virtual-time-budget=600000"]
    result = subprocess.run(
        [*command, copy.as_uri()], capture_output=True, text=True, timeout=240
    )
    if width < NARROWEST:
        copy.unlink()
    code = re.search("BEGIN(.*)END", result.stdout)
    assert code, result.stderr[-2000:]
    return json.loads(unquote(b64decode(code[1]).decode()))
