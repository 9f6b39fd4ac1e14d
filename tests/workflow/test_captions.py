"""Every example has captions in the report, which is made long after its figures."""

from types import SimpleNamespace

import jinja2
import pytest
import yaml
from project import ROOT

from leastaction.configuration.checks import accepted
from leastaction.configuration.jobs import FOR_FIGURES, panel

EXAMPLES = sorted(ROOT.glob("config/examples/*/*.yaml"))
CAPTIONS = ("coefficients", "response", "hamiltonian")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_captions_of_an_example(path):
    written = yaml.safe_load(path.read_text())
    written.pop("variants", None)
    example = accepted(written, path.stem)
    shown = {path.stem: panel(example, FOR_FIGURES)}
    job = SimpleNamespace(
        params=SimpleNamespace(settings={"panels": shown}),
        wildcards=SimpleNamespace(example=path.stem),
    )
    for caption in CAPTIONS:
        text = (ROOT / "workflow" / "report" / f"{caption}.rst").read_text()
        told = jinja2.Template(text, undefined=jinja2.StrictUndefined).render(
            snakemake=job
        )
        assert example["title"] in told and "{" not in told
        density = example["simulate"]["method"].startswith("gill_")
        assert not (density and "Wiener" in told)
