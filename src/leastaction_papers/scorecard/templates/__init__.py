"""Templates of the pages, one Jinja file each, and the pictures in them."""

from base64 import encodebytes
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from leastaction_papers.scorecard.readable import number_text, typeset
from leastaction_papers.scorecard.verdict import ERRATA

if TYPE_CHECKING:
    import jinja2

# From results/, where the pages lie.
ERRATA_PAGE = "../docs/errata.md"


def page(template: str, **content) -> str:
    """Text of a page from the file `template`; texts in `content` are escaped."""
    return _environment().get_template(template).render(**content)


@cache
def _environment() -> "jinja2.Environment":
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    filters = {"number": number_text, "linked": _linked}
    filters |= {"embedded": _embedded, "typeset": _typeset}
    environment.filters |= filters
    return environment


def _typeset(text: str) -> Markup:
    return Markup(typeset(text))


def _linked(note: str) -> Markup:
    """A note, typeset, whose reference to the errata is a link."""
    link = rf'<a href="{ERRATA_PAGE}">\g<0></a>'
    return Markup(ERRATA.sub(link, typeset(note)))


def _embedded(png: bytes) -> str:
    # In lines, because reStructuredText, which a report is made of, refuses long ones.
    return "data:image/png;base64," + encodebytes(png).decode().strip()
