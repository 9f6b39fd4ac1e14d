"""Every example has captions in the report, which is made long after its figures."""

from types import SimpleNamespace

import jinja2
import pytest
from project import ROOT

from leastaction.core.yaml_files import read_yaml
from leastaction_papers.configuration.checks import accepted
from leastaction_papers.configuration.jobs import FOR_FIGURES, example_figures, panel

EXAMPLES = sorted(ROOT.glob("config/examples/*/*.yaml"))
CAPTION = ROOT / "workflow" / "report" / "example_figure.rst"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_captions_of_an_example(path):
    written = read_yaml(path)
    written.pop("variants", None)
    example = accepted(written, f"example {path.parent.name}/{path.stem}")
    shown = panel(example, FOR_FIGURES)
    template = jinja2.Template(CAPTION.read_text(), undefined=jinja2.StrictUndefined)
    for figure in example_figures(example):
        job = SimpleNamespace(
            params=SimpleNamespace(settings={"shown": shown}),
            wildcards=SimpleNamespace(example=path.stem, figure=figure),
        )
        heading, _, text = template.render(snakemake=job).partition("):\n")
        assert example["title"] in heading
        assert text.strip() and "{" not in text
