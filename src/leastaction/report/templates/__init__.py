"""Templates of the pages, one Jinja file each; ``layout.html`` is what pages share."""

from functools import cache
from pathlib import Path

import jinja2

from leastaction.report.readable import duration


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    environment.filters["duration"] = duration
    return environment


def page(template: str, **content) -> str:
    """Text of a page from the file `template`; texts in `content` are escaped."""
    return _environment().get_template(template).render(**content)
